//! Barriers in shared memory, which count arrivals and bytes, and the fence for bulk copies.

use crate::types::{MEMDESC_ONLY, MUTABLE};
use ir::view::Flag;
use ir::{Effect, Format, Infer, OpRow, Traits, Type};
use smallvec::smallvec;
use ttir::types::{BOOL, INT};

ir::op_view! {
    InitBarrierOp of INIT_BARRIER {
        operands { alloc: One MUTABLE => Write }
        attrs { count: u32 }
    }
}

/// Makes a barrier.
pub static INIT_BARRIER: OpRow = OpRow {
    name: "ttng.init_barrier",
    doc: "Makes a barrier for `count` arrivals.",
    effect: Effect::Atomic,
    format: Format::Text("$alloc, $count attr-dict : type($alloc)"),
    ..InitBarrierOp::ROW
};

ir::op_view! {
    InvalBarrierOp of INVAL_BARRIER {
        operands { alloc: One MUTABLE => Write }
    }
}

/// Ends a barrier.
pub static INVAL_BARRIER: OpRow = OpRow {
    name: "ttng.inval_barrier",
    doc: "The memory of a barrier may be used for something else.",
    effect: Effect::Atomic,
    format: Format::Text("$alloc attr-dict : type($alloc)"),
    ..InvalBarrierOp::ROW
};

ir::op_view! {
    BarrierExpectOp of BARRIER_EXPECT {
        operands { alloc: One MUTABLE => Read, pred: One BOOL }
        attrs { size: u32 }
    }
}

/// Expects bytes.
pub static BARRIER_EXPECT: OpRow = OpRow {
    name: "ttng.barrier_expect",
    doc: "One arrival, and `size` bytes of bulk copies that the barrier waits for, if `pred` holds.",
    effect: Effect::Atomic,
    format: Format::Text("$alloc, $size, $pred attr-dict : type($alloc)"),
    ..BarrierExpectOp::ROW
};

ir::op_view! {
    ArriveBarrierOp of ARRIVE_BARRIER {
        operands { alloc: One MUTABLE => Read, pred: Optional BOOL }
        attrs { count: u32, per_warp: Flag, in_pair "inPair": Flag }
    }
}

/// Arrives.
pub static ARRIVE_BARRIER: OpRow = OpRow {
    name: "ttng.arrive_barrier",
    doc: "`count` arrivals, if `pred` holds; with `per_warp`, so many by each warp that comes here, for its own accesses; \
          with `inPair`, also at the same barrier of the other program of the pair.",
    effect: Effect::Atomic,
    format: Format::Text("$alloc, $count (, $pred)? attr-dict : type($alloc)"),
    ..ArriveBarrierOp::ROW
};

ir::op_view! {
    WaitBarrierOp of WAIT_BARRIER {
        operands {
            alloc: One MEMDESC_ONLY => Read,
            phase: One INT,
            pred: Optional BOOL,
            deps: Variadic MEMDESC_ONLY => Nothing,
        }
    }
}

/// Waits at a barrier.
pub static WAIT_BARRIER: OpRow = OpRow {
    name: "ttng.wait_barrier",
    doc: "Waits until phase `phase` (0 or 1) of a barrier is complete, if `pred` holds. `deps` is memory it guards.",
    effect: Effect::Atomic,
    format: Format::Text("$alloc, $phase (, $pred)? (deps $deps)? attr-dict : type($alloc) (, type($deps))?"),
    ..WaitBarrierOp::ROW
};

ir::op_view! {
    AsyncCopyArriveOp of ASYNC_COPY_ARRIVE {
        operands { barrier: One MUTABLE => Read }
        attrs { no_increment "noIncrement": Flag }
    }
}

/// Arrives when copies are done.
pub static ASYNC_COPY_ARRIVE: OpRow = OpRow {
    name: "ttng.async_copy_mbarrier_arrive",
    doc: "Arrives when the copies begun so far are done.",
    effect: Effect::Atomic,
    format: Format::Text("$barrier attr-dict : type($barrier)"),
    ..AsyncCopyArriveOp::ROW
};

ir::op_view! {
    FenceAsyncSharedOp of FENCE_ASYNC_SHARED {
        attrs { cluster "bCluster": bool }
    }
}

/// Orders plain accesses before those of matrix instructions and bulk copies.
pub static FENCE_ASYNC_SHARED: OpRow = OpRow {
    name: "ttng.fence_async_shared",
    doc: "Plain accesses to shared memory before this are seen by matrix instructions and bulk copies behind it.",
    effect: Effect::Atomic,
    format: Format::Text("attr-dict"),
    ..FenceAsyncSharedOp::ROW
};

/// Orders plain accesses to the device's memory before those of bulk copies.
pub static FENCE_ASYNC_GLOBAL: OpRow = OpRow {
    name: "ttng.fence_async_global",
    doc: "Plain accesses to the device's memory before this come before those of bulk copies behind it.",
    effect: Effect::Atomic,
    format: Format::Text("attr-dict"),
    ..OpRow::BASE
};

ir::op_view! {
    WarpIdOp of WARP_ID {
        attrs { omit_uniform_hint "omitUniformHint": Flag }
        results { result: One INT }
    }
}

/// The number of the warp.
pub static WARP_ID: OpRow = OpRow {
    name: "ttg.warp_id",
    doc: "The number of this warp in its program.",
    infer: Infer::Rule(|_| Ok(smallvec![Type::int(32)])),
    traits: Traits::PURE,
    format: Format::Text("attr-dict"),
    ..WarpIdOp::ROW
};
