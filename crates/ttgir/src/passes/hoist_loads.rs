//! Loads that stand behind a reduction of their block, though they do not depend on it, are issued in front of it.
//!
//! ```text
//! %mean = tt.reduce %x                        %w = tt.load %p
//! %w = tt.load %p                      =>     %mean = tt.reduce %x
//! use(%mean, %w)                              use(%mean, %w)
//! ```
//!
//! A reduction over a program waits at barriers, which no later stage moves a load across, so the latency of the load would
//! follow that of the reduction. Only past operations that write nothing, in blocks without dots (their loads are
//! pipelined), and as long as all moved values take few registers: a value that lives longer costs occupancy.

use super::context::Context;
use super::pipeline_loops::is_dot;
use ir::pass::PassRow;
use ir::{Block, Def, Diagnostic, Module, Op, Traits};
use rustc_hash::FxHashSet;
use ttir::ops::memory::LoadOp;
use ttir::ops::reduce::REDUCE;
use ttir::types::{elem, elem_bytes, shape};

/// Issues loads in front of reductions.
pub static HOIST_LOADS: PassRow = PassRow {
    name: "hoist-loads",
    doc: "Issues loads in front of reductions that they do not depend on.",
    run,
};

/// Registers of a lane, 32 bits each, that all values moved in one block may take.
const REGISTERS: u64 = 64;

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    let config = Context::of(module)?.config;
    let lanes = u64::from(config.threads_per_warp * config.num_warps * config.num_ctas);
    let reductions = module.walk(module.top()).into_iter().filter(|&op| module.is(op, &REDUCE));
    let mut blocks: Vec<Block> = reductions.filter_map(|op| module.block_of(op)).collect();
    blocks.dedup();
    let mut seen = FxHashSet::default();
    for block in blocks.into_iter().filter(|&block| seen.insert(block)) {
        let has_dot = |module: &Module| {
            module.ops(block).any(|op| module.walk(op).iter().any(|&op| is_dot(module, op)))
        };
        if !has_dot(module) {
            hoist(module, block, lanes);
        }
    }
    Ok(())
}

/// Moves loads of a block in front of its first reduction.
fn hoist(module: &mut Module, block: Block, lanes: u64) {
    let mut behind: Vec<Op> = module.ops(block).skip_while(|&op| !module.is(op, &REDUCE)).collect();
    let Some(&first) = behind.first() else { return };
    behind.truncate(behind.iter().take_while(|&&op| !may_write(module, op)).count());
    let loads: Vec<Op> = behind
        .iter()
        .copied()
        .filter(|&op| LoadOp::of(module, op).is_some_and(|load| !load.volatile()))
        .collect();
    let mut budget = REGISTERS;
    for load in loads {
        let registers = registers(module, load, lanes);
        if let (true, Some(slice)) = (registers <= budget, slice(module, load, &behind)) {
            budget -= registers;
            behind.retain(|op| !slice.contains(op));
            for moved in slice {
                module.move_before(first, moved);
            }
        }
    }
}

/// Whether an operation writes memory or waits, itself or in its regions.
fn may_write(module: &Module, op: Op) -> bool {
    module.walk(op).iter().any(|&inner| {
        let quiet = module.has(inner, Traits::PURE)
            || module.has(inner, Traits::TERMINATOR) && inner != op
            || module.has(inner, Traits::READS) && !module.has(inner, Traits::WRITES)
            || module.has(inner, Traits::REGION_EFFECTS);
        !quiet
    })
}

/// Registers of a lane that the result of a load takes.
fn registers(module: &Module, load: Op, lanes: u64) -> u64 {
    let ty = module.ty(LoadOp::new(module, load).result());
    let elements = shape(ty).iter().product::<i64>().unsigned_abs();
    (elements * elem_bytes(elem(ty))).div_ceil(4 * lanes).max(1)
}

/// A load with what it depends on among these operations, in their order; `None` if one of those cannot be moved.
fn slice(module: &Module, load: Op, among: &[Op]) -> Option<Vec<Op>> {
    let movable = |op: Op| op == load || module.has(op, Traits::PURE) && module.regions(op).is_empty();
    let mut members = FxHashSet::from_iter([load]);
    let mut stack = vec![load];
    while let Some(op) = stack.pop() {
        if !movable(op) {
            return None;
        }
        for &value in module.operands(op) {
            if let Def::Result(def, _) = module.def(value)
                && among.contains(&def)
                && members.insert(def)
            {
                stack.push(def);
            }
        }
    }
    Some(among.iter().copied().filter(|op| members.contains(op)).collect())
}
