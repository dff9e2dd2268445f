//! Divisions of 64 bits by constants: `ptxas` calls a routine of some seventy instructions for each, also where the
//! divisor is a constant. The quotient is the upper half of a product with a rounded reciprocal (Granlund and
//! Montgomery, "Division by invariant integers using multiplication", figures 4.1 and 5.1). Narrower divisions by
//! constants are products before they come here.

use super::{Handler, Outcome, Part, Selector, as_int, integer};
use crate::ptx::machine::{Class, Operand, Reg};
use llir::{InstData, Op};

pub(super) const HANDLERS: &[(Op, Handler)] = &[
    (Op::SDIV, Handler::Lanes(divide)),
    (Op::UDIV, Handler::Lanes(divide)),
    (Op::SREM, Handler::Lanes(divide)),
    (Op::UREM, Handler::Lanes(divide)),
];

fn divide(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg) -> Outcome {
    let divisor = as_int(s.func, data.operands[1]).filter(|_| data.ty.lane_bits() == 64);
    let by = match data.op {
        Op::SDIV | Op::SREM => divisor.and_then(Factor::signed),
        _ => divisor.and_then(|divisor| Factor::unsigned(divisor as u64)),
    };
    let (Some(by), Some(divisor)) = (by, divisor) else { return integer::plain(s, data, part, to) };
    let x = s.arg(data, 0, part);
    if matches!(data.op, Op::SDIV | Op::UDIV) {
        by.quotient(s, &x, to);
        return Ok(());
    }
    let quotient = s.fresh(Class::B64);
    by.quotient(s, &x, quotient);
    let product = s.temp("mul.lo.s64", Class::B64, &[Operand::Reg(quotient), Operand::Int(divisor)]);
    s.push("sub.s64", &[to], &[x, product]);
    Ok(())
}

/// How a number is divided by a constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Factor {
    /// The upper half of a product of unsigned numbers, shifted.
    Upper { factor: u64, shift: u32 },
    /// The reciprocal has 65 bits, of which the first is left out here: the number itself is added.
    UpperAndNumber { factor: u64, shift: u32 },
    /// The same of signed numbers, rounded to zero.
    Signed { factor: i64, shift: u32, negated: bool },
}

/// The exponent of the least power of two that is not less.
fn log_up(divisor: u64) -> u32 {
    64 - (divisor - 1).leading_zeros()
}

impl Factor {
    fn unsigned(divisor: u64) -> Option<Factor> {
        if divisor < 3 || divisor.is_power_of_two() {
            return None;
        }
        let log = log_up(divisor);
        // A reciprocal of 64 bits does where it is rounded up by little.
        let shift = log - 1;
        let power = 1u128 << (64 + shift);
        let rounded = power / u128::from(divisor) + 1;
        if rounded * u128::from(divisor) - power <= 1u128 << shift {
            return Some(Factor::Upper { factor: rounded as u64, shift });
        }
        let above = (1u128 << log) - u128::from(divisor);
        let factor = ((above << 64) / u128::from(divisor) + 1) as u64;
        Some(Factor::UpperAndNumber { factor, shift })
    }

    fn signed(divisor: i64) -> Option<Factor> {
        let size = divisor.unsigned_abs();
        if size < 3 || size.is_power_of_two() {
            return None;
        }
        let shift = log_up(size) - 1;
        let reciprocal = (1u128 << (64 + shift)) / u128::from(size) + 1;
        // With its first bit as a sign it is 2^64 less.
        Some(Factor::Signed { factor: reciprocal as u64 as i64, shift, negated: divisor < 0 })
    }

    fn quotient(self, s: &mut Selector<'_>, x: &Operand, to: Reg) {
        let int = |number: u32| Operand::Int(i64::from(number));
        match self {
            Factor::Upper { factor, shift } => {
                let upper = s.temp("mul.hi.u64", Class::B64, &[x.clone(), Operand::Int(factor as i64)]);
                s.push("shr.u64", &[to], &[upper, int(shift)]);
            }
            Factor::UpperAndNumber { factor, shift } => {
                // `(x + upper) / 2` without overflow.
                let upper = s.temp("mul.hi.u64", Class::B64, &[x.clone(), Operand::Int(factor as i64)]);
                let difference = s.temp("sub.s64", Class::B64, &[x.clone(), upper.clone()]);
                let half = s.temp("shr.u64", Class::B64, &[difference, int(1)]);
                let sum = s.temp("add.s64", Class::B64, &[half, upper]);
                s.push("shr.u64", &[to], &[sum, int(shift)]);
            }
            Factor::Signed { factor, shift, negated } => {
                let upper = s.temp("mul.hi.s64", Class::B64, &[x.clone(), Operand::Int(factor)]);
                let sum = s.temp("add.s64", Class::B64, &[upper, x.clone()]);
                let down = s.temp("shr.s64", Class::B64, &[sum, int(shift)]);
                let sign = s.temp("shr.s64", Class::B64, &[x.clone(), int(63)]);
                let (a, b) = if negated { (sign, down) } else { (down, sign) };
                s.push("sub.s64", &[to], &[a, b]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Factor;

    /// The quotient as the instructions compute it.
    fn quotient(by: Factor, x: u64) -> u64 {
        let upper = |factor: u64| ((u128::from(x) * u128::from(factor)) >> 64) as u64;
        match by {
            Factor::Upper { factor, shift } => upper(factor) >> shift,
            Factor::UpperAndNumber { factor, shift } => {
                let upper = upper(factor);
                (((x - upper) >> 1) + upper) >> shift
            }
            Factor::Signed { factor, shift, negated } => {
                let x = x as i64;
                let upper = ((i128::from(x) * i128::from(factor)) >> 64) as i64;
                let (down, sign) = (upper.wrapping_add(x) >> shift, x >> 63);
                (if negated { sign.wrapping_sub(down) } else { down.wrapping_sub(sign) }) as u64
            }
        }
    }

    /// Numbers near multiples of the divisor, near powers of two, and at random.
    fn numbers(divisor: u64) -> impl Iterator<Item = u64> {
        let multiples = (0..64u64).map(move |bit| (u64::MAX >> bit) / divisor * divisor);
        let powers = (0..64).map(|bit| 1u64 << bit);
        let mut state = divisor;
        let random = (0..64).map(move |_| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            state
        });
        multiples.chain(powers).chain(random).flat_map(|x| [x.wrapping_sub(1), x, x.wrapping_add(1)])
    }

    #[test]
    fn products_are_quotients() {
        let near_powers = (2..64).flat_map(|bit| [(1u64 << bit) - 1, (1 << bit) + 1, 3 << (bit - 1)]);
        let divisors =
            (3..3000).chain(near_powers).chain([641, 11008, u64::MAX, u64::MAX - 1, i64::MIN as u64 + 1]);
        for divisor in divisors {
            for x in numbers(divisor) {
                if let Some(by) = Factor::unsigned(divisor) {
                    assert_eq!(quotient(by, x), x / divisor, "{x} / {divisor}, {by:?}");
                }
                for divisor in [divisor as i64, (divisor as i64).wrapping_neg()] {
                    if let Some(by) = Factor::signed(divisor) {
                        let expected = (x as i64).wrapping_div(divisor);
                        assert_eq!(quotient(by, x) as i64, expected, "{} / {divisor}, {by:?}", x as i64);
                    }
                }
            }
        }
    }
}
