//! Blocks that dots alone read, and whose loads no loop has begun ahead, are copied to shared memory without passing
//! through registers: each copy begins where the iteration begins its first one, and is waited for where its block is
//! first wanted.
//!
//! ```text
//! scf.for … {                                   scf.for … {
//!   %x = tt.load %p                               %c = ttg.async_copy_global_to_local %p, %m
//!   %m = ttg.local_alloc %x                       %d = ttg.async_copy_global_to_local %q, %n
//!   %s = ttng.warp_group_dot %a, %m         =>    ttg.async_wait {num = 1}
//!   …                                             %s = ttng.warp_group_dot %a, %m
//!   %y = tt.load %q                               …
//!   %n = ttg.local_alloc %y                       ttg.async_wait {num = 0}
//!   %o = ttng.warp_group_dot %s, %n               %o = ttng.warp_group_dot %s, %n
//! }                                             }
//! ```
//!
//! Machine code keeps a load behind a barrier where it stands, and holds what is loaded in registers until shared
//! memory takes it. Left out: loops that have copies ahead, whose groups are counted; loads whose blocks other
//! operations read; loops where no copy begins earlier than its load and whose iterations have the registers they need:
//! a load by registers need not wait until the buffer was read, which costs a barrier (states of abc, 227 µs for 246 on
//! an H200). Copies are not under way past what may write to memory, and begin early only where a multiprocessor holds
//! as many programs with the shared memory that this takes.

use super::buffer_reads::read_instead;
use super::context::Context;
use super::pipeline_loops::{PipelinedLoad, copy_of};
use super::pressure::Pressure;
use super::residency::{RESERVE, buffer_bytes};
use super::touches::may_write;
use crate::Encoding;
use crate::ops::access::is_block_load;
use crate::ops::async_copy::{ASYNC_COMMIT_GROUP, ASYNC_COPY, ASYNC_WAIT, AsyncCopyOp, AsyncWaitOp};
use crate::ops::shared::{AllocOp, allocate};
use crate::types::{memdesc_type, token_type};
use ir::pass::PassRow;
use ir::{Block, Builder, Diagnostic, Module, Op, Place, Traits, Value};
use rustc_hash::FxHashSet;
use ttir::axis::AxisTable;
use ttir::ops::access::AccessOp;
use ttir::ops::control::FOR;
use ttir::ops::dot::MatmulOp;
use ttir::ops::func::FUNC;
use ttir::ops::reduce::CombineOp;
use ttir::ops::shape::TRANS;
use ttir::types::{elem, elem_bytes, shape};

/// Copies what dots alone read without holding it in registers.
pub static COPY_LOADS: PassRow = PassRow {
    name: "copy-loads",
    doc: "Blocks that dots alone read are copied to shared memory without passing through registers.",
    run,
};

/// Bytes of the most shared memory of a program that are left to conversions and reductions.
const SCRATCH: u32 = 32 << 10;

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    let context = Context::of(module)?;
    if !context.machine.async_copy() || context.machine.staged_loads {
        return Ok(());
    }
    for function in module.ops(module.body()).filter(|&op| module.is(op, &FUNC)).collect::<Vec<_>>() {
        let bodies = bodies(module, function);
        if bodies.is_empty() {
            continue;
        }
        let axis = ttir::axis::analyze(module, function);
        for body in bodies {
            copy_all(module, (function, body), &context, &axis);
        }
    }
    Ok(())
}

/// Bodies of loops with dots and loads of blocks, of nests of loops without copies ahead.
fn bodies(module: &Module, function: Op) -> Vec<Block> {
    let loops = module.walk(function).into_iter().filter(|&op| module.is(op, &FOR));
    let is_whole = |op: Op| {
        let nest = std::iter::successors(Some(op), |&op| module.parent_op(op));
        let outermost = nest.filter(|&op| module.has(op, Traits::LOOP)).last();
        let inside = outermost.map(|outermost| module.walk(outermost)).unwrap_or_default();
        !inside.iter().any(|&inner| module.is(inner, &ASYNC_COPY) || module.is(inner, &ASYNC_WAIT))
    };
    let has = |body: Block| {
        module.ops(body).any(|op| MatmulOp::of(module, op).is_some())
            && module.ops(body).any(|op| is_block_load(module, op))
    };
    loops.filter(|&op| is_whole(op)).map(|op| module.entry_of(op)).filter(|&body| has(body)).collect()
}

/// A copy of a body: where it begins and where it is waited for.
struct Copy {
    of: PipelinedLoad,
    /// The first operation that reads the block.
    reader: Op,
    /// Operations that move in front of the first load with it, if it begins there.
    moves: Option<Vec<Op>>,
}

fn copy_all(module: &mut Module, (function, body): (Op, Block), context: &Context, axis: &AxisTable) {
    let mut copies: Vec<Copy> = Vec::new();
    let mut room = room(module, function, context);
    for load in module.ops(body).filter(|&op| is_block_load(module, op)).collect::<Vec<_>>() {
        let Some(of) = copy_of(module, load, axis, context.machine).filter(|of| of.other.is_none()) else {
            continue;
        };
        let Some(reader) = first_reader(module, body, load) else { continue };
        if !is_quiet(module, load, reader) {
            continue;
        }
        let bytes = new_bytes(module, load);
        let moves = copies.first().map(|first| first.of.load).and_then(|first| {
            let moves = moves(module, first, load)?;
            (bytes <= room).then_some(moves)
        });
        room = room.saturating_sub(bytes);
        copies.push(Copy { of, reader, moves });
    }
    let Some(first) = copies.first().map(|copy| copy.of.load) else { return };
    let begins_early = |copy: &Copy| copy.moves.is_some() && is_behind_wait(module, first, copy.of.load);
    if !is_tight(module, (function, body), context) && !copies.iter().any(begins_early) {
        return;
    }
    let mut begun: Vec<(Op, Value)> = Vec::new();
    let mut moved = FxHashSet::default();
    for copy in &copies {
        let place = if copy.moves.is_some() { first } else { copy.of.load };
        // What two copies depend on has moved with the first of them.
        for &op in copy.moves.iter().flatten().filter(|&&op| moved.insert(op)) {
            module.move_before(first, op);
        }
        begun.push(begin(module, &copy.of, place));
    }
    for (copy, &(group, buffer)) in copies.iter().zip(&begun) {
        let mut builder =
            Builder { loc: module.loc(copy.of.load), place: Place::Before(copy.reader), module };
        let pending = groups_between(builder.module, group, copy.reader);
        let token = builder.build_as(&ASYNC_WAIT, &[], &AsyncWaitOp::attrs(pending), token_type());
        builder.module.move_before(copy.reader, copy.of.load);
        builder.place = Place::Before(copy.of.load);
        read_instead(&mut builder, copy.of.load, None, buffer, Some(token));
        module.erase(copy.of.load);
    }
}

/// The first operation that reads a block, if all do in its own body and none keeps it in registers as it was loaded.
fn first_reader(module: &Module, body: Block, load: Op) -> Option<Op> {
    let block = module.result(load, 0);
    let users = module.uses(block);
    if !is_taken(module, body, block) {
        return None;
    }
    module.ops(body).find(|&op| users.iter().any(|use_| use_.0 == op))
}

/// Whether all users put a block into shared memory or make it an operand of a dot, perhaps transposed.
fn is_taken(module: &Module, body: Block, block: Value) -> bool {
    let users = module.uses(block);
    let takes = |user: Op| {
        let becomes_operand = module.has(user, Traits::RELAYOUT)
            && matches!(Encoding::of(module.ty(module.result(user, 0))), Some(Encoding::DotOp { .. }));
        let is_turned = || module.is(user, &TRANS) && is_taken(module, body, module.result(user, 0));
        AllocOp::is(module, user) || becomes_operand || is_turned()
    };
    !users.is_empty() && users.iter().all(|use_| module.block_of(use_.0) == Some(body) && takes(use_.0))
}

/// Whether nothing from a load on and in front of a reader may write to memory.
fn is_quiet(module: &Module, load: Op, reader: Op) -> bool {
    let between = std::iter::successors(module.next(load), |&op| module.next(op));
    let mut between = between.take_while(|&op| op != reader);
    !between.any(|op| module.walk(op).iter().any(|&inner| may_write(module, inner)))
}

/// Whether warps wait for each other, or for a dot, between two loads.
fn is_behind_wait(module: &Module, first: Op, load: Op) -> bool {
    let mut between = std::iter::successors(module.next(first), |&op| module.next(op));
    let waits = |op: Op| {
        module.has(op, Traits::RELAYOUT)
            || CombineOp::of(module, op).is_some()
            || MatmulOp::of(module, op).is_some()
    };
    between.by_ref().take_while(|&op| op != load).any(waits)
}

/// Whether a body needs more registers than a lane has.
fn is_tight(module: &Module, (function, body): (Op, Block), context: &Context) -> bool {
    let limit = u64::from(context.machine.lane_registers).saturating_sub(RESERVE);
    Pressure::of(module, function).blocks_above(limit).contains(&body)
}

/// What a load depends on behind the first one, in order, if all of it and the load may stand there.
fn moves(module: &Module, first: Op, load: Op) -> Option<Vec<Op>> {
    if !is_quiet(module, first, load) {
        return None;
    }
    let between: Vec<Op> = std::iter::successors(module.next(first), |&op| module.next(op))
        .take_while(|&op| op != load)
        .collect();
    let mut wanted: Vec<Value> = module.operands(load).to_vec();
    let mut moves: Vec<Op> = Vec::new();
    for &op in between.iter().rev() {
        if !module.results(op).iter().any(|result| wanted.contains(result)) {
            continue;
        }
        if !module.has(op, Traits::PURE)
            || !module.regions(op).is_empty()
            || MatmulOp::of(module, op).is_some()
        {
            return None;
        }
        wanted.extend(module.operands(op));
        moves.push(op);
    }
    moves.reverse();
    Some(moves)
}

/// Begins a copy, its own group.
fn begin(module: &mut Module, copy: &PipelinedLoad, place: Op) -> (Op, Value) {
    let load = AccessOp::new(module, copy.load);
    let (pointer, mask, ty) = (load.ptr(), load.mask(), module.ty(module.result(copy.load, 0)));
    let attrs = AsyncCopyOp::attrs(load.cache(), load.evict(), false, copy.vector as u32);
    let mut builder = Builder { loc: module.loc(copy.load), place: Place::Before(place), module };
    let target = allocate(&mut builder, memdesc_type(shape(ty), elem(ty), &copy.shared, true));
    let operands: Vec<Value> = [pointer, target].into_iter().chain(mask).collect();
    let token = builder.build_as(&ASYNC_COPY, &operands, &attrs, token_type());
    let group = builder.build_as(&ASYNC_COMMIT_GROUP, &[token], &[], token_type());
    let group = builder.module.def_op(group).expect("it was built");
    (group, target)
}

/// Groups that were begun between one and its reader.
fn groups_between(module: &Module, group: Op, reader: Op) -> u32 {
    let between = std::iter::successors(module.next(group), |&op| module.next(op));
    between.take_while(|&op| op != reader).filter(|&op| module.is(op, &ASYNC_COMMIT_GROUP)).count() as u32
}

/// Bytes of shared memory that buffers may take without keeping a program of 128 registers a lane from a
/// multiprocessor, beside those that the function has.
fn room(module: &Module, function: Op, context: &Context) -> u64 {
    let machine = context.machine;
    let lanes = context.config.num_warps * context.config.threads_per_warp;
    let programs = (2 * machine.sm_registers / (lanes * machine.lane_registers.max(1))).max(1);
    let most = machine.shared_bytes.saturating_sub(SCRATCH);
    let each = u64::from((machine.sm_shared_bytes / programs).min(most));
    each.saturating_sub(buffer_bytes(module, function) + u64::from(machine.reserved_shared_bytes))
}

/// Bytes of a block that lies in no shared memory yet.
fn new_bytes(module: &Module, load: Op) -> u64 {
    let value = module.result(load, 0);
    if module.uses(value).iter().any(|&(user, _)| AllocOp::is(module, user)) {
        return 0;
    }
    let ty = module.ty(value);
    shape(ty).iter().product::<i64>() as u64 * elem_bytes(elem(ty))
}
