//! Where blocks begin and end that bulk copies can move.
//!
//! Along the last axis they begin at a multiple of 16 bytes, and a store does not begin in front of its tensor: all
//! else ends with an illegal instruction (H100, whoever made the map). A store writes 16 bytes at a time (H200): unless
//! rows end at a multiple of that, a block that reaches past the end of a row overwrites what lies behind it.

use super::map_parts::{MapPart, UNBOUNDED, UNIT, map_parts, value_of};
use ir::{Attr, Block, Builder, Def, Module, Op, Type, Value};
use ttir::axis::AxisTable;
use ttir::ops::arith_cast::EXTSI;
use ttir::ops::arith_int::{ADDI, ANDI, ORI, int_value};
use ttir::ops::compare::{CMPI, CmpIOp, CmpIPredicate};
use ttir::ops::constant::CONSTANT;
use ttir::ops::descriptor::{DescriptorAccessOp, MakeDescriptorOp};
use ttir::types::{elem, elem_bytes, shape};

/// What is known of where an access by a descriptor begins, and where its rows end.
pub(crate) struct Begin {
    /// Coordinates that may be negative.
    open: Vec<Value>,
    /// The coordinate along the last axis.
    last: Value,
    /// Elements that it must be a multiple of.
    unit: u64,
    /// Whether it is, if that is known.
    aligned: Option<bool>,
    /// Elements of the block along the last axis.
    side: i64,
    /// Elements of the tensor along it, unless stores may write 16 bytes at its end.
    size: Option<Size>,
}

/// Elements of a tensor along an axis.
enum Size {
    Value(Value),
    Part(MapPart),
}

impl Size {
    /// Those along the last axis of a descriptor's tensor, unless they are known to be a multiple of so many, or
    /// nothing is cut off there.
    fn open(module: &Module, desc: Value, axis: &AxisTable, unit: u64) -> Option<Size> {
        if let Some(made) = MakeDescriptorOp::def(module, desc) {
            let &size = made.shape().last().expect("a tensor has an axis");
            let is_whole = match int_value(module, size) {
                Some(size) => size.unsigned_abs().is_multiple_of(unit),
                None => axis.info(module, size).every(0).is_multiple_of(unit),
            };
            return (!is_whole).then_some(Size::Value(size));
        }
        let parts = map_parts(module, desc).expect("a descriptor that launches make");
        let Def::Arg(entry, _) = module.def(desc) else { unreachable!("launches make parameters") };
        let size = parts.sizes.last().expect("a tensor has an axis").clone();
        let is_whole = size == UNBOUNDED || size.is_multiple_of(module, entry, unit);
        (!is_whole).then_some(Size::Part(size))
    }

    /// It in 64 bits.
    fn build(&self, builder: &mut Builder<'_>, entry: Block) -> Value {
        match self {
            Size::Value(value) => widen(builder, *value),
            Size::Part(part) => value_of(builder, entry, part, 64),
        }
    }
}

fn widen(builder: &mut Builder<'_>, value: Value) -> Value {
    let long = Type::int(64);
    let is_long = builder.module.ty(value) == long;
    if is_long { value } else { builder.build_as(&EXTSI, &[value], &[], long) }
}

fn number(builder: &mut Builder<'_>, value: i64, ty: Type) -> Value {
    builder.build_as(&CONSTANT, &[], &[Some(Attr::int(value, ty))], ty)
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
        let side = *shape(module.ty(of.desc())).last().expect("a tensor has an axis");
        Begin { open, last, unit, aligned, side, size: Size::open(module, of.desc(), axis, unit) }
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
    pub(crate) fn test(&self, builder: &mut Builder<'_>, entry: Block) -> Option<Value> {
        let mut tests: Vec<Value> =
            self.open.iter().map(|&value| compare(builder, value, CmpIPredicate::Sge, 0)).collect();
        if self.aligned.is_none() {
            tests.push(self.is_whole(builder, self.last));
        }
        if let Some(size) = &self.size {
            let size = size.build(builder, entry);
            let mut ends = vec![self.is_whole(builder, size)];
            let (begin, side) = (widen(builder, self.last), number(builder, self.side, Type::int(64)));
            let end = builder.build(&ADDI, &[begin, side], &[]);
            ends.push(builder.build(&CMPI, &[end, size], &CmpIOp::attrs(CmpIPredicate::Sle)));
            tests.push(builder.build(&ORI, &ends, &[]));
        }
        tests.into_iter().reduce(|one, two| builder.build(&ANDI, &[one, two], &[]))
    }

    /// Whether a number of elements is a multiple of 16 bytes.
    fn is_whole(&self, builder: &mut Builder<'_>, value: Value) -> Value {
        let ty = builder.module.ty(value);
        let mask = number(builder, self.unit as i64 - 1, ty);
        let rest = builder.build(&ANDI, &[value, mask], &[]);
        compare(builder, rest, CmpIPredicate::Eq, 0)
    }
}

fn compare(builder: &mut Builder<'_>, value: Value, predicate: CmpIPredicate, with: i64) -> Value {
    let ty = builder.module.ty(value);
    let with = number(builder, with, ty);
    builder.build(&CMPI, &[value, with], &CmpIOp::attrs(predicate))
}

/// Whether a multiple of so many elements of so many bytes is one that bulk copies can begin at.
pub(super) fn begins_aligned(divisor: u64, bytes: u64) -> bool {
    divisor.saturating_mul(bytes).is_multiple_of(UNIT)
}
