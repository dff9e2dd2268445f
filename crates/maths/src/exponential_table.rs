//! Powers of binary32 by a table, where a lane picks one of sixteen values by an instruction.
//!
//! `2^x = 2^n * 2^r` with `n` a multiple of a sixteenth: `2^n` is a value of the table, picked by the low bits of
//! `16 n`, times a power of two; `|r| <= 1/32` needs a polynomial of the third degree where `|r| <= 1/2` needs one of
//! the sixth. The machine also scales by powers of two, of which it takes the whole part, and selects at no cost: a
//! result that is zero is made of a factor that is zero ([`super::exponential`] says why), so that there is no lower
//! bound to cut to.

use super::builder::{Builder, Rounded};
use super::{Elem, TABLE};
use llir::{FloatCompare, Type, Value};

/// `(exp(r) - 1 - r) / r^2` on |r| <= ln(2)/32.
const EXP: [f64; 2] = [0.166_672, 0.5];

/// `(2^r - 1) / r` on |r| <= 1/32.
const EXP2: [f64; 3] = [0.055_508, 0.240_226_5, std::f64::consts::LN_2];

/// ln 2 in two parts: the nearest number of binary32, and what it lacks.
const LN2: (f64, f64) = (0.693_147_182_464_599_6, -1.904_654_299_957_768e-9);

/// Adding it rounds to a multiple of a sixteenth and leaves its number in the low bits: 1.5 * 2^23 / 16.
const MAGIC: f64 = 786_432.0;

/// From there on downwards the results are zero.
const EXP_LAST: f64 = -103.972_08;
const EXP2_LAST: f64 = -150.0;

/// Whether the machine has what this needs.
pub(super) fn serves(b: &Builder<'_, '_>) -> bool {
    let ty = Type::F32.with_lanes(TABLE);
    b.elem() == Elem::F32 && b.machine.picks(ty) && b.machine.scales(ty)
}

/// `exp(x)` for an `x` whose result does not overflow by more than a factor of two, or NaN.
pub(super) fn exp(b: &mut Builder<'_, '_>, x: Value) -> Value {
    b.in_lanes(TABLE, x, |b, x| {
        let step = PowerParts::of(b, x, std::f64::consts::LOG2_E);
        let (high, low) = (b.float(LN2.0), b.float(LN2.1));
        let r = b.neg_mul_add(high, step.n, x);
        let r = b.neg_mul_add(low, step.n, r);
        let slope = b.polynomial(r, &EXP);
        let square = b.fmul(r, r);
        let rest = b.mul_add(slope, square, r);
        let m = b.mul_add(rest, step.power, step.power);
        step.scale(b, m, (x, EXP_LAST))
    })
}

/// `2^x` for an `x` whose result does not overflow by more than a factor of two, or NaN.
pub(super) fn exp2(b: &mut Builder<'_, '_>, x: Value) -> Value {
    b.in_lanes(TABLE, x, |b, x| {
        let step = PowerParts::of(b, x, 1.0);
        let r = b.fsub(x, step.n);
        let slope = b.polynomial(r, &EXP2);
        let scaled = b.fmul(r, step.power);
        let m = b.mul_add(slope, scaled, step.power);
        step.scale(b, m, (x, EXP2_LAST))
    })
}

/// The nearest multiple of a sixteenth, and 2 to the power of its fraction.
struct PowerParts {
    n: Value,
    power: Value,
}

impl PowerParts {
    /// Of `x * factor`.
    fn of(b: &mut Builder<'_, '_>, x: Value, factor: f64) -> PowerParts {
        let Rounded { float: n, carrier } = b.round_by(x, factor, MAGIC);
        let bits = b.bits(carrier);
        let bits_of = |number| (f64::from(number) / f64::from(TABLE)).exp2() as f32;
        let table: Vec<u128> = (0..TABLE).map(|number| u128::from(bits_of(number).to_bits())).collect();
        let table = b.b.lanes(Type::F32.with_lanes(TABLE), &table);
        PowerParts { n, power: b.machine.pick(b.b, table, bits) }
    }

    /// `m` times two to the power of the whole part; zero where `x` is no more than `last`, whatever `m` is there.
    fn scale(&self, b: &mut Builder<'_, '_>, m: Value, (x, last): (Value, f64)) -> Value {
        let (last, zero) = (b.float(last), b.float(0.0));
        let vanishes = b.fcmp(FloatCompare::Ole, x, last);
        let m = b.select(vanishes, zero, m);
        b.machine.scale(b.b, m, self.n)
    }
}
