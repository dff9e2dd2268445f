//! Two comparisons of the same numbers are one.
//!
//! Input: `%a = fcmp ogt %x, %y; %b = fcmp oeq %x, %y; or %a, %b`. Output: `fcmp oge %x, %y`. A maximum that prefers
//! the first of equal elements asks both.

use super::{Change, Rule, Simplifier};
use crate::function::{FloatCompare, InstData, IntCompare, Payload, Value};
use crate::rows::Op;

pub(super) const RULES: &[(Op, Rule)] = &[
    (Op::OR, |s, data| both(s, data, |one, other| one | other)),
    (Op::AND, |s, data| both(s, data, |one, other| one & other)),
];

/// How two numbers may compare.
const LESS: u8 = 1;
const EQUAL: u8 = 2;
const GREATER: u8 = 4;
const UNORDERED: u8 = 8;

/// For which outcomes a comparison of floats holds.
const FLOATS: [(FloatCompare, u8); 14] = [
    (FloatCompare::Oeq, EQUAL),
    (FloatCompare::Ogt, GREATER),
    (FloatCompare::Oge, GREATER | EQUAL),
    (FloatCompare::Olt, LESS),
    (FloatCompare::Ole, LESS | EQUAL),
    (FloatCompare::One, LESS | GREATER),
    (FloatCompare::Ord, LESS | EQUAL | GREATER),
    (FloatCompare::Uno, UNORDERED),
    (FloatCompare::Ueq, UNORDERED | EQUAL),
    (FloatCompare::Ugt, UNORDERED | GREATER),
    (FloatCompare::Uge, UNORDERED | GREATER | EQUAL),
    (FloatCompare::Ult, UNORDERED | LESS),
    (FloatCompare::Ule, UNORDERED | LESS | EQUAL),
    (FloatCompare::Une, UNORDERED | LESS | GREATER),
];

/// The same of integers, and whether it depends on how they are signed.
const INTEGERS: [(IntCompare, u8, Option<bool>); 10] = [
    (IntCompare::Eq, EQUAL, None),
    (IntCompare::Ne, LESS | GREATER, None),
    (IntCompare::Slt, LESS, Some(true)),
    (IntCompare::Sle, LESS | EQUAL, Some(true)),
    (IntCompare::Sgt, GREATER, Some(true)),
    (IntCompare::Sge, GREATER | EQUAL, Some(true)),
    (IntCompare::Ult, LESS, Some(false)),
    (IntCompare::Ule, LESS | EQUAL, Some(false)),
    (IntCompare::Ugt, GREATER, Some(false)),
    (IntCompare::Uge, GREATER | EQUAL, Some(false)),
];

/// For which outcomes a comparison holds, and whether that depends on signs.
fn outcomes(payload: &Payload) -> Option<(u8, Option<bool>)> {
    match payload {
        Payload::FloatCompare(compare) => {
            FLOATS.iter().find(|row| row.0 == *compare).map(|row| (row.1, None))
        }
        Payload::IntCompare(compare) => {
            INTEGERS.iter().find(|row| row.0 == *compare).map(|row| (row.1, row.2))
        }
        _ => None,
    }
}

/// The comparison that holds for these outcomes.
fn of_outcomes(like: &Payload, outcomes: u8, signed: Option<bool>) -> Option<Payload> {
    match like {
        Payload::FloatCompare(_) => {
            FLOATS.iter().find(|row| row.1 == outcomes).map(|row| Payload::FloatCompare(row.0))
        }
        _ => INTEGERS
            .iter()
            .find(|row| row.1 == outcomes && (row.2.is_none() || row.2 == signed))
            .map(|row| Payload::IntCompare(row.0)),
    }
}

fn both(s: &mut Simplifier<'_>, data: &InstData, of: fn(u8, u8) -> u8) -> Option<Change> {
    let compares =
        |value: Value| s.function.defining(value).filter(|data| data.op == Op::ICMP || data.op == Op::FCMP);
    let (one, two) = (compares(data.operands[0])?, compares(data.operands[1])?);
    let (first, signed) = outcomes(&one.payload)?;
    let (mut second, other_signed) = outcomes(&two.payload)?;
    if two.operands.iter().rev().eq(&one.operands) {
        let turned = (second & LESS) << 2 | (second & GREATER) >> 2;
        second = second & (EQUAL | UNORDERED) | turned;
    } else if two.operands != one.operands {
        return None;
    }
    let signs_differ = signed.zip(other_signed).is_some_and(|(one, other)| one != other);
    if one.op != two.op || one.flags != two.flags || signs_differ {
        return None;
    }
    let payload = of_outcomes(&one.payload, of(first, second), signed.or(other_signed))?;
    let mut joined = one.clone();
    joined.payload = payload;
    Some(Change::Inst(joined))
}

#[cfg(test)]
mod tests {
    use super::{FLOATS, INTEGERS, of_outcomes, outcomes};
    use crate::builder::fold::{float_compare, int_compare};
    use crate::function::Payload;
    use crate::types::Scalar;

    /// Every pair of comparisons, joined by an operation, holds where the one that is found for both does.
    fn check<T: Copy>(of: &[Payload], numbers: &[T], holds: impl Fn(&Payload, T, T) -> bool) -> usize {
        let mut found = 0;
        for (one, two) in of.iter().flat_map(|one| of.iter().map(move |two| (one, two))) {
            let ((first, signed), (second, other)) = (outcomes(one).unwrap(), outcomes(two).unwrap());
            if signed.zip(other).is_some_and(|(one, other)| one != other) {
                continue;
            }
            for either in [true, false] {
                let outcomes = if either { first | second } else { first & second };
                let Some(both) = of_outcomes(one, outcomes, signed.or(other)) else { continue };
                found += 1;
                for (a, b) in numbers.iter().flat_map(|a| numbers.iter().map(move |b| (*a, *b))) {
                    let (x, y) = (holds(one, a, b), holds(two, a, b));
                    let expected = if either { x || y } else { x && y };
                    assert_eq!(holds(&both, a, b), expected, "{one:?} {two:?} {either}");
                }
            }
        }
        found
    }

    #[test]
    fn one_comparison_says_what_two_say() {
        let floats: Vec<_> = FLOATS.iter().map(|row| Payload::FloatCompare(row.0)).collect();
        let found =
            check(&floats, &[-1.0, -0.0, 0.0, 2.0, f64::INFINITY, f64::NAN], |payload, a, b| match payload {
                Payload::FloatCompare(compare) => {
                    float_compare(*compare, Scalar::Double, [a, b].map(|x: f64| u128::from(x.to_bits())))
                        .unwrap()
                }
                _ => unreachable!(),
            });
        // Of 2 * 14 * 14 all but those of which nothing or everything is left.
        assert!(found > 250, "{found}");
        let integers: Vec<_> = INTEGERS.iter().map(|row| Payload::IntCompare(row.0)).collect();
        let found = check(&integers, &[0x80, 0xff, 0, 1, 0x7f], |payload, a, b| match payload {
            Payload::IntCompare(compare) => int_compare(*compare, 8, a, b),
            _ => unreachable!(),
        });
        assert!(found > 60, "{found}");
    }
}
