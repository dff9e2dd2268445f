//! Atomic operations on memory. Each returns what was there before.

use super::memory::check_pointee;
use crate::types::{
    BOOL_LIKE, INT, INT_LIKE, PTR_LIKE, VALUE_LIKE, elem, elem_bits, is_scalar, pointee, with_elem,
};
use ir::view::EnumAttr;
use ir::{AccessWidth, Format, Infer, LayoutRule, Module, Op, OpRow, Traits, Type};
use smallvec::smallvec;

/// Rows of this file.
pub(super) const ROWS: &[&OpRow] = &[&ATOMIC_RMW, &ATOMIC_CAS, &ATOMIC_LOAD, &ATOMIC_STORE, &ATOMIC_POLL];

ir::enum_attr! {
    /// What an atomic read-modify-write does.
    Rmw, RMW "atomic_rmw_op" {
        And "and" = 1, Or "or" = 2, Xor "xor" = 3, Add "add" = 4, Fadd "fadd" = 5, Max "max" = 6,
        Min "min" = 7, Umax "umax" = 8, Umin "umin" = 9, Exch "exch" = 10,
    }
}

ir::enum_attr! {
    /// How an atomic orders the accesses around it.
    Sem, SEM "sem" { Relaxed "relaxed" = 1, Acquire "acquire" = 2, Release "release" = 3, AcqRel "acq_rel" = 4 }
}

ir::enum_attr! {
    /// Among whom an atomic is atomic.
    Scope, SCOPE "scope" { Gpu "gpu" = 1, Cta "cta" = 2, Sys "sys" = 3 }
}

impl Sem {
    /// Whether the accesses of all lanes before an atomic come first.
    pub fn releases(self) -> bool {
        matches!(self, Sem::Release | Sem::AcqRel)
    }

    /// Whether the accesses of all lanes after an atomic stay behind.
    pub fn acquires(self) -> bool {
        matches!(self, Sem::Acquire | Sem::AcqRel)
    }
}

ir::op_view! {
    AtomicRmwOp of ATOMIC_RMW {
        operands { ptr: One PTR_LIKE => Atomic, value: One VALUE_LIKE, mask: Optional BOOL_LIKE }
        attrs { kind "atomic_rmw_op": Rmw, sem: Sem, scope: Scope }
        results { result: One VALUE_LIKE }
    }
}

/// Read-modify-write.
pub static ATOMIC_RMW: OpRow = OpRow {
    name: "tt.atomic_rmw",
    doc: "Combines each value into memory atomically where the mask holds; the results are the old values, undefined \
          where it does not.",
    infer: Infer::SameAs(1),
    layout: LayoutRule::Same,
    // Machines combine two of 16 bits at once.
    access: Some(AccessWidth::Bytes(4)),
    format: Format::Text("$atomic_rmw_op, $sem, $scope, $ptr, $value (, $mask)? attr-dict : functional-type"),
    verify: Some(check_rmw),
    ..AtomicRmwOp::ROW
};

/// What an atomic writes or compares with fits what its addresses point to.
fn check_value(module: &Module, op: Op, value: usize) -> Result<(), String> {
    check_size(module, op)?;
    check_pointee(module, op, 0, value)
}

/// No machine changes more than 64 bits at once.
fn check_size(module: &Module, op: Op) -> Result<(), String> {
    match pointee(module.ty(module.operand(op, 0))) {
        Some(elem) if is_scalar(elem) && elem_bits(elem) > 64 => {
            Err(format!("there are no atomics of {elem}"))
        }
        _ => Ok(()),
    }
}

/// Sums of floats have a kind of their own, and bits are those of integers.
fn check_rmw(module: &Module, op: Op) -> Result<(), String> {
    check_value(module, op, 1)?;
    super::same_shape(module, op)?;
    let (kind, ty) = (AtomicRmwOp::new(module, op).kind(), module.ty(module.operand(op, 1)));
    let fits = match kind {
        Rmw::Fadd => elem(ty).as_float().is_some(),
        Rmw::And | Rmw::Or | Rmw::Xor | Rmw::Add | Rmw::Umax | Rmw::Umin => elem(ty).as_int().is_some(),
        Rmw::Max | Rmw::Min => pointee(ty).is_none(),
        Rmw::Exch => true,
    };
    if fits { Ok(()) } else { Err(format!("there is no atomic `{}` of {ty}", kind.keyword())) }
}

ir::op_view! {
    AtomicCasOp of ATOMIC_CAS {
        operands { ptr: One PTR_LIKE => Atomic, expected: One VALUE_LIKE, value: One VALUE_LIKE }
        attrs { sem: Sem, scope: Scope }
        results { result: One VALUE_LIKE }
    }
}

/// Compare-and-swap.
pub static ATOMIC_CAS: OpRow = OpRow {
    name: "tt.atomic_cas",
    doc: "Writes `val` where memory holds `cmp`, atomically; the results are the old values.",
    infer: Infer::SameAs(2),
    layout: LayoutRule::Same,
    access: Some(AccessWidth::Single),
    format: Format::Text("$sem, $scope, $ptr, $expected, $value attr-dict : functional-type"),
    verify: Some(|module, op| {
        check_value(module, op, 1)?;
        check_value(module, op, 2)
    }),
    ..AtomicCasOp::ROW
};

ir::op_view! {
    AtomicLoadOp of ATOMIC_LOAD {
        operands { ptr: One PTR_LIKE => Atomic, mask: Optional BOOL_LIKE }
        attrs { sem: Sem, scope: Scope }
        results { result: One VALUE_LIKE }
    }
}

/// Atomic load.
pub static ATOMIC_LOAD: OpRow = OpRow {
    name: "tt.atomic_load",
    doc: "Reads atomically where the mask holds.",
    infer: Infer::Rule(|args| match pointee(args.ty(0)) {
        Some(pointee) => Ok(smallvec![with_elem(args.ty(0), pointee)]),
        None => Err(format!("{} is not a pointer", args.ty(0))),
    }),
    layout: LayoutRule::Same,
    access: Some(AccessWidth::Single),
    format: Format::Text("$sem, $scope, $ptr (, $mask)? attr-dict : functional-type"),
    verify: Some(|module, op| {
        check_size(module, op)?;
        super::same_shape(module, op)
    }),
    ..AtomicLoadOp::ROW
};

ir::op_view! {
    AtomicStoreOp of ATOMIC_STORE {
        operands { ptr: One PTR_LIKE => Atomic, value: One VALUE_LIKE, mask: Optional BOOL_LIKE }
        attrs { sem: Sem, scope: Scope }
    }
}

/// Atomic store.
pub static ATOMIC_STORE: OpRow = OpRow {
    name: "tt.atomic_store",
    doc: "Writes atomically where the mask holds.",
    layout: LayoutRule::Same,
    access: Some(AccessWidth::Single),
    format: Format::Text("$sem, $scope, $ptr, $value (, $mask)? attr-dict : type($ptr)"),
    verify: Some(|module, op| check_value(module, op, 1)),
    ..AtomicStoreOp::ROW
};

ir::op_view! {
    AtomicPollOp of ATOMIC_POLL {
        operands { ptr: One PTR_LIKE => Atomic, expected: One INT_LIKE, timeout: Optional INT }
        attrs { sem: Sem, scope: Scope }
        results { result: One BOOL_LIKE }
    }
}

/// Waiting for a value.
pub static ATOMIC_POLL: OpRow = OpRow {
    name: "tt.atomic_poll",
    doc: "Reads each element atomically until memory holds `expected`, or until `timeout` nanoseconds are over; whether \
          the value was seen.",
    infer: Infer::Rule(|args| Ok(smallvec![with_elem(args.ty(0), Type::int(1))])),
    layout: LayoutRule::Same,
    access: Some(AccessWidth::Single),
    traits: Traits::WAITS,
    format: Format::Text(
        "$sem, $scope, $ptr, $expected (timeout $timeout)? attr-dict : type($ptr), type($expected) -> type($result)",
    ),
    verify: Some(|module, op| {
        let poll = AtomicPollOp::new(module, op);
        let is_short = poll.timeout().is_some_and(|timeout| module.ty(timeout) != Type::int(64));
        if is_short { Err("the time is an i64".into()) } else { check_value(module, op, 1) }
    }),
    ..AtomicPollOp::ROW
};
