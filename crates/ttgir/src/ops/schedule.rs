//! What a program says about the order in which a lane issues instructions, and which warps wait.

use ir::{Effect, Format, Infer, OpRow, Traits, Type};
use smallvec::smallvec;
use ttir::types::BOOL;

ir::enum_attr! {
    /// What may cross a scheduling barrier.
    MayCross, MAY_CROSS "mask" {
        None "none" = 0, NonMem "non_mem_non_sideeffect" = 1, Vector "valu" = 2, Scalar "salu" = 4,
        Matrix "mfma_wmma" = 8, AllGlobal "all_vmem" = 16, GlobalRead "vmem_read" = 32,
        GlobalWrite "vmem_write" = 64, AllShared "all_ds" = 128, SharedRead "ds_read" = 256,
        SharedWrite "ds_write" = 512, Transcendental "transcendentals" = 1024,
    }
}

ir::op_view! {
    SchedBarrierOp of SCHED_BARRIER {
        attrs { mask: MayCross }
    }
}

/// A barrier for the scheduler of the code generator.
pub static SCHED_BARRIER: OpRow = OpRow {
    name: "rocdl.sched.barrier",
    doc: "The code generator moves no instruction across but those that `mask` names.",
    effect: Effect::Write,
    format: Format::Text("$mask attr-dict"),
    ..SchedBarrierOp::ROW
};

ir::op_view! {
    SetPriorityOp of SET_PRIORITY {
        attrs { priority: u32 }
    }
}

/// The priority of a warp.
pub static SET_PRIORITY: OpRow = OpRow {
    name: "rocdl.s.setprio",
    doc: "From here on the warp issues before others of a lower number, from 0 to 3.",
    effect: Effect::Write,
    format: Format::Text("$priority attr-dict"),
    ..SetPriorityOp::ROW
};

ir::op_view! {
    CondBarrierOp of COND_BARRIER {
        operands { pred: One BOOL }
    }
}

/// A barrier that some warps pass one time more than others.
pub static COND_BARRIER: OpRow = OpRow {
    name: "amdg.cond_barrier",
    doc: "The warps for which `pred` holds wait at a barrier; the others go on.",
    effect: Effect::Atomic,
    format: Format::Text("$pred attr-dict"),
    ..CondBarrierOp::ROW
};

ir::op_view! {
    LaneIdOp of LANE_ID {
        results { result: One ttir::types::INT }
    }
}

/// The number of a lane.
pub static LANE_ID: OpRow = OpRow {
    name: "rocdl.workitem.id.x",
    doc: "The number of the lane in its program.",
    infer: Infer::Rule(|_| Ok(smallvec![Type::int(32)])),
    traits: Traits::PURE,
    format: Format::Text("attr-dict : type($result)"),
    ..LaneIdOp::ROW
};
