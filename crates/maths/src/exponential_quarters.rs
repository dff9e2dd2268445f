//! Powers of binary32, where a lane picks one of four values by an instruction.
//!
//! `2^x = 2^n * 2^r` with `n` a multiple of a quarter, so that `|r| <= 1/8` needs a polynomial of two degrees less than
//! `|r| <= 1/2`. The power of two is put together by integer arithmetic: the low two bits of `4 n` pick its mantissa,
//! the others are added to the exponent. For arguments below zero it is larger than it should be by a constant, so that
//! it is normal for all results that are not zero, and its bits are those of zero from an argument on downwards, to
//! which arguments are cut: [`super::exponential`] says why. For others it is half of what it should be, so that it is
//! finite. The last multiplication takes that back, and rounds what is subnormal.
//!
//! Between a zero and the smallest subnormal, where the result is either of both, the power is subnormal and less than
//! it should be: the result is zero there, which is as near as the other within a unit.

use super::Elem;
use super::builder::{Builder, Rounded};
use llir::{IntCompare, Type, Value};

/// `(exp(r) - 1 - r) / r^2` on |r| <= ln(2)/8.
const EXP: [f64; 3] = [0.041_682_595_654_176_11, 0.166_721_263_221_520_17, 0.5];

/// `(2^r - 1) / r` on |r| <= 1/8.
const EXP2: [f64; 4] =
    [0.009_621_910_725_042_593, 0.055_530_140_732_386_71, 0.240_226_485_110_975_75, 0.693_147_079];

/// ln 2 in two parts: the nearest number of binary32, and what it lacks.
const LN2: (f64, f64) = (0.693_147_182_464_599_6, -1.904_654_299_957_768e-9);

/// Adding it rounds to a multiple of a quarter and leaves its number in the low bits: 1.5 * 2^23 / 4.
const MAGIC: f64 = 3_145_728.0;

/// What powers of arguments below zero are multiplied by meanwhile, as an exponent: with it the field of the exponent
/// of 2^-150 is zero.
const LARGER: i32 = 23;

/// The bias of an exponent, and the bits of a mantissa.
const BIAS: u32 = 127;
const MANTISSA: u32 = 23;

/// Arguments whose `n` is -150, and arguments from which on the result is an infinity.
const EXP_RANGE: (f64, f64) = (-104.0, 89.0);
const EXP2_RANGE: (f64, f64) = (-150.0, 128.0);

/// The fewest lanes for which the machine picks.
const LEAST: u32 = 4;

/// Whether the machine has what this needs.
pub(super) fn serves(b: &Builder<'_, '_>) -> bool {
    let lanes = b.lanes().max(LEAST);
    b.elem() == Elem::F32 && b.machine.has_fma() && b.machine.picks_of_four(Type::F32.with_lanes(lanes))
}

/// Which arguments there are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Given {
    /// Any.
    Any,
    /// Those that are not positive, but for rounding errors.
    Nonpositive,
}

/// `exp(x)`.
pub(super) fn exp(b: &mut Builder<'_, '_>, x: Value, given: Given) -> Value {
    b.in_lanes(LEAST, x, |b, x| {
        let x = within(b, x, EXP_RANGE, given);
        let step = PowerParts::of(b, x, std::f64::consts::LOG2_E, given);
        let (high, low) = (b.float(LN2.0), b.float(LN2.1));
        // The polynomial does not wait for what the second part adds.
        let near = b.neg_mul_add(high, step.n, x);
        let r = b.neg_mul_add(low, step.n, near);
        let square = b.fmul(near, near);
        let slope = b.polynomial(near, &EXP);
        let rest = b.mul_add(slope, square, r);
        let m = b.mul_add(rest, step.power, step.power);
        b.fmul(m, step.back)
    })
}

/// `2^x`.
pub(super) fn exp2(b: &mut Builder<'_, '_>, x: Value, given: Given) -> Value {
    b.in_lanes(LEAST, x, |b, x| {
        let x = within(b, x, EXP2_RANGE, given);
        let step = PowerParts::of(b, x, 1.0, given);
        let r = b.fsub(x, step.n);
        let slope = b.polynomial(r, &EXP2);
        let scaled = b.fmul(r, step.power);
        let m = b.mul_add(slope, scaled, step.power);
        b.fmul(m, step.back)
    })
}

/// Cuts an argument to a range; a NaN stays.
fn within(b: &mut Builder<'_, '_>, x: Value, (low, high): (f64, f64), given: Given) -> Value {
    let x = if given == Given::Any { b.at_most(x, high) } else { x };
    b.at_least(x, low)
}

/// The nearest multiple of a quarter, 2 to the power of it in another size, and the power of two that takes that back.
struct PowerParts {
    n: Value,
    power: Value,
    back: Value,
}

impl PowerParts {
    /// Of `x * factor`.
    fn of(b: &mut Builder<'_, '_>, x: Value, factor: f64, given: Given) -> PowerParts {
        let Rounded { float: n, carrier } = b.round_by(x, factor, MAGIC);
        let smaller = b.float(f64::from(-LARGER).exp2());
        let bits = b.bits(carrier);
        let whole = b.shl(bits, 21);
        let (back, field, whole) = match given {
            Given::Nonpositive => (smaller, BIAS + LARGER as u32, whole),
            Given::Any => {
                let (zero, two, sign) = (b.int(0), b.float(2.0), b.bits(x));
                let is_negative = b.icmp(IntCompare::Slt, sign, zero);
                let back = b.select(is_negative, smaller, two);
                // The exponents of both together are what they are without that.
                let exponent = b.bits(back);
                (back, 2 * BIAS, b.isub(whole, exponent))
            }
        };
        // What the low two bits of the number are worth above the mantissa is taken away in the table.
        let table = [0, 1, 2, 3].map(|quarters: u32| {
            let power = (f64::from(quarters) / 4.0).exp2() as f32;
            power.to_bits() - (BIAS << MANTISSA) + (field << MANTISSA) - (quarters << 21)
        });
        let picked = b.machine.pick_of_four(b.b, table, bits);
        let picked = b.bits(picked);
        let power = b.iadd(whole, picked);
        PowerParts { n, power: b.with_bits(power), back }
    }
}
