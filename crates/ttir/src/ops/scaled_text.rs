//! The text of a dot of scaled blocks, in which each operand has its scales behind it.
//!
//! ```text
//! tt.dot_scaled %a scale %sa, %b, %c lhs = e2m1 rhs = bf16 {fastMath = false} : tensor<…>, tensor<…> * tensor<…> -> tensor<…>
//! ```

use super::dot::{DOT_SCALED, DotScaledOp};
use ir::text::{ParseError, Parser, Printer};
use ir::{Attr, Op, OpInit, Type, Value};
use smallvec::{SmallVec, smallvec};

/// Slots that the text has outside of its dictionary: both formats, and which scales are given.
const NAMED: [usize; 3] = [0, 1, 5];

/// Writes what follows the name.
pub(super) fn print(printer: &mut Printer<'_>, op: Op) {
    let module = printer.module();
    let dot = DotScaledOp::new(module, op);
    let (a, b) = ((dot.a(), dot.a_scale()), (dot.b(), dot.b_scale()));
    for (value, scale) in [a, b] {
        printer.text(" ");
        printer.value(value);
        if let Some(scale) = scale {
            printer.text(" scale ");
            printer.value(scale);
        }
        printer.text(",");
    }
    printer.text(" ");
    printer.value(dot.c());
    for (word, slot) in [(" lhs = ", 0), (" rhs = ", 1)] {
        printer.text(word);
        printer.slot(op, slot);
    }
    printer.attr_dict(op, &NAMED);
    for (before, (value, scale)) in [(" : ", a), (" * ", b)] {
        printer.text(before);
        printer.ty(module.ty(value));
        if let Some(scale) = scale {
            printer.text(", ");
            printer.ty(module.ty(scale));
        }
    }
    printer.text(" -> ");
    printer.ty(module.ty(module.result(op, 0)));
}

/// Reads what follows the name.
pub(super) fn parse(parser: &mut Parser<'_>) -> Result<Op, ParseError> {
    let (a, a_scale) = operand(parser)?;
    let (b, b_scale) = operand(parser)?;
    let c = parser.operand()?;
    let mut attrs: SmallVec<[Option<Attr>; 2]> = SmallVec::new();
    for (slot, word) in ["lhs", "rhs"].into_iter().enumerate() {
        parser.expect(word)?;
        parser.expect("=")?;
        attrs.push(Some(parser.slot(&DOT_SCALED.attrs[slot])?));
    }
    attrs.extend(DOT_SCALED.attrs[2..].iter().map(|spec| spec.default_attr()));
    let given = i64::from(a_scale.is_some()) | i64::from(b_scale.is_some()) << 1;
    attrs[NAMED[2]] = Some(Attr::int(given, Type::int(32)));
    let entries = parser.optional_attr_dict()?;
    check_types(parser, ":", a, a_scale)?;
    check_types(parser, "*", b, b_scale)?;
    parser.expect("->")?;
    let result = parser.parse_type()?;
    parser.check_types(&[c], &[result])?;
    let operands = [Some(a), Some(b), Some(c), a_scale, b_scale].into_iter().flatten().collect();
    let op = parser.append(&DOT_SCALED, OpInit { operands, results: smallvec![result], attrs, regions: 0 });
    parser.set_attrs(op, entries)?;
    Ok(op)
}

/// Reads `%a,` or `%a scale %s,`.
fn operand(parser: &mut Parser<'_>) -> Result<(Value, Option<Value>), ParseError> {
    let value = parser.operand()?;
    let scale = if parser.accept("scale") { Some(parser.operand()?) } else { None };
    parser.expect(",")?;
    Ok((value, scale))
}

/// Reads the types of an operand and its scales.
fn check_types(
    parser: &mut Parser<'_>,
    before: &str,
    value: Value,
    scale: Option<Value>,
) -> Result<(), ParseError> {
    parser.expect(before)?;
    let ty = parser.parse_type()?;
    parser.check_types(&[value], &[ty])?;
    if let Some(scale) = scale {
        parser.expect(",")?;
        let ty = parser.parse_type()?;
        parser.check_types(&[scale], &[ty])?;
    }
    Ok(())
}
