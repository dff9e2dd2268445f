//! Functions of maths libraries that round toward zero, downwards or upwards.
//!
//! The double that is nearest comes with the sign of what is missing; of the numbers of the result's format around it,
//! the one on the side that is asked for is taken.

use ir::scalar::{float_bits, float_value, sign_extend};
use ir::{FloatKind, Type};

/// Where to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    Zero,
    Down,
    Up,
}

/// The nearest double, a number of the sign of what is missing, and the sign of an exact zero downwards.
struct Near {
    value: f64,
    missing: f64,
    negative_zero: bool,
}

/// A function: types and bits of its operands.
type Parts = fn(&[Type], &[u64]) -> Near;

/// A function that rounds in one direction.
#[derive(Clone, Copy)]
pub(crate) struct Directed {
    parts: Parts,
    direction: Direction,
    /// Its number of operands.
    pub(crate) arity: usize,
}

static STEMS: &[(&str, usize, Parts)] = &[
    ("add", 2, |t, x| sum(float(t, x, 0), float(t, x, 1))),
    ("sub", 2, |t, x| sum(float(t, x, 0), -float(t, x, 1))),
    ("mul", 2, |t, x| product(float(t, x, 0), float(t, x, 1))),
    ("div", 2, |t, x| quotient(float(t, x, 0), float(t, x, 1))),
    ("rcp", 1, |t, x| quotient(1.0, float(t, x, 0))),
    ("sqrt", 1, |t, x| root(float(t, x, 0))),
    ("fma", 3, |t, x| multiply_add(float(t, x, 0), float(t, x, 1), float(t, x, 2))),
    ("double2float", 1, |t, x| exact(float(t, x, 0))),
    ("int2float", 1, |t, x| integer(i128::from(sign_extend(width(t), x[0])))),
    ("uint2float", 1, |_, x| integer(i128::from(x[0]))),
    ("ll2float", 1, |t, x| integer(i128::from(sign_extend(width(t), x[0])))),
    ("ull2float", 1, |_, x| integer(i128::from(x[0]))),
    ("ll2double", 1, |t, x| integer(i128::from(sign_extend(width(t), x[0])))),
    ("ull2double", 1, |_, x| integer(i128::from(x[0]))),
];

/// The function of a plain name.
pub(crate) fn find(name: &str) -> Option<Directed> {
    let (stem, suffix) = name.rsplit_once('_')?;
    let direction = match suffix {
        "rz" => Direction::Zero,
        "rd" => Direction::Down,
        "ru" => Direction::Up,
        _ => return None,
    };
    let (_, arity, parts) = STEMS.iter().find(|(own, _, _)| *own == stem)?;
    Some(Directed { parts: *parts, direction, arity: *arity })
}

fn width(types: &[Type]) -> u32 {
    types[0].scalar_bits().expect("an integer has a width")
}

fn float(types: &[Type], x: &[u64], index: usize) -> f64 {
    types[index].as_float().map_or(f64::NAN, |kind| float_value(kind, x[index]))
}

fn near(value: f64, missing: f64) -> Near {
    Near { value, missing, negative_zero: false }
}

fn exact(value: f64) -> Near {
    near(value, 0.0)
}

/// A result that is infinite only because it is too large.
fn beyond(value: f64) -> Near {
    near(value, if value > 0.0 { -1.0 } else { 1.0 })
}

fn sum(x: f64, y: f64) -> Near {
    let value = x + y;
    if value.is_infinite() && x.is_finite() && y.is_finite() {
        return beyond(value);
    }
    let moved = value - x;
    let missing = (x - (value - moved)) + (y - moved);
    let negative_zero = value == 0.0 && (x.to_bits() | y.to_bits()) != 0;
    Near { value, missing, negative_zero }
}

fn product(x: f64, y: f64) -> Near {
    let value = x * y;
    if value.is_infinite() && x.is_finite() && y.is_finite() {
        return beyond(value);
    }
    let (small, large) = if x.abs() < y.abs() { (x, y) } else { (y, x) };
    let scale = if value.abs() < 2f64.powi(-900) { 2f64.powi(700) } else { 1.0 };
    near(value, (small * scale).mul_add(large, -value * scale))
}

fn quotient(x: f64, y: f64) -> Near {
    let value = x / y;
    if value.is_infinite() && x.is_finite() && y != 0.0 {
        return beyond(value);
    }
    let scale = if x.abs() < 2f64.powi(-300) { 2f64.powi(700) } else { 1.0 };
    let (of_value, of_divisor) = if y.abs() < 1.0 { (1.0, scale) } else { (scale, 1.0) };
    near(value, (-value * of_value).mul_add(y * of_divisor, x * scale) * 1f64.copysign(y))
}

fn root(x: f64) -> Near {
    let value = x.sqrt();
    let scale = if x.abs() < 2f64.powi(-700) { 2f64.powi(300) } else { 1.0 };
    near(value, (-value * scale).mul_add(value * scale, x * scale * scale))
}

fn multiply_add(x: f64, y: f64, z: f64) -> Near {
    let value = x.mul_add(y, z);
    if value.is_infinite() && x.is_finite() && y.is_finite() && z.is_finite() {
        return beyond(value);
    }
    let whole = x * y;
    let lost = x.mul_add(y, -whole);
    let first = sum(whole, z);
    let second = sum(first.value - value, first.missing);
    let third = sum(second.value, lost);
    let missing = third.value + (second.missing + third.missing);
    Near { value, missing, negative_zero: value == 0.0 && (whole.to_bits() | z.to_bits()) != 0 }
}

fn integer(x: i128) -> Near {
    let value = x as f64;
    near(value, (x - value as i128) as f64)
}

impl Directed {
    /// The bits of the result.
    pub(crate) fn apply(self, types: &[Type], result: Type, x: &[u64]) -> Option<u64> {
        let kind = result.as_float()?;
        let Near { value, missing, negative_zero } = (self.parts)(types, x);
        if value == 0.0 && missing == 0.0 && negative_zero && self.direction == Direction::Down {
            return Some(float_bits(kind, -0.0));
        }
        let bits = float_bits(kind, value);
        let back = float_value(kind, bits);
        let above = back > value || back == value && missing < 0.0;
        let below = back < value || back == value && missing > 0.0;
        let steps = match self.direction {
            Direction::Zero => above && back > 0.0 || below && back < 0.0,
            Direction::Down => above,
            Direction::Up => below,
        };
        Some(if steps { beside(kind, bits, self.direction) } else { bits })
    }
}

/// The neighbour of a number in a direction.
fn beside(kind: FloatKind, bits: u64, direction: Direction) -> u64 {
    let sign = 1 << (kind.bits() - 1);
    let (negative, zero) = (bits & sign != 0, bits & !sign == 0);
    match direction {
        Direction::Zero => bits - 1,
        Direction::Down if zero => sign | 1,
        Direction::Up if zero => 1,
        Direction::Down => {
            if negative {
                bits + 1
            } else {
                bits - 1
            }
        }
        Direction::Up => {
            if negative {
                bits - 1
            } else {
                bits + 1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::find;
    use ir::{FloatKind, Type};

    fn single(name: &str, x: &[f32]) -> f32 {
        let ty = Type::float(FloatKind::F32);
        let bits: Vec<u64> = x.iter().map(|value| u64::from(value.to_bits())).collect();
        let function = find(name).unwrap();
        f32::from_bits(function.apply(&vec![ty; x.len()], ty, &bits).unwrap() as u32)
    }

    #[test]
    fn results_lie_on_the_side_that_is_asked_for() {
        let third = 1.0f32 / 3.0;
        assert_eq!(single("div_ru", &[1.0, 3.0]), third);
        assert_eq!(single("div_rd", &[1.0, 3.0]), third.next_down());
        assert_eq!(single("div_rz", &[-1.0, 3.0]), -third.next_down());
        assert_eq!(single("add_ru", &[1.0, 1e-30]), 1f32.next_up());
        assert_eq!(single("add_rd", &[1.0, -1e-30]), 1f32.next_down());
        assert_eq!(single("add_rz", &[f32::MAX, f32::MAX]), f32::MAX);
        assert_eq!(single("mul_ru", &[1e-30, 1e-30]), f32::from_bits(1));
        assert_eq!(single("mul_rd", &[1e-30, 1e-30]), 0.0);
        assert!(single("sqrt_rd", &[3.0]) < single("sqrt_ru", &[3.0]));
        assert_eq!(single("sqrt_rd", &[4.0]), 2.0);
        assert_eq!(single("rcp_rz", &[0.0]), f32::INFINITY);
        assert!(single("sub_rd", &[1.0, 1.0]).is_sign_negative());
        assert!(single("sub_ru", &[1.0, 1.0]).is_sign_positive());
        assert!(find("exp_rz").is_none() && find("add_rn").is_none());
    }

    #[test]
    fn integers_round_once() {
        let (int, single) = (Type::int(64), Type::float(FloatKind::F32));
        let run = |name: &str, x: i64| {
            f32::from_bits(find(name).unwrap().apply(&[int], single, &[x as u64]).unwrap() as u32)
        };
        assert_eq!(run("ll2float_rz", i64::MAX), 9.223_371_5e18);
        assert_eq!(run("ll2float_ru", i64::MAX), 9.223_372e18);
        assert_eq!(run("ll2float_rd", -16_777_217), -16_777_218.0);
        assert_eq!(run("ull2float_rd", -1), 1.844_674_3e19);
    }
}
