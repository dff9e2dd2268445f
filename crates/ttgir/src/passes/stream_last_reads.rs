//! What several loops of a program read, the last of them reads as a stream: caches may let go of it first.
//!
//! ```text
//! scf.for … { %x = tt.load %p ; … }           scf.for … { %x = tt.load %p ; … }
//! scf.for … { %x = tt.load %p ; … }     =>    scf.for … { %x = tt.load %p cacheModifier = cs ; … }
//! ```
//!
//! All programs together read more than a cache holds, and what none of them reads again should not drive out what
//! others are about to read again. Only for addresses that are computed from the number of the program, which others do
//! not read, for loads that say nothing themselves, and for loops with the same bounds that are not in a loop and have
//! no dots, whose operands programs share.

use super::pipeline_loops::is_dot;
use super::reading::{loads, origin, origins};
use ir::pass::PassRow;
use ir::{Block, Diagnostic, Module, Op, Value};
use rustc_hash::FxHashSet;
use ttir::ops::access::AccessOp;
use ttir::ops::control::ForOp;
use ttir::ops::func::functions;
use ttir::ops::memory::CacheModifier;
use ttir::ops::program::GET_PROGRAM_ID;

/// Marks last reads as streams.
pub static STREAM_LAST_READS: PassRow = PassRow {
    name: "stream-last-reads",
    doc: "Lets caches drop first what the last of several loops over the same memory reads.",
    run,
};

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    let bodies: Vec<Block> = functions(module).map(|func| func.entry()).collect();
    for body in bodies {
        let loops: Vec<Op> = module.ops(body).filter_map(|op| Some(ForOp::of(module, op)?.op)).collect();
        for (index, &op) in loops.iter().enumerate() {
            let (before, behind) = (&loops[..index], &loops[index + 1..]);
            let read = |others: &[Op]| -> FxHashSet<Value> {
                others.iter().flat_map(|&other| origins(module, other)).collect()
            };
            let of = ForOp::new(module, op);
            let is_same = |other: &Op| ForOp::new(module, *other).same_bounds(of);
            let same: Vec<Op> = before.iter().copied().filter(is_same).collect();
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
    let is_stream = |load: &AccessOp<'_>| {
        load.cache() == CacheModifier::None
            && pointers.contains(&origin(module, load.ptr()))
            && is_of_program(module, load.ptr())
    };
    let streams: Vec<Op> = loads(module, op).filter(is_stream).map(|load| load.op).collect();
    for load in streams {
        AccessOp::set_cache(module, load, CacheModifier::Cs);
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
