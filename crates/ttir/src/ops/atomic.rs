//! Atomic operations on memory. Each returns what was there before.

use super::memory::check_pointee;
use crate::types::{BOOL_LIKE, PTR_LIKE, VALUE_LIKE, pointee, with_elem};
use ir::{AttrKind, AttrSpec, EnumRow, Format, Infer, OpRow, Traits, one, optional};
use smallvec::smallvec;

/// What an atomic read-modify-write does.
pub static RMW: EnumRow = EnumRow {
    name: "atomic_rmw_op",
    cases: &[
        ("and", 1),
        ("or", 2),
        ("xor", 3),
        ("add", 4),
        ("fadd", 5),
        ("max", 6),
        ("min", 7),
        ("umax", 8),
        ("umin", 9),
        ("exch", 10),
    ],
};

/// How an atomic orders the accesses around it.
pub static SEM: EnumRow =
    EnumRow { name: "sem", cases: &[("relaxed", 1), ("acquire", 2), ("release", 3), ("acq_rel", 4)] };

/// Among whom an atomic is atomic.
pub static SCOPE: EnumRow = EnumRow { name: "scope", cases: &[("gpu", 1), ("cta", 2), ("sys", 3)] };

const EFFECTS: Traits = Traits::READS.and(Traits::WRITES);

/// Read-modify-write.
pub static ATOMIC_RMW: OpRow = OpRow {
    name: "tt.atomic_rmw",
    doc: "Combines each value into memory atomically where the mask holds; the results are the old values, undefined \
          where it does not.",
    operands: &[one("ptr", &PTR_LIKE), one("val", &VALUE_LIKE), optional("mask", &BOOL_LIKE)],
    attrs: &[
        AttrSpec::required("atomic_rmw_op", AttrKind::Enum(&RMW)),
        AttrSpec::required("sem", AttrKind::Enum(&SEM)),
        AttrSpec::required("scope", AttrKind::Enum(&SCOPE)),
    ],
    results: &[one("result", &VALUE_LIKE)],
    infer: Infer::SameAs(1),
    traits: EFFECTS,
    format: Format::Text("$atomic_rmw_op, $sem, $scope, $ptr, $val (, $mask)? attr-dict : functional-type"),
    verify: Some(|module, op| {
        check_pointee(module, op, 0, 1)?;
        super::same_shape(module, op)
    }),
    ..OpRow::BASE
};

/// Compare-and-swap.
pub static ATOMIC_CAS: OpRow = OpRow {
    name: "tt.atomic_cas",
    doc: "Writes `val` where memory holds `cmp`, atomically; the results are the old values.",
    operands: &[one("ptr", &PTR_LIKE), one("cmp", &VALUE_LIKE), one("val", &VALUE_LIKE)],
    attrs: &[
        AttrSpec::required("sem", AttrKind::Enum(&SEM)),
        AttrSpec::required("scope", AttrKind::Enum(&SCOPE)),
    ],
    results: &[one("result", &VALUE_LIKE)],
    infer: Infer::SameAs(2),
    traits: EFFECTS,
    format: Format::Text("$sem, $scope, $ptr, $cmp, $val attr-dict : functional-type"),
    verify: Some(|module, op| {
        check_pointee(module, op, 0, 1)?;
        check_pointee(module, op, 0, 2)
    }),
    ..OpRow::BASE
};

/// Atomic load.
pub static ATOMIC_LOAD: OpRow = OpRow {
    name: "tt.atomic_load",
    doc: "Reads atomically where the mask holds.",
    operands: &[one("ptr", &PTR_LIKE), optional("mask", &BOOL_LIKE)],
    attrs: &[
        AttrSpec::required("sem", AttrKind::Enum(&SEM)),
        AttrSpec::required("scope", AttrKind::Enum(&SCOPE)),
    ],
    results: &[one("result", &VALUE_LIKE)],
    infer: Infer::Rule(|args| match pointee(args.ty(0)) {
        Some(pointee) => Ok(smallvec![with_elem(args.ty(0), pointee)]),
        None => Err(format!("{} is not a pointer", args.ty(0))),
    }),
    traits: EFFECTS,
    format: Format::Text("$sem, $scope, $ptr (, $mask)? attr-dict : functional-type"),
    verify: Some(super::same_shape),
    ..OpRow::BASE
};

/// Atomic store.
pub static ATOMIC_STORE: OpRow = OpRow {
    name: "tt.atomic_store",
    doc: "Writes atomically where the mask holds.",
    operands: &[one("ptr", &PTR_LIKE), one("val", &VALUE_LIKE), optional("mask", &BOOL_LIKE)],
    attrs: &[
        AttrSpec::required("sem", AttrKind::Enum(&SEM)),
        AttrSpec::required("scope", AttrKind::Enum(&SCOPE)),
    ],
    traits: EFFECTS,
    format: Format::Text("$sem, $scope, $ptr, $val (, $mask)? attr-dict : type($ptr)"),
    verify: Some(|module, op| check_pointee(module, op, 0, 1)),
    ..OpRow::BASE
};
