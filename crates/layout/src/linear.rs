//! The layout itself: making, applying, composing, inverting, multiplying.

use crate::dims::{Dim, Dims};
use crate::matrix::{Echelon, apply, kernel};
use smallvec::SmallVec;
use std::fmt;

/// Why an operation on layouts has no result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LayoutError {
    /// More than 64 bits on one side.
    TooLarge,
    /// A basis lies outside the output dimensions.
    OutsideOutput {
        /// The dimension.
        dim: Dim,
        /// The basis.
        basis: u32,
    },
    /// The outputs of one layout are not the inputs of the other.
    Mismatch {
        /// What one has.
        left: Box<Dims>,
        /// What the other has.
        right: Box<Dims>,
    },
    /// Some outputs are not reached.
    NotSurjective,
    /// Some inputs go to the same output.
    NotInjective,
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LayoutError::TooLarge => f.write_str("a layout has at most 64 bits on each side"),
            LayoutError::OutsideOutput { dim, basis } => {
                write!(f, "basis {basis} lies outside output dimension {}", dim.name())
            }
            LayoutError::Mismatch { left, right } => write!(f, "dimensions {left:?} are not {right:?}"),
            LayoutError::NotSurjective => f.write_str("the layout does not reach all outputs"),
            LayoutError::NotInjective => f.write_str("the layout sends different inputs to one output"),
        }
    }
}

impl std::error::Error for LayoutError {}

fn mismatch(left: &Dims, right: &Dims) -> LayoutError {
    LayoutError::Mismatch { left: Box::new(left.clone()), right: Box::new(right.clone()) }
}

/// A linear map from input dimensions to output dimensions.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LinearLayout {
    pub(crate) ins: Dims,
    pub(crate) outs: Dims,
    /// Where each input bit goes, in the order of the input word.
    pub(crate) columns: SmallVec<[u64; 16]>,
}

/// Where the powers of two of one input dimension go: for each, a position in the output.
pub type Bases<'a> = (Dim, &'a [&'a [(Dim, u32)]]);

impl LinearLayout {
    /// A layout from its bases, onto output dimensions of given sizes in bits.
    ///
    /// # Errors
    /// When a basis lies outside the output, or there are too many bits.
    pub fn new(bases: &[Bases<'_>], outs: &[(Dim, u32)]) -> Result<LinearLayout, LayoutError> {
        let outs = Dims::new(outs);
        let mut ins = SmallVec::<[(Dim, u32); 4]>::new();
        let mut columns = SmallVec::new();
        for (dim, of_dim) in bases {
            ins.push((*dim, of_dim.len() as u32));
            for basis in *of_dim {
                for &(out, at) in *basis {
                    if u64::from(at) >= 1 << outs.bits(out) {
                        return Err(LayoutError::OutsideOutput { dim: out, basis: at });
                    }
                }
                columns.push(outs.pack(basis));
            }
        }
        LinearLayout { ins: Dims::new(&ins), outs, columns }.checked()
    }

    pub(crate) fn checked(self) -> Result<LinearLayout, LayoutError> {
        if self.ins.total_bits() > 64 || self.outs.total_bits() > 64 {
            return Err(LayoutError::TooLarge);
        }
        debug_assert_eq!(self.columns.len() as u32, self.ins.total_bits());
        Ok(self)
    }

    /// Nothing to nothing: the neutral element of the product.
    pub fn empty() -> LinearLayout {
        LinearLayout { ins: Dims::default(), outs: Dims::default(), columns: SmallVec::new() }
    }

    /// Position `i` of `input` is position `i` of `output`.
    pub fn identity(bits: u32, input: Dim, output: Dim) -> LinearLayout {
        LinearLayout {
            ins: Dims::new(&[(input, bits)]),
            outs: Dims::new(&[(output, bits)]),
            columns: (0..bits).map(|bit| 1 << bit).collect(),
        }
    }

    /// All of `input` is at position 0 of `output`, which has size 1: copies.
    pub fn zeros(bits: u32, input: Dim, output: Dim) -> LinearLayout {
        LinearLayout {
            ins: Dims::new(&[(input, bits)]),
            outs: Dims::new(&[(output, 0)]),
            columns: (0..bits).map(|_| 0).collect(),
        }
    }

    /// The input dimensions.
    pub fn ins(&self) -> &Dims {
        &self.ins
    }

    /// The output dimensions.
    pub fn outs(&self) -> &Dims {
        &self.outs
    }

    /// Where the powers of two of an input dimension go.
    pub fn bases(&self, dim: Dim) -> Vec<SmallVec<[(Dim, u32); 4]>> {
        let start = self.ins.shift(dim) as usize;
        let columns = &self.columns[start..start + self.ins.bits(dim) as usize];
        columns.iter().map(|&column| self.outs.unpack(column)).collect()
    }

    /// Where a position goes.
    pub fn apply(&self, position: &[(Dim, u32)]) -> SmallVec<[(Dim, u32); 4]> {
        self.outs.unpack(self.apply_word(self.ins.pack(position)))
    }

    /// Where each position of an input dimension goes, the others at 0: packed positions, in order.
    pub fn along(&self, dim: Dim) -> Vec<u64> {
        let start = self.ins.shift(dim) as usize;
        let columns = &self.columns[start..start + self.ins.bits(dim) as usize];
        let mut words = Vec::with_capacity(1 << columns.len());
        words.push(0);
        for column in columns {
            words.extend_from_within(..);
            let half = words.len() / 2;
            words[half..].iter_mut().for_each(|word| *word ^= column);
        }
        words
    }

    /// Where a packed position goes.
    pub fn apply_word(&self, word: u64) -> u64 {
        apply(&self.columns, word)
    }

    /// Whether every output is reached.
    pub fn is_surjective(&self) -> bool {
        Echelon::new(&self.columns).rank() == self.outs.total_bits()
    }

    /// Whether different inputs go to different outputs.
    pub fn is_injective(&self) -> bool {
        kernel(&self.columns).is_empty()
    }

    /// Inputs, as packed positions, that go to 0: combinations of them are copies of one element. A basis.
    pub fn kernel(&self) -> Vec<u64> {
        kernel(&self.columns)
    }

    /// First this, then `next`.
    ///
    /// # Errors
    /// When the outputs of this are not the inputs of `next`, in name and size; the order is free.
    pub fn then(&self, next: &LinearLayout) -> Result<LinearLayout, LayoutError> {
        let same = self.outs.iter().count() == next.ins.iter().count()
            && self.outs.iter().all(|(dim, bits)| next.ins.has(dim) && next.ins.bits(dim) == bits);
        if !same {
            return Err(mismatch(&self.outs, &next.ins));
        }
        let columns =
            self.columns.iter().map(|&column| next.apply_word(self.outs.rebase(column, &next.ins))).collect();
        Ok(LinearLayout { ins: self.ins.clone(), outs: next.outs.clone(), columns })
    }

    /// The layout that undoes this one.
    ///
    /// # Errors
    /// When this is not a permutation.
    pub fn invert(&self) -> Result<LinearLayout, LayoutError> {
        if !self.is_injective() {
            return Err(LayoutError::NotInjective);
        }
        self.right_inverse()
    }

    /// A layout that says, for each output, one input that goes there: the one the elimination meets first, which uses
    /// the earliest input dimensions and so no copies.
    ///
    /// # Errors
    /// When some outputs are not reached.
    pub fn right_inverse(&self) -> Result<LinearLayout, LayoutError> {
        let echelon = Echelon::new(&self.columns);
        let columns = (0..self.outs.total_bits()).map(|bit| echelon.solve(1 << bit)).collect::<Option<_>>();
        let columns = columns.ok_or(LayoutError::NotSurjective)?;
        Ok(LinearLayout { ins: self.outs.clone(), outs: self.ins.clone(), columns })
    }

    /// Both side by side: the bits of `other` stand above ours in the dimensions that both have.
    ///
    /// # Errors
    /// When there are too many bits.
    pub fn product(&self, other: &LinearLayout) -> Result<LinearLayout, LayoutError> {
        let (ins, outs) = (self.ins.sum(&other.ins), self.outs.sum(&other.outs));
        if ins.total_bits() > 64 || outs.total_bits() > 64 {
            return Err(LayoutError::TooLarge);
        }
        let mut columns = SmallVec::new();
        for (dim, _) in ins.iter() {
            let start = self.ins.shift(dim) as usize;
            let own = self.columns.iter().skip(start).take(self.ins.bits(dim) as usize);
            columns.extend(own.map(|&column| self.outs.rebase(column, &outs)));
            let start = other.ins.shift(dim) as usize;
            let theirs = other.columns.iter().skip(start).take(other.ins.bits(dim) as usize);
            columns.extend(theirs.map(|&column| {
                let position = other.outs.unpack(column);
                let raised: SmallVec<[(Dim, u32); 4]> =
                    position.iter().map(|&(dim, at)| (dim, at << self.outs.bits(dim).min(31))).collect();
                outs.pack(&raised)
            }));
        }
        Ok(LinearLayout { ins, outs, columns })
    }

    /// The same map on some of the dimensions: other inputs are at 0, other outputs are forgotten.
    #[must_use]
    pub fn restrict(&self, ins: &[Dim], outs: &[Dim]) -> LinearLayout {
        let kept_ins: Vec<_> = ins.iter().map(|&dim| (dim, self.ins.bits(dim))).collect();
        let kept_outs: Vec<_> = outs.iter().map(|&dim| (dim, self.outs.bits(dim))).collect();
        let outs = Dims::new(&kept_outs);
        let columns = ins
            .iter()
            .flat_map(|&dim| {
                let start = self.ins.shift(dim) as usize;
                self.columns.iter().skip(start).take(self.ins.bits(dim) as usize)
            })
            .map(|&column| self.outs.rebase(column, &outs))
            .collect();
        LinearLayout { ins: Dims::new(&kept_ins), outs, columns }
    }

    /// The same map with the output dimensions in another order.
    #[must_use]
    pub fn reorder_outs(&self, outs: &[Dim]) -> LinearLayout {
        let ins: Vec<Dim> = self.ins.iter().map(|dim| dim.0).collect();
        self.restrict(&ins, outs)
    }

    /// The same map into a larger block: the sizes of the output dimensions, which must have at least the bits of ours.
    ///
    /// # Errors
    /// When a dimension would shrink, or there are too many bits.
    pub fn enlarge_outs(&self, outs: &[(Dim, u32)]) -> Result<LinearLayout, LayoutError> {
        let outs = Dims::new(outs);
        if self.outs.iter().any(|(dim, bits)| outs.bits(dim) < bits) {
            return Err(mismatch(&self.outs, &outs));
        }
        let columns = self.columns.iter().map(|&column| self.outs.rebase(column, &outs)).collect();
        LinearLayout { ins: self.ins.clone(), outs, columns }.checked()
    }

    /// The same bits under other output names: the output word stays.
    ///
    /// # Errors
    /// When the number of bits differs.
    pub fn rename_outs(&self, outs: &[(Dim, u32)]) -> Result<LinearLayout, LayoutError> {
        let outs = Dims::new(outs);
        if outs.total_bits() != self.outs.total_bits() {
            return Err(mismatch(&self.outs, &outs));
        }
        Ok(LinearLayout { ins: self.ins.clone(), outs, columns: self.columns.clone() })
    }

    /// How many neighbouring positions of an input dimension are neighbours along an output dimension, from 0 on: the
    /// width of an access.
    pub fn contiguous(&self, input: Dim, output: Dim) -> u32 {
        let start = self.ins.shift(input) as usize;
        let shift = self.outs.shift(output);
        let bits = (0..self.ins.bits(input)).take_while(|&bit| {
            self.columns[start + bit as usize] == 1u64.checked_shl(shift + bit).unwrap_or(0)
        });
        1 << bits.count()
    }
}

impl fmt::Display for LinearLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (dim, _) in self.ins.iter() {
            let bases: Vec<Vec<u32>> =
                self.bases(dim).iter().map(|basis| basis.iter().map(|part| part.1).collect()).collect();
            writeln!(f, "{} = {bases:?}", dim.name())?;
        }
        let outs: Vec<String> =
            self.outs.iter().map(|(dim, bits)| format!("{}: {}", dim.name(), 1u64 << bits)).collect();
        write!(f, "onto ({})", outs.join(", "))
    }
}
