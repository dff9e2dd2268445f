//! What atomics, reductions and bulk reductions do to a value of a PTX type.

use crate::numeric::format_of;
use crate::syntax::types::{Kind, Type, mask};
use emulation::Element;

pub(crate) use emulation::{OPERATIONS, Operation};

/// An operation and the type of its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reduce {
    pub(crate) operation: Operation,
    pub(crate) ty: Type,
}

impl Reduce {
    /// The new value, of the whole type.
    pub(crate) fn apply(self, old: u64, new: u64) -> u64 {
        let ty = self.ty;
        let element = element(ty);
        let mut out = 0;
        for lane in 0..ty.lanes {
            let shift = lane * ty.bits;
            let part = |bits: u64| bits >> shift & mask(ty.bits);
            out |= self.operation.apply(element, part(old), part(new)) << shift;
        }
        out
    }
}

fn element(ty: Type) -> Element {
    match (ty.kind, format_of(ty)) {
        (Kind::Float | Kind::Brain, Some(format)) => Element::Float(format),
        (Kind::Float | Kind::Brain, None) => Element::Double,
        (Kind::Signed, _) => Element::Signed(ty.bits),
        _ => Element::Unsigned(ty.bits),
    }
}
