//! Texts that Python makes of values: `"%d of %s" % …` and `"{:>4}".format(…)`.
//!
//! Left out: names (`%(name)s`, `{name}`), attributes and items of arguments in `{}`, and what depends on a locale.

use crate::constexpr;
use crate::diagnostic::{Cause, Fault};
use crate::value::PyValue;
use ruff_python_ast::Operator;

/// The longest text that a width or a precision may ask for.
const MAX_WIDTH: usize = 1 << 16;

/// Where a text stands in a wider field.
#[derive(Clone, Copy, PartialEq)]
enum Align {
    Left,
    Right,
    Center,
    /// To the right, with what fills the field between the sign and the digits.
    AfterSign,
}

/// How one value is written.
#[derive(Clone, PartialEq)]
struct Spec {
    fill: char,
    align: Option<Align>,
    /// `+`, `-` or a space: what stands before numbers that are not negative.
    sign: char,
    alternate: bool,
    /// Between groups of digits.
    separator: Option<char>,
    width: usize,
    precision: Option<usize>,
    /// The letter of the conversion; a space where there is none.
    kind: char,
}

const PLAIN: Spec = Spec {
    fill: ' ',
    align: None,
    sign: '-',
    alternate: false,
    separator: None,
    width: 0,
    precision: None,
    kind: ' ',
};

/// A binary operation, of which `%` on a text is a format.
///
/// # Errors
/// As Python's.
pub(crate) fn binary(op: Operator, left: &PyValue, right: &PyValue) -> Result<PyValue, Fault> {
    match (op, left) {
        (Operator::Mod, PyValue::Str(text)) => percent(text, right),
        _ => constexpr::binary(op, left, right),
    }
}

/// `text % value`.
///
/// # Errors
/// As Python's: too few or too many values, and values that a conversion does not take.
pub(crate) fn percent(text: &str, value: &PyValue) -> Result<PyValue, Fault> {
    let mut values = match value {
        PyValue::Tuple(tuple) => tuple.items.iter(),
        single => std::slice::from_ref(single).iter(),
    };
    let mut letters = text.chars().peekable();
    let mut made = String::new();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            made.push(letter);
            continue;
        }
        let mut spec = Spec { align: Some(Align::Right), ..PLAIN };
        while let Some(flag) = letters.next_if(|letter| "-0+ #".contains(*letter)) {
            match flag {
                '-' => spec.align = Some(Align::Left),
                '0' if spec.align == Some(Align::Right) => spec.fill = '0',
                '+' => spec.sign = '+',
                ' ' if spec.sign == '-' => spec.sign = ' ',
                '#' => spec.alternate = true,
                _ => {}
            }
        }
        spec.width = number(&mut letters)?.unwrap_or(0);
        if letters.next_if_eq(&'.').is_some() {
            spec.precision = Some(number(&mut letters)?.unwrap_or(0));
        }
        while letters.next_if(|letter| "hlL".contains(*letter)).is_some() {}
        spec.kind = letters.next().ok_or_else(|| Fault::from("incomplete format"))?;
        if spec.kind == '%' {
            made.push('%');
            continue;
        }
        let value =
            values.next().ok_or_else(|| Cause::Type.says("not enough arguments for format string"))?;
        made.push_str(&converted(value, spec)?);
    }
    if values.next().is_some() {
        return Err(Cause::Type.says("not all arguments converted during string formatting"));
    }
    Ok(PyValue::str(&made))
}

/// One conversion of `%`.
fn converted(value: &PyValue, mut spec: Spec) -> Result<String, Fault> {
    let text = match spec.kind {
        's' => constexpr::text(value),
        'r' => constexpr::repr(value),
        'a' => ascii(&constexpr::repr(value)),
        'c' => match (value, constexpr::as_int(value)) {
            (PyValue::Str(text), _) if text.chars().count() == 1 => text.to_string(),
            (_, Some(code)) => character(code)?,
            _ => return Err(Cause::Type.says("%c requires int or char")),
        },
        'd' | 'i' | 'u' => {
            let whole = match (constexpr::as_int(value), constexpr::as_float(value)) {
                (Some(whole), _) => whole,
                (None, Some(_)) => constexpr::as_int(&constexpr::to_int(value)?).unwrap_or(0),
                _ => {
                    let kind = spec.kind;
                    let found = value.type_name();
                    return Err(
                        Cause::Type.says(format!("%{kind} format: a real number is required, not {found}"))
                    );
                }
            };
            return Ok(field(digits(whole, 10, spec.precision), whole < 0, "", &zero_filled(spec)));
        }
        'o' | 'x' | 'X' => {
            let Some(whole) = constexpr::as_int(value) else {
                let (kind, found) = (spec.kind, value.type_name());
                return Err(Cause::Type.says(format!("%{kind} format: an integer is required, not {found}")));
            };
            return Ok(radix(whole, &zero_filled(spec)));
        }
        'e' | 'E' | 'f' | 'F' | 'g' | 'G' => {
            let Some(number) = constexpr::as_float(value) else {
                let found = value.type_name();
                return Err(Cause::Type.says(format!("must be real number, not {found}")));
            };
            return Ok(float(number, &zero_filled(spec)));
        }
        other => return Err(format!("unsupported format character '{other}'").into()),
    };
    spec.fill = ' ';
    let cut = spec.precision.unwrap_or(usize::MAX);
    let text = if spec.kind == 'c' { text } else { text.chars().take(cut).collect() };
    Ok(padded(&text, "", &spec))
}

/// Zeros that fill a field stand behind the sign.
fn zero_filled(mut spec: Spec) -> Spec {
    match (spec.fill, spec.align) {
        ('0', Some(Align::Right)) => spec.align = Some(Align::AfterSign),
        ('0', Some(Align::Left)) => spec.fill = ' ',
        _ => {}
    }
    spec
}

/// `text.format(…)`.
///
/// # Errors
/// As Python's, and for what is left out.
pub(crate) fn format(text: &str, values: &[PyValue]) -> Result<PyValue, Fault> {
    let mut letters = text.chars().peekable();
    let (mut made, mut next) = (String::new(), 0);
    while let Some(letter) = letters.next() {
        match letter {
            '{' if letters.next_if_eq(&'{').is_some() => made.push('{'),
            '}' if letters.next_if_eq(&'}').is_some() => made.push('}'),
            '}' => return Err("Single '}' encountered in format string".into()),
            '{' => {
                let mut inner = String::new();
                loop {
                    match letters.next() {
                        Some('}') => break,
                        Some('{') => return Err("fields within fields are not supported in kernels".into()),
                        Some(letter) => inner.push(letter),
                        None => return Err("Single '{' encountered in format string".into()),
                    }
                }
                let (head, spec) = inner.split_once(':').unwrap_or((&inner, ""));
                let (name, conversion) = head.split_once('!').unwrap_or((head, ""));
                let index = if name.is_empty() {
                    next += 1;
                    next - 1
                } else {
                    name.parse().map_err(|_| {
                        Cause::Key.says(format!("'{name}': fields have numbers, or nothing, in kernels"))
                    })?
                };
                let value = values.get(index).ok_or_else(|| {
                    Cause::Index
                        .says(format!("Replacement index {index} out of range for positional args tuple"))
                })?;
                made.push_str(&replaced(value, conversion, spec)?);
            }
            other => made.push(other),
        }
    }
    Ok(PyValue::str(&made))
}

/// One field of `format`.
fn replaced(value: &PyValue, conversion: &str, spec: &str) -> Result<String, Fault> {
    let shown = match conversion {
        "" => None,
        "s" => Some(constexpr::text(value)),
        "r" => Some(constexpr::repr(value)),
        "a" => Some(ascii(&constexpr::repr(value))),
        other => return Err(format!("Unknown conversion specifier {other}").into()),
    };
    let spec = read_spec(spec)?;
    if let Some(text) = shown {
        return texted(&text, &spec);
    }
    let of_type =
        |what: &str| Fault::from(format!("Unknown format code '{}' for object of type '{what}'", spec.kind));
    match value {
        PyValue::Bool(_) if spec == PLAIN => Ok(constexpr::text(value)),
        PyValue::Int(_) | PyValue::Bool(_) => {
            let whole = constexpr::as_int(value).unwrap_or(0);
            match spec.kind {
                ' ' | 'd' | 'n' => Ok(field(digits(whole, 10, None), whole < 0, "", &spec)),
                'b' | 'o' | 'x' | 'X' => Ok(radix(whole, &spec)),
                'c' => texted(&character(whole)?, &Spec { kind: ' ', ..spec }),
                'e' | 'E' | 'f' | 'F' | 'g' | 'G' | '%' => Ok(float(whole as f64, &spec)),
                _ => Err(of_type("int")),
            }
        }
        PyValue::Float(number) => match (spec.kind, spec.precision) {
            (' ', None) => {
                let text = constexpr::text(&PyValue::Float(number.abs()));
                Ok(field(text, number.is_sign_negative() && !number.is_nan(), "", &spec))
            }
            (' ', Some(_)) => Ok(float(*number, &Spec { kind: 'g', ..spec })),
            ('e' | 'E' | 'f' | 'F' | 'g' | 'G' | '%' | 'n', _) => Ok(float(*number, &spec)),
            _ => Err(of_type("float")),
        },
        PyValue::Str(text) => texted(text, &spec),
        other if spec == PLAIN => Ok(constexpr::text(other)),
        other => {
            let found = other.type_name();
            Err(Cause::Type.says(format!("unsupported format string passed to {found}.__format__")))
        }
    }
}

/// A text in its field.
fn texted(text: &str, spec: &Spec) -> Result<String, Fault> {
    if !matches!(spec.kind, ' ' | 's') {
        return Err(format!("Unknown format code '{}' for object of type 'str'", spec.kind).into());
    }
    let text: String = text.chars().take(spec.precision.unwrap_or(usize::MAX)).collect();
    Ok(padded(&text, "", &Spec { align: spec.align.or(Some(Align::Left)), ..spec.clone() }))
}

/// `[[fill]align][sign][#][0][width][,][.precision][kind]`.
fn read_spec(text: &str) -> Result<Spec, Fault> {
    let align_of = |letter: char| match letter {
        '<' => Some(Align::Left),
        '>' => Some(Align::Right),
        '^' => Some(Align::Center),
        '=' => Some(Align::AfterSign),
        _ => None,
    };
    let mut spec = PLAIN;
    let mut rest = text;
    let mut first = text.chars();
    if let (Some(fill), Some(align)) = (first.next(), first.next().and_then(align_of)) {
        (spec.fill, spec.align) = (fill, Some(align));
        rest = first.as_str();
    } else if let Some(align) = text.chars().next().and_then(align_of) {
        spec.align = Some(align);
        rest = &text[1..];
    }
    let mut letters = rest.chars().peekable();
    if let Some(sign) = letters.next_if(|letter| "+- ".contains(*letter)) {
        spec.sign = sign;
    }
    spec.alternate = letters.next_if_eq(&'#').is_some();
    if letters.next_if_eq(&'0').is_some() && spec.align.is_none() {
        (spec.fill, spec.align) = ('0', Some(Align::AfterSign));
    }
    spec.width = number(&mut letters)?.unwrap_or(0);
    spec.separator = letters.next_if(|letter| ",_".contains(*letter));
    if letters.next_if_eq(&'.').is_some() {
        spec.precision =
            Some(number(&mut letters)?.ok_or_else(|| Fault::from("Format specifier missing precision"))?);
    }
    spec.kind = letters.next().unwrap_or(' ');
    match letters.next() {
        None => Ok(spec),
        Some(_) => Err(format!("Invalid format specifier '{text}'").into()),
    }
}

/// A number of a width or a precision, if one stands there.
fn number(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<Option<usize>, Fault> {
    let mut found = None;
    while let Some(digit) = letters.next_if(char::is_ascii_digit) {
        let value = found.unwrap_or(0) * 10 + digit.to_digit(10).unwrap_or(0) as usize;
        if value > MAX_WIDTH {
            return Err(format!("widths and precisions of formats are at most {MAX_WIDTH} in kernels").into());
        }
        found = Some(value);
    }
    Ok(found)
}

fn character(code: i128) -> Result<String, Fault> {
    let found = u32::try_from(code).ok().and_then(char::from_u32);
    found.map(String::from).ok_or_else(|| Cause::Overflow.says("%c arg not in range(0x110000)"))
}

fn ascii(text: &str) -> String {
    let escaped = |letter: char| match u32::from(letter) {
        code @ 0x80..=0xff => format!("\\x{code:02x}"),
        code @ 0x100..=0xffff => format!("\\u{code:04x}"),
        code if code > 0xffff => format!("\\U{code:08x}"),
        _ => letter.to_string(),
    };
    text.chars().map(escaped).collect()
}

/// The digits of a number without its sign, at least `least` of them.
fn digits(whole: i128, radix: u128, least: Option<usize>) -> String {
    let mut rest = whole.unsigned_abs();
    let mut made: Vec<char> = Vec::new();
    while rest > 0 || made.is_empty() {
        made.extend(char::from_digit((rest % radix) as u32, radix as u32));
        rest /= radix;
    }
    while made.len() < least.unwrap_or(0) {
        made.push('0');
    }
    made.iter().rev().collect()
}

/// An integer in another base than ten.
fn radix(whole: i128, spec: &Spec) -> String {
    let base = match spec.kind {
        'b' => 2,
        'o' => 8,
        _ => 16,
    };
    let text = digits(whole, base, spec.precision);
    let prefix = match (spec.alternate, spec.kind) {
        (false, _) => "",
        (true, 'b') => "0b",
        (true, 'o') => "0o",
        (true, 'X') => "0X",
        (true, _) => "0x",
    };
    field(if spec.kind == 'X' { text.to_uppercase() } else { text }, whole < 0, prefix, spec)
}

/// A float as `e`, `f`, `g` or `%` write it.
fn float(value: f64, spec: &Spec) -> String {
    let precision = spec.precision.unwrap_or(6);
    let magnitude = value.abs();
    let text = if magnitude.is_nan() {
        "nan".to_string()
    } else if magnitude.is_infinite() {
        if spec.kind == '%' { "inf%" } else { "inf" }.to_string()
    } else {
        match spec.kind.to_ascii_lowercase() {
            'e' => scientific(magnitude, precision, spec.alternate),
            'f' if spec.alternate && precision == 0 => format!("{magnitude:.0}."),
            'f' => format!("{magnitude:.precision$}"),
            '%' => format!("{:.precision$}%", magnitude * 100.0),
            _ => general(magnitude, precision.max(1), spec.alternate),
        }
    };
    let text = if spec.kind.is_ascii_uppercase() { text.to_uppercase() } else { text };
    field(text, value.is_sign_negative() && !value.is_nan(), "", spec)
}

/// The digits of a positive number and its exponent, rounded to `precision` behind the point.
fn scientific_parts(magnitude: f64, precision: usize) -> (String, i32) {
    let text = format!("{magnitude:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (digits.to_string(), exponent.parse().unwrap_or(0))
}

fn scientific(magnitude: f64, precision: usize, alternate: bool) -> String {
    let (digits, exponent) = scientific_parts(magnitude, precision);
    let point = if alternate && precision == 0 { "." } else { "" };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}{point}e{sign}{:02}", exponent.unsigned_abs())
}

fn general(magnitude: f64, precision: usize, alternate: bool) -> String {
    let (digits, exponent) = scientific_parts(magnitude, precision - 1);
    let trimmed = |text: &str| match text.contains('.') && !alternate {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text.to_string(),
    };
    if exponent < -4 || exponent >= precision as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trimmed(&digits), exponent.unsigned_abs());
    }
    let behind = (precision as i32 - 1 - exponent).max(0) as usize;
    trimmed(&format!("{magnitude:.behind$}"))
}

/// A number in its field: its digits, its sign and its prefix.
fn field(text: String, negative: bool, prefix: &str, spec: &Spec) -> String {
    let sign = match (negative, spec.sign) {
        (true, _) => "-",
        (false, '+') => "+",
        (false, ' ') => " ",
        _ => "",
    };
    let text = match spec.separator {
        Some(separator) => grouped(&text, separator, if "boxX".contains(spec.kind) { 4 } else { 3 }),
        None => text,
    };
    let spec = Spec { align: spec.align.or(Some(Align::Right)), ..spec.clone() };
    padded(&text, &format!("{sign}{prefix}"), &spec)
}

/// Digits in groups, from the point or the end on.
fn grouped(text: &str, separator: char, size: usize) -> String {
    let end = text.find(|letter: char| !letter.is_ascii_hexdigit()).unwrap_or(text.len());
    let mut made = String::new();
    for (index, digit) in text[..end].chars().enumerate() {
        if index > 0 && (end - index).is_multiple_of(size) {
            made.push(separator);
        }
        made.push(digit);
    }
    made + &text[end..]
}

/// A text with what stands before it, filled up to the width of its field.
fn padded(text: &str, before: &str, spec: &Spec) -> String {
    let missing = spec.width.saturating_sub(before.chars().count() + text.chars().count());
    let fill = |count: usize| spec.fill.to_string().repeat(count);
    match spec.align {
        Some(Align::Left) => format!("{before}{text}{}", fill(missing)),
        Some(Align::Center) => {
            format!("{}{before}{text}{}", fill(missing / 2), fill(missing - missing / 2))
        }
        Some(Align::AfterSign) => format!("{before}{}{text}", fill(missing)),
        Some(Align::Right) | None => format!("{}{before}{text}", fill(missing)),
    }
}

#[cfg(test)]
mod tests {
    use super::{format, percent};
    use crate::value::PyValue;

    fn values() -> Vec<PyValue> {
        vec![PyValue::Int(-42), PyValue::Float(1234.5678), PyValue::str("añ"), PyValue::Bool(true)]
    }

    #[test]
    fn percent_writes_as_python() {
        // Each expectation is what CPython 3.11 writes.
        for (text, index, expected) in [
            ("%d", 0, "-42"),
            ("[%6d]", 0, "[   -42]"),
            ("[%-6d]", 0, "[-42   ]"),
            ("[%06d]", 0, "[-00042]"),
            ("[%.4d]", 0, "[-0042]"),
            ("%x %%", 0, "-2a %"),
            ("%#X", 0, "-0X2A"),
            ("%o", 0, "-52"),
            ("%s|", 0, "-42|"),
            ("%d", 1, "1234"),
            ("%f", 1, "1234.567800"),
            ("%.2f", 1, "1234.57"),
            ("%+10.1f", 1, "   +1234.6"),
            ("%e", 1, "1.234568e+03"),
            ("%.0E", 1, "1E+03"),
            ("%g", 1, "1234.57"),
            ("%.2g", 1, "1.2e+03"),
            ("%#.3g", 0, "-42.0"),
            ("%5s|%%", 2, "   añ|%"),
            ("%-5s|", 2, "añ   |"),
            ("%.1s", 2, "a"),
            ("%r", 2, "'añ'"),
            ("%a", 2, "'a\\xf1'"),
            ("%d", 3, "1"),
            ("%s", 3, "True"),
        ] {
            assert_eq!(percent(text, &values()[index]), Ok(PyValue::str(expected)), "{text}");
        }
        let two = PyValue::tuple(vec![PyValue::Int(1), PyValue::str("b")]);
        assert_eq!(percent("%d-%s", &two), Ok(PyValue::str("1-b")));
        for (text, value) in [
            ("%d", PyValue::str("a")),
            ("%d %d", PyValue::Int(1)),
            ("a", PyValue::Int(1)),
            ("%d", two.clone()),
            ("%y", PyValue::Int(1)),
            ("%", PyValue::Int(1)),
            ("%99999999d", PyValue::Int(1)),
        ] {
            assert!(percent(text, &value).is_err(), "{text}");
        }
    }

    #[test]
    fn format_writes_as_python() {
        for (text, expected) in [
            ("{} {{}}", "-42 {}"),
            ("{1} {0}", "1234.5678 -42"),
            ("{:6}|{:<8}|{:6}|{}", "   -42|1234.5678|añ    |True"),
            ("{0:06d} {0:+} {1:.1f}", "-00042 -42 1234.6"),
            ("{0:#x} {0:b} {0:>5o}", "-0x2a -101010   -52"),
            ("{1:,.2f} {1:e} {1:.3}", "1,234.57 1.234568e+03 1.23e+03"),
            ("{2:*^6} {2!r}", "**añ** 'añ'"),
            ("{3:d} {3:>6} {3}", "1      1 True"),
            ("{0:.1%}", "-4200.0%"),
        ] {
            assert_eq!(format(text, &values()), Ok(PyValue::str(expected)), "{text}");
        }
        for text in ["{", "}", "{9}", "{name}", "{0:q}", "{2:d}", "{0!z}", "{0:{1}}"] {
            assert!(format(text, &values()).is_err(), "{text}");
        }
    }
}
