//! Machines for tests: one without matrix instructions, one with those of a warp, one with those of groups of warps.

use ir::FloatKind::{F16, F32};
use ttgir::{Machine, MatrixKind, MatrixRow, Number};

const fn row(kind: MatrixKind, a: Number, b: Number, c: Number, k: u32) -> MatrixRow {
    let group = matches!(kind, MatrixKind::Group);
    MatrixRow {
        kind,
        a,
        b,
        c,
        m: if group { 64 } else { 16 },
        n: if group { &[8, 16, 32, 64, 128, 256] } else { &[8] },
        k,
        warps: if group { 4 } else { 1 },
        a_in_registers: true,
        in_shared: group,
        any_major: group,
    }
}

const HALF: Number = Number::Float(F16);
const SINGLE: Number = Number::Float(F32);

/// Matrix instructions of a warp, asynchronous copies.
pub(crate) static WARP: Machine = Machine {
    name: "warp",
    async_copy: true,
    async_copy_bytes: &[4, 8, 16],
    shared_bytes: 160 << 10,
    matrix: &[
        row(MatrixKind::Warp, HALF, HALF, SINGLE, 16),
        row(MatrixKind::Warp, Number::Tf32, Number::Tf32, SINGLE, 8),
        row(MatrixKind::Warp, Number::Int(8), Number::Int(8), Number::Int(32), 32),
    ],
    ..Machine::BASE
};

/// Those, and products of groups of warps.
pub(crate) static GROUP: Machine = Machine {
    name: "group",
    matrix: &[
        row(MatrixKind::Group, HALF, HALF, SINGLE, 16),
        row(MatrixKind::Warp, HALF, HALF, SINGLE, 16),
        row(MatrixKind::Warp, Number::Tf32, Number::Tf32, SINGLE, 8),
    ],
    ..WARP
};

/// 64 lanes to a warp, no matrix instructions.
pub(crate) static WIDE: Machine = Machine { name: "wide", warp_size: 64, ..Machine::BASE };
