//! Comparisons and selection, on scalars and blocks.

use crate::types::{BOOL_LIKE, FLOAT_LIKE, INT_LIKE, VALUE_LIKE, elem, is_tensor, shape, with_elem};
use ir::scalar::{float_value, sign_extend};
use ir::text::{ParseError, Parser, Printer};
use ir::{Fold, Format, Infer, InferArgs, LayoutRule, Op, OpInit, OpRow, Traits, Type, Value};
use smallvec::{SmallVec, smallvec};

/// Rows of this file.
pub(super) const ROWS: &[&OpRow] = &[&CMPI, &CMPF, &SELECT];

ir::enum_attr! {
    /// Predicates of integers.
    CmpIPredicate, CMPI_PREDICATE "predicate" {
        Eq "eq" = 0, Ne "ne" = 1, Slt "slt" = 2, Sle "sle" = 3, Sgt "sgt" = 4, Sge "sge" = 5, Ult "ult" = 6,
        Ule "ule" = 7, Ugt "ugt" = 8, Uge "uge" = 9,
    }
}

ir::enum_attr! {
    /// Predicates of floats: `o…` is false for NaN, `u…` is true for NaN.
    CmpFPredicate, CMPF_PREDICATE "predicate" {
        False "false" = 0, Oeq "oeq" = 1, Ogt "ogt" = 2, Oge "oge" = 3, Olt "olt" = 4, Ole "ole" = 5,
        One "one" = 6, Ord "ord" = 7, Ueq "ueq" = 8, Ugt "ugt" = 9, Uge "uge" = 10, Ult "ult" = 11,
        Ule "ule" = 12, Une "une" = 13, Uno "uno" = 14, True "true" = 15,
    }
}

/// For which outcomes each predicate holds: 1 equal, 2 greater, 4 less, 8 unordered.
const CMPF_HOLDS: [u32; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 8, 15];

fn bool_like(args: &InferArgs<'_>) -> Result<SmallVec<[Type; 2]>, String> {
    Ok(smallvec![with_elem(args.ty(0), Type::int(1))])
}

ir::op_view! {
    CmpIOp of CMPI {
        operands { lhs: One INT_LIKE, rhs: One INT_LIKE }
        attrs { predicate: CmpIPredicate }
        results { result: One BOOL_LIKE }
    }
}

/// Integer comparison.
pub static CMPI: OpRow = OpRow {
    name: "arith.cmpi",
    doc: "Compares integers; `s…` as signed, `u…` as unsigned.",
    infer: Infer::Rule(bool_like),
    layout: LayoutRule::Same,
    traits: Traits::PURE.and(Traits::ELEMENTWISE).and(Traits::LOGIC),
    format: Format::Text("$predicate, $lhs, $rhs attr-dict : type($lhs)"),
    verify: Some(super::same_type_operands),
    eval: Some(|a, x| {
        let predicate = a.case::<CmpIPredicate>()?;
        let bits = a.operand_types[0].as_int()?;
        let (s, t) = (sign_extend(bits, x[0]), sign_extend(bits, x[1]));
        let table = [
            x[0] == x[1],
            x[0] != x[1],
            s < t,
            s <= t,
            s > t,
            s >= t,
            x[0] < x[1],
            x[0] <= x[1],
            x[0] > x[1],
            x[0] >= x[1],
        ];
        table.get(predicate as usize).map(|&holds| u64::from(holds))
    }),
    patterns: &[crate::passes::patterns::known_comparison, crate::passes::patterns::narrow_comparison],
    ..CmpIOp::ROW
};

ir::op_view! {
    CmpFOp of CMPF {
        operands { lhs: One FLOAT_LIKE, rhs: One FLOAT_LIKE }
        attrs { predicate: CmpFPredicate }
        results { result: One BOOL_LIKE }
    }
}

/// Float comparison.
pub static CMPF: OpRow = OpRow {
    name: "arith.cmpf",
    doc: "Compares floats.",
    infer: Infer::Rule(bool_like),
    layout: LayoutRule::Same,
    traits: Traits::PURE.and(Traits::ELEMENTWISE).and(Traits::LOGIC),
    format: Format::Text("$predicate, $lhs, $rhs attr-dict : type($lhs)"),
    verify: Some(super::same_type_operands),
    eval: Some(|a, x| {
        let predicate = a.case::<CmpFPredicate>()?;
        let kind = a.operand_types[0].as_float()?;
        let (s, t) = (float_value(kind, x[0]), float_value(kind, x[1]));
        let case = match s.partial_cmp(&t) {
            Some(std::cmp::Ordering::Equal) => 1,
            Some(std::cmp::Ordering::Greater) => 2,
            Some(std::cmp::Ordering::Less) => 4,
            None => 8,
        };
        Some(u64::from(CMPF_HOLDS.get(predicate as usize)? & case != 0))
    }),
    ..CmpFOp::ROW
};

ir::op_view! {
    SelectOp of SELECT {
        operands { condition: One BOOL_LIKE, true_value: One VALUE_LIKE, false_value: One VALUE_LIKE }
        results { result: One VALUE_LIKE }
    }
}

/// Selection.
pub static SELECT: OpRow = OpRow {
    name: "arith.select",
    doc: "The second operand where the condition holds, the third elsewhere. The condition may be a scalar.",
    infer: Infer::SameAs(1),
    layout: LayoutRule::Same,
    traits: Traits::PURE.and(Traits::ELEMENTWISE).and(Traits::LOGIC),
    // A scalar condition is written without its type, as the reference does.
    format: Format::Custom { print: print_select, parse: parse_select },
    verify: Some(|module, op| {
        let types: Vec<_> = module.operands(op).iter().map(|&value| module.ty(value)).collect();
        if types[1] != types[2] {
            return Err(format!("both values must have the same type, found {} and {}", types[1], types[2]));
        }
        if !shape(types[0]).is_empty() && shape(types[0]) != shape(types[1]) {
            return Err(format!(
                "the condition has shape {:?}, the values {:?}",
                shape(types[0]),
                shape(types[1])
            ));
        }
        Ok(())
    }),
    eval: Some(|_, x| Some(if x[0] & 1 != 0 { x[1] } else { x[2] })),
    fold: Some(|module, op| {
        let (yes, no) = (module.operand(op, 1), module.operand(op, 2));
        if yes == no {
            return Some(Fold::Value(yes));
        }
        debug_assert_eq!(elem(module.ty(yes)), elem(module.ty(no)));
        match super::arith_int::int_value(module, module.operand(op, 0))? {
            0 => Some(Fold::Value(no)),
            _ => Some(Fold::Value(yes)),
        }
    }),
    patterns: &[crate::passes::patterns::select_by_scalar],
    ..SelectOp::ROW
};

/// `%condition, %a, %b : [condition type, ]type`: the condition's type is written when it is a tensor.
fn print_select(printer: &mut Printer<'_>, op: Op) {
    let module = printer.module();
    printer.text(" ");
    printer.values(module.operands(op));
    printer.attr_dict(op, &[]);
    printer.text(" : ");
    let condition = module.ty(module.operand(op, 0));
    if is_tensor(condition) {
        printer.ty(condition);
        printer.text(", ");
    }
    printer.ty(module.ty(module.result(op, 0)));
}

fn parse_select(parser: &mut Parser<'_>) -> Result<Op, ParseError> {
    let mut operands: SmallVec<[Value; 4]> = SmallVec::new();
    for separator in [",", ",", ""] {
        operands.push(parser.operand()?);
        parser.expect(separator)?;
    }
    let attrs = parser.optional_attr_dict()?;
    parser.expect(":")?;
    let mut types = parser.parse_types()?;
    if types.len() == 1 {
        types.insert(0, Type::int(1));
    }
    let [condition, ty] = types[..] else { return Err(parser.error("expected one or two types")) };
    parser.check_types(&operands, &[condition, ty, ty])?;
    let init = OpInit { operands, results: SmallVec::from_slice(&[ty]), ..OpInit::default() };
    let op = parser.append(&SELECT, init);
    parser.set_attrs(op, attrs)?;
    Ok(op)
}
