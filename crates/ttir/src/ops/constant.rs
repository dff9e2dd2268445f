//! Constants.

use crate::types::{VALUE_LIKE, elem, is_tensor};
use ir::text::{ParseError, Parser, Printer};
use ir::view::AnyAttr;
use ir::{
    Attr, Builder, CostClass, Elements, Format, Infer, Module, Op, OpInit, OpRow, Traits, Type, Value, one,
};
use smallvec::{SmallVec, smallvec};

/// Rows of this file.
pub(super) const ROWS: &[&OpRow] = &[&CONSTANT, &POISON];

ir::op_view! {
    ConstantOp of CONSTANT {
        attrs { value / set_value: AnyAttr }
        results { result: One VALUE_LIKE }
    }
}

/// A constant.
pub static CONSTANT: OpRow = OpRow {
    name: "arith.constant",
    doc: "A constant scalar, or a block given by one element for all or by all its elements.",
    infer: Infer::Rule(|args| match &args.attrs[0] {
        Some(attr) => {
            attr_type(attr).map(|ty| smallvec![ty]).ok_or_else(|| "the constant has no type".into())
        }
        None => Err("the constant has no value".into()),
    }),
    cost: CostClass::Nothing,
    traits: Traits::PURE.and(Traits::CONSTANT).and(Traits::SOURCE),
    format: Format::Custom { print: print_constant, parse: parse_constant },
    verify: Some(|module, op| {
        let ty = module.ty(module.result(op, 0));
        let own = module.attr(op, 0).and_then(attr_type);
        if own == Some(ty) { Ok(()) } else { Err(format!("the value is not of the result's type {ty}")) }
    }),
    ..ConstantOp::ROW
};

/// A value that nobody may depend on.
pub static POISON: OpRow = OpRow {
    name: "ub.poison",
    doc: "A value without meaning: whatever depends on it has no meaning either.",
    results: &[one("result", &VALUE_LIKE)],
    infer: Infer::Explicit,
    traits: Traits::PURE.and(Traits::SOURCE),
    format: Format::Text("attr-dict : type($result)"),
    ..OpRow::BASE
};

/// The type of a constant.
pub fn attr_type(attr: &Attr) -> Option<Type> {
    match attr {
        Attr::Bool(_) => Some(Type::int(1)),
        Attr::Int { ty, .. } | Attr::Float { ty, .. } | Attr::Dense { ty, .. } => Some(*ty),
        _ => None,
    }
}

/// The attribute of a constant of type `ty` (a number, or a block filled with it) from the raw bits of an element.
pub fn attr_from_bits(ty: Type, bits: u64) -> Option<Attr> {
    if is_tensor(ty) {
        return Some(Attr::Dense { ty, elements: Elements::Splat(bits) });
    }
    match (elem(ty).as_int(), elem(ty).as_float()) {
        (Some(1), _) => Some(Attr::Bool(bits & 1 != 0)),
        (Some(width), _) => Some(Attr::Int { value: ir::scalar::sign_extend(width, bits), ty }),
        (_, Some(_)) => Some(Attr::Float { bits, ty }),
        _ => None,
    }
}

/// The raw bits of the element of a constant whose elements are all equal.
pub fn splat_bits(attr: &Attr) -> Option<u64> {
    match attr {
        Attr::Bool(value) => Some(u64::from(*value)),
        Attr::Int { value, ty } => Some(ir::scalar::truncate(ty.scalar_bits()?, *value as u64)),
        Attr::Float { bits, .. } => Some(*bits),
        Attr::Dense { elements: Elements::Splat(bits), .. } => Some(*bits),
        _ => None,
    }
}

/// The float that a value is, a scalar or a block of equal elements, if it is a constant.
pub fn number(module: &Module, value: Value) -> Option<f64> {
    let kind = elem(module.ty(value)).as_float()?;
    Some(ir::scalar::float_value(kind, splat_bits(module.constant(value)?)?))
}

/// Builds a constant of type `ty` from the raw bits of an element.
///
/// # Panics
/// When `ty` is a pointer; there are no constant addresses.
pub fn build(builder: &mut Builder<'_>, ty: Type, bits: u64) -> Value {
    let attr = attr_from_bits(ty, bits).expect("only numbers have constants");
    builder.build_as(&CONSTANT, &[], &[Some(attr)], ty)
}

/// Builds an integer constant, a scalar or a block filled with it.
///
/// # Panics
/// When `ty` is not made of numbers.
pub fn int(builder: &mut Builder<'_>, ty: Type, value: i64) -> Value {
    let bits = ir::scalar::truncate(elem(ty).scalar_bits().expect("a type of numbers"), value as u64);
    build(builder, ty, bits)
}

/// Builds a float constant, a scalar or a block filled with it, rounded to its format.
///
/// # Panics
/// When `ty` is not made of floats.
pub fn float(builder: &mut Builder<'_>, ty: Type, value: f64) -> Value {
    let kind = elem(ty).as_float().expect("a type of floats");
    build(builder, ty, ir::scalar::float_bits(kind, value))
}

/// `value`, which says its type.
fn print_constant(printer: &mut Printer<'_>, op: Op) {
    printer.attr_dict(op, &[0]);
    printer.text(" ");
    if let Some(attr) = printer.module().attr(op, 0) {
        printer.attr(attr);
    }
}

fn parse_constant(parser: &mut Parser<'_>) -> Result<Op, ParseError> {
    let attrs = parser.optional_attr_dict()?;
    let value = parser.parse_attr(None)?;
    let Some(ty) = attr_type(&value) else {
        return Err(parser.error("a constant is a number, a truth value or `dense<…>`"));
    };
    let init = OpInit {
        results: SmallVec::from_slice(&[ty]),
        attrs: SmallVec::from_iter([Some(value)]),
        ..OpInit::default()
    };
    let op = parser.append(&CONSTANT, init);
    parser.set_attrs(op, attrs)?;
    Ok(op)
}
