//! The matrix instructions of each architecture, from the ISA manuals: larger tiles first, then longer sums.
//!
//! Instructions that make 16 blocks of 4 × 4 multiply 4 rows with 64 columns: all blocks take the rows of one. Other
//! uses of them are left out.

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

/// 4 rows and 64 columns, of which each of 16 instructions multiplies so many elements along k.
const fn narrow(version: u32, k_base: u32, numbers: [Number; 3]) -> MatrixRow {
    MatrixRow { n: &[64], ..row(version, 4, 16 * k_base, k_base, numbers) }
}

/// All of these; every version of `mfma` has them.
const fn narrow_rows(version: u32) -> [MatrixRow; 4] {
    [
        narrow(version, 1, [SINGLE; 3]),
        narrow(version, 4, [HALF, HALF, SINGLE]),
        narrow(version, 4, [BRAIN, BRAIN, SINGLE]),
        narrow(version, 4, [BYTE, BYTE, WORD]),
    ]
}

/// Lists one behind the other.
const fn join<const N: usize>(version: u32, pairs: &[[MatrixRow; 2]]) -> [MatrixRow; N] {
    let mut all = [doubles(version); N];
    let mut at = 0;
    while at < pairs.len() {
        all[2 * at] = pairs[at][0];
        all[2 * at + 1] = pairs[at][1];
        at += 1;
    }
    let narrow = narrow_rows(version);
    let mut of_narrow = 0;
    while of_narrow < narrow.len() {
        all[2 * at + of_narrow] = narrow[of_narrow];
        of_narrow += 1;
    }
    all
}

const fn doubles(version: u32) -> MatrixRow {
    row(version, 16, 4, 1, [DOUBLE; 3])
}

pub(super) static GFX90A: &[MatrixRow] = &join::<13>(
    2,
    &[
        mfma(2, 2, 1, [SINGLE; 3]),
        mfma(2, 8, 4, [HALF, HALF, SINGLE]),
        mfma(2, 8, 4, [BRAIN, BRAIN, SINGLE]),
        mfma(2, 8, 4, [BYTE, BYTE, WORD]),
    ],
);

const FNUZ: [Number; 2] = [float(F8E4M3FNUZ), float(F8E5M2FNUZ)];
const OCP: [Number; 2] = [float(F8E4M3FN), float(F8E5M2)];

pub(super) static GFX942: &[MatrixRow] = &join::<23>(
    3,
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
);

pub(super) static GFX950: &[MatrixRow] = &join::<27>(
    4,
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
);

/// Those that take scales: bytes of any format, a lane with 32 numbers and their exponent.
pub(super) static GFX950_SCALED: &[MatrixRow] = &mfma(4, 64, 32, [BYTE, BYTE, SINGLE]);

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
