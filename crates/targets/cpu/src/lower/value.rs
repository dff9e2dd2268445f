//! Symbolic values of one chunk: what is known of them without a vector.
//!
//! A chunk is `lanes` neighbouring elements of an iteration space. Indices and addresses in it are almost always a
//! scalar, plus multiples of loop counters, plus a constant per lane; as long as they are, no vector is made of them.
//! Sums inside a chunk are taken to stay within the width of their type, as addresses of real blocks do.

use llir::Value;
use smallvec::SmallVec;
use std::rc::Rc;

/// A loop of a nest; an index into the table of loops.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct LoopVar(pub(crate) u32);

/// `constant + Σ coefficient · counter`.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) struct Linear {
    /// The constant.
    pub(crate) constant: i64,
    /// Loop counters with their coefficients, in order of the loops, none zero.
    pub(crate) terms: SmallVec<[(LoopVar, i64); 2]>,
}

impl Linear {
    /// A constant.
    pub(crate) fn constant(constant: i64) -> Linear {
        Linear { constant, terms: SmallVec::new() }
    }

    /// A counter.
    pub(crate) fn counter(var: LoopVar) -> Linear {
        Linear { constant: 0, terms: SmallVec::from_slice(&[(var, 1)]) }
    }

    /// Sum.
    pub(crate) fn add(&self, other: &Linear) -> Linear {
        let mut sum = self.clone();
        sum.constant = sum.constant.wrapping_add(other.constant);
        for &(var, coefficient) in &other.terms {
            match sum.terms.binary_search_by_key(&var, |term| term.0) {
                Ok(at) => sum.terms[at].1 += coefficient,
                Err(at) => sum.terms.insert(at, (var, coefficient)),
            }
        }
        sum.terms.retain(|term| term.1 != 0);
        sum
    }

    /// Product with a constant.
    pub(crate) fn scale(&self, factor: i64) -> Linear {
        if factor == 0 {
            return Linear::default();
        }
        Linear {
            constant: self.constant.wrapping_mul(factor),
            terms: self.terms.iter().map(|&(var, by)| (var, by.wrapping_mul(factor))).collect(),
        }
    }

    /// The coefficient of a counter.
    pub(crate) fn coefficient(&self, var: LoopVar) -> i64 {
        self.terms.iter().find(|term| term.0 == var).map_or(0, |term| term.1)
    }
}

/// A constant for each lane.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Lanes(pub(crate) Rc<[i64]>);

impl Lanes {
    /// Zero in every lane.
    pub(crate) fn uniform(count: u32) -> Lanes {
        Lanes(vec![0; count as usize].into())
    }

    /// Lane by lane.
    pub(crate) fn map(&self, f: impl Fn(i64) -> i64) -> Lanes {
        Lanes(self.0.iter().map(|&lane| f(lane)).collect())
    }

    /// Sum.
    pub(crate) fn add(&self, other: &Lanes) -> Lanes {
        Lanes(self.0.iter().zip(other.0.iter()).map(|(a, b)| a.wrapping_add(*b)).collect())
    }

    /// Whether all lanes are zero.
    pub(crate) fn is_uniform(&self) -> bool {
        self.0.iter().all(|&lane| lane == 0)
    }

    /// The distance between neighbouring lanes, if it is the same everywhere. A single lane has distance 1.
    pub(crate) fn stride(&self) -> Option<i64> {
        let stride = if self.0.len() > 1 { self.0[1].wrapping_sub(self.0[0]) } else { 1 };
        let place = |at: usize| self.0[0].wrapping_add((at as i64).wrapping_mul(stride));
        let even = self.0.iter().enumerate().all(|(at, &lane)| lane == place(at));
        (even && self.0[0] == 0).then_some(stride)
    }
}

/// Position along one dimension of a block, for each lane of a chunk.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Index {
    /// Known.
    Known(Linear, Lanes),
    /// Computed: a vector (a scalar for one lane) of `i64`.
    Vector(Value),
}

impl Index {
    /// The same constant in all lanes.
    pub(crate) fn constant(value: i64, lanes: u32) -> Index {
        Index::Known(Linear::constant(value), Lanes::uniform(lanes))
    }
}

/// A position in a block for each lane: one index per dimension, interned.
#[derive(Clone, Debug)]
pub(crate) struct At {
    /// The number of this position among all.
    pub(crate) id: u32,
    /// One index per dimension.
    pub(crate) dims: Rc<[Index]>,
}

/// `base + linear + lanes`: integers of the base's type, or addresses (then counted in elements).
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Affine {
    /// A scalar that is the same for the whole loop nest.
    pub(crate) base: Value,
    /// What the counters add.
    pub(crate) linear: Linear,
    /// What the lanes add.
    pub(crate) lanes: Lanes,
}

/// A run of lanes. Its ends are `i64` that are the same for the whole loop nest.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Window {
    /// Where it starts; `None` for the first lane.
    pub(crate) start: Option<Value>,
    /// Where it ends; `None` for behind the last lane.
    pub(crate) count: Option<Value>,
    /// What the counters add to both.
    pub(crate) linear: Linear,
}

/// A value of a chunk.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Val {
    /// One scalar for all lanes.
    Uniform(Value),
    /// A sum of known form.
    Affine(Affine),
    /// Addresses: a scalar address plus a vector of signed element offsets.
    Offsets {
        /// The address.
        base: Value,
        /// The offsets.
        offsets: Value,
    },
    /// Truth values: lane `l` holds if `start + linear <= l < count + linear`.
    Window(Window),
    /// Anything: a vector, or a scalar for one lane.
    Vector(Value),
}

/// Splits `linear + lanes` into quotient and rest by a power of two, where every part goes wholly to one side.
///
/// `range` gives the step and the end of a counter.
pub(crate) fn split_digits(
    linear: &Linear,
    lanes: &Lanes,
    divisor: i64,
    range: impl Fn(LoopVar) -> (i64, i64),
) -> Option<((Linear, Lanes), (Linear, Lanes))> {
    if linear.constant < 0 || divisor <= 0 {
        return None;
    }
    let (mut high, mut low) = (Linear::default(), Linear::default());
    high.constant = linear.constant / divisor;
    low.constant = linear.constant % divisor;
    let mut rest = low.constant;
    for &(var, coefficient) in &linear.terms {
        let (step, end) = range(var);
        if coefficient <= 0 {
            return None;
        }
        if coefficient % divisor == 0 {
            high.terms.push((var, coefficient / divisor));
        } else if coefficient * (end - step) + rest < divisor {
            low.terms.push((var, coefficient));
            rest += coefficient * (end - step);
        } else {
            return None;
        }
    }
    if lanes.0.iter().any(|&lane| lane < 0 || lane % divisor + rest >= divisor) {
        return None;
    }
    Some(((high, lanes.map(|lane| lane / divisor)), (low, lanes.map(|lane| lane % divisor))))
}

#[cfg(test)]
mod tests {
    use super::{Lanes, Linear, LoopVar, split_digits};

    #[test]
    fn digits_split_where_nothing_is_carried() {
        let lanes = Lanes((0..8).collect());
        let linear = Linear { constant: 64, terms: smallvec::smallvec![(LoopVar(0), 32), (LoopVar(1), 1)] };
        let range = |var: LoopVar| if var.0 == 0 { (1, 4) } else { (8, 32) };
        let ((high, high_lanes), (low, low_lanes)) = split_digits(&linear, &lanes, 32, range).unwrap();
        assert_eq!((high.constant, high.coefficient(LoopVar(0)), high.coefficient(LoopVar(1))), (2, 1, 0));
        assert_eq!((low.constant, low.coefficient(LoopVar(1))), (0, 1));
        assert!(high_lanes.is_uniform() && low_lanes.stride() == Some(1));
        // 24 + 7 fits into 32, but not into 16, where a digit of the counter would be cut.
        assert!(split_digits(&linear, &lanes, 16, range).is_none());
    }

    #[test]
    fn sums_cancel() {
        let counter = Linear::counter(LoopVar(3));
        assert_eq!(counter.add(&counter.scale(-1)), Linear::default());
    }
}
