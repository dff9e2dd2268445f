//! Barriers in shared memory, which count arrivals and bytes, and the fence for bulk copies.

use crate::types::{MEMDESC_ONLY, MUTABLE};
use ir::{AttrKind, AttrSpec, Format, Infer, OpRow, Traits, Type, one, optional, variadic};
use smallvec::smallvec;
use ttir::types::{BOOL, INT};

const EFFECT: Traits = Traits::READS.and(Traits::WRITES);

/// Makes a barrier.
pub static INIT_BARRIER: OpRow = OpRow {
    name: "ttng.init_barrier",
    doc: "Makes a barrier for `count` arrivals.",
    operands: &[one("alloc", &MUTABLE)],
    attrs: &[AttrSpec::required("count", AttrKind::Int(32))],
    traits: EFFECT,
    format: Format::Text("$alloc, $count attr-dict : type($alloc)"),
    ..OpRow::BASE
};

/// Ends a barrier.
pub static INVAL_BARRIER: OpRow = OpRow {
    name: "ttng.inval_barrier",
    doc: "The memory of a barrier may be used for something else.",
    operands: &[one("alloc", &MUTABLE)],
    traits: EFFECT,
    format: Format::Text("$alloc attr-dict : type($alloc)"),
    ..OpRow::BASE
};

/// Expects bytes.
pub static BARRIER_EXPECT: OpRow = OpRow {
    name: "ttng.barrier_expect",
    doc: "One arrival, and `size` bytes of bulk copies that the barrier waits for, if `pred` holds.",
    operands: &[one("alloc", &MUTABLE), one("pred", &BOOL)],
    attrs: &[AttrSpec::required("size", AttrKind::Int(32))],
    traits: EFFECT,
    format: Format::Text("$alloc, $size, $pred attr-dict : type($alloc)"),
    ..OpRow::BASE
};

/// Arrives.
pub static ARRIVE_BARRIER: OpRow = OpRow {
    name: "ttng.arrive_barrier",
    doc: "`count` arrivals, if `pred` holds.",
    operands: &[one("alloc", &MUTABLE), optional("pred", &BOOL)],
    attrs: &[AttrSpec::required("count", AttrKind::Int(32))],
    traits: EFFECT,
    format: Format::Text("$alloc, $count (, $pred)? attr-dict : type($alloc)"),
    ..OpRow::BASE
};

/// Waits at a barrier.
pub static WAIT_BARRIER: OpRow = OpRow {
    name: "ttng.wait_barrier",
    doc: "Waits until phase `phase` (0 or 1) of a barrier is complete, if `pred` holds. `deps` is memory it guards.",
    operands: &[
        one("alloc", &MEMDESC_ONLY),
        one("phase", &INT),
        optional("pred", &BOOL),
        variadic("deps", &MEMDESC_ONLY),
    ],
    traits: EFFECT,
    format: Format::Text("$alloc, $phase (, $pred)? (deps $deps)? attr-dict : type($alloc) (, type($deps))?"),
    ..OpRow::BASE
};

/// Arrives when copies are done.
pub static ASYNC_COPY_ARRIVE: OpRow = OpRow {
    name: "ttng.async_copy_mbarrier_arrive",
    doc: "Arrives when the copies begun so far are done.",
    operands: &[one("barrier", &MUTABLE)],
    attrs: &[AttrSpec::optional("noIncrement", AttrKind::Unit)],
    traits: EFFECT,
    format: Format::Text("$barrier attr-dict : type($barrier)"),
    ..OpRow::BASE
};

/// Orders plain accesses before those of matrix instructions and bulk copies.
pub static FENCE_ASYNC_SHARED: OpRow = OpRow {
    name: "ttng.fence_async_shared",
    doc: "Plain accesses to shared memory before this are seen by matrix instructions and bulk copies behind it.",
    attrs: &[AttrSpec::required("bCluster", AttrKind::Bool)],
    traits: EFFECT,
    format: Format::Text("attr-dict"),
    ..OpRow::BASE
};

/// The number of the warp.
pub static WARP_ID: OpRow = OpRow {
    name: "ttg.warp_id",
    doc: "The number of this warp in its program.",
    attrs: &[AttrSpec::optional("omitUniformHint", AttrKind::Unit)],
    results: &[one("result", &INT)],
    infer: Infer::Rule(|_| Ok(smallvec![Type::int(32)])),
    traits: Traits::PURE,
    format: Format::Text("attr-dict"),
    ..OpRow::BASE
};
