//! What a value of the program is in one lane.

use llir::Value;
use smallvec::SmallVec;
use std::rc::Rc;

/// A value of the program as one lane sees it.
#[derive(Clone, Debug)]
pub enum LaneValue {
    /// A scalar: the same in every lane.
    Scalar(Value),
    /// A tensor: one value per register, in the order of its layout.
    Tensor(Rc<[Value]>),
    /// Shared memory.
    Shared(Rc<SharedMemory>),
    /// A tensor descriptor or another value of several parts.
    Parts(Rc<[Value]>),
    /// An ordering without data.
    Token,
}

/// A place in shared memory: an address and a constant number of bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    /// The address.
    pub(crate) base: Value,
    /// Bytes further on.
    pub(crate) offset: i64,
}

impl Region {
    /// So many bytes further on.
    pub(crate) fn after(self, bytes: u32) -> Region {
        Region { offset: self.offset + i64::from(bytes), ..self }
    }
}

/// A view of shared memory.
#[derive(Clone, PartialEq, Debug)]
pub struct SharedMemory {
    /// The address where the allocation (or the stage of it that is viewed) begins.
    pub base: Value,
    /// Where the view begins, for each dimension of the allocation, in elements; empty for zero everywhere.
    pub offsets: SmallVec<[Value; 4]>,
}

impl LaneValue {
    /// A tensor of these registers.
    pub fn tensor(registers: Vec<Value>) -> LaneValue {
        LaneValue::Tensor(registers.into())
    }

    /// All llir values it is made of, in a fixed order: what a loop must carry.
    pub fn flatten(&self) -> SmallVec<[Value; 8]> {
        match self {
            LaneValue::Scalar(value) => SmallVec::from_slice(&[*value]),
            LaneValue::Tensor(registers) | LaneValue::Parts(registers) => SmallVec::from_slice(registers),
            LaneValue::Shared(memory) => {
                let mut all = SmallVec::from_slice(&[memory.base]);
                all.extend_from_slice(&memory.offsets);
                all
            }
            LaneValue::Token => SmallVec::new(),
        }
    }

    /// The same kind of value made of others; takes as many as [`LaneValue::flatten`] gave.
    #[must_use]
    pub fn rebuild(&self, values: &mut impl Iterator<Item = Value>) -> LaneValue {
        let mut next = |_: Value| values.next().expect("as many values as `flatten` gave");
        match self {
            LaneValue::Scalar(value) => LaneValue::Scalar(next(*value)),
            LaneValue::Tensor(registers) => {
                LaneValue::Tensor(registers.iter().map(|value| next(*value)).collect())
            }
            LaneValue::Parts(parts) => LaneValue::Parts(parts.iter().map(|value| next(*value)).collect()),
            LaneValue::Shared(memory) => LaneValue::Shared(Rc::new(SharedMemory {
                base: next(memory.base),
                offsets: memory.offsets.iter().map(|value| next(*value)).collect(),
            })),
            LaneValue::Token => LaneValue::Token,
        }
    }
}
