//! Warps with roles: `ttg.warp_specialize`.
//!
//! The kernel is launched with the warps of the program and those of all partitions. Who a warp is decides one branch
//! around the whole kernel:
//!
//! ```text
//! if warp < num_warps {                      else {
//!   … ; captured values to memory              barrier of all
//!   barrier of all                             if it is a warp of partition 0 { captured values ; partition 0 }
//!   default region                             if it is a warp of partition 1 { … }
//!   barrier of all ; …                         barrier of all
//! }                                          }
//! ```
//!
//! All other barriers are of one role: named ones for so many lanes. Where the program says how many registers a
//! partition needs, whole warp groups that share registers are launched, and what partitions leave goes to the
//! warps of the program. Left out: roles inside of loops and conditions, tensors in partitions, clusters.

use super::{Entry, SharingEntry};
use crate::context::{Cx, Role};
use crate::error::Result;
use crate::packing::{as_integer, from_integer, integer_of};
use crate::roles::{GROUP, Registers, Roles};
use crate::shared::{Need, Order};
use crate::target::Access;
use crate::value::LaneValue;
use ir::{Block, Module, Op, Value as IrValue};
use llir::{IntCompare, Value, ValueDef};
use rustc_hash::FxHashSet;
use std::rc::Rc;
use ttgir::ops::roles::{WARP_SPECIALIZE, WarpSpecializeOp};
use ttgir::ops::turns::{GIVE_TURN, GiveTurnOp, Giving, WAIT_TURN};
use ttir::ops::control::ForOp;
use ttir::types::{is_scalar, is_tensor};

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[(&WAIT_TURN, wait_turn), (&GIVE_TURN, give_turn)];

/// Roles need a place in shared memory for each captured value.
pub(crate) const SHARING: &[SharingEntry] = &[(&WARP_SPECIALIZE, lower_default, |_, module, op| {
    let captures = WarpSpecializeOp::new(module, op).captures().len() as u32;
    Ok(Need { bytes: captures * CAPTURE_BYTES, align: 16, order: Order::Waits })
})];

/// Bytes for a captured value.
const CAPTURE_BYTES: u32 = 8;
/// The named barrier of all warps.
const ALL: u32 = 1;
/// The named barrier of the first partition; others follow. That of the program's warps is 0.
const FIRST_PARTITION: u32 = 2;
/// The named barriers at which warp groups wait for their turn; there are 16 in all.
const FIRST_TURN: u32 = 8;

/// Lowers a kernel with roles.
///
/// # Errors
/// What its operations say, and where roles stand in a place from which the branch cannot be made.
pub(crate) fn lower_kernel(cx: &mut Cx<'_>, entry: Block, roles: &Rc<Roles>) -> Result<()> {
    check(cx, entry, roles)?;
    let program = cx.num_warps;
    let warp = cx.warp_of_block();
    let limit = cx.b.i32(program as i32);
    let is_of_program = cx.b.icmp(IntCompare::Slt, warp, limit);
    let mut branch = cx.b.begin_if(is_of_program);
    cx.roles = Some(roles.clone());
    cx.enter_role(Role { barrier: 0, first_warp: 0, num_warps: program }, warp);
    if let Some(Registers { entry, default, .. }) = &roles.registers
        && default > entry
    {
        cx.target.set_registers(&mut cx.b, *default, true);
    }
    cx.lower_block(entry)?;
    cx.b.begin_else(&mut branch, &[]);
    give_registers(cx, (warp, program), roles);
    for &op in &roles.ops {
        lower_partitions(cx, op, (warp, program), roles)?;
    }
    cx.b.end_if(branch, &[]);
    Ok(())
}

/// Roles stand in the kernel itself, and the machine can run them.
fn check(cx: &Cx<'_>, entry: Block, roles: &Roles) -> Result<()> {
    for &op in &roles.ops {
        let parts = WarpSpecializeOp::new(cx.module, op).partitions(cx.num_warps);
        let message = if !cx.target.has_roles() {
            "the machine has no barriers for some warps of a program alone".to_owned()
        } else if cx.module.block_of(op) != Some(entry) {
            "roles stand inside of a loop, a condition or a function".to_owned()
        } else if cx.num_blocks > 1 {
            "the blocks of a cluster cannot have roles".to_owned()
        } else if parts.len() as u32 > FIRST_TURN - FIRST_PARTITION {
            format!("{} partitions: there are barriers for {}", parts.len(), FIRST_TURN - FIRST_PARTITION)
        } else if roles.total_warps > cx.target.machine().max_warps {
            let most = cx.target.machine().max_warps;
            format!("{} warps in all, the machine runs at most {most}", roles.total_warps)
        } else if let Some(ty) = parts.iter().find_map(|part| used_of_outside(cx.module, part.block)) {
            format!(
                "a partition uses a value of type {ty} that is none of its arguments: `capture-values` makes arguments of such"
            )
        } else if let Some(ty) = parts.iter().find_map(|part| tensor_in(cx.module, part.block)) {
            format!("a partition holds {ty}: partitions have scalars and memory alone")
        } else {
            continue;
        };
        return Err(cx.error(op, message));
    }
    Ok(())
}

/// The type of a value that a partition uses and that is made outside of it.
fn used_of_outside(module: &Module, block: Block) -> Option<ir::Type> {
    let mut own: FxHashSet<IrValue> = module.args(block).iter().copied().collect();
    let inside: Vec<Op> = module.ops(block).flat_map(|op| module.walk(op)).collect();
    for &op in &inside {
        let regions = module.regions(op).iter().flat_map(|&region| module.blocks(region));
        own.extend(regions.flat_map(|&block| module.args(block)));
        own.extend(module.results(op));
    }
    let mut used = inside.iter().flat_map(|&op| module.operands(op));
    used.find(|value| !own.contains(value)).map(|&value| module.ty(value))
}

/// The type of a tensor that a partition makes.
fn tensor_in(module: &Module, block: Block) -> Option<ir::Type> {
    let inside = module.ops(block).flat_map(|op| module.walk(op));
    let mut types = inside.flat_map(|op| module.results(op)).map(|&value| module.ty(value));
    types.find(|&ty| is_tensor(ty))
}

/// All warps, whatever their roles are, wait for each other; in pairs, those of both programs: neither fills the
/// other's memory before there are barriers, and neither ends, or uses its memory for something else, before the other
/// has filled it.
fn all_meet(cx: &mut Cx<'_>, roles: &Roles) {
    if cx.facts.paired {
        return cx.target.cluster_barrier(&mut cx.b);
    }
    let lanes = roles.total_warps * cx.lanes;
    cx.target.barrier_of(&mut cx.b, ALL, lanes);
}

/// What the program's warps do.
fn lower_default(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let Some(roles) = cx.roles.clone() else {
        return Err(cx.error(op, "roles stand inside of a function"));
    };
    let of = WarpSpecializeOp::new(cx.module, op);
    for (number, &capture) in of.captures().iter().enumerate() {
        hand_over(cx, op, number, capture)?;
    }
    all_meet(cx, &roles);
    for (result, value) in of.results().iter().zip(cx.inline_block(of.default_block(), &[])?) {
        cx.set(*result, value);
    }
    all_meet(cx, &roles);
    Ok(())
}

/// The number of this warp's group, and that of the last one, if groups take turns in a kernel: where the lanes of all
/// groups wait for each other in a loop with turns, those who wait for their turn would wait forever.
fn turns(cx: &mut Cx<'_>) -> Option<(Value, u32)> {
    let ops: Vec<Op> = cx.roles.clone()?.ops.iter().flat_map(|&op| cx.module.walk(op)).collect();
    let has_turns = |around: &Op| {
        let block = ForOp::of(cx.module, *around).map(ForOp::body);
        block.is_some_and(|body| cx.module.ops(body).any(|op| cx.module.is(op, &WAIT_TURN)))
    };
    let mut inside =
        ops.iter().copied().filter(has_turns).flat_map(|around| cx.module.walk(around).into_iter().skip(1));
    if inside.any(|op| cx.shared.barrier_before(op).is_some() || cx.shared.offset(op).is_some()) {
        return None;
    }
    let warp = cx.ids().warp;
    let by = cx.b.i32(GROUP.trailing_zeros() as i32);
    Some((cx.b.lshr(warp, by), cx.num_warps / GROUP - 1))
}

/// Lanes that meet when a turn is given: of the group that gives it and of the one that waits for it.
fn lanes_of_turn(cx: &Cx<'_>) -> u32 {
    2 * GROUP * cx.lanes
}

/// Waits at the barrier of the own group.
fn wait_turn(cx: &mut Cx<'_>, _: Op) -> Result<()> {
    let Some((group, _)) = turns(cx) else { return Ok(()) };
    let first = cx.b.i32(FIRST_TURN as i32);
    let number = cx.b.add(group, first);
    let lanes = lanes_of_turn(cx);
    cx.target.arrive_at(&mut cx.b, number, lanes, true, None);
    Ok(())
}

/// Arrives at the barrier of the next group.
fn give_turn(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let giving = GiveTurnOp::new(cx.module, op).giving();
    let Some((group, last)) = turns(cx) else { return Ok(()) };
    let [first, one, last] = [FIRST_TURN, 1, last].map(|number| cx.b.i32(number as i32));
    let next = cx.b.add(group, one);
    let next = cx.b.and(next, last);
    let number = cx.b.add(next, first);
    let when = match giving {
        Giving::Begin => Some(cx.b.icmp(IntCompare::Eq, group, last)),
        Giving::Each => None,
        Giving::End => Some(cx.b.icmp(IntCompare::Ne, group, last)),
    };
    let lanes = lanes_of_turn(cx);
    cx.target.arrive_at(&mut cx.b, number, lanes, false, when);
    Ok(())
}

/// The warps behind the program's give registers away, before they wait for the program's, which wait for registers.
fn give_registers(cx: &mut Cx<'_>, (warp, program): (Value, u32), roles: &Roles) {
    let Some(registers) = &roles.registers else { return };
    for (number, &count) in registers.groups.iter().enumerate().filter(|(_, count)| **count < registers.entry)
    {
        let start = program + number as u32 * GROUP;
        let is_member = is_between(cx, warp, [start, start + GROUP], [program, roles.total_warps]);
        let branch = is_member.map(|is_member| cx.b.begin_if(is_member));
        cx.target.set_registers(&mut cx.b, count, false);
        if let Some(branch) = branch {
            cx.b.end_if(branch, &[]);
        }
    }
}

/// What the warps of the partitions do.
fn lower_partitions(cx: &mut Cx<'_>, op: Op, (warp, program): (Value, u32), roles: &Roles) -> Result<()> {
    let of = WarpSpecializeOp::new(cx.module, op);
    all_meet(cx, roles);
    for part in of.partitions(program) {
        let range = [part.first_warp, part.first_warp + part.num_warps];
        let is_member = is_between(cx, warp, range, [program, roles.total_warps]);
        let branch = is_member.map(|is_member| cx.b.begin_if(is_member));
        let barrier = FIRST_PARTITION + part.number as u32;
        cx.enter_role(Role { barrier, first_warp: part.first_warp, num_warps: part.num_warps }, warp);
        let mut captured = Vec::new();
        for (number, &capture) in of.captures().iter().enumerate() {
            captured.push(receive(cx, op, number, capture)?);
        }
        cx.inline_block(part.block, &captured)?;
        if let Some(branch) = branch {
            cx.b.end_if(branch, &[]);
        }
    }
    all_meet(cx, roles);
    Ok(())
}

/// Whether a warp is in a range, given one that it is in; `None` where that is the same.
fn is_between(
    cx: &mut Cx<'_>,
    warp: Value,
    [start, end]: [u32; 2],
    [first, total]: [u32; 2],
) -> Option<Value> {
    let [low, high] = [start, end].map(|bound| cx.b.i32(bound as i32));
    let above = (start > first).then(|| cx.b.icmp(IntCompare::Sge, warp, low));
    let below = (end < total).then(|| cx.b.icmp(IntCompare::Slt, warp, high));
    match (above, below) {
        (Some(above), Some(below)) => Some(cx.b.and(above, below)),
        (one, other) => one.or(other),
    }
}

/// Whether a value is known everywhere in the kernel: a parameter or a constant.
fn is_known(cx: &Cx<'_>, value: Value) -> bool {
    matches!(cx.b.func().value(value).def, ValueDef::Constant(_) | ValueDef::Param(_))
}

/// An address as another one and so many bytes; any other value as it is.
fn base_of(cx: &Cx<'_>, value: Value) -> (Value, i64) {
    if cx.b.ty(value).is_ptr() { cx.split_pointer(value) } else { (value, 0) }
}

/// The parts of a captured value, or why it cannot be captured.
fn only_part(cx: &Cx<'_>, op: Op, capture: IrValue) -> Result<Value> {
    let value = cx.get(capture)?;
    match &value {
        LaneValue::Scalar(value) => Ok(*value),
        LaneValue::Shared(memory) if memory.offsets.is_empty() => Ok(memory.base),
        _ => {
            let ty = cx.module.ty(capture);
            let hint = if is_scalar(ty) { "" } else { "; capture what it is made of" };
            Err(cx.error(op, format!("a partition cannot take a value of type {ty}{hint}")))
        }
    }
}

/// Where a captured value is put.
fn slot(cx: &mut Cx<'_>, op: Op, number: usize) -> Result<(Value, i64)> {
    let Some(region) = cx.scratch(op) else { return Err(cx.error(op, "has no memory")) };
    Ok((region.base, region.offset + number as i64 * i64::from(CAPTURE_BYTES)))
}

/// The first lane of the program puts a captured value where the partitions find it, unless they know it anyway.
fn hand_over(cx: &mut Cx<'_>, op: Op, number: usize, capture: IrValue) -> Result<()> {
    let value = only_part(cx, op, capture)?;
    if is_known(cx, base_of(cx, value).0) {
        return Ok(());
    }
    let (pointer, offset) = slot(cx, op, number)?;
    let bits = as_integer(cx, value);
    let access = Access { mask: Some(cx.is_first_lane()), ..Access::new(pointer, offset, cx.b.ty(bits), 1) };
    cx.target.store(&mut cx.b, &access, &[bits]);
    Ok(())
}

/// A captured value in a partition.
fn receive(cx: &mut Cx<'_>, op: Op, number: usize, capture: IrValue) -> Result<LaneValue> {
    let value = only_part(cx, op, capture)?;
    let (base, constant) = base_of(cx, value);
    let own = if is_known(cx, base) {
        cx.affine.join_pointer(&mut cx.b, base, constant)
    } else {
        let (pointer, offset) = slot(cx, op, number)?;
        let ty = cx.b.ty(value);
        let access = Access::new(pointer, offset, integer_of(ty), 1);
        let loaded = cx.target.load(&mut cx.b, &access, &[]);
        from_integer(cx, loaded[0], ty)
    };
    Ok(cx.get(capture)?.rebuild(&mut [own].into_iter()))
}
