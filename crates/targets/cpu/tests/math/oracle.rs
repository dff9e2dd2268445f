//! The functions of the crate `maths` to about 100 bits, as sums of two doubles.

/// An unevaluated sum of two doubles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    /// The sum, rounded.
    pub(crate) high: f64,
    /// The rest.
    pub(crate) low: f64,
}

fn two_sum(a: f64, b: f64) -> Pair {
    let high = a + b;
    let moved = high - a;
    Pair { high, low: (a - (high - moved)) + (b - moved) }
}

impl From<f64> for Pair {
    fn from(high: f64) -> Pair {
        Pair { high, low: 0.0 }
    }
}

impl std::ops::Add for Pair {
    type Output = Pair;
    fn add(self, other: Pair) -> Pair {
        let high = two_sum(self.high, other.high);
        if !high.high.is_finite() {
            return high.high.into();
        }
        let low = two_sum(self.low, other.low);
        let sum = two_sum(high.high, high.low + low.high);
        two_sum(sum.high, sum.low + low.low)
    }
}

impl std::ops::Neg for Pair {
    type Output = Pair;
    fn neg(self) -> Pair {
        Pair { high: -self.high, low: -self.low }
    }
}

impl std::ops::Sub for Pair {
    type Output = Pair;
    fn sub(self, other: Pair) -> Pair {
        self + -other
    }
}

impl std::ops::Mul for Pair {
    type Output = Pair;
    fn mul(self, other: Pair) -> Pair {
        let high = self.high * other.high;
        if !high.is_finite() {
            return high.into();
        }
        let lost = self.high.mul_add(other.high, -high);
        two_sum(high, lost + (self.high * other.low + self.low * other.high))
    }
}

impl std::ops::Div for Pair {
    type Output = Pair;
    fn div(self, other: Pair) -> Pair {
        let first = self.high / other.high;
        if !first.is_finite() || !other.high.is_finite() {
            return first.into();
        }
        let rest = self - other * first.into();
        let second = rest.high / other.high;
        let rest = rest - other * second.into();
        Pair::from(first) + second.into() + (rest.high / other.high).into()
    }
}

impl Pair {
    fn times_power_of_two(self, exponent: i32) -> Pair {
        let half = exponent / 2;
        let (a, b) = (2f64.powi(half), 2f64.powi(exponent - half));
        Pair { high: self.high * a * b, low: self.low * a * b }
    }

    fn sqrt(self) -> Pair {
        if self.high == 0.0 {
            return self;
        }
        let root = Pair::from(self.high.sqrt());
        let rest = self - root * root;
        root + rest / (root + root)
    }
}

const LN_2: Pair = Pair { high: std::f64::consts::LN_2, low: 2.319_046_813_846_299_6e-17 };
const LN_2_REST: f64 = 5.707_708_438_416_212e-34;
const LN_10: Pair = Pair { high: std::f64::consts::LN_10, low: -2.170_756_223_382_249_4e-16 };
const FRAC_PI_2: Pair = Pair { high: std::f64::consts::FRAC_PI_2, low: 6.123_233_995_736_766e-17 };
const FRAC_PI_2_REST: f64 = -1.497_384_904_859_169_8e-33;
const TWO_OVER_ROOT_PI: Pair =
    Pair { high: std::f64::consts::FRAC_2_SQRT_PI, low: 1.533_545_961_316_588_3e-17 };

/// `exp(x)`, without its power of two.
fn exp_parts(x: Pair) -> (Pair, i32) {
    let n = (x.high / LN_2.high).round();
    let r = x - LN_2 * n.into() - (LN_2_REST * n).into();
    let r = r.times_power_of_two(-4);
    let (mut sum, mut term) = (Pair::from(1.0), Pair::from(1.0));
    for step in 1..20 {
        term = term * r / f64::from(step).into();
        sum = sum + term;
    }
    for _ in 0..4 {
        sum = sum * sum;
    }
    (sum, n as i32)
}

/// `exp(x)`; over- and underflow as usual.
pub(crate) fn exp(x: Pair) -> Pair {
    if x.high > 720.0 {
        return f64::INFINITY.into();
    }
    if x.high < -800.0 {
        return 0.0.into();
    }
    let (sum, n) = exp_parts(x);
    sum.times_power_of_two(n)
}

/// `exp(x) - 1`.
pub(crate) fn expm1(x: Pair) -> Pair {
    if x.high.abs() > 0.3 {
        return exp(x) - 1.0.into();
    }
    let (mut sum, mut term) = (Pair::from(0.0), Pair::from(1.0));
    for step in 1..32 {
        term = term * x / f64::from(step).into();
        sum = sum + term;
    }
    sum
}

/// `log(x)` by one Newton step from the rounded value.
pub(crate) fn log(x: Pair) -> Pair {
    if x.high <= 0.0 || !x.high.is_finite() {
        return x.high.ln().into();
    }
    let exponent = x.high.log2().round() as i32;
    let scaled = x.times_power_of_two(-exponent);
    let near = Pair::from(scaled.high.ln());
    let (power, n) = exp_parts(-near);
    let rest = expm1_like(scaled * power.times_power_of_two(n));
    near + rest + LN_2 * f64::from(exponent).into() + (LN_2_REST * f64::from(exponent)).into()
}

/// `log(q)` for `q` next to one.
fn expm1_like(q: Pair) -> Pair {
    let d = q - 1.0.into();
    d - d * d * 0.5.into()
}

/// `log(1 + x)`.
pub(crate) fn log1p(x: f64) -> Pair {
    if x.abs() < 1e-8 {
        let x = Pair::from(x);
        return x - x * x * 0.5.into() + x * x * x / 3.0.into();
    }
    log(two_sum(1.0, x))
}

/// Sine and cosine for |x| up to a million.
pub(crate) fn sin_cos(x: Pair) -> (Pair, Pair) {
    let n = (x.high / FRAC_PI_2.high).round();
    let first = -(n * FRAC_PI_2.high);
    let first_lost = -n.mul_add(FRAC_PI_2.high, first);
    let second = -(n * FRAC_PI_2.low);
    let second_lost = -n.mul_add(FRAC_PI_2.low, second);
    let r = x
        + Pair { high: first, low: first_lost }
        + Pair { high: second, low: second_lost }
        + (-n * FRAC_PI_2_REST).into();
    let square = r * r;
    let (mut sin, mut cos) = (r, Pair::from(1.0));
    let (mut sin_term, mut cos_term) = (r, Pair::from(1.0));
    for step in 1..16 {
        let step = f64::from(step);
        cos_term = -(cos_term * square) / (2.0 * step * (2.0 * step - 1.0)).into();
        sin_term = -(sin_term * square) / (2.0 * step * (2.0 * step + 1.0)).into();
        cos = cos + cos_term;
        sin = sin + sin_term;
    }
    match (n as i64).rem_euclid(4) {
        0 => (sin, cos),
        1 => (cos, -sin),
        2 => (-sin, -cos),
        _ => (-cos, sin),
    }
}

/// `erf(x)` by the series without cancellation.
pub(crate) fn erf(x: f64) -> Pair {
    if x.abs() > 6.5 {
        return 1f64.copysign(x).into();
    }
    let square = Pair::from(x) * x.into();
    let (mut sum, mut term) = (Pair::from(x), Pair::from(x));
    let mut step = 1.0;
    while term.high.abs() > sum.high.abs() * 1e-33 {
        term = term * square * 2.0.into() / (2.0 * step + 1.0).into();
        sum = sum + term;
        step += 1.0;
    }
    sum * exp(-square) * TWO_OVER_ROOT_PI
}

/// `erfc(x)`: beyond two by the continued fraction, from the inside out.
fn erfc(x: f64) -> Pair {
    if x < 2.0 {
        return Pair::from(1.0) - erf(x);
    }
    let pair = Pair::from(x);
    let mut fraction = pair;
    for step in (1..400).rev() {
        fraction = pair + Pair::from(f64::from(step) * 0.5) / fraction;
    }
    exp(-(pair * pair)) / fraction * TWO_OVER_ROOT_PI * 0.5.into()
}

/// `x^y` where that is a number of two finite ones.
fn power(x: f64, y: f64) -> Pair {
    let odd = y.abs() < 2f64.powi(53) && y % 2.0 != 0.0;
    if x == 0.0 || y == 0.0 || x.abs() == 1.0 || (x < 0.0 && y.trunc() != y) {
        return x.powf(y).into();
    }
    let size = exp(Pair::from(y) * log(x.abs().into()));
    if x < 0.0 && odd { -size } else { size }
}

fn atan2(y: Pair, x: Pair) -> Pair {
    let near = y.high.atan2(x.high);
    let origin = x.high == 0.0 && y.high == 0.0;
    if near == 0.0 || origin || !near.is_finite() || !x.high.is_finite() || !y.high.is_finite() {
        return near.into();
    }
    let exponent = x.high.abs().max(y.high.abs()).log2() as i32;
    let (y, x) = (y.times_power_of_two(-exponent), x.times_power_of_two(-exponent));
    if y.high.abs() < 1e-200 && x.high > 0.0 {
        return near.into();
    }
    let (sin, cos) = sin_cos(near.into());
    Pair::from(near) + (y * cos - x * sin) / (x * cos + y * sin)
}

/// The value of a function of the crate `maths`; the second argument only counts for functions of two.
pub(crate) fn value(name: &str, x: f64, y: f64) -> Pair {
    let one = Pair::from(1.0);
    let pair = Pair::from(x);
    match name.trim_end_matches("_nonpositive") {
        "exp" => exp(pair),
        "exp2" => exp(LN_2 * pair + (LN_2_REST * x).into()),
        "exp10" => exp(LN_10 * pair),
        "expm1" => expm1(pair),
        "sinh" if x.abs() < 0.3 => {
            let e = expm1(pair);
            (e + e / (e + one)) * 0.5.into()
        }
        "sinh" | "cosh" => {
            let half = exp(Pair::from(x.abs()) - LN_2);
            let rest = Pair::from(0.25) / half;
            if name == "cosh" {
                return half + rest;
            }
            let size = half - rest;
            if x < 0.0 { -size } else { size }
        }
        "tanh" if x.abs() > 25.0 => 1f64.copysign(x).into(),
        "tanh" => {
            let e = expm1(pair + pair);
            e / (e + 2.0.into())
        }
        "log" => log(pair),
        "log2" => log(pair) / LN_2,
        "log10" => log(pair) / LN_10,
        "log1p" => log1p(x),
        "sqrt" => pair.sqrt(),
        "rsqrt" => one / pair.sqrt(),
        "sin" => sin_cos(pair).0,
        "cos" => sin_cos(pair).1,
        "tan" => {
            let (sin, cos) = sin_cos(pair);
            sin / cos
        }
        "erf" => erf(x),
        "asin" => atan2(pair, (one - pair * pair).sqrt()),
        "acos" => atan2(((one - pair) * (one + pair)).sqrt(), pair),
        "atan" => atan2(pair, one),
        "atan2" => atan2(pair, y.into()),
        "asinh" => {
            let size = Pair::from(x.abs());
            // Below 1e-8 the next term of the series is enough, beyond 1e100 the logarithm of twice the argument.
            let result = if size.high < 1e-8 {
                size - size * size * size / 6.0.into()
            } else if size.high > 1e100 {
                log(size) + LN_2
            } else {
                log(size + (size * size + one).sqrt())
            };
            if x < 0.0 { -result } else { result }
        }
        "acosh" if x < 1.0 => f64::NAN.into(),
        "acosh" if x > 1e100 => log(pair) + LN_2,
        "acosh" => log(pair + ((pair - one) * (pair + one)).sqrt()),
        "atanh" if x.abs() < 1e-8 => pair + pair * pair * pair / 3.0.into(),
        "atanh" => log((one + pair) / (one - pair)) * 0.5.into(),
        "erfc" => erfc(x),
        "cbrt" => {
            let near = Pair::from(x.cbrt());
            if x == 0.0 { near } else { near - (near * near * near - pair) / (near * near * 3.0.into()) }
        }
        "hypot" => {
            let exponent = x.abs().max(y.abs()).log2();
            let exponent = if exponent.is_finite() { exponent as i32 } else { 0 };
            let x = Pair::from(x).times_power_of_two(-exponent);
            let y = Pair::from(y).times_power_of_two(-exponent);
            (x * x + y * y).sqrt().times_power_of_two(exponent)
        }
        "pow" => power(x, y),
        "fmod" => (x % y).into(),
        "sinpi" | "cospi" => {
            // Quarters of a turn taken off exactly.
            let turns = x % 2.0;
            let quarters = (2.0 * turns).round();
            let angle = (FRAC_PI_2 + FRAC_PI_2) * (turns - 0.5 * quarters).into();
            let (sin, cos) = sin_cos(angle);
            let (sin, cos) = match (quarters as i64).rem_euclid(4) {
                0 => (sin, cos),
                1 => (cos, -sin),
                2 => (-sin, -cos),
                _ => (-cos, sin),
            };
            if name == "sinpi" { sin } else { cos }
        }
        "rcbrt" => one / value("cbrt", x, y),
        // The root of the largest arguments overflows; its reciprocal does not.
        "rhypot" if x.abs().max(y.abs()) > 1e300 => value("rhypot", x / 4.0, y / 4.0).times_power_of_two(-2),
        "rhypot" => one / value("hypot", x, y),
        "fdim" if x <= y => 0.0.into(),
        "fdim" => two_sum(x, -y),
        _ => panic!("no oracle for `{name}`: add one"),
    }
}
