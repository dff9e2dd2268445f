//! The matrix instructions of each architecture, from the ISA manuals: larger tiles first, then longer sums.
//!
//! Left out: those that take scales, and those that make several small products at once (4x4).

use ir::FloatKind::{BF16, F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F16, F32, F64};
use ttgir::machine::{FragmentKind, MatrixKind, MatrixRow, Number};

const fn float(kind: ir::FloatKind) -> Number {
    Number::Float(kind)
}

const HALF: Number = float(F16);
const BRAIN: Number = float(BF16);
const SINGLE: Number = float(F32);
const DOUBLE: Number = float(F64);
const BYTE: Number = Number::Int(8);
const WORD: Number = Number::Int(32);

/// An instruction of a wave: version of its layout, m = n, k, elements along k in a lane, numbers.
const fn row(version: u32, side: u32, k: u32, k_base: u32, [a, b, c]: [Number; 3]) -> MatrixRow {
    MatrixRow {
        kind: MatrixKind::Warp,
        a,
        b,
        c,
        m: side,
        n: if side == 32 { &[32] } else { &[16] },
        k,
        fragments: FragmentKind::Runs { version, k_base },
        warps: 1,
        a_in_registers: true,
        in_shared: false,
        any_major: false,
    }
}

/// Both sizes of an `mfma`: 32 and 16 rows, whose sums of `k` and `2 k` elements need as many elements in a lane.
const fn mfma(version: u32, k: u32, k_base: u32, numbers: [Number; 3]) -> [MatrixRow; 2] {
    [row(version, 32, k, k_base, numbers), row(version, 16, 2 * k, k_base, numbers)]
}

/// Lists one behind the other.
const fn join<const N: usize>(pairs: &[[MatrixRow; 2]], single: MatrixRow) -> [MatrixRow; N] {
    let mut all = [single; N];
    let mut at = 0;
    while at < pairs.len() {
        all[2 * at] = pairs[at][0];
        all[2 * at + 1] = pairs[at][1];
        at += 1;
    }
    all
}

const fn doubles(version: u32) -> MatrixRow {
    row(version, 16, 4, 1, [DOUBLE; 3])
}

pub(super) static GFX90A: &[MatrixRow] = &join::<9>(
    &[
        mfma(2, 2, 1, [SINGLE; 3]),
        mfma(2, 8, 4, [HALF, HALF, SINGLE]),
        mfma(2, 8, 4, [BRAIN, BRAIN, SINGLE]),
        mfma(2, 8, 4, [BYTE, BYTE, WORD]),
    ],
    doubles(2),
);

const FNUZ: [Number; 2] = [float(F8E4M3FNUZ), float(F8E5M2FNUZ)];
const OCP: [Number; 2] = [float(F8E4M3FN), float(F8E5M2)];

pub(super) static GFX942: &[MatrixRow] = &join::<19>(
    &[
        mfma(3, 4, 2, [Number::Tf32, Number::Tf32, SINGLE]),
        mfma(3, 2, 1, [SINGLE; 3]),
        mfma(3, 8, 4, [HALF, HALF, SINGLE]),
        mfma(3, 8, 4, [BRAIN, BRAIN, SINGLE]),
        mfma(3, 16, 8, [BYTE, BYTE, WORD]),
        mfma(3, 16, 8, [FNUZ[0], FNUZ[0], SINGLE]),
        mfma(3, 16, 8, [FNUZ[0], FNUZ[1], SINGLE]),
        mfma(3, 16, 8, [FNUZ[1], FNUZ[0], SINGLE]),
        mfma(3, 16, 8, [FNUZ[1], FNUZ[1], SINGLE]),
    ],
    doubles(3),
);

pub(super) static GFX950: &[MatrixRow] = &join::<23>(
    &[
        mfma(4, 2, 1, [SINGLE; 3]),
        mfma(4, 16, 8, [HALF, HALF, SINGLE]),
        mfma(4, 8, 4, [HALF, HALF, SINGLE]),
        mfma(4, 16, 8, [BRAIN, BRAIN, SINGLE]),
        mfma(4, 8, 4, [BRAIN, BRAIN, SINGLE]),
        mfma(4, 32, 16, [BYTE, BYTE, WORD]),
        mfma(4, 16, 8, [BYTE, BYTE, WORD]),
        mfma(4, 16, 8, [OCP[0], OCP[0], SINGLE]),
        mfma(4, 16, 8, [OCP[0], OCP[1], SINGLE]),
        mfma(4, 16, 8, [OCP[1], OCP[0], SINGLE]),
        mfma(4, 16, 8, [OCP[1], OCP[1], SINGLE]),
    ],
    doubles(4),
);

pub(super) static GFX1100: &[MatrixRow] = &[
    row(1, 16, 16, 16, [HALF, HALF, SINGLE]),
    row(1, 16, 16, 16, [BRAIN, BRAIN, SINGLE]),
    row(1, 16, 16, 16, [BYTE, BYTE, WORD]),
];

pub(super) static GFX1200: &[MatrixRow] = &[
    row(2, 16, 16, 8, [HALF, HALF, SINGLE]),
    row(2, 16, 16, 8, [BRAIN, BRAIN, SINGLE]),
    row(2, 16, 16, 8, [BYTE, BYTE, WORD]),
    row(2, 16, 16, 8, [OCP[0], OCP[0], SINGLE]),
    row(2, 16, 16, 8, [OCP[0], OCP[1], SINGLE]),
    row(2, 16, 16, 8, [OCP[1], OCP[0], SINGLE]),
    row(2, 16, 16, 8, [OCP[1], OCP[1], SINGLE]),
];
