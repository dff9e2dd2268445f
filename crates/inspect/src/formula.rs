//! Scalar integers as text, as one would write them in the source: `n_cols`, `cdiv(K, 64)`, `pid0 * 128`.

use ir::view::EnumAttr;
use ir::{Def, Module, Op, OpRow, Traits, Value};
use ttir::ops::arith_cast::TRUNCI;
use ttir::ops::arith_int::{ADDI, DIVSI, DIVUI, MAXSI, MINSI, MULI, REMSI, REMUI, SHLI, SUBI};
use ttir::ops::constant::splat_bits;
use ttir::ops::control::ForOp;
use ttir::ops::forms::{BinaryOp, UnaryOp};
use ttir::ops::program::{GET_PROGRAM_ID, ProgramIdOp};
use ttir::types::elem;

/// Operators: how they are written and how strongly they bind.
static OPERATORS: &[(&OpRow, &str, u8)] = &[
    (&ADDI, "+", 1),
    (&SUBI, "-", 1),
    (&MULI, "*", 2),
    (&DIVSI, "//", 2),
    (&DIVUI, "//", 2),
    (&REMSI, "%", 2),
    (&REMUI, "%", 2),
    (&SHLI, "<<", 0),
];

static FUNCTIONS: &[(&OpRow, &str)] = &[(&MINSI, "min"), (&MAXSI, "max")];

/// Deeper formulas are cut to the name of the value.
const DEPTH: u32 = 6;

/// A scalar as text.
pub(crate) fn formula(module: &Module, value: Value) -> String {
    write(module, value, 0, DEPTH)
}

/// How often a loop from `lower` to `upper` by `step` runs.
pub(crate) fn trips(module: &Module, op: Op) -> String {
    let of = ForOp::new(module, op);
    let (lower, upper, step) = (of.lower(), of.upper(), of.step());
    let distance = match constant(module, lower) {
        Some(0) => formula(module, upper),
        _ => format!("{} - {}", formula(module, upper), write(module, lower, 2, DEPTH)),
    };
    match constant(module, step) {
        Some(1) => distance,
        _ => format!("cdiv({distance}, {})", formula(module, step)),
    }
}

/// The value of a constant scalar.
pub(crate) fn constant(module: &Module, value: Value) -> Option<i64> {
    let width = elem(module.ty(value)).as_int()?;
    Some(ir::scalar::sign_extend(width, splat_bits(module.constant(value)?)?))
}

/// The name of a parameter, or of a value in the source.
pub(crate) fn name(module: &Module, value: Value) -> Option<String> {
    let located = match module.def(value) {
        Def::Arg(block, index) => module.locs.name(module.arg_loc(block, index as usize)),
        Def::Result(op, _) => module.locs.name(module.loc(op)),
    };
    module.name(value).or(located).map(str::to_owned)
}

fn write(module: &Module, value: Value, around: u8, depth: u32) -> String {
    let named = || name(module, value).unwrap_or_else(|| "?".to_owned());
    if let Some(number) = constant(module, value) {
        return number.to_string();
    }
    let Some(op) = module.def_op(value).filter(|_| depth > 0) else { return named() };
    let row = module.row(op);
    let part = |value: Value, around: u8| write(module, value, around, depth - 1);
    let pair = || (BinaryOp::new(module, op).lhs(), BinaryOp::new(module, op).rhs());
    if let Some((_, sign, binds)) = OPERATORS.iter().find(|(own, ..)| own.is(row)) {
        if let Some(text) = rounded_up(module, op, depth) {
            return text;
        }
        let (lhs, rhs) = pair();
        let text = format!("{} {sign} {}", part(lhs, *binds), part(rhs, binds + 1));
        return if *binds < around { format!("({text})") } else { text };
    }
    if let Some((_, name)) = FUNCTIONS.iter().find(|(own, _)| own.is(row)) {
        let (lhs, rhs) = pair();
        return format!("{name}({}, {})", part(lhs, 0), part(rhs, 0));
    }
    if row.traits.has(Traits::WIDENS) || row.is(&TRUNCI) {
        return part(UnaryOp::new(module, op).src(), around);
    }
    match ProgramIdOp::of(module, op) {
        Some(id) if row.is(&GET_PROGRAM_ID) => format!("program_id({})", id.axis().number()),
        Some(size) => format!("num_programs({})", size.axis().number()),
        None => named(),
    }
}

/// `(x + (c - 1)) // c` as it was meant.
fn rounded_up(module: &Module, op: Op, depth: u32) -> Option<String> {
    if !(module.is(op, &DIVSI) || module.is(op, &DIVUI)) {
        return None;
    }
    let quotient = BinaryOp::new(module, op);
    let by = constant(module, quotient.rhs())?;
    let sum = module.def_op(quotient.lhs()).filter(|sum| module.is(*sum, &ADDI))?;
    let sum = BinaryOp::new(module, sum);
    let more = constant(module, sum.rhs())?;
    let inner = || write(module, sum.lhs(), 0, depth - 1);
    (by > 1 && more == by - 1).then(|| format!("cdiv({}, {by})", inner()))
}
