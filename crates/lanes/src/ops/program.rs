//! Where a program stands in its grid, and what it may assume.

use super::Entry;
use crate::context::Cx;
use crate::error::Result;
use crate::value::LaneValue;
use ir::Op;
use ttir::ops::program::{
    ASSUME, GET_NUM_PROGRAMS, GET_PROGRAM_ID, GRID_DEPENDENCY_LAUNCH_DEPENDENTS, GRID_DEPENDENCY_WAIT,
    ProgramIdOp,
};

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[
    (&GET_PROGRAM_ID, |cx, op| {
        let axis = axis(cx, op);
        let value = cx.program_id(axis);
        cx.set_result(op, LaneValue::Scalar(value));
        Ok(())
    }),
    (&GET_NUM_PROGRAMS, |cx, op| {
        let axis = axis(cx, op);
        let value = cx.num_programs(axis);
        cx.set_result(op, LaneValue::Scalar(value));
        Ok(())
    }),
    (&GRID_DEPENDENCY_WAIT, |cx, _| {
        cx.target.await_launch_before(&mut cx.b);
        Ok(())
    }),
    (&GRID_DEPENDENCY_LAUNCH_DEPENDENTS, |cx, _| {
        cx.target.release_launch_behind(&mut cx.b);
        Ok(())
    }),
    // What is assumed was used by earlier stages; nothing is left to do.
    (&ASSUME, |_, _| -> Result<()> { Ok(()) }),
];

fn axis(cx: &Cx<'_>, op: Op) -> u32 {
    ProgramIdOp::new(cx.module, op).axis() as u32
}
