//! The constants and functions of Python's module `math`, on values known when compiling.

use crate::constexpr;
use crate::diagnostic::{Cause, Fault};
use crate::value::PyValue;

/// A constant of the module.
pub(crate) fn constant(name: &str) -> Option<PyValue> {
    let value = match name {
        "pi" => std::f64::consts::PI,
        "e" => std::f64::consts::E,
        "tau" => std::f64::consts::TAU,
        "inf" => f64::INFINITY,
        "nan" => f64::NAN,
        _ => return None,
    };
    Some(PyValue::Float(value))
}

/// A function of floats that gives a float.
type Function = fn(f64, f64) -> f64;

/// A question about a float.
type Question = fn(f64) -> bool;

/// Functions of one float; the second argument is not read.
const ONE: [(&str, Function); 24] = [
    ("sqrt", |x, _| x.sqrt()),
    ("cbrt", |x, _| x.cbrt()),
    ("exp", |x, _| x.exp()),
    ("exp2", |x, _| x.exp2()),
    ("expm1", |x, _| x.exp_m1()),
    ("log2", |x, _| x.log2()),
    ("log10", |x, _| x.log10()),
    ("log1p", |x, _| x.ln_1p()),
    ("fabs", |x, _| x.abs()),
    ("sin", |x, _| x.sin()),
    ("cos", |x, _| x.cos()),
    ("tan", |x, _| x.tan()),
    ("asin", |x, _| x.asin()),
    ("acos", |x, _| x.acos()),
    ("atan", |x, _| x.atan()),
    ("sinh", |x, _| x.sinh()),
    ("cosh", |x, _| x.cosh()),
    ("tanh", |x, _| x.tanh()),
    ("asinh", |x, _| x.asinh()),
    ("acosh", |x, _| x.acosh()),
    ("atanh", |x, _| x.atanh()),
    ("degrees", |x, _| x.to_degrees()),
    ("radians", |x, _| x.to_radians()),
    ("ulp", |x, _| x.abs().next_up() - x.abs()),
];

/// Functions of two floats.
const TWO: [(&str, Function); 6] = [
    ("pow", f64::powf),
    ("atan2", f64::atan2),
    ("hypot", f64::hypot),
    ("copysign", f64::copysign),
    ("fmod", |x, y| x % y),
    ("remainder", remainder),
];

/// Functions of one float that ask something of it.
const QUESTIONS: [(&str, Question); 3] =
    [("isnan", f64::is_nan), ("isinf", f64::is_infinite), ("isfinite", f64::is_finite)];

/// Functions of one float that give an integer; the second argument is not read.
const WHOLE: [(&str, Function); 3] =
    [("ceil", |x, _| x.ceil()), ("floor", |x, _| x.floor()), ("trunc", |x, _| x.trunc())];

/// Functions whose results may be too large for a float; what others give beyond that is a pole.
const OVER: [&str; 7] = ["exp", "exp2", "expm1", "sinh", "cosh", "pow", "hypot"];

/// Functions that give infinity then, as Python's do.
const NEVER_OVER: [&str; 2] = ["degrees", "ulp"];

/// Functions of integers, and those with a number of arguments that varies.
const OTHERS: [&str; 5] = ["log", "gcd", "lcm", "isqrt", "prod"];

/// What is left of `x` when the nearest multiple of `y` is taken away, the even one of two.
fn remainder(x: f64, y: f64) -> f64 {
    if y.is_infinite() && x.is_finite() {
        return x;
    }
    let (size, step) = (x.abs(), y.abs());
    let rest = size % step;
    let more = step - rest;
    let nearest = if rest < more || rest == more && (size - rest) * 0.5 % step == 0.0 { rest } else { -more };
    nearest * 1f64.copysign(x)
}

/// Whether the module has such a function.
pub(crate) fn has(name: &str) -> bool {
    let listed = ONE.iter().chain(&TWO).any(|(own, _)| *own == name);
    let asked = QUESTIONS.iter().any(|(own, _)| *own == name);
    listed || asked || WHOLE.iter().any(|(own, _)| *own == name) || OTHERS.contains(&name)
}

/// Calls a function of the module.
///
/// # Errors
/// As Python's: what is no number, and values outside the domain.
pub(crate) fn call(name: &str, args: &[PyValue]) -> Result<PyValue, Fault> {
    if let Some(result) = integers(name, args) {
        return result;
    }
    let float = |index: usize| match args.get(index) {
        Some(value) => constexpr::as_float(value).ok_or_else(|| {
            Cause::Type.says(format!("math.{name}(): must be real number, not {}", value.type_name()))
        }),
        None => Err(Cause::Type.says(format!("math.{name}() takes more arguments ({} given)", args.len()))),
    };
    let x = float(0)?;
    let domain = |value: f64| {
        let given = |holds: fn(f64) -> bool| args.iter().filter_map(constexpr::as_float).all(holds);
        match value {
            value if value.is_nan() && given(|value| !value.is_nan()) => {
                Err(Fault::from("math domain error"))
            }
            value if value.is_infinite() && given(f64::is_finite) && !NEVER_OVER.contains(&name) => {
                Err(if OVER.contains(&name) {
                    Cause::Overflow.says("math range error")
                } else {
                    Fault::from("math domain error")
                })
            }
            value => Ok(PyValue::Float(value)),
        }
    };
    let of = |table: &'static [(&'static str, Function)]| {
        table.iter().find(|(own, _)| *own == name).map(|(_, function)| function)
    };
    if let Some(function) = of(&ONE) {
        return domain(function(x, 0.0));
    }
    if let Some(function) = of(&TWO) {
        return domain(function(x, float(1)?));
    }
    if let Some((_, question)) = QUESTIONS.iter().find(|(own, _)| *own == name) {
        return Ok(PyValue::Bool(question(x)));
    }
    if let Some((_, rounded)) = WHOLE.iter().find(|(own, _)| *own == name) {
        // Integers are exact beyond what a float holds.
        return if constexpr::as_int(&args[0]).is_some() {
            constexpr::to_int(&args[0])
        } else {
            constexpr::to_int(&PyValue::Float(rounded(x, 0.0)))
        };
    }
    match name {
        "log" if x <= 0.0 => Err("math domain error".into()),
        "log" if args.len() > 1 && float(1)? <= 0.0 => Err("math domain error".into()),
        "log" if args.len() > 1 && float(1)? == 1.0 => {
            Err(Cause::ZeroDivision.says("float division by zero"))
        }
        "log" if args.len() > 1 => Ok(PyValue::Float(x.ln() / float(1)?.ln())),
        "log" => Ok(PyValue::Float(x.ln())),
        _ => Err(format!("module 'math' has no attribute '{name}', or it cannot be used here").into()),
    }
}

/// The functions of integers.
fn integers(name: &str, args: &[PyValue]) -> Option<Result<PyValue, Fault>> {
    if !matches!(name, "gcd" | "lcm" | "isqrt" | "prod") {
        return None;
    }
    if let ("prod", [PyValue::Tuple(tuple)]) = (name, args) {
        let product = tuple.items.iter().try_fold(PyValue::Int(1), |product, item| {
            constexpr::binary(ruff_python_ast::Operator::Mult, &product, item)
        });
        return Some(product);
    }
    let values: Option<Vec<i128>> = args.iter().map(constexpr::as_int).collect();
    let Some(values) = values else {
        return Some(Err(format!("math.{name}() takes integers").into()));
    };
    let sizes = values.iter().map(|value| value.unsigned_abs());
    let result = match (name, values.as_slice()) {
        ("gcd", _) => Some(sizes.fold(0, divisor)),
        ("lcm", _) => sizes.into_iter().try_fold(1, |a: u128, b| {
            if a == 0 || b == 0 { Some(0) } else { (a / divisor(a, b)).checked_mul(b) }
        }),
        ("isqrt", [value]) if *value >= 0 => Some(value.unsigned_abs().isqrt()),
        _ => return Some(Err(format!("math.{name}(): wrong arguments").into())),
    };
    let result = result.and_then(|result| i128::try_from(result).ok());
    Some(result.map(PyValue::Int).ok_or_else(constexpr::too_large))
}

/// The greatest number that divides both.
fn divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::{call, constant, has};
    use crate::diagnostic::Cause;
    use crate::value::PyValue;

    #[test]
    fn functions_answer_as_pythons() {
        let int = PyValue::Int;
        let float = PyValue::Float;
        for (name, args, expected) in [
            ("sqrt", vec![int(16)], float(4.0)),
            ("log2", vec![int(1024)], float(10.0)),
            ("log", vec![float(8.0), int(2)], float(3.0)),
            ("ceil", vec![float(2.1)], int(3)),
            ("floor", vec![float(-2.1)], int(-3)),
            ("trunc", vec![int(1 << 60)], int(1 << 60)),
            ("gcd", vec![int(12), int(-18)], int(6)),
            ("lcm", vec![int(4), int(6)], int(12)),
            ("isqrt", vec![int(17)], int(4)),
            ("isinf", vec![float(f64::INFINITY)], PyValue::Bool(true)),
            ("pow", vec![int(2), int(3)], float(8.0)),
            ("prod", vec![PyValue::tuple(vec![int(3), int(5)])], int(15)),
        ] {
            assert!(has(name), "{name}");
            assert_eq!(call(name, &args), Ok(expected), "{name}");
        }
        assert_eq!(call("sqrt", &[int(-1)]), Err("math domain error".into()));
        assert!(call("sqrt", &[]).is_err() && call("sqrt", &[PyValue::str("x")]).is_err());
        assert_eq!(call("log2", &[int(0)]), Err("math domain error".into()));
        assert_eq!(call("exp", &[int(1000)]), Err(Cause::Overflow.says("math range error")));
        assert_eq!(call("exp", &[float(f64::INFINITY)]), Ok(float(f64::INFINITY)));
        assert!(call("log", &[int(4), int(1)]).is_err());
        for (x, y, expected) in
            [(1e300, 3.0, 1e300 % 3.0), (5.0, 2.0, 1.0), (7.0, 2.0, -1.0), (-5.0, 2.0, -1.0)]
        {
            assert_eq!(call("remainder", &[float(x), float(y)]), Ok(float(expected)), "{x} {y}");
        }
        assert_eq!(call("gcd", &[int(i128::MIN), int(6)]), Ok(int(2)));
        assert!(
            call("lcm", &[int(3i128.pow(80)), int(2i128.pow(100))])
                .unwrap_err()
                .message
                .contains("too large")
        );
        assert_eq!(constant("inf"), Some(float(f64::INFINITY)));
        assert!(!has("frexp") && constant("sqrt").is_none());
    }
}
