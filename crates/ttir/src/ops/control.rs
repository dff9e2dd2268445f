//! Structured control flow: loops and conditions whose regions yield values.

use super::control_text as text;
use crate::passes::patterns;
use crate::types::{BOOL, INT};
use ir::{ANY, DeclaredKey, Format, Infer, Module, Op, OpRow, Traits, Type, Value, one, variadic};

/// How many iterations of a loop are in flight.
pub static NUM_STAGES: DeclaredKey =
    DeclaredKey::new("tt.num_stages", "Stages of software pipelining of this loop.");
/// How often a loop is unrolled.
pub static UNROLL: DeclaredKey = DeclaredKey::new("tt.loop_unroll_factor", "How often the body is repeated.");
/// Whether nested loops become one.
pub static FLATTEN: DeclaredKey = DeclaredKey::new("tt.flatten", "Fuse this loop with the one around it.");
/// Whether warps take different roles.
pub static WARP_SPECIALIZE: DeclaredKey =
    DeclaredKey::new("tt.warp_specialize", "Warps may take different roles in this loop.");
/// Whether an accumulator may have several buffers.
pub static DISALLOW_ACC_MULTI_BUFFER: DeclaredKey =
    DeclaredKey::new("tt.disallow_acc_multi_buffer", "An accumulator has one buffer only.");
/// Whether invariant operations stay in the loop.
pub static DISABLE_LICM: DeclaredKey =
    DeclaredKey::new("tt.disable_licm", "Invariant operations stay in the loop.");

/// Counted loop. Region arguments: the counter, then one for each carried value.
pub static FOR: OpRow = OpRow {
    name: "scf.for",
    doc: "Counts from `lower` up to, without, `upper` in steps of `step` (positive, signed); carries values.",
    operands: &[one("lower", &INT), one("upper", &INT), one("step", &INT), variadic("inits", &ANY)],
    results: &[variadic("results", &ANY)],
    infer: Infer::Rule(|args| Ok(args.operands.iter().skip(3).map(|&value| args.module.ty(value)).collect())),
    regions: Some(1),
    traits: Traits::REGION_EFFECTS.and(Traits::LOOP),
    format: Format::Custom { print: text::print_for, parse: text::parse_for },
    verify: Some(|module, op| {
        let bound = module.ty(module.operand(op, 0));
        if (1..3).any(|index| module.ty(module.operand(op, index)) != bound) {
            return Err("bounds and step must have the same type".into());
        }
        let inits: Vec<Type> = types(module, &module.operands(op)[3..]);
        let block = module.entry(module.region(op, 0));
        let args = types(module, module.args(block));
        if args.first() != Some(&bound) || args[1..] != inits[..] {
            return Err(format!("the body takes {args:?}, given {bound} and {inits:?}"));
        }
        if types(module, module.results(op)) != inits {
            return Err("results and initial values differ in type".into());
        }
        yields(module, op, 0, &inits)
    }),
    patterns: &[
        patterns::skip_empty_loop,
        patterns::inline_single_iteration,
        patterns::forward_invariant_values,
        patterns::drop_unneeded_values,
    ],
    ..OpRow::BASE
};

/// Condition. Two regions; the second may be without a block when there are no results.
pub static IF: OpRow = OpRow {
    name: "scf.if",
    doc: "Runs one of two regions and yields its values.",
    operands: &[one("condition", &BOOL)],
    results: &[variadic("results", &ANY)],
    infer: Infer::Explicit,
    regions: Some(2),
    traits: Traits::REGION_EFFECTS,
    format: Format::Custom { print: text::print_if, parse: text::parse_if },
    verify: Some(|module, op| {
        let results = types(module, module.results(op));
        yields(module, op, 0, &results)?;
        if module.blocks(module.region(op, 1)).is_empty() {
            return if results.is_empty() {
                Ok(())
            } else {
                Err("an `if` with results needs an `else`".into())
            };
        }
        yields(module, op, 1, &results)
    }),
    patterns: &[patterns::fold_if],
    ..OpRow::BASE
};

/// Loop with a condition. The first region takes the carried values and ends in [`CONDITION`]; the second takes what that
/// passes on and yields the next carried values.
pub static WHILE: OpRow = OpRow {
    name: "scf.while",
    doc: "Repeats: runs the first region; if its condition holds, runs the second with what it passes on.",
    operands: &[variadic("inits", &ANY)],
    results: &[variadic("results", &ANY)],
    infer: Infer::Explicit,
    regions: Some(2),
    traits: Traits::REGION_EFFECTS.and(Traits::LOOP),
    format: Format::Custom { print: text::print_while, parse: text::parse_while },
    verify: Some(|module, op| {
        let inits = types(module, module.operands(op));
        let before = module.entry(module.region(op, 0));
        let Some(&after) = module.blocks(module.region(op, 1)).first() else {
            return Err("the second region has no block".into());
        };
        if types(module, module.args(before)) != inits {
            return Err("the first region does not take the initial values".into());
        }
        let results = types(module, module.results(op));
        if types(module, module.args(after)) != results {
            return Err("the second region does not take the values that the first passes on".into());
        }
        match module.last_op(before) {
            Some(last)
                if module.is(last, &CONDITION) && types(module, &module.operands(last)[1..]) == results =>
            {
                yields(module, op, 1, &inits)
            }
            _ => Err("the first region must end in scf.condition with values of the result types".into()),
        }
    }),
    ..OpRow::BASE
};

/// Ends the first region of [`WHILE`].
pub static CONDITION: OpRow = OpRow {
    name: "scf.condition",
    doc: "Ends the first region of a `while`: whether to go on, and the values to go on with or to end with.",
    operands: &[one("condition", &BOOL), variadic("args", &ANY)],
    traits: Traits::TERMINATOR.and(Traits::PURE),
    format: Format::Custom { print: text::print_condition, parse: text::parse_condition },
    ..OpRow::BASE
};

/// Ends a region with values.
pub static YIELD: OpRow = OpRow {
    name: "scf.yield",
    doc: "Ends a region with the values it yields.",
    operands: &[variadic("results", &ANY)],
    traits: Traits::TERMINATOR.and(Traits::PURE),
    format: Format::Text("attr-dict ($results : type($results))?"),
    ..OpRow::BASE
};

fn types(module: &Module, values: &[Value]) -> Vec<Type> {
    values.iter().map(|&value| module.ty(value)).collect()
}

fn yields(module: &Module, op: Op, region: usize, expected: &[Type]) -> Result<(), String> {
    let Some(&block) = module.blocks(module.region(op, region)).first() else {
        return Err("a region has no block".into());
    };
    match module.last_op(block) {
        Some(last) if module.is(last, &YIELD) && types(module, module.operands(last)) == expected => Ok(()),
        Some(last) if module.is(last, &YIELD) => {
            Err(format!("a region yields {:?}, expected {expected:?}", types(module, module.operands(last))))
        }
        _ => Err("a region must end in scf.yield".into()),
    }
}
