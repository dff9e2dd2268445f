//! Subspaces of words over F2: bases, coordinates, intersections, complements.

use crate::matrix::{Echelon, apply, kernel};

/// Independent vectors, in the order they were given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Basis {
    vectors: Vec<u64>,
    echelon: Echelon,
}

impl Basis {
    /// The vectors that do not depend on earlier ones.
    pub(crate) fn of(vectors: &[u64]) -> Basis {
        let mut basis = Basis::default();
        basis.extend(vectors);
        basis
    }

    /// Adds those vectors that are outside.
    pub(crate) fn extend(&mut self, vectors: &[u64]) {
        for &vector in vectors {
            self.add(vector);
        }
    }

    /// Adds a vector if it is outside; says whether it was.
    pub(crate) fn add(&mut self, vector: u64) -> bool {
        let outside = self.echelon.extend(vector, self.vectors.len());
        if outside {
            self.vectors.push(vector);
        }
        outside
    }

    /// Whether a vector is in the span.
    pub(crate) fn holds(&self, vector: u64) -> bool {
        self.echelon.solve(vector).is_some()
    }

    /// Which vectors add up to this one, as a word.
    pub(crate) fn coordinates(&self, vector: u64) -> Option<u64> {
        self.echelon.solve(vector)
    }

    /// The vectors.
    pub(crate) fn vectors(&self) -> &[u64] {
        &self.vectors
    }

    /// The dimension.
    pub(crate) fn len(&self) -> usize {
        self.vectors.len()
    }
}

/// A basis of what two spans share.
pub(crate) fn intersect(one: &[u64], other: &[u64]) -> Vec<u64> {
    let (one, other) = (Basis::of(one), Basis::of(other));
    let both: Vec<u64> = one.vectors().iter().chain(other.vectors()).copied().collect();
    let low = crate::dims::mask(one.len() as u32);
    kernel(&both).iter().map(|combination| apply(one.vectors(), combination & low)).collect()
}

/// The dimension of a span.
pub(crate) fn rank(vectors: &[u64]) -> u32 {
    Echelon::new(vectors).rank()
}

/// Vectors among `from` that, with `span`, make a basis of all that both span.
pub(crate) fn complement(span: &[u64], from: &[u64]) -> Vec<u64> {
    let mut basis = Basis::of(span);
    from.iter().copied().filter(|&vector| basis.add(vector)).collect()
}

/// The columns of the inverse of a square matrix with independent columns over `bits` bits.
pub(crate) fn inverse(columns: &[u64], bits: u32) -> Vec<u64> {
    let echelon = Echelon::new(columns);
    (0..bits).map(|bit| echelon.solve(1 << bit).expect("the columns are a basis of all words")).collect()
}
