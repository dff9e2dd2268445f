//! `printf`: formats with their arguments, as C writes them. Where arguments come from is the caller's.

use std::fmt::Write;
use std::iter::Peekable;
use std::str::Chars;

/// Strings longer than this are cut.
pub const LONGEST: usize = 1 << 16;

/// Where a format gets its arguments.
pub trait Arguments {
    /// What goes wrong.
    type Error;

    /// The next argument, of so many bytes.
    fn next(&mut self, bytes: usize) -> Result<u64, Self::Error>;

    /// The C string at an address.
    fn text(&mut self, address: u64) -> Result<String, Self::Error>;

    /// A conversion that is not known.
    fn unknown(&mut self, verb: char) -> Self::Error;
}

/// One conversion of a format.
#[derive(Debug, Default, Clone, PartialEq)]
struct Spec {
    left: bool,
    zero: bool,
    plus: bool,
    blank: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
    long: bool,
    verb: char,
}

/// The text of a format with its arguments.
pub fn format<A: Arguments>(text: &str, arguments: &mut A) -> Result<String, A::Error> {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(character) = chars.next() {
        if character != '%' {
            out.push(character);
            continue;
        }
        let spec = parse(&mut chars, arguments)?;
        out.push_str(&convert(&spec, arguments)?);
    }
    Ok(out)
}

fn parse<A: Arguments>(chars: &mut Peekable<Chars<'_>>, arguments: &mut A) -> Result<Spec, A::Error> {
    let mut spec = Spec::default();
    let mut in_precision = false;
    let push = |spec: &mut Spec, in_precision: bool, digit: usize| {
        let field = if in_precision { spec.precision.get_or_insert(0) } else { &mut spec.width };
        *field = (*field * 10 + digit).min(4096);
    };
    for character in chars.by_ref() {
        match character {
            '-' => spec.left = true,
            '+' => spec.plus = true,
            ' ' => spec.blank = true,
            '#' => spec.alternate = true,
            '0' if spec.width == 0 && !in_precision => spec.zero = true,
            '0'..='9' => push(&mut spec, in_precision, character as usize - '0' as usize),
            '.' => {
                in_precision = true;
                spec.precision = Some(0);
            }
            '*' => {
                let value = arguments.next(4)? as usize;
                push(&mut spec, in_precision, value.min(4096));
            }
            'l' | 'j' | 'z' | 't' => spec.long = true,
            'h' => {}
            verb => {
                spec.verb = verb;
                return Ok(spec);
            }
        }
    }
    Ok(spec)
}

fn convert<A: Arguments>(spec: &Spec, arguments: &mut A) -> Result<String, A::Error> {
    let size = if spec.long { 8 } else { 4 };
    let body = match spec.verb {
        '%' => return Ok("%".to_owned()),
        'd' | 'i' => {
            let bits = arguments.next(size)?;
            let value = if spec.long { bits as i64 } else { i64::from(bits as i32) };
            signed(spec, value < 0, digits(spec, value.unsigned_abs().to_string()))
        }
        'u' => digits(spec, arguments.next(size)?.to_string()),
        'o' => digits(spec, format!("{:o}", arguments.next(size)?)),
        'x' | 'X' => {
            let mut text = digits(spec, format!("{:x}", arguments.next(size)?));
            if spec.alternate {
                text.insert_str(0, "0x");
            }
            if spec.verb == 'X' { text.to_uppercase() } else { text }
        }
        'p' => format!("{:#x}", arguments.next(8)?),
        'c' => char::from(arguments.next(4)? as u8).to_string(),
        's' => {
            let address = arguments.next(8)?;
            let text = arguments.text(address)?;
            text.chars().take(spec.precision.unwrap_or(LONGEST)).collect()
        }
        'f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' | 'A' => {
            let value = f64::from_bits(arguments.next(8)?);
            signed(spec, value.is_sign_negative(), float(spec, value.abs()))
        }
        other => return Err(arguments.unknown(other)),
    };
    Ok(pad(spec, body))
}

fn digits(spec: &Spec, text: String) -> String {
    match spec.precision {
        Some(precision) => format!("{text:0>precision$}"),
        None => text,
    }
}

fn signed(spec: &Spec, negative: bool, text: String) -> String {
    let sign = match (negative, spec.plus, spec.blank) {
        (true, _, _) => "-",
        (false, true, _) => "+",
        (false, false, true) => " ",
        _ => "",
    };
    format!("{sign}{text}")
}

fn pad(spec: &Spec, body: String) -> String {
    let width = spec.width;
    if spec.left {
        return format!("{body:<width$}");
    }
    if spec.zero && spec.precision.is_none_or(|_| "fFeEgGaA".contains(spec.verb)) && !"cs".contains(spec.verb)
    {
        let sign = body.find(|c: char| !"+- ".contains(c)).unwrap_or(0);
        let (sign, rest) = body.split_at(sign);
        let width = width.saturating_sub(sign.len());
        return format!("{sign}{rest:0>width$}");
    }
    format!("{body:>width$}")
}

/// `1.5e+03`, with a sign and at least two digits in the exponent.
fn exponential(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, magnitude) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
    format!("{mantissa}e{sign}{magnitude:0>2}")
}

fn float(spec: &Spec, value: f64) -> String {
    let precision = spec.precision.unwrap_or(6);
    let text = if !value.is_finite() {
        if value.is_nan() { "nan".to_owned() } else { "inf".to_owned() }
    } else {
        match spec.verb.to_ascii_lowercase() {
            'f' => format!("{value:.precision$}"),
            'e' => exponential(value, precision),
            'a' => hexadecimal(value),
            _ => general(spec, value, precision.max(1)),
        }
    };
    if spec.verb.is_ascii_uppercase() { text.to_uppercase() } else { text }
}

/// `%g`: the shorter of the two forms, without trailing zeros.
fn general(spec: &Spec, value: f64, precision: usize) -> String {
    let text = exponential(value, precision - 1);
    let exponent: i32 = text.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let plain = exponent >= -4 && exponent < precision as i32;
    let text = if plain {
        let decimals = (precision as i32 - 1 - exponent).max(0) as usize;
        format!("{value:.decimals$}")
    } else {
        text
    };
    if spec.alternate {
        return text;
    }
    let (mantissa, exponent) = match text.find('e') {
        Some(at) => text.split_at(at),
        None => (text.as_str(), ""),
    };
    let mantissa = match mantissa.contains('.') {
        true => mantissa.trim_end_matches('0').trim_end_matches('.'),
        false => mantissa,
    };
    format!("{mantissa}{exponent}")
}

fn hexadecimal(value: f64) -> String {
    let bits = value.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i64, bits & ((1 << 52) - 1));
    let (lead, exponent) = match (exponent, fraction) {
        (0, 0) => (0, 0),
        (0, _) => (0, -1022),
        _ => (1, exponent - 1023),
    };
    let mut text = format!("0x{lead}");
    let digits = format!("{fraction:013x}");
    let digits = digits.trim_end_matches('0');
    if !digits.is_empty() {
        text.push('.');
        text.push_str(digits);
    }
    // Writing to a string cannot fail.
    let _ = write!(text, "p{exponent:+}");
    text
}
