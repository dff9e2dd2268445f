//! The op rows that layouts add, one file per family.

pub mod access;
pub mod async_copy;
pub mod barrier;
pub mod buffer;
pub mod bulk;
pub mod convert;
pub mod group_dot;
pub mod roles;
pub mod scaled_dot;
pub mod schedule;
pub mod shared;
pub mod turns;

use ir::{Dialect, OpRow};

/// Every row that layouts add.
pub static DIALECT: Dialect = Dialect {
    name: "ttg",
    families: &[ROWS],
    attrs: crate::encoding::ATTR_ROWS,
    types: &[&crate::types::MEMDESC, &crate::types::TOKEN],
};

const ROWS: &[&OpRow] = &[
    &convert::CONVERT_LAYOUT,
    &shared::LOCAL_ALLOC,
    &shared::LOCAL_DEALLOC,
    &shared::LOCAL_LOAD,
    &shared::LOCAL_STORE,
    &shared::MEMDESC_INDEX,
    &shared::MEMDESC_SUBSLICE,
    &shared::MEMDESC_TRANS,
    &shared::MEMDESC_RESHAPE,
    &shared::MEMDESC_REINTERPRET,
    &async_copy::ASYNC_COPY,
    &async_copy::ASYNC_COMMIT_GROUP,
    &async_copy::ASYNC_WAIT,
    &group_dot::WARP_GROUP_DOT,
    &group_dot::WARP_GROUP_DOT_WAIT,
    &scaled_dot::SCALED_DOT,
    &barrier::INIT_BARRIER,
    &barrier::INVAL_BARRIER,
    &barrier::BARRIER_EXPECT,
    &barrier::ARRIVE_BARRIER,
    &barrier::WAIT_BARRIER,
    &barrier::ASYNC_COPY_ARRIVE,
    &barrier::FENCE_ASYNC_SHARED,
    &barrier::FENCE_ASYNC_GLOBAL,
    &barrier::WARP_ID,
    &buffer::BUFFER_LOAD,
    &buffer::BUFFER_STORE,
    &buffer::BUFFER_LOAD_TO_LOCAL,
    &buffer::IN_THREAD_TRANSPOSE,
    &roles::WARP_SPECIALIZE,
    &roles::WARP_YIELD,
    &roles::WARP_RETURN,
    &turns::WAIT_TURN,
    &turns::GIVE_TURN,
    &schedule::SCHED_BARRIER,
    &schedule::SET_PRIORITY,
    &schedule::COND_BARRIER,
    &schedule::LANE_ID,
    &bulk::GLOBAL_SCRATCH_ALLOC,
    &bulk::BULK_LOAD,
    &bulk::BULK_STORE,
    &bulk::LANES_STORE,
    &bulk::LANES_REDUCE,
    &bulk::BULK_REDUCE,
    &bulk::BULK_STORE_WAIT,
    &bulk::TENSORMAP_CREATE,
    &bulk::TENSORMAP_ACQUIRE,
    &bulk::REINTERPRET_DESCRIPTOR,
];
