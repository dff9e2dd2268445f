//! Comparisons and selection, on scalars and blocks.

use crate::types::{BOOL_LIKE, FLOAT_LIKE, INT_LIKE, VALUE_LIKE, elem, shape, with_elem};
use ir::scalar::{float_value, sign_extend};
use ir::{AttrKind, AttrSpec, EnumRow, Fold, Format, Infer, InferArgs, OpRow, Traits, Type, one};
use smallvec::{SmallVec, smallvec};

/// Predicates of integers.
pub static CMPI_PREDICATE: EnumRow = EnumRow {
    name: "predicate",
    cases: &[
        ("eq", 0),
        ("ne", 1),
        ("slt", 2),
        ("sle", 3),
        ("sgt", 4),
        ("sge", 5),
        ("ult", 6),
        ("ule", 7),
        ("ugt", 8),
        ("uge", 9),
    ],
};

/// Predicates of floats: `o…` is false for NaN, `u…` is true for NaN.
pub static CMPF_PREDICATE: EnumRow = EnumRow {
    name: "predicate",
    cases: &[
        ("false", 0),
        ("oeq", 1),
        ("ogt", 2),
        ("oge", 3),
        ("olt", 4),
        ("ole", 5),
        ("one", 6),
        ("ord", 7),
        ("ueq", 8),
        ("ugt", 9),
        ("uge", 10),
        ("ult", 11),
        ("ule", 12),
        ("une", 13),
        ("uno", 14),
        ("true", 15),
    ],
};

/// For which outcomes each predicate holds: 1 equal, 2 greater, 4 less, 8 unordered.
const CMPF_HOLDS: [u32; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 8, 15];

fn bool_like(args: &InferArgs<'_>) -> Result<SmallVec<[Type; 2]>, String> {
    Ok(smallvec![with_elem(args.ty(0), Type::int(1))])
}

/// Integer comparison.
pub static CMPI: OpRow = OpRow {
    name: "arith.cmpi",
    doc: "Compares integers; `s…` as signed, `u…` as unsigned.",
    operands: &[one("lhs", &INT_LIKE), one("rhs", &INT_LIKE)],
    attrs: &[AttrSpec::required("predicate", AttrKind::Enum(&CMPI_PREDICATE))],
    results: &[one("result", &BOOL_LIKE)],
    infer: Infer::Rule(bool_like),
    traits: Traits::PURE.and(Traits::ELEMENTWISE),
    format: Format::Text("$predicate, $lhs, $rhs attr-dict : type($lhs)"),
    verify: Some(super::same_type_operands),
    eval: Some(|a, x| {
        let predicate = a.attrs[0].as_ref()?.as_enum(&CMPI_PREDICATE)?;
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
    ..OpRow::BASE
};

/// Float comparison.
pub static CMPF: OpRow = OpRow {
    name: "arith.cmpf",
    doc: "Compares floats.",
    operands: &[one("lhs", &FLOAT_LIKE), one("rhs", &FLOAT_LIKE)],
    attrs: &[AttrSpec::required("predicate", AttrKind::Enum(&CMPF_PREDICATE))],
    results: &[one("result", &BOOL_LIKE)],
    infer: Infer::Rule(bool_like),
    traits: Traits::PURE.and(Traits::ELEMENTWISE),
    format: Format::Text("$predicate, $lhs, $rhs attr-dict : type($lhs)"),
    verify: Some(super::same_type_operands),
    eval: Some(|a, x| {
        let predicate = a.attrs[0].as_ref()?.as_enum(&CMPF_PREDICATE)?;
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
    ..OpRow::BASE
};

/// Selection.
pub static SELECT: OpRow = OpRow {
    name: "arith.select",
    doc: "The second operand where the condition holds, the third elsewhere. The condition may be a scalar.",
    operands: &[
        one("condition", &BOOL_LIKE),
        one("true_value", &VALUE_LIKE),
        one("false_value", &VALUE_LIKE),
    ],
    results: &[one("result", &VALUE_LIKE)],
    infer: Infer::SameAs(1),
    traits: Traits::PURE.and(Traits::ELEMENTWISE),
    // A scalar condition is written without its type, as the reference does.
    format: Format::Custom {
        print: super::control_text::print_select,
        parse: super::control_text::parse_select,
    },
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
        match super::arith_int::constant_int(module, op, 0)? {
            0 => Some(Fold::Value(no)),
            _ => Some(Fold::Value(yes)),
        }
    }),
    patterns: &[crate::passes::patterns::select_by_scalar],
    ..OpRow::BASE
};
