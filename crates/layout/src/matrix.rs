//! Linear algebra over F2. A matrix is its columns, each a word of output bits.

use smallvec::SmallVec;

/// The image of a word: the xor of the columns of its bits.
pub(crate) fn apply(columns: &[u64], mut word: u64) -> u64 {
    let mut image = 0;
    while word != 0 {
        let bit = word.trailing_zeros() as usize;
        image ^= columns.get(bit).copied().unwrap_or(0);
        word &= word - 1;
    }
    image
}

/// A basis of the space that columns span, in echelon form, each with the combination of columns that gives it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Echelon {
    /// Reduced vectors with distinct highest bits, and the columns that were combined.
    rows: SmallVec<[(u64, u64); 16]>,
}

impl Echelon {
    /// Eliminates columns.
    pub(crate) fn new(columns: &[u64]) -> Echelon {
        let mut echelon = Echelon::default();
        for (index, &column) in columns.iter().enumerate() {
            echelon.extend(column, index);
        }
        echelon
    }

    /// Takes in the column of a number; says whether it is outside of what the earlier ones span.
    pub(crate) fn extend(&mut self, column: u64, index: usize) -> bool {
        let (rest, used) = self.reduce(column);
        if rest != 0 {
            self.insert(rest, used ^ 1 << index);
        }
        rest != 0
    }

    fn insert(&mut self, vector: u64, used: u64) {
        let at = self.rows.partition_point(|row| row.0 > vector);
        self.rows.insert(at, (vector, used));
    }

    /// What is left of a vector after taking away what the columns span, and the combination taken away.
    pub(crate) fn reduce(&self, mut vector: u64) -> (u64, u64) {
        let mut used = 0;
        for &(row, combination) in &self.rows {
            let top = 63 - row.leading_zeros();
            if vector >> top & 1 != 0 {
                vector ^= row;
                used ^= combination;
            }
        }
        (vector, used)
    }

    /// A combination of columns that gives a vector, if there is one.
    pub(crate) fn solve(&self, vector: u64) -> Option<u64> {
        let (rest, used) = self.reduce(vector);
        (rest == 0).then_some(used)
    }

    /// The dimension of the space.
    pub(crate) fn rank(&self) -> u32 {
        self.rows.len() as u32
    }
}

/// The inputs that go to zero, as a basis.
pub(crate) fn kernel(columns: &[u64]) -> Vec<u64> {
    let mut echelon = Echelon::default();
    let mut kernel = Vec::new();
    for (index, &column) in columns.iter().enumerate() {
        let (rest, used) = echelon.reduce(column);
        let combination = used ^ 1 << index;
        if rest == 0 {
            kernel.push(combination);
        } else {
            echelon.insert(rest, combination);
        }
    }
    kernel
}
