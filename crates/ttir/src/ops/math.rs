//! Elementary functions, on scalars and blocks. Engines may differ by two units in the last place from the exact
//! result, except where a row says "correctly rounded".

use super::arith_float::on_values;
use crate::types::{FLOAT_LIKE, INT_LIKE};
use ir::scalar::{sign_extend, truncate};
use ir::{CostClass, EvalArgs, Format, Infer, LayoutRule, OpRow, Rates, Traits, ValueSpec, one};

/// Rows of this file.
pub(super) const ROWS: &[&OpRow] = &[
    &ABSF,
    &ABSI,
    &CEIL,
    &FLOOR,
    &EXP,
    &EXP2,
    &LOG,
    &LOG2,
    &LOG1P,
    &SIN,
    &COS,
    &SQRT,
    &PRECISE_SQRT,
    &RSQRT,
    &ERF,
    &TANH,
    &COSH,
    &FMA,
];

type Eval = fn(&EvalArgs<'_>, &[u64]) -> Option<u64>;

const OPERANDS: &[ValueSpec] = &[one("src", &FLOAT_LIKE)];
const RESULTS: &[ValueSpec] = &[one("result", &FLOAT_LIKE)];

const fn row(name: &'static str, doc: &'static str, eval: Eval) -> OpRow {
    OpRow {
        name,
        doc,
        operands: OPERANDS,
        results: RESULTS,
        infer: Infer::SameAs(0),
        layout: LayoutRule::Same,
        cost: CostClass::Function,
        traits: Traits::PURE.and(Traits::ELEMENTWISE),
        format: Format::Text("$src attr-dict : type($result)"),
        eval: Some(eval),
        ..OpRow::BASE
    }
}

const fn series(name: &'static str, doc: &'static str, eval: Eval) -> OpRow {
    row(name, doc, eval).and(Traits::SERIES)
}

const fn exponential(name: &'static str, doc: &'static str, eval: Eval) -> OpRow {
    series(name, doc, eval).and(Traits::EXPONENTIAL)
}

/// Absolute value.
pub static ABSF: OpRow = row("math.absf", "Absolute value: clears the sign.", |a, x| {
    Some(x[0] & !(1 << (a.result_type.scalar_bits()? - 1)))
});
/// Rounds up.
pub static CEIL: OpRow = row("math.ceil", "The next integer up.", |a, x| on_values(a, x, |v| v[0].ceil()));
/// Rounds down.
pub static FLOOR: OpRow =
    row("math.floor", "The next integer down.", |a, x| on_values(a, x, |v| v[0].floor()));
/// Exponential.
pub static EXP: OpRow =
    exponential("math.exp", "e to the power of the operand.", |a, x| on_values(a, x, |v| v[0].exp()))
        .with_rates(1.0, 1.0)
        .within(2, [-87.0, 88.0]);
/// Exponential of base 2.
pub static EXP2: OpRow =
    exponential("math.exp2", "2 to the power of the operand.", |a, x| on_values(a, x, |v| v[0].exp2()))
        .with_rates(0.0, 1.0)
        .within(2, [-125.0, 127.0]);
/// Natural logarithm.
pub static LOG: OpRow = series("math.log", "Natural logarithm.", |a, x| on_values(a, x, |v| v[0].ln()))
    .with_rates(1.0, 1.0)
    .within(2, [1e-30, 4.0]);
/// Logarithm of base 2.
pub static LOG2: OpRow = series("math.log2", "Logarithm of base 2.", |a, x| on_values(a, x, |v| v[0].log2()))
    .with_rates(0.0, 1.0)
    .within(2, [1e-30, 4.0]);
/// Natural logarithm of one more.
pub static LOG1P: OpRow =
    series("math.log1p", "Natural logarithm of one plus the operand, which may be small.", |a, x| {
        on_values(a, x, |v| v[0].ln_1p())
    })
    .with_rates(12.0, 0.0)
    .within(2, [-0.99, 4.0]);
/// Sine.
pub static SIN: OpRow =
    series("math.sin", "Sine of an angle in radians.", |a, x| on_values(a, x, |v| v[0].sin()))
        .with_rates(4.0, 1.0)
        .within(2, [-100.0, 100.0]);
/// Cosine.
pub static COS: OpRow =
    series("math.cos", "Cosine of an angle in radians.", |a, x| on_values(a, x, |v| v[0].cos()))
        .with_rates(4.0, 1.0)
        .within(2, [-100.0, 100.0]);
/// Square root.
pub static SQRT: OpRow = row("math.sqrt", "Square root.", |a, x| on_values(a, x, |v| v[0].sqrt()))
    .with_rates(1.0, 1.0)
    .within(2, [1e-30, 1e30]);
/// Square root, correctly rounded.
pub static PRECISE_SQRT: OpRow =
    row("tt.precise_sqrt", "Square root, correctly rounded.", |a, x| on_values(a, x, |v| v[0].sqrt()))
        .with_rates(6.0, 1.0);
/// Reciprocal square root.
pub static RSQRT: OpRow =
    row("math.rsqrt", "One over the square root.", |a, x| on_values(a, x, |v| 1.0 / v[0].sqrt()))
        .with_rates(0.0, 1.0)
        .within(2, [1e-30, 1e30]);
/// Error function.
pub static ERF: OpRow = series("math.erf", "Error function.", |a, x| on_values(a, x, |v| libm::erf(v[0])))
    .with_rates(20.0, 1.0)
    .within(2, [-4.0, 4.0]);
/// Hyperbolic tangent.
pub static TANH: OpRow = series("math.tanh", "Hyperbolic tangent.", |a, x| on_values(a, x, |v| v[0].tanh()))
    .with_rates(8.0, 2.0)
    .within(2, [-9.0, 9.0]);

/// Hyperbolic cosine.
pub static COSH: OpRow = series("math.cosh", "Hyperbolic cosine.", |a, x| on_values(a, x, |v| v[0].cosh()))
    .with_rates(10.0, 1.0)
    .within(2, [-80.0, 80.0]);

/// Absolute value of an integer.
pub static ABSI: OpRow = OpRow {
    operands: &[one("src", &INT_LIKE)],
    results: &[one("result", &INT_LIKE)],
    ..row("math.absi", "Absolute value of a signed integer, wrapping.", |a, x| {
        let bits = a.result_type.as_int()?;
        Some(truncate(bits, sign_extend(bits, x[0]).wrapping_abs() as u64))
    })
};

/// Fused multiply-add.
pub static FMA: OpRow = OpRow {
    operands: &[one("a", &FLOAT_LIKE), one("b", &FLOAT_LIKE), one("c", &FLOAT_LIKE)],
    format: Format::Text("$a, $b, $c attr-dict : type($result)"),
    verify: Some(super::same_type_operands),
    rates: Rates::new(2.0, 0.0),
    ..row("math.fma", "a * b + c, rounded once.", |a, x| match a.result_type.as_float()? {
        ir::FloatKind::F32 => {
            let [p, q, r] = [x[0], x[1], x[2]].map(|bits| f32::from_bits(bits as u32));
            Some(u64::from(p.mul_add(q, r).to_bits()))
        }
        // The product of narrower formats is exact in binary64; the sum may round twice in rare ties.
        _ => on_values(a, x, |v| v[0].mul_add(v[1], v[2])),
    })
};
