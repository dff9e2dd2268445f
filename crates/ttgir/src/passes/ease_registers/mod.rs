//! Programs that need more registers than a lane has keep blocks in them for a shorter time.
//!
//! ```text
//! %b = ttg.convert_layout %x                    %v = tt.load %p
//! %v = tt.load %p                               %m = ttg.local_alloc %v
//! %s = ttng.warp_group_dot …              =>    %s = ttng.warp_group_dot …
//! %m = ttg.local_alloc %v                       %d = ttng.warp_group_dot %s, %m, …
//! %d = ttng.warp_group_dot %s, %m, …            %b = ttg.convert_layout %x
//! use(%b)                                       use(%b)
//! ```
//!
//! What only fills shared memory does so as soon as it is there, and what is computed is computed where it is used
//! first ([`compute_late`]), loads of memory aside, which take their time; operands of dots that stay the same in a
//! loop are read from shared memory by each iteration ([`read_again`](mod@read_again)). Registers are counted from the
//! layouts ([`super::pressure`]). Machine code is ordered anew between barriers only, so that blocks which are held
//! over one stay there. Left alone: programs that need no more than there are, what is computed while a dot runs, and,
//! where loops have dots of warp groups, everything but loaded blocks that fill shared memory.

mod read_again;

use super::context::Context;
use super::fit_registers::compute_late;
use super::pressure::Pressure;
use super::residency::{RESERVE, buffer_bytes};
use crate::ops::access::is_block_load;
use crate::ops::group_dot::{WARP_GROUP_DOT, WARP_GROUP_DOT_WAIT, WarpGroupDotOp};
use crate::ops::shared::AllocOp;
use ir::pass::PassRow;
use ir::{Block, Def, Diagnostic, Module, Op, Traits};
use read_again::read_again;

/// Programs that need more registers than a lane has keep blocks in them for a shorter time.
pub static EASE_REGISTERS: PassRow = PassRow {
    name: "ease-registers",
    doc: "Programs that need more registers than a lane has keep blocks in them for a shorter time.",
    run,
};

/// Bytes of shared memory that are left to conversions and reductions.
const SCRATCH: u64 = 16 << 10;

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    let context = Context::of(module)?;
    let limit = u64::from(context.machine.lane_registers).saturating_sub(RESERVE);
    for function in module.ops(module.body()).collect::<Vec<_>>() {
        if !module.has(function, Traits::SYMBOL) || module.regions(function).is_empty() {
            continue;
        }
        let over_groups = loops_over_groups(module, function);
        let mut room = Room::of(module, function, &context);
        if !over_groups {
            read_again(module, function, limit, &mut room, &context);
        }
        let tight = Pressure::of(module, function).blocks_above(limit);
        if !tight.is_empty() && room.is_enough() {
            fill_early(module, function, over_groups);
        }
        if over_groups {
            continue;
        }
        for block in tight.into_iter().filter(|&block| !overlaps_dots(module, block)).collect::<Vec<_>>() {
            compute_late(module, block);
        }
    }
    Ok(())
}

/// Whether a loop of a function has a dot of warp groups.
fn loops_over_groups(module: &Module, function: Op) -> bool {
    let mut loops = module.walk(function).into_iter().filter(|&op| module.has(op, Traits::LOOP));
    loops.any(|op| module.walk(op).into_iter().any(|inner| module.is(inner, &WARP_GROUP_DOT)))
}

/// Whether a block computes while a dot of warp groups runs: it would wait for the dot instead.
fn overlaps_dots(module: &Module, block: Block) -> bool {
    let ops: Vec<Op> = module.ops(block).collect();
    let is_dot = |op: Op| module.is(op, &WARP_GROUP_DOT);
    let goes_on = |op: Op| is_dot(op) || module.is(op, &WARP_GROUP_DOT_WAIT);
    ops.windows(2)
        .any(|pair| is_dot(pair[0]) && WarpGroupDotOp::new(module, pair[0]).is_async() && !goes_on(pair[1]))
}

/// Shared memory that is left where a multiprocessor holds as many programs that use all registers and no two buffers
/// share memory.
struct Room {
    /// Bytes of the buffers.
    used: u64,
    most: u64,
    /// Bytes of a multiprocessor, and those of each program that it keeps.
    sm: u64,
    kept: u64,
}

impl Room {
    fn of(module: &Module, function: Op, context: &Context) -> Room {
        let machine = context.machine;
        let lanes = context.config.num_warps * context.config.threads_per_warp;
        let programs = u64::from((machine.sm_registers / (lanes * machine.lane_registers.max(1))).max(1));
        let used = buffer_bytes(module, function);
        let of_each = u64::from(machine.sm_shared_bytes) / programs;
        let most = of_each.saturating_sub(u64::from(machine.reserved_shared_bytes));
        Room {
            used,
            most: most.min(u64::from(machine.shared_bytes)),
            sm: u64::from(machine.sm_shared_bytes),
            kept: u64::from(machine.reserved_shared_bytes),
        }
    }

    fn is_enough(&self) -> bool {
        self.used <= self.most
    }

    /// Whether there is room for a buffer beside what conversions and reductions need, which then has it.
    fn take(&mut self, bytes: u64) -> bool {
        let fits = self.used + bytes + SCRATCH <= self.most;
        self.used += if fits { bytes } else { 0 };
        fits
    }

    /// How many programs a multiprocessor has shared memory for, if each has so many bytes more.
    fn programs(&self, more: u64) -> u64 {
        self.sm / (self.used + more + SCRATCH + self.kept)
    }
}

/// Fills shared memory right behind what makes the block, or, where that is asked for, only with what is loaded.
fn fill_early(module: &mut Module, function: Op, only_loaded: bool) {
    for op in module.walk(function) {
        let source = AllocOp::of(module, op).and_then(|alloc| alloc.src());
        let Some(source) = source.filter(|&source| module.uses(source).len() == 1) else { continue };
        let Def::Result(made, _) = module.def(source) else { continue };
        let is_near = module.block_of(made) == module.block_of(op) && module.regions(made).is_empty();
        if is_near && (!only_loaded || is_block_load(module, made)) {
            module.detach(op);
            module.insert_after(made, op);
        }
    }
}
