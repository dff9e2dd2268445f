//! Scalar integers as text, as one would write them in the source: `n_cols`, `cdiv(K, 64)`, `pid0 * 128`.

use ir::{Def, Module, Op, OpRow, Value};
use ttir::ops::arith_cast::{EXTSI, EXTUI, TRUNCI};
use ttir::ops::arith_int::{ADDI, DIVSI, DIVUI, MAXSI, MINSI, MULI, REMSI, REMUI, SHLI, SUBI};
use ttir::ops::constant::{CONSTANT, splat_bits};
use ttir::ops::program::{AXIS, GET_NUM_PROGRAMS, GET_PROGRAM_ID};
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
    let [lower, upper, step] = [0, 1, 2].map(|slot| module.operand(op, slot));
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
    let op = module.def_op(value).filter(|op| module.is(*op, &CONSTANT))?;
    let width = elem(module.ty(value)).as_int()?;
    Some(ir::scalar::sign_extend(width, splat_bits(module.attr(op, 0)?)?))
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
    let part = |slot: usize, around: u8| write(module, module.operand(op, slot), around, depth - 1);
    if let Some((_, sign, binds)) = OPERATORS.iter().find(|(own, ..)| own.is(row)) {
        if let Some(text) = rounded_up(module, op, depth) {
            return text;
        }
        let text = format!("{} {sign} {}", part(0, *binds), part(1, binds + 1));
        return if *binds < around { format!("({text})") } else { text };
    }
    if let Some((_, name)) = FUNCTIONS.iter().find(|(own, _)| own.is(row)) {
        return format!("{name}({}, {})", part(0, 0), part(1, 0));
    }
    if [&EXTSI, &EXTUI, &TRUNCI].iter().any(|own| own.is(row)) {
        return part(0, around);
    }
    let axis = || module.attr(op, 0).and_then(|attr| attr.as_enum(&AXIS)).unwrap_or(0);
    if row.is(&GET_PROGRAM_ID) {
        return format!("program_id({})", axis());
    }
    if row.is(&GET_NUM_PROGRAMS) {
        return format!("num_programs({})", axis());
    }
    named()
}

/// `(x + (c - 1)) // c` as it was meant.
fn rounded_up(module: &Module, op: Op, depth: u32) -> Option<String> {
    if !(module.is(op, &DIVSI) || module.is(op, &DIVUI)) {
        return None;
    }
    let by = constant(module, module.operand(op, 1))?;
    let sum = module.def_op(module.operand(op, 0)).filter(|sum| module.is(*sum, &ADDI))?;
    let more = constant(module, module.operand(sum, 1))?;
    let inner = || write(module, module.operand(sum, 0), 0, depth - 1);
    (by > 1 && more == by - 1).then(|| format!("cdiv({}, {by})", inner()))
}
