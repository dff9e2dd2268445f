//! Float arithmetic on scalars and blocks, rounded to nearest even in the format of the operands.

use crate::types::FLOAT_LIKE;
use ir::scalar::{float_bits, float_value};
use ir::{EvalArgs, Format, Infer, LayoutRule, OpRow, Rates, Traits, ValueSpec, one};

/// Rows of this file.
pub(super) const ROWS: &[&OpRow] = &[
    &ADDF,
    &SUBF,
    &MULF,
    &DIVF,
    &REMF,
    &NEGF,
    &MAXIMUMF,
    &MINIMUMF,
    &MAXNUMF,
    &MINNUMF,
    &PRECISE_DIVF,
    &CLAMPF,
];

type Eval = fn(&EvalArgs<'_>, &[u64]) -> Option<u64>;

const OPERANDS: &[ValueSpec] = &[one("lhs", &FLOAT_LIKE), one("rhs", &FLOAT_LIKE)];
const RESULTS: &[ValueSpec] = &[one("result", &FLOAT_LIKE)];

const fn row(name: &'static str, doc: &'static str, traits: Traits, eval: Eval) -> OpRow {
    OpRow {
        name,
        doc,
        operands: OPERANDS,
        results: RESULTS,
        infer: Infer::SameAs(0),
        layout: LayoutRule::Same,
        rates: Rates::new(1.0, 0.0),
        traits: traits.and(Traits::PURE).and(Traits::ELEMENTWISE),
        format: Format::Text("$lhs, $rhs attr-dict : type($result)"),
        verify: Some(super::same_type_operands),
        eval: Some(eval),
        ..OpRow::BASE
    }
}

/// Applies a function to the values of the operands. Binary64 holds sums, products, quotients and roots of narrower
/// formats with more than twice their precision plus two bits, so that rounding twice is rounding once
/// (S. Figueroa, "When is double rounding innocuous?", 1995).
pub(crate) fn on_values(args: &EvalArgs<'_>, x: &[u64], apply: impl Fn(&[f64]) -> f64) -> Option<u64> {
    let kind = args.result_type.as_float()?;
    let mut values = [0.0; 3];
    for ((value, &bits), ty) in values.iter_mut().zip(x).zip(args.operand_types) {
        *value = float_value(ty.as_float()?, bits);
    }
    Some(float_bits(kind, apply(&values[..x.len().min(3)])))
}

/// Maximum that is NaN where an operand is; +0 is above -0 (IEEE 754-2019 `maximum`).
fn maximum(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() {
        f64::NAN
    } else if x == y {
        if x.is_sign_positive() { x } else { y }
    } else if x > y {
        x
    } else {
        y
    }
}

/// Maximum that ignores a NaN operand (IEEE 754-2019 `maximumNumber`).
fn maximum_number(x: f64, y: f64) -> f64 {
    if x.is_nan() {
        y
    } else if y.is_nan() {
        x
    } else {
        maximum(x, y)
    }
}

const C: Traits = Traits::COMMUTATIVE;
const N: Traits = Traits::NONE;
const CHOICE: Traits = C.and(Traits::CHOOSES);
const MAXIMUM: Traits = CHOICE.and(Traits::MAXIMUM);

/// Sum.
pub static ADDF: OpRow = row("arith.addf", "Sum.", C, |a, x| on_values(a, x, |v| v[0] + v[1]))
    .with_neutral(|ty| Some(float_bits(ty.as_float()?, -0.0)));
/// Difference.
pub static SUBF: OpRow = row("arith.subf", "Difference.", N, |a, x| on_values(a, x, |v| v[0] - v[1]));
/// Product.
pub static MULF: OpRow = row("arith.mulf", "Product.", C, |a, x| on_values(a, x, |v| v[0] * v[1]))
    .with_neutral(|ty| Some(float_bits(ty.as_float()?, 1.0)));
/// Quotient.
pub static DIVF: OpRow = row("arith.divf", "Quotient.", N, |a, x| on_values(a, x, |v| v[0] / v[1]))
    .with_rates(4.0, 1.0)
    .within(2, [-1e10, 1e10]);
/// Quotient, always correctly rounded.
pub static PRECISE_DIVF: OpRow =
    row("tt.precise_divf", "Quotient, correctly rounded.", N, |a, x| on_values(a, x, |v| v[0] / v[1]))
        .with_rates(8.0, 1.0);
/// Remainder.
pub static REMF: OpRow = row("arith.remf", "Remainder with the sign of the dividend (fmod).", N, |a, x| {
    on_values(a, x, |v| v[0] % v[1])
})
.with_rates(8.0, 1.0);
/// IEEE maximum.
pub static MAXIMUMF: OpRow =
    row("arith.maximumf", "Maximum; NaN where an operand is NaN.", MAXIMUM, |a, x| {
        on_values(a, x, |v| maximum(v[0], v[1]))
    })
    .with_neutral(|ty| Some(float_bits(ty.as_float()?, f64::NEG_INFINITY)));
/// IEEE minimum.
pub static MINIMUMF: OpRow =
    row("arith.minimumf", "Minimum; NaN where an operand is NaN.", CHOICE, |a, x| {
        on_values(a, x, |v| -maximum(-v[0], -v[1]))
    })
    .with_neutral(|ty| Some(float_bits(ty.as_float()?, f64::INFINITY)));
/// Maximum of numbers.
pub static MAXNUMF: OpRow = row("arith.maxnumf", "Maximum; a NaN operand is ignored.", MAXIMUM, |a, x| {
    on_values(a, x, |v| maximum_number(v[0], v[1]))
})
.with_neutral(|ty| Some(float_bits(ty.as_float()?, f64::NAN)));
/// Minimum of numbers.
pub static MINNUMF: OpRow = row("arith.minnumf", "Minimum; a NaN operand is ignored.", CHOICE, |a, x| {
    on_values(a, x, |v| -maximum_number(-v[0], -v[1]))
})
.with_neutral(|ty| Some(float_bits(ty.as_float()?, f64::NAN)));

/// Negation.
pub static NEGF: OpRow = OpRow {
    name: "arith.negf",
    doc: "Negation: flips the sign, of NaN and zero too.",
    operands: &[one("src", &FLOAT_LIKE)],
    results: &[one("result", &FLOAT_LIKE)],
    infer: Infer::SameAs(0),
    layout: LayoutRule::Same,
    rates: Rates::new(1.0, 0.0),
    traits: Traits::PURE.and(Traits::ELEMENTWISE),
    format: Format::Text("$src attr-dict : type($result)"),
    eval: Some(|a, x| Some(x[0] ^ 1 << (a.result_type.scalar_bits()? - 1))),
    ..OpRow::BASE
};

ir::enum_attr! {
    /// What becomes of NaN in a minimum or maximum.
    PropagateNan, PROPAGATE_NAN "propagateNan" { None "none" = 0, All "all" = 65535 }
}

ir::op_view! {
    ClampOp of CLAMPF {
        operands { x: One FLOAT_LIKE, min: One FLOAT_LIKE, max: One FLOAT_LIKE }
        attrs { propagate_nan "propagateNan": PropagateNan = Enum(PropagateNan::None as u32) }
        results { result: One FLOAT_LIKE }
    }
}

/// Clamping.
pub static CLAMPF: OpRow = OpRow {
    name: "tt.clampf",
    doc: "`x` held between `min` and `max`. A NaN `x` gives `min` unless `propagateNan = all`, then NaN.",
    infer: Infer::SameAs(0),
    layout: LayoutRule::Same,
    rates: Rates::new(2.0, 0.0),
    traits: Traits::PURE.and(Traits::ELEMENTWISE).and(Traits::CHOOSES),
    format: Format::Text("$x, $min, $max, propagateNan = $propagateNan attr-dict : type($result)"),
    verify: Some(super::same_type_operands),
    eval: Some(|a, x| {
        let all = a.case() == Some(PropagateNan::All);
        on_values(a, x, |v| {
            if all && v[0].is_nan() { f64::NAN } else { -maximum_number(-maximum_number(v[0], v[1]), -v[2]) }
        })
    }),
    ..ClampOp::ROW
};
