//! Attributes and methods of Python's numbers and strings, as kernels ask them of constants: `N.bit_length()`,
//! `MODE.startswith("relu")`.
//!
//! Assumes positional arguments. Left out: `hex`, bytes, what depends on a locale, and
//! digits beyond ASCII.

use crate::constexpr;
use crate::diagnostic::{Cause, Fault};
use crate::python_format;
use crate::value::PyValue;

/// Attributes of numbers, which are no methods.
const PARTS: [&str; 4] = ["real", "imag", "numerator", "denominator"];

/// A method of integers.
type OfInt = fn(i128) -> PyValue;

const INT: [(&str, OfInt); 5] = [
    ("bit_length", |value| PyValue::Int(i128::from(128 - value.unsigned_abs().leading_zeros()))),
    ("bit_count", |value| PyValue::Int(i128::from(value.unsigned_abs().count_ones()))),
    ("conjugate", PyValue::Int),
    ("is_integer", |_| PyValue::Bool(true)),
    ("__index__", PyValue::Int),
];

/// A method of floats.
type OfFloat = fn(f64) -> PyValue;

const FLOAT: [(&str, OfFloat); 2] = [
    ("is_integer", |value| PyValue::Bool(value.is_finite() && value.fract() == 0.0)),
    ("conjugate", PyValue::Float),
];

/// A method of strings; the other strings are its arguments.
type OfStr = fn(&str, &[&str]) -> PyValue;

/// Methods of strings, with the fewest and the most arguments.
const STR: [(&str, [usize; 2], OfStr); 21] = [
    ("upper", [0, 0], |text, _| PyValue::str(&text.to_uppercase())),
    ("lower", [0, 0], |text, _| PyValue::str(&text.to_lowercase())),
    ("strip", [0, 1], |text, of| trimmed(text, of, [true, true])),
    ("lstrip", [0, 1], |text, of| trimmed(text, of, [true, false])),
    ("rstrip", [0, 1], |text, of| trimmed(text, of, [false, true])),
    ("startswith", [1, 1], |text, of| PyValue::Bool(text.starts_with(of[0]))),
    ("endswith", [1, 1], |text, of| PyValue::Bool(text.ends_with(of[0]))),
    ("removeprefix", [1, 1], |text, of| PyValue::str(text.strip_prefix(of[0]).unwrap_or(text))),
    ("removesuffix", [1, 1], |text, of| PyValue::str(text.strip_suffix(of[0]).unwrap_or(text))),
    ("replace", [2, 2], |text, of| PyValue::str(&text.replace(of[0], of[1]))),
    ("split", [0, 1], |text, of| match of.first() {
        Some(separator) => PyValue::tuple(text.split(separator).map(PyValue::str).collect()),
        None => PyValue::tuple(text.split_whitespace().map(PyValue::str).collect()),
    }),
    ("count", [1, 1], |text, of| match of[0] {
        "" => PyValue::Int(text.chars().count() as i128 + 1),
        part => PyValue::Int(text.matches(part).count() as i128),
    }),
    ("find", [1, 1], |text, of| {
        PyValue::Int(text.find(of[0]).map_or(-1, |at| text[..at].chars().count() as i128))
    }),
    ("isascii", [0, 0], |text, _| PyValue::Bool(text.is_ascii())),
    ("islower", [0, 0], |text, _| cased(text, char::is_uppercase)),
    ("isupper", [0, 0], |text, _| cased(text, char::is_lowercase)),
    ("isdecimal", [0, 0], |text, _| every(text, |letter| letter.is_ascii_digit())),
    ("isdigit", [0, 0], |text, _| every(text, |letter| letter.is_ascii_digit())),
    ("isnumeric", [0, 0], |text, _| every(text, |letter| letter.is_ascii_digit())),
    ("isalpha", [0, 0], |text, _| every(text, char::is_alphabetic)),
    ("isalnum", [0, 0], |text, _| every(text, char::is_alphanumeric)),
];

/// Questions about digits, which Python answers from tables of Unicode that are not here.
const OF_DIGITS: [&str; 3] = ["isdecimal", "isdigit", "isnumeric"];

/// Whether letters have a case, and none the other one.
fn cased(text: &str, other: fn(char) -> bool) -> PyValue {
    let has_case = text.chars().any(|letter| letter.is_lowercase() || letter.is_uppercase());
    PyValue::Bool(has_case && !text.chars().any(other))
}

fn every(text: &str, holds: fn(char) -> bool) -> PyValue {
    PyValue::Bool(!text.is_empty() && text.chars().all(holds))
}

fn trimmed<'t>(text: &'t str, of: &[&str], [front, end]: [bool; 2]) -> PyValue {
    let goes = |letter: char| match of.first() {
        Some(letters) => letters.contains(letter),
        None => letter.is_whitespace(),
    };
    let text: &'t str = if front { text.trim_start_matches(goes) } else { text };
    PyValue::str(if end { text.trim_end_matches(goes) } else { text })
}

/// An attribute of a number that is no method.
pub(crate) fn part(value: &PyValue, name: &str) -> Option<PyValue> {
    if !PARTS.contains(&name) {
        return None;
    }
    match (value, name) {
        (PyValue::Float(value), "real") => Some(PyValue::Float(*value)),
        (PyValue::Float(_), "imag") => Some(PyValue::Float(0.0)),
        (PyValue::Float(_), _) => None,
        (_, "real" | "numerator") => constexpr::as_int(value).map(PyValue::Int),
        (_, "imag") => constexpr::as_int(value).map(|_| PyValue::Int(0)),
        _ => constexpr::as_int(value).map(|_| PyValue::Int(1)),
    }
}

/// Whether a constant has such a method.
pub(crate) fn has(value: &PyValue, name: &str) -> bool {
    match value {
        PyValue::Bool(_) | PyValue::Int(_) => INT.iter().any(|row| row.0 == name),
        PyValue::Float(_) => FLOAT.iter().any(|row| row.0 == name),
        PyValue::Str(_) => matches!(name, "join" | "format") || STR.iter().any(|row| row.0 == name),
        _ => false,
    }
}

/// Calls a method of a constant.
///
/// # Errors
/// When there is no such method, or it takes something else.
pub(crate) fn call(value: &PyValue, name: &str, args: &[PyValue]) -> Result<PyValue, Fault> {
    let missing =
        || Cause::Attribute.says(format!("'{}' object has no attribute '{name}'", value.type_name()));
    match value {
        PyValue::Bool(_) | PyValue::Int(_) => {
            let (_, method) = INT.iter().find(|row| row.0 == name).ok_or_else(missing)?;
            check_count(name, [0, 0], args)?;
            constexpr::as_int(value).map(method).ok_or_else(missing)
        }
        PyValue::Float(value) => {
            let (_, method) = FLOAT.iter().find(|row| row.0 == name).ok_or_else(missing)?;
            check_count(name, [0, 0], args).map(|()| method(*value))
        }
        PyValue::Str(text) => of_text(text, name, args).unwrap_or_else(|| Err(missing())),
        _ => Err(missing()),
    }
}

/// Calls a method of a string; `None` where there is no such method.
fn of_text(text: &str, name: &str, args: &[PyValue]) -> Option<Result<PyValue, Fault>> {
    if let ("startswith" | "endswith", [PyValue::Tuple(any)]) = (name, args) {
        let mut holds = any.items.iter().map(|part| of_text(text, name, std::slice::from_ref(part)));
        return Some(Ok(PyValue::Bool(holds.any(|one| one == Some(Ok(PyValue::Bool(true)))))));
    }
    if name == "format" {
        return Some(python_format::format(text, args));
    }
    if let ("join", [PyValue::Tuple(parts)]) = (name, args) {
        return Some(strings(name, &parts.items).map(|parts| PyValue::str(&parts.join(text))));
    }
    if let ("split", [PyValue::Str(separator)]) = (name, args)
        && separator.is_empty()
    {
        return Some(Err("empty separator".into()));
    }
    if OF_DIGITS.contains(&name) && !text.is_ascii() {
        return Some(Err(format!("{name}() answers for ASCII alone in a kernel, not for '{text}'").into()));
    }
    let (_, count, method) = STR.iter().find(|row| row.0 == name)?;
    Some(check_count(name, *count, args).and_then(|()| Ok(method(text, &strings(name, args)?))))
}

fn check_count(name: &str, [fewest, most]: [usize; 2], args: &[PyValue]) -> Result<(), Fault> {
    if (fewest..=most).contains(&args.len()) {
        return Ok(());
    }
    Err(format!("{name}() takes {fewest} to {most} arguments here ({} given)", args.len()).into())
}

fn strings<'a>(name: &str, values: &'a [PyValue]) -> Result<Vec<&'a str>, Fault> {
    let text = |value: &'a PyValue| match value {
        PyValue::Str(text) => Ok(&**text),
        other => Err(format!("{name}() takes strings, not {}", other.type_name()).into()),
    };
    values.iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::{call, part};
    use crate::value::PyValue;

    #[test]
    fn as_python_answers() {
        let of = |value: &PyValue, name: &str, args: &[&str]| {
            let args: Vec<PyValue> = args.iter().copied().map(PyValue::str).collect();
            call(value, name, &args).map_err(String::from).map(|answer| crate::constexpr::repr(&answer))
        };
        let is = |value: PyValue, name: &str, args: &[&str], answer: &str| {
            assert_eq!(of(&value, name, args).as_deref(), Ok(answer), "{name}");
        };
        is(PyValue::Int(16), "bit_length", &[], "5");
        is(PyValue::Int(-5), "bit_length", &[], "3");
        is(PyValue::Int(0), "bit_length", &[], "0");
        is(PyValue::Bool(true), "bit_count", &[], "1");
        is(PyValue::Float(2.0), "is_integer", &[], "True");
        is(PyValue::Float(f64::INFINITY), "is_integer", &[], "False");
        is(PyValue::str("äxax"), "find", &["ax"], "2");
        is(PyValue::str("aaa"), "count", &["aa"], "1");
        is(PyValue::str("ab"), "count", &[""], "3");
        is(PyValue::str(" a b "), "split", &[], "('a', 'b')");
        is(PyValue::str("xxaxx"), "lstrip", &["x"], "'axx'");
        is(PyValue::str("relu6"), "endswith", &["6"], "True");
        is(PyValue::str(""), "isdigit", &[], "False");
        is(PyValue::str("16"), "isdecimal", &[], "True");
        is(PyValue::str("fp16"), "islower", &[], "True");
        is(PyValue::str("16"), "isupper", &[], "False");
        assert!(of(&PyValue::str("½"), "isdigit", &[]).is_err());
        assert_eq!(part(&PyValue::Bool(true), "real"), Some(PyValue::Int(1)));
        assert_eq!(part(&PyValue::Float(2.0), "numerator"), None);
        let wrong = of(&PyValue::str("a"), "replace", &["a"]).expect_err("it takes two");
        assert_eq!(wrong, "replace() takes 2 to 2 arguments here (1 given)");
        assert!(of(&PyValue::str("ab"), "split", &[""]).is_err());
        assert!(of(&PyValue::Int(1), "upper", &[]).is_err());
    }
}
