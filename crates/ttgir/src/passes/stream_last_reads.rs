//! What several loops of a program read, the last of them reads as a stream: caches may let go of it first.
//!
//! ```text
//! scf.for … { %x = tt.load %p ; … }           scf.for … { %x = tt.load %p ; … }
//! scf.for … { %x = tt.load %p ; … }     =>    scf.for … { %x = tt.load %p cacheModifier = cs ; … }
//! ```
//!
//! All programs together read more than a cache holds, and what none of them reads again should not drive out what others
//! are about to read again. Only for addresses that are computed from the number of the program, which others do not read,
//! for loads that say nothing themselves, and for loops with the same bounds that are not in a loop and have no dots, whose
//! operands programs share.

use super::pipeline_loops::is_dot;
use super::reading::{loads, origin, origins, same_turns};
use ir::pass::PassRow;
use ir::{Attr, Diagnostic, Module, Op, Value};
use rustc_hash::FxHashSet;
use ttir::ops::control::FOR;
use ttir::ops::func::FUNC;
use ttir::ops::memory::{CACHE, load_attr};
use ttir::ops::program::GET_PROGRAM_ID;

/// Marks last reads as streams.
pub static STREAM_LAST_READS: PassRow = PassRow {
    name: "stream-last-reads",
    doc: "Lets caches drop first what the last of several loops over the same memory reads.",
    run,
};

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    let functions: Vec<Op> = module.ops(module.body()).filter(|&op| module.is(op, &FUNC)).collect();
    for function in functions {
        let Some(&region) = module.regions(function).first() else { continue };
        let loops: Vec<Op> = module.ops(module.entry(region)).filter(|&op| module.is(op, &FOR)).collect();
        for (index, &op) in loops.iter().enumerate() {
            let (before, behind) = (&loops[..index], &loops[index + 1..]);
            let read = |others: &[Op]| -> FxHashSet<Value> {
                others.iter().flat_map(|&other| origins(module, other)).collect()
            };
            let same: Vec<Op> =
                before.iter().copied().filter(|&other| same_turns(module, other, op)).collect();
            let (before, behind) = (read(&same), read(behind));
            let last: FxHashSet<Value> = before.difference(&behind).copied().collect();
            if !last.is_empty() && !module.walk(op).iter().any(|&inner| is_dot(module, inner)) {
                stream(module, op, &last);
            }
        }
    }
    Ok(())
}

/// Marks the loads of an operation from these pointers.
fn stream(module: &mut Module, op: Op, pointers: &FxHashSet<Value>) {
    let row = &CACHE;
    let case = |keyword: &str| row.value(keyword).map(|value| Attr::Enum { row, value });
    for load in loads(module, op).collect::<Vec<_>>() {
        let address = module.operand(load, 0);
        let plain =
            module.attr(load, load_attr::CACHE).is_none_or(|attr| Some(attr) == case("none").as_ref());
        if plain && pointers.contains(&origin(module, address)) && is_of_program(module, address) {
            module.set_attr(load, load_attr::CACHE, case("cs"));
        }
    }
}

/// Whether a value is computed from the number of the program.
fn is_of_program(module: &Module, value: Value) -> bool {
    let mut seen: FxHashSet<Op> = FxHashSet::default();
    let mut stack = vec![value];
    while let Some(value) = stack.pop() {
        let Some(op) = module.def_op(value) else { continue };
        if module.is(op, &GET_PROGRAM_ID) {
            return true;
        }
        if seen.insert(op) {
            stack.extend(module.operands(op));
        }
    }
    false
}
