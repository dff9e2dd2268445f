//! Signatures as text: `"*fp32:16, i32:16, 1024, i32"`, as the command line takes them.
//!
//! One entry per parameter: a type, with `:16` where the value is divisible by 16 and `:1` where it is the constant 1;
//! or a literal (`1024`, `0.5`, `True`, `None`, `"text"`) for a constexpr parameter.

use crate::dtype::{DType, Pointer, Scalar};
use crate::request::ArgSpec;
use crate::value::PyValue;

/// Parses a whole signature.
///
/// # Errors
/// Says which entry is wrong and what an entry may be.
pub fn parse(text: &str) -> Result<Vec<ArgSpec>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    text.split(',').map(|entry| parse_entry(entry.trim())).collect()
}

/// Parses the name of a type: `*fp32`, `*ki8`, `i32`, `u1`, `bf16`.
pub fn parse_type(text: &str) -> Option<Scalar> {
    let Some(pointee) = text.strip_prefix('*') else { return DType::from_name(text).map(Scalar::Number) };
    let (pointee, constant) = match pointee.strip_prefix('k') {
        Some(rest) => (rest, true),
        None => (pointee, false),
    };
    Some(Scalar::Pointer(Pointer { pointee: DType::from_name(pointee)?, constant }))
}

/// How a type is written in a signature; the inverse of [`parse_type`].
pub fn type_text(ty: Scalar) -> String {
    match ty {
        Scalar::Number(dtype) => dtype.facts().short.to_string(),
        Scalar::Pointer(Pointer { pointee, constant: true }) => format!("*k{}", pointee.facts().short),
        Scalar::Pointer(Pointer { pointee, constant: false }) => format!("*{}", pointee.facts().short),
    }
}

fn parse_entry(entry: &str) -> Result<ArgSpec, String> {
    if let Some(value) = parse_literal(entry) {
        return Ok(ArgSpec::Constexpr(value));
    }
    let (name, hint) =
        entry.split_once(':').map_or((entry, None), |(name, hint)| (name.trim(), Some(hint.trim())));
    let Some(ty) = parse_type(name) else {
        return Err(format!(
            "signature entry `{entry}` is neither a type (`*fp32`, `i32`, `fp16`, …, with `:16` if divisible by 16) nor \
             a literal for a constexpr parameter (`1024`, `0.5`, `True`, `None`, `\"text\"`)"
        ));
    };
    match hint {
        None => Ok(ArgSpec::Runtime { ty, divisible_by_16: false }),
        Some("16") => Ok(ArgSpec::Runtime { ty, divisible_by_16: true }),
        Some("1") if ty.is_number(DType::is_int) => Ok(ArgSpec::Constexpr(PyValue::Int(1))),
        Some(hint) => Err(format!(
            "signature entry `{entry}`: the hint may be `:16`, or `:1` on an integer; not `:{hint}`"
        )),
    }
}

fn parse_literal(text: &str) -> Option<PyValue> {
    match text {
        "True" => return Some(PyValue::Bool(true)),
        "False" => return Some(PyValue::Bool(false)),
        "None" => return Some(PyValue::None),
        _ => {}
    }
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return Some(PyValue::str(inner));
        }
    }
    if let Ok(value) = text.parse::<i128>() {
        return Some(PyValue::Int(value));
    }
    if let Some(name) = text.strip_prefix("tl.") {
        return DType::from_name(name).map(PyValue::dtype);
    }
    let number = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'));
    number.then(|| text.parse::<f64>().ok()).flatten().map(PyValue::Float)
}

#[cfg(test)]
mod tests {
    use super::{parse, type_text};
    use crate::dtype::{DType, Scalar};
    use crate::request::ArgSpec;
    use crate::value::PyValue;

    #[test]
    fn signature_of_the_command_line() {
        let args = parse("*fp32:16, i32:16, 1024, i32, *ki8, True, 0.5, i32:1").unwrap();
        assert_eq!(args[0], ArgSpec::aligned_pointer(DType::Fp32));
        assert_eq!(args[1], ArgSpec::Runtime { ty: Scalar::Number(DType::Int32), divisible_by_16: true });
        assert_eq!(args[2], ArgSpec::Constexpr(PyValue::Int(1024)));
        assert_eq!(args[3], ArgSpec::runtime(DType::Int32));
        let ArgSpec::Runtime { ty, .. } = args[4] else { panic!("not a run-time argument") };
        assert_eq!(type_text(ty), "*ki8");
        assert_eq!(args[5], ArgSpec::Constexpr(PyValue::Bool(true)));
        assert_eq!(args[6], ArgSpec::Constexpr(PyValue::Float(0.5)));
        assert_eq!(args[7], ArgSpec::Constexpr(PyValue::Int(1)));
        assert_eq!(parse("  ").unwrap(), Vec::new());
    }

    #[test]
    fn wrong_entries_are_named() {
        assert!(parse("*fp32, what").unwrap_err().contains("`what`"));
        assert!(parse("*fp32:8").unwrap_err().contains(":8"));
        assert!(parse("*fp32:1").unwrap_err().contains(":1"));
        assert!(parse("i32,,i32").unwrap_err().contains("``"));
    }
}
