//! Machines for tests: one without matrix instructions, one with those of a warp, one with those of warp groups.

use ir::FloatKind::{F16, F32};
use ttgir::{FragmentKind, Machine, MatrixKind, MatrixRow, Number};

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
        fragments: FragmentKind::Pairs,
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
    async_copy_bytes: &[4, 8, 16],
    shared_bytes: 160 << 10,
    matrix: &[
        row(MatrixKind::Warp, HALF, HALF, SINGLE, 16),
        row(MatrixKind::Warp, Number::Tf32, Number::Tf32, SINGLE, 8),
        row(MatrixKind::Warp, Number::Int(8), Number::Int(8), Number::Int(32), 32),
    ],
    ..Machine::BASE
};

/// Those, and dots of warp groups.
pub(crate) static GROUP: Machine = Machine {
    name: "group",
    matrix: &[
        row(MatrixKind::Group, HALF, HALF, SINGLE, 16),
        MatrixRow { any_major: false, ..row(MatrixKind::Group, Number::Tf32, Number::Tf32, SINGLE, 8) },
        row(MatrixKind::Warp, HALF, HALF, SINGLE, 16),
        row(MatrixKind::Warp, Number::Tf32, Number::Tf32, SINGLE, 8),
    ],
    ..WARP
};

/// 64 lanes to a warp, no matrix instructions.
pub(crate) static WIDE: Machine = Machine { name: "wide", warp_size: 64, ..Machine::BASE };

const fn runs(number: Number, sum: Number, side: u32, k: u32, k_base: u32) -> MatrixRow {
    MatrixRow {
        m: side,
        n: if side == 32 { &[32] } else { &[16] },
        fragments: FragmentKind::Runs { version: 3, k_base },
        ..row(MatrixKind::Warp, number, number, sum, k)
    }
}

/// 64 lanes to a warp, matrix instructions whose lanes hold runs, loads staged in registers.
pub(crate) static RUNS: Machine = Machine {
    name: "runs",
    staged_loads: true,
    matrix: &[
        runs(HALF, SINGLE, 32, 8, 4),
        runs(HALF, SINGLE, 16, 16, 4),
        runs(SINGLE, SINGLE, 32, 2, 1),
        runs(SINGLE, SINGLE, 16, 4, 1),
        runs(Number::Int(8), Number::Int(32), 32, 16, 8),
        runs(Number::Int(8), Number::Int(32), 16, 32, 8),
    ],
    scaled_matrix: &[runs(Number::Int(8), SINGLE, 32, 64, 32), runs(Number::Int(8), SINGLE, 16, 128, 32)],
    ..WIDE
};
