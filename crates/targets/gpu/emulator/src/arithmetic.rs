//! Sums, products, quotients and roots of floating point, rounded once in any direction.

use crate::format::{F32, Format, Rounding};

/// A double and what it misses.
#[derive(Debug, Clone, Copy)]
pub struct Inexact {
    /// The nearest double.
    pub value: f64,
    /// What it misses.
    pub rest: f64,
}

impl Inexact {
    fn exact(value: f64) -> Inexact {
        Inexact { value, rest: 0.0 }
    }

    /// Rounds it into a format.
    pub fn encode(self, format: Format, rounding: Rounding) -> u64 {
        let rest = if self.value.is_finite() { self.rest } else { 0.0 };
        format.encode_inexact(self.value, rest, rounding)
    }
}

/// `a + b`.
pub fn add(a: f64, b: f64, rounding: Rounding) -> Inexact {
    let value = a + b;
    if value == 0.0 && rounding == Rounding::Down && (a.is_sign_negative() || b.is_sign_negative()) {
        return Inexact::exact(-0.0);
    }
    let other = value - a;
    let rest = (a - (value - other)) + (b - other);
    Inexact { value, rest }
}

/// `a * b`; exact for singles and smaller.
pub fn mul(a: f64, b: f64) -> Inexact {
    let value = a * b;
    Inexact { value, rest: if value.is_finite() { a.mul_add(b, -value) } else { 0.0 } }
}

/// `a * b + c` of singles and smaller, whose product is exact.
pub fn fma(a: f64, b: f64, c: f64, rounding: Rounding) -> Inexact {
    add(a * b, c, rounding)
}

/// `a / b`.
pub fn div(a: f64, b: f64) -> Inexact {
    let value = a / b;
    let rest = if value.is_finite() && b.is_finite() { (-value).mul_add(b, a) / b } else { 0.0 };
    Inexact { value, rest }
}

/// The square root.
pub fn sqrt(a: f64) -> Inexact {
    let value = a.sqrt();
    Inexact { value, rest: if value.is_finite() { (-value).mul_add(value, a) } else { 0.0 } }
}

/// A subnormal single becomes a zero of its sign.
pub fn flush(value: f32) -> f32 {
    if value.is_subnormal() { 0f32.copysign(value) } else { value }
}

/// The NaN that hardware makes of any.
pub fn canonical(value: f32) -> f32 {
    if value.is_nan() { f32::from_bits(F32.nan() as u32) } else { value }
}

/// The smaller; a NaN only if both are, or if `nan` asks for it.
pub fn minimum(a: f64, b: f64, nan: bool) -> f64 {
    if a.is_nan() || b.is_nan() {
        return if nan || (a.is_nan() && b.is_nan()) {
            f64::NAN
        } else if a.is_nan() {
            b
        } else {
            a
        };
    }
    if a == b {
        return if a.is_sign_negative() { a } else { b };
    }
    if a < b { a } else { b }
}

/// The larger, likewise.
pub fn maximum(a: f64, b: f64, nan: bool) -> f64 {
    -minimum(-a, -b, nan)
}

#[cfg(test)]
mod tests {
    use super::{add, div, fma, maximum, minimum, mul, sqrt};
    use crate::format::{F32, Rounding};
    use proptest::prelude::{any, proptest};

    fn single(bits: u64) -> f32 {
        f32::from_bits(bits as u32)
    }

    fn same(a: f32, b: f32) -> bool {
        a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
    }

    proptest! {
        #[test]
        fn nearest_agrees_with_the_machine(a in any::<f32>(), b in any::<f32>(), c in any::<f32>()) {
            let rounding = Rounding::NearestEven;
            let (x, y, z) = (f64::from(a), f64::from(b), f64::from(c));
            assert!(same(single(add(x, y, rounding).encode(F32, rounding)), a + b));
            assert!(same(single(mul(x, y).encode(F32, rounding)), a * b));
            assert!(same(single(div(x, y).encode(F32, rounding)), a / b));
            assert!(same(single(sqrt(x.abs()).encode(F32, rounding)), a.abs().sqrt()));
            assert!(same(single(fma(x, y, z, rounding).encode(F32, rounding)), a.mul_add(b, c)));
        }

        #[test]
        fn directions_enclose(a in any::<f32>(), b in any::<f32>()) {
            let (x, y) = (f64::from(a), f64::from(b));
            let down = single(add(x, y, Rounding::Down).encode(F32, Rounding::Down));
            let up = single(add(x, y, Rounding::Up).encode(F32, Rounding::Up));
            let near = a + b;
            assert!(near.is_nan() || (down <= near && near <= up));
            assert!(near.is_nan() || down == up || down.next_up() == up);
        }
    }

    #[test]
    fn zeros_have_an_order() {
        assert!(minimum(0.0, -0.0, false).is_sign_negative());
        assert!(maximum(-0.0, 0.0, false).is_sign_positive());
        assert_eq!(minimum(f64::NAN, 1.0, false), 1.0);
        assert!(maximum(1.0, f64::NAN, true).is_nan());
    }
}
