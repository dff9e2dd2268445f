//! Integer arithmetic on scalars and blocks. Integers are signless and wrap; division truncates toward zero, and
//! dividing by zero has no defined result.

use crate::ops::constant::attr_from_bits;
use crate::types::{INT_LIKE, int_bits};
use ir::scalar::{sign_extend, truncate};
use ir::{
    Attr, CostClass, Elements, EvalArgs, Fold, Format, Infer, LayoutRule, Module, Op, OpRow, Traits, Type,
    Value, ValueSpec, one,
};

/// Rows of this file.
pub(super) const ROWS: &[&OpRow] = &[
    &ADDI, &SUBI, &MULI, &DIVSI, &DIVUI, &REMSI, &REMUI, &ANDI, &ORI, &XORI, &SHLI, &SHRSI, &SHRUI, &MAXSI,
    &MAXUI, &MINSI, &MINUI, &MULHIUI,
];

type Eval = fn(&EvalArgs<'_>, &[u64]) -> Option<u64>;
type FoldFn = fn(&Module, Op) -> Option<Fold>;

const OPERANDS: &[ValueSpec] = &[one("lhs", &INT_LIKE), one("rhs", &INT_LIKE)];
const RESULTS: &[ValueSpec] = &[one("result", &INT_LIKE)];

const fn row(
    name: &'static str,
    doc: &'static str,
    traits: Traits,
    eval: Eval,
    fold: Option<FoldFn>,
) -> OpRow {
    OpRow {
        name,
        doc,
        operands: OPERANDS,
        results: RESULTS,
        infer: Infer::SameAs(0),
        layout: LayoutRule::Same,
        cost: if traits.has(Traits::NO_SPECULATION) { CostClass::Sequence } else { CostClass::Simple },
        traits: traits.and(Traits::PURE).and(Traits::ELEMENTWISE),
        format: Format::Text("$lhs, $rhs attr-dict : type($result)"),
        verify: Some(super::same_type_operands),
        eval: Some(eval),
        fold,
        ..OpRow::BASE
    }
}

fn neutral(ty: Type, of_bits: fn(u32) -> u64) -> Option<u64> {
    let bits = ty.as_int()?;
    Some(truncate(bits, of_bits(bits)))
}

fn bits(args: &EvalArgs<'_>) -> u32 {
    int_bits(args.result_type)
}

fn wrap(args: &EvalArgs<'_>, value: u64) -> Option<u64> {
    Some(truncate(bits(args), value))
}

fn signed(args: &EvalArgs<'_>, value: u64) -> i64 {
    sign_extend(bits(args), value)
}

/// The number that a value is in all its elements, sign-extended, if it is a constant.
pub fn int_value(module: &Module, value: Value) -> Option<i64> {
    match module.constant(value)? {
        Attr::Int { value, .. } => Some(*value),
        Attr::Bool(value) => Some(-i64::from(*value)),
        Attr::Dense { ty, elements: Elements::Splat(value) } => {
            Some(sign_extend(crate::types::elem(*ty).as_int()?, *value))
        }
        _ => None,
    }
}

/// The left operand where the right is this constant.
fn left_if_right_is(module: &Module, op: Op, value: i64) -> Option<Fold> {
    (int_value(module, module.operand(op, 1)) == Some(value)).then(|| Fold::Value(module.operand(op, 0)))
}

/// The right operand where it is this constant.
fn right_if_it_is(module: &Module, op: Op, value: i64) -> Option<Fold> {
    (int_value(module, module.operand(op, 1)) == Some(value)).then(|| Fold::Value(module.operand(op, 1)))
}

fn left_if_equal(module: &Module, op: Op) -> Option<Fold> {
    (module.operand(op, 0) == module.operand(op, 1)).then(|| Fold::Value(module.operand(op, 0)))
}

/// Zero, where something holds.
fn zero_if(module: &Module, op: Op, holds: bool) -> Option<Fold> {
    holds.then(|| attr_from_bits(module.ty(module.result(op, 0)), 0).map(Fold::Attr)).flatten()
}

fn fold_add(module: &Module, op: Op) -> Option<Fold> {
    left_if_right_is(module, op, 0)
}

/// `x - 0 => x`, and `x - x => 0`.
fn fold_sub(module: &Module, op: Op) -> Option<Fold> {
    fold_add(module, op).or_else(|| zero_if(module, op, module.operand(op, 0) == module.operand(op, 1)))
}

/// `x % 1 => 0`.
fn fold_rem(module: &Module, op: Op) -> Option<Fold> {
    zero_if(module, op, int_value(module, module.operand(op, 1)) == Some(1))
}

fn fold_mul(module: &Module, op: Op) -> Option<Fold> {
    left_if_right_is(module, op, 1).or_else(|| right_if_it_is(module, op, 0))
}

fn fold_div(module: &Module, op: Op) -> Option<Fold> {
    left_if_right_is(module, op, 1)
}

fn fold_and(module: &Module, op: Op) -> Option<Fold> {
    left_if_right_is(module, op, -1)
        .or_else(|| right_if_it_is(module, op, 0))
        .or_else(|| left_if_equal(module, op))
}

fn fold_or(module: &Module, op: Op) -> Option<Fold> {
    left_if_right_is(module, op, 0)
        .or_else(|| right_if_it_is(module, op, -1))
        .or_else(|| left_if_equal(module, op))
}

const C: Traits = Traits::COMMUTATIVE;
const N: Traits = Traits::NONE;
const D: Traits = Traits::NO_SPECULATION;
const CHOICE: Traits = C.and(Traits::CHOOSES);
const LOGIC: Traits = CHOICE.and(Traits::LOGIC);
const INDEX: Traits = Traits::INDEX;
const MAXIMUM: Traits = CHOICE.and(Traits::MAXIMUM);

/// Sum.
pub static ADDI: OpRow = row(
    "arith.addi",
    "Sum, wrapping.",
    C.and(Traits::ADDS).and(INDEX),
    |a, x| wrap(a, x[0].wrapping_add(x[1])),
    Some(fold_add),
)
.with_neutral(|ty| neutral(ty, |_| 0));
/// Difference.
pub static SUBI: OpRow = row(
    "arith.subi",
    "Difference, wrapping.",
    INDEX,
    |a, x| wrap(a, x[0].wrapping_sub(x[1])),
    Some(fold_sub),
);
/// Product.
pub static MULI: OpRow = row(
    "arith.muli",
    "Product, wrapping.",
    C.and(INDEX),
    |a, x| wrap(a, x[0].wrapping_mul(x[1])),
    Some(fold_mul),
)
.with_neutral(|ty| neutral(ty, |_| 1))
.with_patterns(&[crate::passes::patterns::product_of_flags]);
/// Signed quotient.
pub static DIVSI: OpRow = row(
    "arith.divsi",
    "Signed quotient, truncated toward zero and wrapping. Undefined for a zero divisor.",
    D,
    |a, x| (x[1] != 0).then(|| wrap(a, signed(a, x[0]).wrapping_div(signed(a, x[1])) as u64))?,
    Some(fold_div),
);
/// Unsigned quotient.
pub static DIVUI: OpRow = row(
    "arith.divui",
    "Unsigned quotient. Undefined for a zero divisor.",
    D,
    |_, x| x[0].checked_div(x[1]),
    Some(fold_div),
);
/// Signed remainder.
pub static REMSI: OpRow = row(
    "arith.remsi",
    "Signed remainder, with the sign of the dividend. Undefined for a zero divisor.",
    D,
    |a, x| (x[1] != 0).then(|| wrap(a, signed(a, x[0]).wrapping_rem(signed(a, x[1])) as u64))?,
    Some(fold_rem),
);
/// Unsigned remainder.
pub static REMUI: OpRow = row(
    "arith.remui",
    "Unsigned remainder. Undefined for a zero divisor.",
    D,
    |_, x| x[0].checked_rem(x[1]),
    Some(fold_rem),
);
/// Bitwise and.
pub static ANDI: OpRow = row("arith.andi", "Bitwise and.", LOGIC, |_, x| Some(x[0] & x[1]), Some(fold_and))
    .with_neutral(|ty| neutral(ty, |_| u64::MAX));
/// Bitwise or.
pub static ORI: OpRow = row("arith.ori", "Bitwise or.", LOGIC, |_, x| Some(x[0] | x[1]), Some(fold_or))
    .with_neutral(|ty| neutral(ty, |_| 0));
/// Bitwise exclusive or.
pub static XORI: OpRow = row(
    "arith.xori",
    "Bitwise exclusive or.",
    C.and(Traits::LOGIC),
    |_, x| Some(x[0] ^ x[1]),
    Some(fold_sub),
)
.with_neutral(|ty| neutral(ty, |_| 0));

fn shift(args: &EvalArgs<'_>, amount: u64, apply: impl Fn(u32) -> u64) -> Option<u64> {
    wrap(args, apply(u32::try_from(amount).map_or(64, |amount| amount.min(64))))
}

/// Left shift.
pub static SHLI: OpRow = row(
    "arith.shli",
    "Left shift. An amount of the width or more gives zero.",
    INDEX,
    |a, x| shift(a, x[1], |n| x[0].checked_shl(n).unwrap_or(0)),
    Some(fold_add),
);
/// Arithmetic right shift.
pub static SHRSI: OpRow = row(
    "arith.shrsi",
    "Right shift that repeats the sign. An amount of the width or more leaves the sign alone.",
    N,
    |a, x| shift(a, x[1], |n| (signed(a, x[0]) >> n.min(63)) as u64),
    Some(fold_add),
);
/// Logical right shift.
pub static SHRUI: OpRow = row(
    "arith.shrui",
    "Right shift that fills with zeros. An amount of the width or more gives zero.",
    N,
    |a, x| shift(a, x[1], |n| x[0].checked_shr(n).unwrap_or(0)),
    Some(fold_add),
);
/// Signed maximum.
pub static MAXSI: OpRow = row(
    "arith.maxsi",
    "Signed maximum.",
    MAXIMUM,
    |a, x| wrap(a, signed(a, x[0]).max(signed(a, x[1])) as u64),
    Some(left_if_equal),
)
.with_neutral(|ty| neutral(ty, |bits| 1 << (bits - 1)));
/// Unsigned maximum.
pub static MAXUI: OpRow =
    row("arith.maxui", "Unsigned maximum.", MAXIMUM, |_, x| Some(x[0].max(x[1])), Some(left_if_equal))
        .with_neutral(|ty| neutral(ty, |_| 0));
/// Signed minimum.
pub static MINSI: OpRow = row(
    "arith.minsi",
    "Signed minimum.",
    CHOICE,
    |a, x| wrap(a, signed(a, x[0]).min(signed(a, x[1])) as u64),
    Some(left_if_equal),
)
.with_neutral(|ty| neutral(ty, |bits| (1 << (bits - 1)) - 1));
/// Unsigned minimum.
pub static MINUI: OpRow =
    row("arith.minui", "Unsigned minimum.", CHOICE, |_, x| Some(x[0].min(x[1])), Some(left_if_equal))
        .with_neutral(|ty| neutral(ty, |_| u64::MAX));
/// High half of the unsigned product.
pub static MULHIUI: OpRow = row(
    "tt.mulhiui",
    "The high half of the unsigned product, for 32 and 64 bits.",
    C,
    |a, x| Some(((u128::from(x[0]) * u128::from(x[1])) >> bits(a)) as u64),
    None,
);
