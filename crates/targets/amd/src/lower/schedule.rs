//! What a program says about the order of instructions: scheduling barriers, priorities, barriers of some warps.
//!
//! ```text
//! amdg.cond_barrier %pred    =>    %all = readfirstlane %pred ; br %all, label %wait, label %on
//!                                  wait: fence ; s_barrier ; fence
//! ```

use amdgcn_isa::{exchange, system};
use ir::{Module, Op};
use lanes::{Cx, Handler, LaneValue, Result};
use llir::{IntCompare, Type};
use ttgir::ops::schedule::{
    COND_BARRIER, CondBarrierOp, LANE_ID, SCHED_BARRIER, SET_PRIORITY, SchedBarrierOp, SetPriorityOp,
};

/// Rows of this file.
const TABLE: &[(&ir::OpRow, Handler)] = &[
    (&SCHED_BARRIER, sched_barrier),
    (&SET_PRIORITY, set_priority),
    (&COND_BARRIER, cond_barrier),
    (&LANE_ID, lane_id),
];

/// The handler of an operation of this file.
pub(super) fn handler(module: &Module, op: Op) -> Option<Handler> {
    TABLE.iter().find(|(row, _)| module.is(op, row)).map(|(_, handler)| *handler)
}

fn sched_barrier(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let mask = SchedBarrierOp::new(cx.module, op).mask() as i32;
    let mask = cx.b.i32(mask);
    cx.b.intrinsic_void(&system::SCHED_BARRIER, &[mask]);
    Ok(())
}

fn set_priority(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let priority = SetPriorityOp::new(cx.module, op).priority();
    let priority = cx.b.int(Type::int(16), i64::from(priority));
    cx.b.intrinsic_void(&system::S_SETPRIO, &[priority]);
    Ok(())
}

/// All lanes of a warp have the same predicate, which the branch must know: a barrier is one instruction of the warp.
fn cond_barrier(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let pred = cx.scalar(CondBarrierOp::new(cx.module, op).pred())?;
    let word = cx.b.resize_unsigned(pred, Type::I32);
    let word = cx.b.intrinsic(&exchange::READFIRSTLANE, Type::I32, &[word]);
    let zero = cx.b.i32(0);
    let all = cx.b.icmp(IntCompare::Ne, word, zero);
    let branch = cx.b.begin_if(all);
    cx.target.barrier(&mut cx.b);
    cx.b.end_if(branch, &[]);
    Ok(())
}

fn lane_id(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let id = cx.b.intrinsic(&system::WORKITEM_ID_X, Type::I32, &[]);
    cx.set_result(op, LaneValue::Scalar(id));
    Ok(())
}
