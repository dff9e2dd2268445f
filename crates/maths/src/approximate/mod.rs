//! Functions of singles for machines that approximate some of them by instructions: `2^x`, `log2 x`, reciprocals and
//! roots (see [`Approximation`]).
//!
//! An instruction is used where its error does not show: the rest is polynomials of few terms. There are no branches
//! but around what few inputs need, and special numbers come out of the same instructions, or of one selection.
//! Denormal arguments and results are kept. Constants are minimax fits, rounded to singles one after the other. Left
//! out: doubles, and vectors.

mod bessel;
mod bessel_second;
mod error;
mod exponential;
mod gamma;
mod half_turns;
mod hypotenuse;
mod inverse;
mod inverse_error;
mod inverse_hyperbolic;
mod logarithm;
mod modified_bessel;
mod power;

use crate::builder::Builder;
use crate::{Approximation, Elem, Generate};
use llir::Value;

/// A function that is made of approximations.
pub struct ApproximateFn {
    /// Its name, as in [`crate::FUNCTIONS`].
    pub name: &'static str,
    /// The bound on its error in units in the last place, whatever the instructions do within their bounds. The unit of
    /// a Bessel function is that of its amplitude from 8 on.
    pub accuracy_ulp: f64,
    pub(crate) generate: Generate,
}

/// The functions.
pub const APPROXIMATE: &[ApproximateFn] = &[
    ApproximateFn { name: "tanh", accuracy_ulp: 2.0, generate: exponential::tanh },
    ApproximateFn { name: "sinh", accuracy_ulp: 1.6, generate: exponential::sinh },
    ApproximateFn { name: "cosh", accuracy_ulp: 1.4, generate: exponential::cosh },
    ApproximateFn { name: "log", accuracy_ulp: 1.0, generate: logarithm::log },
    ApproximateFn { name: "log2", accuracy_ulp: 1.0, generate: logarithm::log2 },
    ApproximateFn { name: "log10", accuracy_ulp: 1.0, generate: logarithm::log10 },
    ApproximateFn { name: "log1p", accuracy_ulp: 1.0, generate: logarithm::log1p },
    ApproximateFn { name: "asinh", accuracy_ulp: 2.0, generate: inverse_hyperbolic::asinh },
    ApproximateFn { name: "acosh", accuracy_ulp: 3.0, generate: inverse_hyperbolic::acosh },
    ApproximateFn { name: "atanh", accuracy_ulp: 2.0, generate: inverse_hyperbolic::atanh },
    ApproximateFn { name: "atan", accuracy_ulp: 2.0, generate: inverse::atan },
    ApproximateFn { name: "asin", accuracy_ulp: 2.4, generate: inverse::asin },
    ApproximateFn { name: "erfc", accuracy_ulp: 4.0, generate: error::erfc },
    ApproximateFn { name: "normcdf", accuracy_ulp: 4.0, generate: error::normcdf },
    ApproximateFn { name: "exp10", accuracy_ulp: 3.0, generate: exponential::exp10 },
    ApproximateFn { name: "sinpi", accuracy_ulp: 1.0, generate: half_turns::sinpi },
    ApproximateFn { name: "cospi", accuracy_ulp: 1.0, generate: half_turns::cospi },
    ApproximateFn { name: "hypot", accuracy_ulp: 2.0, generate: hypotenuse::hypot },
    ApproximateFn { name: "rhypot", accuracy_ulp: 3.3, generate: hypotenuse::rhypot },
    ApproximateFn { name: "acos", accuracy_ulp: 1.8, generate: inverse::acos },
    ApproximateFn { name: "erfinv", accuracy_ulp: 4.0, generate: inverse_error::erfinv },
    ApproximateFn { name: "erfcinv", accuracy_ulp: 4.0, generate: inverse_error::erfcinv },
    ApproximateFn { name: "normcdfinv", accuracy_ulp: 4.6, generate: inverse_error::normcdfinv },
    ApproximateFn { name: "erfcx", accuracy_ulp: 2.3, generate: error::erfcx },
    ApproximateFn { name: "lgamma", accuracy_ulp: 2.6, generate: gamma::lgamma },
    ApproximateFn { name: "tgamma", accuracy_ulp: 4.2, generate: gamma::tgamma },
    ApproximateFn { name: "cyl_bessel_i0", accuracy_ulp: 5.3, generate: modified_bessel::cyl_bessel_i0 },
    ApproximateFn { name: "cyl_bessel_i1", accuracy_ulp: 5.2, generate: modified_bessel::cyl_bessel_i1 },
    ApproximateFn { name: "j0", accuracy_ulp: 6.1, generate: bessel::j0 },
    ApproximateFn { name: "j1", accuracy_ulp: 6.0, generate: bessel::j1 },
    ApproximateFn { name: "y0", accuracy_ulp: 6.0, generate: bessel_second::y0 },
    ApproximateFn { name: "y1", accuracy_ulp: 6.4, generate: bessel_second::y1 },
    ApproximateFn { name: "pow", accuracy_ulp: 1.5, generate: power::pow },
    ApproximateFn { name: "cbrt", accuracy_ulp: 2.0, generate: power::cbrt },
];

/// How a function of a name is made of approximations.
pub(crate) fn find(name: &str) -> Option<Generate> {
    APPROXIMATE.iter().find(|row| row.name == name).map(|row| row.generate)
}

/// The nearest single of ln 2, and what it lacks.
const LN_2: [f64; 2] = split(std::f64::consts::LN_2);

/// The nearest single of a number, and what that lacks.
const fn split(number: f64) -> [f64; 2] {
    let nearest = number as f32 as f64;
    [nearest, number - nearest]
}

/// The smallest normal single.
const SMALLEST: f64 = f32::MIN_POSITIVE as f64;

impl Builder<'_, '_> {
    /// Whether functions are made of approximations.
    pub(crate) fn approximates(&self) -> bool {
        self.elem() == Elem::F32 && self.lanes() == 1 && self.machine.approximates()
    }

    /// The reciprocal.
    pub(crate) fn inverted(&mut self, x: Value) -> Value {
        self.machine.approximate(self.b, Approximation::Reciprocal, x)
    }

    /// The square root.
    fn rooted(&mut self, x: Value) -> Value {
        self.machine.approximate(self.b, Approximation::Root, x)
    }

    /// One over the square root.
    fn inverse_root(&mut self, x: Value) -> Value {
        self.machine.approximate(self.b, Approximation::ReciprocalRoot, x)
    }

    /// Two to a power.
    fn raised(&mut self, x: Value) -> Value {
        self.machine.approximate(self.b, Approximation::Exp2, x)
    }

    /// The logarithm of base two.
    fn log_two(&mut self, x: Value) -> Value {
        self.machine.approximate(self.b, Approximation::Log2, x)
    }

    /// The smaller of a number and a bound; a NaN stays.
    fn below(&mut self, x: Value, bound: f64) -> Value {
        let bound = self.float(bound);
        self.intrinsic(&llir::intrinsics::MINIMUM, &[x, bound])
    }

    /// The larger of a number and a bound; a NaN stays.
    fn above(&mut self, x: Value, bound: f64) -> Value {
        let bound = self.float(bound);
        self.intrinsic(&llir::intrinsics::MAXIMUM, &[x, bound])
    }

    /// `x · factor + addend`.
    fn times_plus(&mut self, x: Value, factor: f64, addend: Value) -> Value {
        let factor = self.float(factor);
        self.mul_add(x, factor, addend)
    }

    /// `x · factor`.
    fn times(&mut self, x: Value, factor: f64) -> Value {
        let factor = self.float(factor);
        self.fmul(x, factor)
    }

    /// The magnitude of one number with the sign of another.
    fn with_sign_of(&mut self, magnitude: Value, sign: Value) -> Value {
        self.intrinsic(&llir::intrinsics::COPYSIGN, &[magnitude, sign])
    }

    /// `x + x · (square · p)`, for an odd function whose polynomial in `square = x²` begins behind `x`.
    fn odd_series(&mut self, x: Value, square: Value, coefficients: &[f64]) -> Value {
        let tail = self.polynomial(square, coefficients);
        let tail = self.fmul(square, tail);
        self.mul_add(tail, x, x)
    }
}
