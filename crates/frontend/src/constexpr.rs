//! Arithmetic on values known at compile time, with Python's meaning: floor division, exact integers, truthiness.
//!
//! This is what constexpr expressions, shapes and `if` conditions are computed with. Integers are exact up to 127 bits;
//! beyond that is an error, not a wrong number.

use crate::diagnostic::{Cause, Fault};
use crate::lengths;
use crate::value::PyValue;
use ruff_python_ast::{CmpOp, Operator, UnaryOp};
use std::cmp::Ordering;

/// Whether a value counts as true. `None` for objects that cannot tell.
pub(crate) fn truth(value: &PyValue) -> bool {
    match value {
        PyValue::None => false,
        PyValue::Bool(value) => *value,
        PyValue::Int(value) => *value != 0,
        PyValue::Float(value) => *value != 0.0,
        PyValue::Str(text) => !text.is_empty(),
        PyValue::Tuple(tuple) => !tuple.items.is_empty(),
        PyValue::Constexpr(inner) => truth(inner),
        _ => true,
    }
}

/// A number as Python sees it: `bool` counts as `int`.
#[derive(Clone, Copy, PartialEq)]
enum Number {
    Int(i128),
    Float(f64),
}

fn number(value: &PyValue) -> Option<Number> {
    match value {
        PyValue::Bool(value) => Some(Number::Int(i128::from(*value))),
        PyValue::Int(value) => Some(Number::Int(*value)),
        PyValue::Float(value) => Some(Number::Float(*value)),
        PyValue::Constexpr(inner) => number(inner),
        _ => None,
    }
}

/// The integer that a value is, `bool` included.
pub(crate) fn as_int(value: &PyValue) -> Option<i128> {
    match number(value)? {
        Number::Int(value) => Some(value),
        Number::Float(_) => None,
    }
}

/// The float that a number is or converts to.
pub(crate) fn as_float(value: &PyValue) -> Option<f64> {
    match number(value)? {
        Number::Int(value) => Some(value as f64),
        Number::Float(value) => Some(value),
    }
}

/// What is said of integers beyond that.
pub(crate) fn too_large() -> Fault {
    Cause::Overflow.says("integer constant too large: constants have at most 127 bits")
}

/// A binary operation.
pub(crate) fn binary(op: Operator, left: &PyValue, right: &PyValue) -> Result<PyValue, Fault> {
    if let (Some(a), Some(b)) = (number(left), number(right)) {
        if let (PyValue::Bool(a), PyValue::Bool(b)) = (left, right) {
            match op {
                Operator::BitAnd => return Ok(PyValue::Bool(a & b)),
                Operator::BitOr => return Ok(PyValue::Bool(a | b)),
                Operator::BitXor => return Ok(PyValue::Bool(a ^ b)),
                _ => {}
            }
        }
        return match (a, b) {
            (Number::Int(a), Number::Int(b)) => int_binary(op, a, b),
            (Number::Int(a), Number::Float(b)) => float_binary(op, a as f64, b),
            (Number::Float(a), Number::Int(b)) => float_binary(op, a, b as f64),
            (Number::Float(a), Number::Float(b)) => float_binary(op, a, b),
        };
    }
    match (op, left, right) {
        (Operator::Add, PyValue::Str(a), PyValue::Str(b)) => {
            lengths::joined(a.len(), b.len())?;
            Ok(PyValue::str(&format!("{a}{b}")))
        }
        (Operator::Add, PyValue::Tuple(a), PyValue::Tuple(b)) => {
            lengths::joined(a.items.len(), b.items.len())?;
            Ok(PyValue::tuple(a.items.iter().chain(&b.items).cloned().collect()))
        }
        (Operator::Mult, PyValue::Tuple(tuple), count) | (Operator::Mult, count, PyValue::Tuple(tuple))
            if as_int(count).is_some() =>
        {
            let count = lengths::repetitions(as_int(count).expect("it was asked"), tuple.items.len())?;
            let items = std::iter::repeat_n(&tuple.items, count).flatten().cloned().collect();
            Ok(PyValue::tuple(items))
        }
        (Operator::Mult, PyValue::Str(text), count) | (Operator::Mult, count, PyValue::Str(text))
            if as_int(count).is_some() =>
        {
            let count = lengths::repetitions(as_int(count).expect("it was asked"), text.len())?;
            Ok(PyValue::str(&text.repeat(count)))
        }
        _ => Err(Cause::Type.says(format!(
            "unsupported operand type(s) for {}: '{}' and '{}'",
            op.as_str(),
            left.type_name(),
            right.type_name()
        ))),
    }
}

fn int_binary(op: Operator, a: i128, b: i128) -> Result<PyValue, Fault> {
    let zero = || {
        Cause::ZeroDivision.says(match op {
            Operator::Mod => "integer modulo by zero",
            Operator::FloorDiv => "integer division or modulo by zero",
            _ => "division by zero",
        })
    };
    let value = match op {
        Operator::Add => a.checked_add(b),
        Operator::Sub => a.checked_sub(b),
        Operator::Mult => a.checked_mul(b),
        Operator::Div if b == 0 => return Err(zero()),
        Operator::Div => return Ok(PyValue::Float(true_quotient(a, b))),
        Operator::FloorDiv | Operator::Mod if b == 0 => return Err(zero()),
        Operator::FloorDiv => {
            let rest = a.wrapping_rem_euclid(b);
            a.checked_div_euclid(b).map(|quotient| quotient - i128::from(b < 0 && rest != 0))
        }
        Operator::Mod => {
            let rest = a.wrapping_rem_euclid(b);
            Some(if b < 0 && rest != 0 { rest + b } else { rest })
        }
        Operator::Pow if b < 0 => return float_power(a as f64, b as f64).map(PyValue::Float),
        Operator::Pow if (-1..=1).contains(&a) => {
            Some(if b % 2 == 0 { a.pow(2).max(i128::from(b == 0)) } else { a })
        }
        Operator::Pow => u32::try_from(b).ok().and_then(|b| a.checked_pow(b)),
        Operator::LShift | Operator::RShift if b < 0 => return Err("negative shift count".into()),
        Operator::LShift if b < 127 => a.checked_mul(1 << b),
        Operator::LShift => (a == 0).then_some(0),
        Operator::RShift => Some(a >> b.min(127)),
        Operator::BitAnd => Some(a & b),
        Operator::BitOr => Some(a | b),
        Operator::BitXor => Some(a ^ b),
        Operator::MatMult => {
            return Err(Cause::Type.says("unsupported operand type(s) for @: 'int' and 'int'"));
        }
    };
    value.map(PyValue::Int).ok_or_else(too_large)
}

fn float_binary(op: Operator, a: f64, b: f64) -> Result<PyValue, Fault> {
    let divided = matches!(op, Operator::Div | Operator::FloorDiv | Operator::Mod);
    if divided && b == 0.0 {
        return Err(Cause::ZeroDivision.says("float division by zero"));
    }
    let floor_mod = || match a % b {
        0.0 => 0f64.copysign(b),
        rest if (rest < 0.0) != (b < 0.0) => rest + b,
        rest => rest,
    };
    let value = match op {
        Operator::Add => a + b,
        Operator::Sub => a - b,
        Operator::Mult => a * b,
        Operator::Div => a / b,
        Operator::FloorDiv => match ((a - floor_mod()) / b).round() {
            0.0 => 0f64.copysign(a / b),
            quotient => quotient,
        },
        Operator::Mod => floor_mod(),
        Operator::Pow => float_power(a, b)?,
        _ => {
            return Err(Cause::Type
                .says(format!("unsupported operand type(s) for {}: 'float' and 'float'", op.as_str())));
        }
    };
    Ok(PyValue::Float(value))
}

/// The quotient of two integers, rounded once.
fn true_quotient(a: i128, b: i128) -> f64 {
    let (divisor, mut exponent) = (b.unsigned_abs(), 0);
    let (mut quotient, mut rest) = (a.unsigned_abs() / divisor, a.unsigned_abs() % divisor);
    // More digits than a float has, below which only whether something is left counts.
    while quotient >> 64 == 0 && rest != 0 {
        rest *= 2;
        quotient = quotient * 2 + u128::from(rest >= divisor);
        rest -= if rest >= divisor { divisor } else { 0 };
        exponent -= 1;
    }
    let magnitude = (quotient | u128::from(rest != 0)) as f64 * 2f64.powi(exponent);
    if (a < 0) == (b < 0) { magnitude } else { -magnitude }
}

/// `a ** b` of floats.
fn float_power(a: f64, b: f64) -> Result<f64, Fault> {
    if a == 0.0 && b < 0.0 {
        return Err(Cause::ZeroDivision.says("0.0 cannot be raised to a negative power"));
    }
    if a < 0.0 && a.is_finite() && b.is_finite() && b.fract() != 0.0 {
        return Err(format!(
            "{} ** {} is a complex number, which kernels do not have",
            float_text(a),
            float_text(b)
        )
        .into());
    }
    let value = a.powf(b);
    let is_over = value.is_infinite() && a.is_finite() && b.is_finite();
    if is_over { Err(Cause::Overflow.says("the result of `**` is too large for a float")) } else { Ok(value) }
}

/// A unary operation.
pub(crate) fn unary(op: UnaryOp, operand: &PyValue) -> Result<PyValue, Fault> {
    match (op, number(operand)) {
        (UnaryOp::Not, _) => Ok(PyValue::Bool(!truth(operand))),
        (UnaryOp::UAdd, Some(Number::Int(value))) => Ok(PyValue::Int(value)),
        (UnaryOp::USub, Some(Number::Int(value))) => {
            value.checked_neg().map(PyValue::Int).ok_or_else(too_large)
        }
        (UnaryOp::Invert, Some(Number::Int(value))) => Ok(PyValue::Int(!value)),
        (UnaryOp::UAdd, Some(Number::Float(value))) => Ok(PyValue::Float(value)),
        (UnaryOp::USub, Some(Number::Float(value))) => Ok(PyValue::Float(-value)),
        _ => Err(Cause::Type.says(format!(
            "bad operand type for unary {}: '{}'",
            op.as_str(),
            operand.type_name()
        ))),
    }
}

/// `abs(value)`.
pub(crate) fn absolute(value: &PyValue) -> Result<PyValue, Fault> {
    match number(value) {
        Some(Number::Int(value)) => value.checked_abs().map(PyValue::Int).ok_or_else(too_large),
        Some(Number::Float(value)) => Ok(PyValue::Float(value.abs())),
        None => Err(Cause::Type.says(format!("bad operand type for abs(): '{}'", value.type_name()))),
    }
}

/// Whether two values are equal, numbers by value.
pub(crate) fn equal(left: &PyValue, right: &PyValue) -> bool {
    match (number(left), number(right)) {
        (Some(a), Some(b)) => order_of_numbers(a, b) == Some(Ordering::Equal),
        (None, None) => match (left, right) {
            (PyValue::Tuple(a), PyValue::Tuple(b)) => {
                a.items.len() == b.items.len() && a.items.iter().zip(&b.items).all(|(a, b)| equal(a, b))
            }
            (PyValue::Constexpr(a), b) | (b, PyValue::Constexpr(a)) => equal(a, b),
            _ => left == right,
        },
        _ => false,
    }
}

/// Whether two values are the same object, as `is` asks of constexprs.
pub(crate) fn identical(left: &PyValue, right: &PyValue) -> bool {
    match (left, right) {
        (PyValue::Constexpr(a), b) | (b, PyValue::Constexpr(a)) => identical(a, b),
        (PyValue::Bool(a), PyValue::Bool(b)) => a == b,
        (PyValue::Bool(_), _) | (_, PyValue::Bool(_)) => false,
        (PyValue::Int(_), PyValue::Float(_)) | (PyValue::Float(_), PyValue::Int(_)) => false,
        _ => equal(left, right),
    }
}

/// A comparison other than `is`.
pub(crate) fn compare(op: CmpOp, left: &PyValue, right: &PyValue) -> Result<bool, Fault> {
    let unsupported = || {
        let (left, right) = (left.type_name(), right.type_name());
        Cause::Type
            .says(format!("'{}' not supported between instances of '{left}' and '{right}'", op.as_str()))
    };
    match op {
        CmpOp::Eq => return Ok(equal(left, right)),
        CmpOp::NotEq => return Ok(!equal(left, right)),
        CmpOp::Is => return Ok(identical(left, right)),
        CmpOp::IsNot => return Ok(!identical(left, right)),
        CmpOp::In | CmpOp::NotIn => {
            let found = match (left, right) {
                (_, PyValue::Tuple(tuple)) => tuple.items.iter().any(|item| equal(item, left)),
                (PyValue::Str(part), PyValue::Str(text)) => text.contains(&**part),
                _ => return Err(unsupported()),
            };
            return Ok(found == (op == CmpOp::In));
        }
        _ => {}
    }
    // Unordered (a NaN takes part) compares false.
    let Some(ordering) = order(left, right).ok_or_else(unsupported)? else { return Ok(false) };
    Ok(match op {
        CmpOp::Lt => ordering == Ordering::Less,
        CmpOp::LtE => ordering != Ordering::Greater,
        CmpOp::Gt => ordering == Ordering::Greater,
        _ => ordering != Ordering::Less,
    })
}

/// The order of two values: `None` where there is none between their types, `Some(None)` with a NaN.
fn order(left: &PyValue, right: &PyValue) -> Option<Option<Ordering>> {
    if let (PyValue::Str(a), PyValue::Str(b)) = (left, right) {
        return Some(Some(a.cmp(b)));
    }
    if let (PyValue::Tuple(a), PyValue::Tuple(b)) = (left, right) {
        for (a, b) in a.items.iter().zip(&b.items) {
            if !equal(a, b) {
                return order(a, b);
            }
        }
        return Some(Some(a.items.len().cmp(&b.items.len())));
    }
    Some(order_of_numbers(number(left)?, number(right)?))
}

/// The order of two numbers, exactly; none with a NaN.
fn order_of_numbers(left: Number, right: Number) -> Option<Ordering> {
    match (left, right) {
        (Number::Int(a), Number::Int(b)) => Some(a.cmp(&b)),
        (Number::Float(a), Number::Float(b)) => a.partial_cmp(&b),
        (Number::Float(_), Number::Int(_)) => order_of_numbers(right, left).map(Ordering::reverse),
        // Beyond all integers here, the cast gives the last of them.
        (Number::Int(a), Number::Float(b)) => match a.cmp(&(b as i128)) {
            _ if b.is_nan() => None,
            _ if b.abs() >= 2f64.powi(127) => 0f64.partial_cmp(&b),
            Ordering::Equal => 0f64.partial_cmp(&b.fract()),
            order => Some(order),
        },
    }
}

/// `int(value)`.
pub(crate) fn to_int(value: &PyValue) -> Result<PyValue, Fault> {
    match (number(value), value) {
        (Some(Number::Int(value)), _) => Ok(PyValue::Int(value)),
        (Some(Number::Float(value)), _) if value.is_finite() && value.abs() < 1e38 => {
            Ok(PyValue::Int(value.trunc() as i128))
        }
        (Some(Number::Float(value)), _) => {
            Err(format!("cannot convert float {} to integer", float_text(value)).into())
        }
        (None, PyValue::Str(text)) => text
            .trim()
            .parse()
            .map(PyValue::Int)
            .map_err(|_| Fault::from(format!("invalid literal for int() with base 10: '{text}'"))),
        _ => Err(Cause::Type
            .says(format!("int() argument must be a string or a number, not '{}'", value.type_name()))),
    }
}

/// `float(value)`.
pub(crate) fn to_float(value: &PyValue) -> Result<PyValue, Fault> {
    if let PyValue::Str(text) = value {
        let lower = text.trim().to_ascii_lowercase();
        return lower
            .parse()
            .map(PyValue::Float)
            .map_err(|_| Fault::from(format!("could not convert string to float: '{text}'")));
    }
    match as_float(value) {
        Some(value) => Ok(PyValue::Float(value)),
        None => Err(Cause::Type
            .says(format!("float() argument must be a string or a number, not '{}'", value.type_name()))),
    }
}

/// `x / y`, rounded up.
pub(crate) fn ceil_div(x: &PyValue, y: &PyValue) -> Result<PyValue, Fault> {
    let less = binary(Operator::Sub, y, &PyValue::Int(1))?;
    binary(Operator::FloorDiv, &binary(Operator::Add, x, &less)?, y)
}

/// The smallest power of two that is not below an integer; 0 for 0.
pub(crate) fn next_power_of_2(n: &PyValue) -> Result<PyValue, Fault> {
    match as_int(n) {
        Some(n) if n <= 1 => Ok(PyValue::Int(n.max(0))),
        Some(n) if n <= 1 << 126 => Ok(PyValue::Int(1 << (128 - (n - 1).leading_zeros()))),
        _ => Err(format!("next_power_of_2 needs an integer, found {}", repr(n)).into()),
    }
}

/// The smallest or largest of values.
pub(crate) fn extremum(values: &[PyValue], smallest: bool) -> Result<PyValue, Fault> {
    let better = if smallest { CmpOp::Lt } else { CmpOp::Gt };
    let mut best = values.first().ok_or("min() and max() need at least one value")?;
    for value in &values[1..] {
        if compare(better, value, best)? {
            best = value;
        }
    }
    Ok(best.clone())
}

/// How Python prints a float.
pub(crate) fn float_text(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_string();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_string();
    }
    let magnitude = value.abs();
    if magnitude == 0.0 || (1e-4..1e16).contains(&magnitude) {
        return format!("{value:?}");
    }
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
    format!("{mantissa}e{sign}{digits:0>2}")
}

/// `repr(value)`.
pub(crate) fn repr(value: &PyValue) -> String {
    match value {
        PyValue::Str(text) if text.contains('\'') && !text.contains('"') => format!("\"{text}\""),
        PyValue::Str(text) => {
            format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n"))
        }
        other => text(other),
    }
}

/// `str(value)`.
pub(crate) fn text(value: &PyValue) -> String {
    match value {
        PyValue::None => "None".to_string(),
        PyValue::Bool(true) => "True".to_string(),
        PyValue::Bool(false) => "False".to_string(),
        PyValue::Int(value) => value.to_string(),
        PyValue::Float(value) => float_text(*value),
        PyValue::Str(text) => text.to_string(),
        PyValue::DType(scalar) => scalar.to_string(),
        PyValue::Tuple(tuple) => {
            let items: Vec<String> = tuple.items.iter().map(repr).collect();
            if items.len() == 1 { format!("({},)", items[0]) } else { format!("({})", items.join(", ")) }
        }
        PyValue::JitFunction(function) => format!("{function:?}"),
        PyValue::Builtin(name) => format!("<function {name}>"),
        PyValue::Module(name) => format!("<module {name}>"),
        PyValue::Constexpr(inner) => text(inner),
        PyValue::ConstexprFunction(object) | PyValue::Object(object) => object.0.text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::{binary, compare, equal, float_text, identical, text, to_float, to_int, truth, unary};
    use crate::value::PyValue;
    use ruff_python_ast::{CmpOp, Operator, UnaryOp};

    fn int(value: i128) -> PyValue {
        PyValue::Int(value)
    }

    #[test]
    fn division_floors_as_in_python() {
        for (a, b, quotient, rest) in
            [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1), (6, -3, -2, 0)]
        {
            assert_eq!(binary(Operator::FloorDiv, &int(a), &int(b)), Ok(int(quotient)), "{a} // {b}");
            assert_eq!(binary(Operator::Mod, &int(a), &int(b)), Ok(int(rest)), "{a} % {b}");
        }
        assert!(binary(Operator::FloorDiv, &int(1), &int(0)).unwrap_err().message.contains("by zero"));
        assert_eq!(binary(Operator::Div, &int(1), &int(2)), Ok(PyValue::Float(0.5)));
        assert_eq!(binary(Operator::Mod, &PyValue::Float(-1.5), &int(1)), Ok(PyValue::Float(0.5)));
    }

    #[test]
    fn integers_are_exact_or_an_error() {
        assert_eq!(binary(Operator::Pow, &int(2), &int(64)), Ok(int(1 << 64)));
        // The least number divided by -1 is the only quotient that has no place.
        assert!(
            binary(Operator::FloorDiv, &int(i128::MIN), &int(-1)).unwrap_err().message.contains("too large")
        );
        assert_eq!(binary(Operator::FloorDiv, &int(i128::MIN + 1), &int(-1)), Ok(int(i128::MAX)));
        assert!(binary(Operator::Pow, &int(2), &int(200)).unwrap_err().message.contains("too large"));
        assert!(binary(Operator::LShift, &int(1), &int(500)).is_err());
        assert!(binary(Operator::LShift, &int(1), &int(-1)).unwrap_err().message.contains("negative shift"));
        assert_eq!(binary(Operator::RShift, &int(-1), &int(500)), Ok(int(-1)));
        assert_eq!(unary(UnaryOp::Invert, &int(5)), Ok(int(-6)));
        assert!(unary(UnaryOp::USub, &int(i128::MIN)).is_err());
        assert_eq!(binary(Operator::FloorDiv, &int(i128::MIN), &int(1)), Ok(int(i128::MIN)));
    }

    #[test]
    fn numbers_are_exact_or_rounded_once() {
        let float = PyValue::Float;
        let large = (1 << 53) + 1;
        assert!(!equal(&int(large), &float(2f64.powi(53))));
        assert_eq!(compare(CmpOp::Gt, &int(large), &float(2f64.powi(53))), Ok(true));
        assert_eq!(compare(CmpOp::Lt, &float(-0.5), &int(0)), Ok(true));
        assert_eq!(compare(CmpOp::Lt, &int(i128::MAX), &float(2f64.powi(127))), Ok(true));
        assert_eq!(compare(CmpOp::GtE, &int(0), &float(f64::NEG_INFINITY)), Ok(true));
        for (op, a, b, expected) in [
            (Operator::Div, int(10i128.pow(30) + 1), int(10i128.pow(28) - 7), 100.0 + 7e-26),
            (Operator::Div, int(large * 3), int(3), 2f64.powi(53)),
            (Operator::Div, int((1 << 54) + 3), int((1 << 53) + 1), 2.0),
            (Operator::Div, int(-1), int(3), -1.0 / 3.0),
            (Operator::Div, int(1), int(i128::MIN), -(2f64.powi(-127))),
            (Operator::Mod, float(-4.0), float(2.0), 0.0),
            (Operator::Mod, float(4.0), float(-2.0), -0.0),
            (Operator::FloorDiv, float(-0.0), float(2.0), -0.0),
            (Operator::FloorDiv, float(-7.5), float(2.0), -4.0),
            (Operator::Pow, int(2), int(-2), 0.25),
        ] {
            let Ok(PyValue::Float(found)) = binary(op, &a, &b) else { panic!("{a:?} {op} {b:?}") };
            assert_eq!(found.to_bits(), expected.to_bits(), "{a:?} {op} {b:?}: {found}");
        }
    }

    #[test]
    fn powers_are_pythons() {
        let (minus_eight, zero, half) = (PyValue::Float(-8.0), PyValue::Float(0.0), PyValue::Float(0.5));
        for (base, exponent, expected) in
            [(1, i128::MAX, 1), (-1, i128::MAX, -1), (-1, 1 << 40, 1), (0, 0, 1), (0, 9, 0)]
        {
            assert_eq!(
                binary(Operator::Pow, &int(base), &int(exponent)),
                Ok(int(expected)),
                "{base} ** {exponent}"
            );
        }
        assert!(binary(Operator::Pow, &minus_eight, &half).unwrap_err().message.contains("complex"));
        assert!(binary(Operator::Pow, &zero, &int(-1)).unwrap_err().message.contains("negative power"));
        assert!(binary(Operator::Pow, &int(0), &int(-1)).unwrap_err().message.contains("negative power"));
        assert!(
            binary(Operator::Pow, &PyValue::Float(2.0), &int(1024))
                .unwrap_err()
                .message
                .contains("too large")
        );
        assert_eq!(binary(Operator::Mult, &int(2), &PyValue::str("ab")), Ok(PyValue::str("abab")));
    }

    #[test]
    fn bools_are_integers_but_not_identical_to_them() {
        assert_eq!(binary(Operator::Add, &PyValue::Bool(true), &int(1)), Ok(int(2)));
        assert_eq!(
            binary(Operator::BitAnd, &PyValue::Bool(true), &PyValue::Bool(false)),
            Ok(PyValue::Bool(false))
        );
        assert!(equal(&PyValue::Bool(true), &int(1)));
        assert!(!identical(&PyValue::Bool(true), &int(1)));
        assert!(identical(&PyValue::None, &PyValue::None));
    }

    #[test]
    fn comparisons_and_truth() {
        assert_eq!(compare(CmpOp::Lt, &int(1), &PyValue::Float(1.5)), Ok(true));
        assert_eq!(compare(CmpOp::Lt, &PyValue::Float(f64::NAN), &int(1)), Ok(false));
        assert_eq!(compare(CmpOp::In, &int(2), &PyValue::tuple(vec![int(1), int(2)])), Ok(true));
        assert!(compare(CmpOp::Lt, &int(1), &PyValue::str("a")).is_err());
        assert!(!truth(&PyValue::str("")) && truth(&PyValue::str("x")) && !truth(&PyValue::None));
    }

    #[test]
    fn floats_print_as_in_python() {
        for (value, expected) in [
            (1.0, "1.0"),
            (0.1, "0.1"),
            (1e16, "1e+16"),
            (1.5e-7, "1.5e-07"),
            (-0.0, "-0.0"),
            (123456789.0, "123456789.0"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(float_text(value), expected);
        }
        assert_eq!(text(&PyValue::tuple(vec![int(1)])), "(1,)");
        assert_eq!(to_float(&PyValue::str("-inf")), Ok(PyValue::Float(f64::NEG_INFINITY)));
        assert_eq!(to_int(&PyValue::Float(-2.7)), Ok(int(-2)));
        assert!(to_int(&PyValue::Float(f64::NAN)).is_err());
    }
}
