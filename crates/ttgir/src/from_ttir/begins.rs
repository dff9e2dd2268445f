//! Where blocks begin that bulk copies can move.
//!
//! Along the last axis that is a multiple of 16 bytes, and a store does not begin in front of its tensor: all else ends
//! with an illegal instruction (H100, whoever made the map).

use super::map_parts::UNIT;
use ir::{Attr, Builder, Module, Op, Value};
use ttir::axis::AxisTable;
use ttir::ops::arith_int::{ANDI, int_value};
use ttir::ops::compare::{CMPI, CmpIOp, CmpIPredicate};
use ttir::ops::constant::CONSTANT;
use ttir::ops::descriptor::DescriptorAccessOp;
use ttir::types::{elem, elem_bytes};

/// What is known of where an access by a descriptor begins.
pub(crate) struct Begin {
    /// Coordinates that may be negative.
    open: Vec<Value>,
    /// The coordinate along the last axis.
    last: Value,
    /// Elements that it must be a multiple of.
    unit: u64,
    /// Whether it is, if that is known.
    aligned: Option<bool>,
}

impl Begin {
    pub(crate) fn of(module: &Module, access: Op, axis: &AxisTable) -> Begin {
        let of = DescriptorAccessOp::new(module, access);
        let unit = UNIT / elem_bytes(elem(module.ty(of.desc()))).min(UNIT);
        let known = |value: Value| axis.info(module, value);
        let last = *of.indices().last().expect("a tensor has an axis");
        let aligned = match int_value(module, last) {
            Some(at) => Some(at.unsigned_abs().is_multiple_of(unit)),
            None => begins_aligned(known(last).every(0), UNIT / unit).then_some(true),
        };
        let open = of.indices().iter().copied().filter(|&value| !known(value).non_negative).collect();
        Begin { open, last, unit, aligned }
    }

    /// Whether bulk copies can load from there, as far as is known.
    pub(super) fn may_be_loaded(&self) -> bool {
        self.aligned == Some(true)
    }

    /// Whether it is not known that bulk copies cannot store there.
    pub(super) fn may_be_stored(&self, module: &Module) -> bool {
        self.aligned != Some(false) && !self.open.iter().any(|&value| int_value(module, value).is_some())
    }

    /// Whether bulk copies can store there, as the program finds out; `None` where the code shows it.
    pub(crate) fn test(&self, builder: &mut Builder<'_>) -> Option<Value> {
        let compare = |builder: &mut Builder<'_>, value: Value, predicate: CmpIPredicate| {
            let ty = builder.module.ty(value);
            let zero = builder.build_as(&CONSTANT, &[], &[Some(Attr::int(0, ty))], ty);
            builder.build(&CMPI, &[value, zero], &CmpIOp::attrs(predicate))
        };
        let mut tests: Vec<Value> =
            self.open.iter().map(|&value| compare(builder, value, CmpIPredicate::Sge)).collect();
        if self.aligned.is_none() {
            let ty = builder.module.ty(self.last);
            let mask = Attr::int(self.unit as i64 - 1, ty);
            let mask = builder.build_as(&CONSTANT, &[], &[Some(mask)], ty);
            let rest = builder.build(&ANDI, &[self.last, mask], &[]);
            tests.push(compare(builder, rest, CmpIPredicate::Eq));
        }
        tests.into_iter().reduce(|one, two| builder.build(&ANDI, &[one, two], &[]))
    }
}

/// Whether a multiple of so many elements of so many bytes is one that bulk copies can begin at.
pub(super) fn begins_aligned(divisor: u64, bytes: u64) -> bool {
    divisor.saturating_mul(bytes).is_multiple_of(UNIT)
}
