//! Signatures as text: `"*fp32:16, i32:16, 1024, i32"`, as the command line takes them.
//!
//! One entry per parameter: a type, with `:16` where the value is divisible by 16 (or `:8`, `:4`, `:2`) and `:1` where
//! it is the constant 1; or a literal (`1024`, `0.5`, `True`, `None`, `"text"`) for a constexpr parameter. A tensor
//! descriptor is `tensordesc<fp16[64, 128]>`, with `:16` where its rows have a multiple of 16 bytes; behind the shape
//! of its blocks there may be `padding=nan` and `round_f32_to_tf32`.

use crate::dtype::{DType, Pointer, Scalar};
use crate::request::{ArgSpec, DescriptorSpec, Known};
use crate::value::PyValue;

/// Parses a whole signature.
///
/// # Errors
/// Says which entry is wrong and what an entry may be.
pub fn parse(text: &str) -> Result<Vec<ArgSpec>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    entries(text).into_iter().map(|entry| parse_entry(entry.trim())).collect()
}

/// The parts between commas that stand in no brackets.
fn entries(text: &str) -> Vec<&str> {
    let mut depth = 0i32;
    let is_comma = |c: char| {
        depth += i32::from(matches!(c, '<' | '[')) - i32::from(matches!(c, '>' | ']'));
        c == ',' && depth <= 0
    };
    text.split(is_comma).collect()
}

/// Whether a text is meant to name a tensor descriptor.
pub fn is_descriptor(text: &str) -> bool {
    text.starts_with(DESCRIPTOR)
}

const DESCRIPTOR: &str = "tensordesc";
const PADDING: &str = "padding=";
const ROUNDS: &str = "round_f32_to_tf32";

/// Parses `tensordesc<fp16[64, 128]>`; nothing is known of the sizes of the tensor.
///
/// # Errors
/// Says what is wrong and how it is written.
pub fn parse_descriptor(text: &str) -> Result<DescriptorSpec, String> {
    let malformed = || {
        format!(
            "`{text}` is no tensor descriptor; write the element type and the block shape: `tensordesc<fp16[64, 128]>`"
        )
    };
    let inner =
        text.strip_prefix(DESCRIPTOR).and_then(|rest| rest.trim().strip_prefix('<')?.strip_suffix('>'));
    let (name, rest) = inner.and_then(|inner| inner.split_once('[')).ok_or_else(malformed)?;
    let (dims, rest) = rest.split_once(']').ok_or_else(malformed)?;
    let element =
        DType::from_name(name.trim()).filter(|dtype| *dtype != DType::Void).ok_or_else(malformed)?;
    let block: Result<Vec<u32>, _> = dims.split(',').map(|dim| dim.trim().parse()).collect();
    let mut spec = DescriptorSpec {
        element,
        block: block.map_err(|_| malformed())?,
        pads_nan: false,
        rounds_to_tf32: false,
        divisible_by_16: false,
    };
    for (at, word) in rest.split(',').map(str::trim).enumerate() {
        match (at, word.strip_prefix(PADDING)) {
            (0, _) if word.is_empty() => {}
            (1.., Some("zero")) => spec.pads_nan = false,
            (1.., Some("nan")) => spec.pads_nan = true,
            (1.., None) if word == ROUNDS => spec.rounds_to_tf32 = true,
            _ => return Err(malformed()),
        }
    }
    spec.check()?;
    Ok(spec)
}

/// How a tensor descriptor is written in a signature; the inverse of [`parse_descriptor`].
pub fn descriptor_text(spec: &DescriptorSpec) -> String {
    let padding = if spec.pads_nan { format!(", {PADDING}nan") } else { String::new() };
    let rounds = if spec.rounds_to_tf32 { format!(", {ROUNDS}") } else { String::new() };
    format!("{DESCRIPTOR}<{}{:?}{padding}{rounds}>", spec.element.facts().short, spec.block)
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

/// The powers of two that a signature may say a value is divisible by.
const DIVISORS: [u8; 4] = [2, 4, 8, 16];

/// The hint of a pointer to memory of less than 2 GiB.
const NEAR: &str = "near";

/// The hint of an integer that is 1 and keeps its type.
const ONE: &str = "one";

/// What stands behind the type of a value of which this is known: `:8` for what divides it, then `:near` for memory of
/// less than 2 GiB; `:one` for a number that is 1.
pub fn hint_text(known: Known) -> String {
    let Known { divisibility, near, one } = known;
    let divisor = if divisibility > 1 { format!(":{divisibility}") } else { String::new() };
    let named = [(near, NEAR), (one, ONE)].into_iter().filter(|(on, _)| *on);
    named.fold(divisor, |text, (_, name)| format!("{text}:{name}"))
}

fn parse_entry(entry: &str) -> Result<ArgSpec, String> {
    if let Some(value) = parse_literal(entry) {
        return Ok(ArgSpec::Constexpr(value));
    }
    let (name, hint) =
        entry.split_once(':').map_or((entry, None), |(name, hint)| (name.trim(), Some(hint.trim())));
    if is_descriptor(name) {
        let spec =
            parse_descriptor(name).map_err(|message| format!("signature entry `{entry}`: {message}"))?;
        return match hint {
            None | Some("16") => {
                Ok(ArgSpec::Descriptor(DescriptorSpec { divisible_by_16: hint.is_some(), ..spec }))
            }
            Some(hint) => Err(format!(
                "signature entry `{entry}`: the hint of a tensor descriptor may be `:16` (bytes of its rows), not `:{hint}`"
            )),
        };
    }
    let Some(ty) = parse_type(name) else {
        return Err(format!(
            "signature entry `{entry}` is neither a type (`*fp32`, `i32`, `fp16`, `tensordesc<fp16[64, 128]>`, …, with `:16` if \
             divisible by 16, likewise `:8`, `:4` and `:2`) nor a literal for a constexpr parameter (`1024`, `0.5`, `True`, `None`, `\"text\"`)"
        ));
    };
    let is_pointer = matches!(ty, Scalar::Pointer(_));
    let (hint, near) = match hint
        .map(|hint| hint.rsplit_once(':').map_or(("", hint), |(first, last)| (first.trim(), last.trim())))
    {
        Some((first, NEAR)) if is_pointer => (Some(first).filter(|first| !first.is_empty()), true),
        _ => (hint, false),
    };
    match hint {
        None => Ok(ArgSpec::Runtime { ty, known: Known { near, ..Known::NOTHING } }),
        Some("1") if ty.is_number(DType::is_int) => Ok(ArgSpec::Constexpr(PyValue::Int(1))),
        Some(ONE) if ty.is_number(DType::is_int) => {
            Ok(ArgSpec::Runtime { ty, known: Known { one: true, ..Known::NOTHING } })
        }
        Some(hint) => match DIVISORS.iter().find(|divisor| divisor.to_string() == hint) {
            Some(divisor) => {
                Ok(ArgSpec::Runtime { ty, known: Known { near, ..Known::divisible_by(*divisor) } })
            }
            None => Err(format!(
                "signature entry `{entry}`: the hint may be `:2`, `:4`, `:8` or `:16`, `:1` on an integer, `:one` on one that keeps its type, `:near` on a pointer to less than 2 GiB; not `:{hint}`"
            )),
        },
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
    use super::{descriptor_text, hint_text, parse, parse_descriptor, type_text};
    use crate::dtype::{DType, Scalar};
    use crate::request::{ArgSpec, Known};
    use crate::value::PyValue;

    #[test]
    fn signature_of_the_command_line() {
        let args = parse("*fp32:16, i32:16, 1024, i32, *ki8, True, 0.5, i32:1").unwrap();
        assert_eq!(args[0], ArgSpec::aligned_pointer(DType::Fp32));
        assert_eq!(
            args[1],
            ArgSpec::Runtime { ty: Scalar::Number(DType::Int32), known: Known::divisible_by(16) }
        );
        assert_eq!(args[2], ArgSpec::Constexpr(PyValue::Int(1024)));
        assert_eq!(args[3], ArgSpec::runtime(DType::Int32));
        let ArgSpec::Runtime { ty, .. } = args[4] else { panic!("not a run-time argument") };
        assert_eq!(type_text(ty), "*ki8");
        assert_eq!(args[5], ArgSpec::Constexpr(PyValue::Bool(true)));
        assert_eq!(args[6], ArgSpec::Constexpr(PyValue::Float(0.5)));
        assert_eq!(args[7], ArgSpec::Constexpr(PyValue::Int(1)));
        let hinted = parse("i32:8, i64:2").unwrap();
        assert_eq!(
            hinted[0],
            ArgSpec::Runtime { ty: Scalar::Number(DType::Int32), known: Known::divisible_by(8) }
        );
        assert_eq!(
            hinted[1],
            ArgSpec::Runtime { ty: Scalar::Number(DType::Int64), known: Known::divisible_by(2) }
        );
        let near = Known { near: true, ..Known::divisible_by(16) };
        let texts = [Known::divisible_by(8), Known::NOTHING, near].map(hint_text);
        assert_eq!(texts, [":8", "", ":16:near"]);
        let one = Known { one: true, ..Known::NOTHING };
        assert_eq!(
            parse("i64:one").unwrap(),
            [ArgSpec::Runtime { ty: Scalar::Number(DType::Int64), known: one }]
        );
        assert_eq!(hint_text(one), ":one");
        assert!(parse("fp32:one").is_err() && parse("*i64:one").is_err());
        assert!(parse("i32:32").is_err() && parse("i32:3").is_err());
        assert_eq!(parse("  ").unwrap(), Vec::new());
    }

    #[test]
    fn descriptors_are_read_and_written() {
        let texts = [
            "tensordesc<fp16[64, 128]>",
            "tensordesc<i8[8]>",
            "tensordesc<fp32[1, 16], padding=nan, round_f32_to_tf32>",
        ];
        for text in texts {
            assert_eq!(descriptor_text(&parse_descriptor(text).unwrap()), text);
        }
        let args =
            parse("i32, tensordesc<bf16[2,4,8]>:16, *fp32, tensordesc<fp32[16], padding=zero>").unwrap();
        let ArgSpec::Descriptor(first) = &args[1] else { panic!("not a descriptor") };
        assert_eq!(
            (first.element, &*first.block, first.divisible_by_16),
            (DType::Bf16, &[2, 4, 8][..], true)
        );
        let ArgSpec::Descriptor(last) = &args[3] else { panic!("not a descriptor") };
        assert!(!last.divisible_by_16 && !last.pads_nan);
        for (text, wanted) in [
            ("tensordesc<fp16>", "is no tensor descriptor"),
            ("tensordesc<fp16[8, 12]>", "power of 2"),
            ("tensordesc<fp16[8, -4]>", "is no tensor descriptor"),
            ("tensordesc<what[8]>", "is no tensor descriptor"),
            ("tensordesc<fp16[1,1,1,1,1,8]>", "1 to 5"),
            ("tensordesc<fp16[4096, 4096]>", "more elements"),
            ("tensordesc<i8[16], padding=nan>", "floating point"),
            ("tensordesc<fp16[16], round_f32_to_tf32>", "float32"),
            ("tensordesc<fp16[16]>:8", "`:8`"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(wanted), "{error}");
        }
    }

    #[test]
    fn wrong_entries_are_named() {
        assert!(parse("*fp32, what").unwrap_err().contains("`what`"));
        assert!(parse("*fp32:3").unwrap_err().contains(":3"));
        assert!(parse("*fp32:32").unwrap_err().contains(":32"));
        assert!(parse("*fp32:1").unwrap_err().contains(":1"));
        assert!(parse("i32,,i32").unwrap_err().contains("``"));
    }
}
