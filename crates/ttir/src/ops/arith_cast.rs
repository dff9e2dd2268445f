//! Conversions between number types, on scalars and blocks.

use crate::ops::forms::UnaryOp;
use crate::types::{FLOAT_LIKE, INT_LIKE, PTR_LIKE, VALUE_LIKE, elem_bits, int_bits, pointee};
use ir::scalar::{float_bits, float_value, sign_extend, truncate};
use ir::{EvalArgs, FloatKind, Format, Infer, LayoutRule, Module, Op, OpRow, Traits, TypeConstraint, one};
use std::cmp::Ordering;

/// Rows of this file.
pub(super) const ROWS: &[&OpRow] = &[
    &EXTSI,
    &EXTUI,
    &TRUNCI,
    &SITOFP,
    &UITOFP,
    &FPTOSI,
    &FPTOUI,
    &EXTF,
    &TRUNCF,
    &BITCAST,
    &TT_BITCAST,
    &FP_TO_FP,
    &INT_TO_PTR,
    &PTR_TO_INT,
];

type Eval = fn(&EvalArgs<'_>, &[u64]) -> Option<u64>;

const PURE: Traits = Traits::PURE.and(Traits::ELEMENTWISE);

const fn row(
    name: &'static str,
    doc: &'static str,
    operands: &'static [ir::ValueSpec],
    results: &'static [ir::ValueSpec],
    eval: Eval,
) -> OpRow {
    OpRow {
        name,
        doc,
        operands,
        results,
        infer: Infer::Explicit,
        layout: LayoutRule::Same,
        traits: PURE,
        format: Format::Text("$src attr-dict : type($src) to type($result)"),
        verify: Some(super::same_shape),
        eval: Some(eval),
        ..OpRow::BASE
    }
}

const fn input(constraint: &'static TypeConstraint) -> ir::ValueSpec {
    one("src", constraint)
}

const fn output(constraint: &'static TypeConstraint) -> ir::ValueSpec {
    one("result", constraint)
}

const INT_TO_INT: (&[ir::ValueSpec], &[ir::ValueSpec]) = (&[input(&INT_LIKE)], &[output(&INT_LIKE)]);
const INT_TO_FLOAT: (&[ir::ValueSpec], &[ir::ValueSpec]) = (&[input(&INT_LIKE)], &[output(&FLOAT_LIKE)]);
const FLOAT_TO_INT: (&[ir::ValueSpec], &[ir::ValueSpec]) = (&[input(&FLOAT_LIKE)], &[output(&INT_LIKE)]);
const FLOAT_TO_FLOAT: (&[ir::ValueSpec], &[ir::ValueSpec]) = (&[input(&FLOAT_LIKE)], &[output(&FLOAT_LIKE)]);

/// Verify rule: blocks of one shape, of whose elements the bits compare so.
fn compare_bits(module: &Module, op: Op, wanted: Ordering, what: &str) -> Result<(), String> {
    let (source, result) = (module.ty(module.operand(op, 0)), module.ty(module.result(op, 0)));
    if elem_bits(result).cmp(&elem_bits(source)) != wanted {
        return Err(format!("{source} to {result} is no conversion to {what}"));
    }
    super::same_shape(module, op)
}

fn check_wider(module: &Module, op: Op) -> Result<(), String> {
    compare_bits(module, op, Ordering::Greater, "a wider type")
}

fn check_narrower(module: &Module, op: Op) -> Result<(), String> {
    compare_bits(module, op, Ordering::Less, "a narrower type")
}

fn check_same_bits(module: &Module, op: Op) -> Result<(), String> {
    let (source, result) = (module.ty(module.operand(op, 0)), module.ty(module.result(op, 0)));
    if pointee(source).is_some() != pointee(result).is_some() {
        return Err(format!("{source} to {result}: pointers are cast to pointers alone"));
    }
    compare_bits(module, op, Ordering::Equal, "a type of as many bits")
}

/// Sign extension.
pub static EXTSI: OpRow = OpRow {
    verify: Some(check_wider),
    ..row("arith.extsi", "Sign extension.", INT_TO_INT.0, INT_TO_INT.1, |a, x| {
        Some(truncate(int_bits(a.result_type), sign_extend(int_bits(a.operand_types[0]), x[0]) as u64))
    })
    .and(Traits::WIDENS.and(Traits::INDEX))
};
/// Zero extension.
pub static EXTUI: OpRow = OpRow {
    verify: Some(check_wider),
    ..row("arith.extui", "Zero extension.", INT_TO_INT.0, INT_TO_INT.1, |_, x| Some(x[0]))
        .and(Traits::WIDENS.and(Traits::INDEX))
};
/// Truncation.
pub static TRUNCI: OpRow = OpRow {
    verify: Some(check_narrower),
    fold: Some(widened_before),
    ..row("arith.trunci", "Keeps the low bits.", INT_TO_INT.0, INT_TO_INT.1, |a, x| {
        Some(truncate(int_bits(a.result_type), x[0]))
    })
    .and(Traits::INDEX)
};
/// Signed integer to float.
pub static SITOFP: OpRow =
    row("arith.sitofp", "Signed integer to float.", INT_TO_FLOAT.0, INT_TO_FLOAT.1, |a, x| {
        let value = sign_extend(int_bits(a.operand_types[0]), x[0]);
        int_to_float(a, value as f64, value as f32)
    });
/// Unsigned integer to float.
pub static UITOFP: OpRow =
    row("arith.uitofp", "Unsigned integer to float.", INT_TO_FLOAT.0, INT_TO_FLOAT.1, |a, x| {
        int_to_float(a, x[0] as f64, x[0] as f32)
    });

/// Rounds once: to binary32 directly where that is the target, else through binary64, which holds what matters for the
/// narrower formats up to 53 bits.
fn int_to_float(args: &EvalArgs<'_>, wide: f64, narrow: f32) -> Option<u64> {
    match args.result_type.as_float()? {
        ir::FloatKind::F32 => Some(u64::from(narrow.to_bits())),
        kind => Some(float_bits(kind, wide)),
    }
}

/// Float to signed integer.
pub static FPTOSI: OpRow = row(
    "arith.fptosi",
    "Float to signed integer, toward zero. What does not fit is held at the ends of the type, or of 16 bits, whose low \
     half a byte is. Undefined for NaN.",
    FLOAT_TO_INT.0,
    FLOAT_TO_INT.1,
    |a, x| {
        let value = float_value(a.operand_types[0].as_float()?, x[0]);
        let bits = int_bits(a.result_type);
        let most = i64::MAX >> (64 - bits.max(16));
        (!value.is_nan()).then(|| truncate(bits, (value as i64).clamp(!most, most) as u64))
    },
);
/// Float to unsigned integer.
pub static FPTOUI: OpRow = row(
    "arith.fptoui",
    "Float to unsigned integer, toward zero. What does not fit is held at the ends of the type, or of 16 bits, whose low \
     half a byte is. Undefined for NaN.",
    FLOAT_TO_INT.0,
    FLOAT_TO_INT.1,
    |a, x| {
        let value = float_value(a.operand_types[0].as_float()?, x[0]);
        let bits = int_bits(a.result_type);
        let most = u64::MAX >> (64 - bits.max(16));
        (!value.is_nan()).then(|| truncate(bits, (value as u64).min(most)))
    },
);

/// The operand's value, held at the largest finite numbers of the 8-bit formats that processors convert to: their
/// conversions saturate.
fn held(a: &EvalArgs<'_>, x: &[u64]) -> Option<(FloatKind, f64)> {
    let kind = a.result_type.as_float()?;
    let value = float_value(a.operand_types[0].as_float()?, x[0]);
    Some(match kind {
        FloatKind::F8E5M2 => (kind, value.clamp(-57344.0, 57344.0)),
        FloatKind::F8E4M3FN => (kind, value.clamp(-448.0, 448.0)),
        _ => (kind, value),
    })
}

fn convert(a: &EvalArgs<'_>, x: &[u64]) -> Option<u64> {
    let (kind, value) = held(a, x)?;
    Some(float_bits(kind, value))
}

/// To a wider float.
pub static EXTF: OpRow = OpRow {
    verify: Some(check_wider),
    ..row("arith.extf", "To a wider float, exactly.", FLOAT_TO_FLOAT.0, FLOAT_TO_FLOAT.1, convert)
        .and(Traits::WIDENS.and(Traits::FLOAT_CAST))
};
/// To a narrower float.
pub static TRUNCF: OpRow = OpRow {
    verify: Some(check_narrower),
    fold: Some(widened_before),
    ..row(
        "arith.truncf",
        "To a narrower float, to nearest even.",
        FLOAT_TO_FLOAT.0,
        FLOAT_TO_FLOAT.1,
        convert,
    )
    .and(Traits::FLOAT_CAST)
};

/// A value that was widened, narrowed to the type it had: itself. (A conversion may change which NaN a NaN is; nothing
/// says which.)
fn widened_before(module: &ir::Module, op: ir::Op) -> Option<ir::Fold> {
    let widened = module.def_op(UnaryOp::new(module, op).src())?;
    let value = UnaryOp::new(module, module.has(widened, Traits::WIDENS).then_some(widened)?).src();
    (module.ty(value) == module.ty(module.result(op, 0))).then_some(ir::Fold::Value(value))
}

/// Same bits.
pub static BITCAST: OpRow = OpRow {
    verify: Some(check_same_bits),
    fold: Some(same_type),
    ..row(
        "arith.bitcast",
        "The same bits as another type.",
        &[input(&VALUE_LIKE)],
        &[output(&VALUE_LIKE)],
        |_, x| Some(x[0]),
    )
};

/// A cast to the type that the value has already.
fn same_type(module: &ir::Module, op: ir::Op) -> Option<ir::Fold> {
    let value = module.operand(op, 0);
    (module.ty(value) == module.ty(module.result(op, 0))).then_some(ir::Fold::Value(value))
}

/// Same bits, pointers included.
pub static TT_BITCAST: OpRow = OpRow {
    verify: Some(check_same_bits),
    format: Format::Text("$src attr-dict : type($src) -> type($result)"),
    fold: Some(same_type),
    ..row(
        "tt.bitcast",
        "The same bits as another type of the same width; between pointer types too.",
        &[input(&VALUE_LIKE)],
        &[output(&VALUE_LIKE)],
        |_, x| Some(x[0]),
    )
};

ir::enum_attr! {
    /// How a conversion rounds.
    Rounding, ROUNDING "rounding" { Rtz "rtz" = 0, Rtne "rtne" = 1 }
}

ir::op_view! {
    FpToFpOp of FP_TO_FP {
        operands { src: One FLOAT_LIKE }
        attrs { rounding: Option<Rounding> }
        results { result: One FLOAT_LIKE }
    }
}

/// To and from the 8-bit formats, with a rounding mode.
pub static FP_TO_FP: OpRow = OpRow {
    attrs: FpToFpOp::ROW.attrs,
    format: Format::Text("$src (, rounding = $rounding)? attr-dict : type($src) -> type($result)"),
    ..row(
        "tt.fp_to_fp",
        "Between float formats; a narrowing says how it rounds: `rtne` to nearest even, `rtz` toward zero. To `f8E5M2` and \
          `f8E4M3FN` it saturates.",
        FLOAT_TO_FLOAT.0,
        FLOAT_TO_FLOAT.1,
        |a, x| {
            if a.case() == Some(Rounding::Rtz) { toward_zero(a, x) } else { convert(a, x) }
        },
    )
    .and(Traits::FLOAT_CAST)
};

/// Nearest first, then one encoding back if that went away from zero; encodings of one sign are ordered.
fn toward_zero(a: &EvalArgs<'_>, x: &[u64]) -> Option<u64> {
    let (kind, value) = held(a, x)?;
    let bits = float_bits(kind, value);
    let rounded = float_value(kind, bits);
    if rounded.is_nan() && value.is_finite() {
        // Overflow of a format without infinities; where its NaN is the negative zero it has lost the sign.
        let sign = if value.is_sign_negative() { 0x80 } else { 0 };
        return Some((bits - 1) | sign);
    }
    let stepped = if rounded.abs() > value.abs() { bits - 1 } else { bits };
    // A small negative number becomes zero, of which some formats have one alone.
    Some(if float_value(kind, stepped).is_nan() && value.is_finite() { 0 } else { stepped })
}

/// Integer to address.
pub static INT_TO_PTR: OpRow = OpRow {
    format: Format::Text("$src attr-dict : type($src) -> type($result)"),
    ..row(
        "tt.int_to_ptr",
        "A 64-bit integer as an address.",
        &[input(&INT_LIKE)],
        &[output(&PTR_LIKE)],
        |_, x| Some(x[0]),
    )
};
/// Address to integer.
pub static PTR_TO_INT: OpRow = OpRow {
    format: Format::Text("$src attr-dict : type($src) -> type($result)"),
    ..row(
        "tt.ptr_to_int",
        "An address as a 64-bit integer.",
        &[input(&PTR_LIKE)],
        &[output(&INT_LIKE)],
        |a, x| Some(truncate(int_bits(a.result_type), x[0])),
    )
};
