//! Axis analysis: how integers and addresses run along the dimensions of a block.
//!
//! For each dimension of a value, all powers of two:
//! - *contiguity*: aligned groups of so many neighbours count up by one (addresses: by one element);
//! - *divisibility*: the first element of each such group is a multiple of this (addresses: in bytes);
//! - *constancy*: aligned groups of so many neighbours are equal.
//!
//! A scalar counts as one dimension. Facts come from constants, ranges, the grid, the attributes `tt.divisibility`,
//! `tt.contiguity` and `tt.constancy` of parameters and operations; loops are followed to a fixed point. Signed sums
//! and products are taken not to overflow, and dividends not to be negative unless the code shows it, as in the
//! reference; facts that rest on the latter say so. Beyond that the facts hold for every execution.
//!
//! A pure function of the code: it changes nothing and remembers nothing.

mod analyze;
mod arithmetic;
mod prefix;
mod rules;
mod spread;

pub use analyze::analyze;

use crate::types::{elem_bytes, pointee, shape};
use ir::{Module, Op, OpRow, Type, Value};
use smallvec::{SmallVec, smallvec};

/// Zero is divisible by everything; this stands for it.
const MAX_DIVISOR: u64 = 1 << 62;

/// What is known of the (first) result of an operation; `None` for nothing.
type Rule = fn(&Module, Op, &AxisTable) -> Option<AxisInfo>;

/// A row and its rule.
type RuleOf = (&'static OpRow, Rule);

/// One number for each dimension.
pub type Dims = SmallVec<[u64; 4]>;

/// A set of dimensions of a block. Those behind the first 63 are in it together.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Axes(u64);

impl Axes {
    const LAST: u64 = 1 << 63;

    fn bit(dim: usize) -> u64 {
        1 << dim.min(63)
    }

    /// The dimensions below `rank` for which a predicate holds.
    pub(crate) fn which(rank: usize, mut holds: impl FnMut(usize) -> bool) -> Axes {
        Axes((0..rank).filter(|&dim| holds(dim)).fold(0, |bits, dim| bits | Self::bit(dim)))
    }

    /// Whether a dimension is in it.
    pub fn contains(self, dim: usize) -> bool {
        self.0 & Self::bit(dim) != 0
    }

    /// Whether no dimension is in it.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The dimensions of either.
    pub(crate) fn union(self, other: Axes) -> Axes {
        Axes(self.0 | other.0)
    }

    /// The same dimensions after a new one, which is not in it.
    pub(crate) fn insert(self, dim: usize) -> Axes {
        let below = self.0 & (Self::bit(dim) - 1);
        let behind = self.0 & !(Self::bit(dim) - 1);
        Axes(below | behind << 1 | behind & Self::LAST)
    }
}

/// What is known of a value. See the module.
#[derive(PartialEq, Eq, Debug)]
pub struct AxisInfo {
    /// Group sizes in which elements count up.
    pub contiguity: Dims,
    /// What the first element of each such group is a multiple of.
    pub divisibility: Dims,
    /// Group sizes in which elements are equal.
    pub constancy: Dims,
    /// The value of all elements, sign-extended, if they are one constant.
    pub constant: Option<i64>,
    /// Whether all elements are known not to be negative.
    pub non_negative: bool,
    /// Whether the code shows that elements may be negative: a difference or a negative constant leads to them.
    pub negative: bool,
    /// The dimensions along which something rests on numbers that are taken not to be negative. It serves to address
    /// memory, where elements below zero are out of bounds; masks and what is computed once for several elements must
    /// not trust it. What every element is a multiple of never rests on that.
    pub assumes_sign: Axes,
}

/// Copied often: each list at once.
impl Clone for AxisInfo {
    fn clone(&self) -> AxisInfo {
        AxisInfo {
            contiguity: SmallVec::from_slice(&self.contiguity),
            divisibility: SmallVec::from_slice(&self.divisibility),
            constancy: SmallVec::from_slice(&self.constancy),
            ..*self
        }
    }
}

impl AxisInfo {
    /// Nothing is known.
    pub fn unknown(rank: usize) -> AxisInfo {
        let ones = || SmallVec::from_elem(1, rank.max(1));
        AxisInfo {
            contiguity: ones(),
            divisibility: ones(),
            constancy: ones(),
            constant: None,
            non_negative: false,
            negative: false,
            assumes_sign: Axes::default(),
        }
    }

    /// A constant of so many elements in each dimension.
    pub(crate) fn constant(shape: &[i64], value: i64) -> AxisInfo {
        let constancy = sizes(shape);
        AxisInfo {
            contiguity: smallvec![1; constancy.len()],
            divisibility: smallvec![divisor_of(value); constancy.len()],
            constancy,
            constant: Some(value),
            non_negative: value >= 0,
            negative: value < 0,
            assumes_sign: Axes::default(),
        }
    }

    /// How many dimensions.
    pub fn rank(&self) -> usize {
        self.contiguity.len()
    }

    /// What holds for both.
    pub(crate) fn join(&self, other: &AxisInfo) -> AxisInfo {
        if self.rank() != other.rank() {
            return AxisInfo::unknown(self.rank());
        }
        let contiguity = zip(&self.contiguity, &other.contiguity, u64::min);
        let divisibility = (0..self.rank())
            .map(|dim| self.starts(dim, contiguity[dim]).min(other.starts(dim, contiguity[dim])))
            .collect();
        AxisInfo {
            contiguity,
            divisibility,
            constancy: zip(&self.constancy, &other.constancy, u64::min),
            constant: self.constant.filter(|_| self.constant == other.constant),
            non_negative: self.non_negative && other.non_negative,
            negative: self.negative || other.negative,
            assumes_sign: self.assumes_sign.union(other.assumes_sign),
        }
    }

    /// What the first element of each aligned group of so many is a multiple of.
    pub(crate) fn starts(&self, dim: usize, group: u64) -> u64 {
        self.starts_in(dim, group, 1)
    }

    /// As [`AxisInfo::starts`], where one element counts as `scale`.
    fn starts_in(&self, dim: usize, group: u64, scale: u64) -> u64 {
        let own = self.divisibility[dim];
        if group >= self.contiguity[dim] {
            own
        } else {
            own.min(divisor_of(group as i64).saturating_mul(scale))
        }
    }

    /// Group sizes along a dimension in which elements are equal, whatever their signs.
    pub fn sure_constancy(&self, dim: usize) -> u64 {
        if self.assumes_sign.contains(dim) { 1 } else { self.constancy[dim] }
    }

    /// What every element is a multiple of, along a dimension.
    pub fn every(&self, dim: usize) -> u64 {
        self.starts(dim, 1)
    }
}

fn zip(left: &Dims, right: &Dims, combine: impl Fn(u64, u64) -> u64) -> Dims {
    left.iter().zip(right).map(|(&left, &right)| combine(left, right)).collect()
}

/// Sizes of the dimensions; one of size 1 for a scalar.
pub(crate) fn sizes(shape: &[i64]) -> Dims {
    if shape.is_empty() { smallvec![1] } else { shape.iter().map(|&dim| dim as u64).collect() }
}

/// The largest power of two that divides a number.
pub(crate) fn divisor_of(value: i64) -> u64 {
    if value == 0 { MAX_DIVISOR } else { (1u64 << value.trailing_zeros()).min(MAX_DIVISOR) }
}

/// What is known of the values of a function.
#[derive(Default, Debug)]
pub struct AxisTable {
    infos: Vec<AxisInfo>,
    /// For each value that was met, which of them is about it, counted from 1; 0 is none.
    places: Vec<u32>,
}

impl AxisTable {
    /// Nothing, with room for what is known of a program.
    pub(crate) fn for_program(module: &Module) -> AxisTable {
        let count = module.num_values();
        AxisTable { infos: Vec::with_capacity(count / 2), places: vec![0; count] }
    }

    /// What is known of a value, if it was met.
    pub fn get(&self, value: Value) -> Option<&AxisInfo> {
        let place = *self.places.get(value.as_u32() as usize)?;
        self.infos.get(place.checked_sub(1)? as usize)
    }

    /// What is known of a value; nothing, if it was not met.
    pub fn info(&self, module: &Module, value: Value) -> AxisInfo {
        self.get(value).cloned().unwrap_or_else(|| AxisInfo::unknown(shape(module.ty(value)).len()))
    }

    pub(crate) fn set(&mut self, value: Value, info: AxisInfo) {
        let index = value.as_u32() as usize;
        if index >= self.places.len() {
            self.places.resize(2 * index + 64, 0);
        }
        match self.places[index].checked_sub(1) {
            Some(place) => self.infos[place as usize] = info,
            None => {
                self.infos.push(info);
                self.places[index] = self.infos.len() as u32;
            }
        }
    }

    /// How many neighbouring elements along a dimension one aligned access can cover: they are contiguous, and
    /// the first of them is aligned to all of them.
    pub fn aligned_run(&self, module: &Module, pointer: Value, dim: usize) -> u64 {
        let info = self.info(module, pointer);
        let Some(pointee) = pointee(module.ty(pointer)) else { return 1 };
        info.contiguity[dim].min((info.divisibility[dim] / elem_bytes(pointee)).max(1))
    }
}

/// Whether a value of this type has axis facts.
pub(crate) fn has_facts(ty: Type) -> bool {
    crate::types::elem(ty).as_int().is_some() || pointee(ty).is_some()
}
