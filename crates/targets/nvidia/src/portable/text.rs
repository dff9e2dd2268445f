//! Inline assembly of several instructions as text: registers that it declares, and instructions with their operands.
//!
//! Left out: labels and jumps, addresses, directives other than `.reg`.

use rustc_hash::FxHashMap;

/// What an instruction reads or writes.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Operand {
    /// `$0`, or a register that the text declares.
    Register(String),
    /// An integer.
    Number(u64),
    /// A float by its bits, and how many these are.
    Float { bits: u32, value: u64 },
    /// A float in decimals, of the width of its instruction.
    Decimal(f64),
    /// `{a, b}`.
    Parts(Vec<Operand>),
}

/// One instruction.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Instruction {
    /// The predicate, and whether it must be false.
    pub(super) guard: Option<(String, bool)>,
    /// The parts of its name.
    pub(super) words: Vec<String>,
    /// Its operands.
    pub(super) operands: Vec<Operand>,
}

/// A text.
#[derive(Default, PartialEq, Debug)]
pub(super) struct Text {
    /// The bits of each register that is declared; 1 for predicates.
    pub(super) registers: FxHashMap<String, u32>,
    /// The instructions, in order.
    pub(super) instructions: Vec<Instruction>,
}

/// Reads a text; `None` where it has something else.
pub(super) fn parse(text: &str) -> Option<Text> {
    let mut all = Text::default();
    let plain = without_comments(text)?;
    for statement in statements(&plain)? {
        if let Some(declared) = statement.strip_prefix(".reg") {
            declare(&mut all.registers, declared)?;
        } else {
            all.instructions.push(instruction(statement)?);
        }
    }
    Some(all)
}

/// `None` where a comment never ends.
fn without_comments(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("/*").into_iter().chain(rest.find("//")).min() {
        out.push_str(&rest[..at]);
        let comment = &rest[at..];
        let len = match comment.starts_with("/*") {
            true => 2 + comment[2..].find("*/")? + 2,
            false => comment.find('\n').unwrap_or(comment.len()),
        };
        rest = &comment[len..];
        out.push(' ');
    }
    Some(out + rest)
}

/// Statements end in semicolons; braces around them are scopes, those among operands are not. A name is one register in
/// all scopes, so that a text must not declare one twice.
fn statements(text: &str) -> Option<Vec<&str>> {
    let (mut all, mut start, mut depth) = (Vec::new(), 0, 0usize);
    let mut inner = false;
    for (at, letter) in text.char_indices() {
        let is_empty = text[start..at].trim().is_empty();
        match letter {
            '{' if is_empty => (depth, start) = (depth + 1, at + 1),
            '{' if !inner => inner = true,
            '}' if inner => inner = false,
            '}' if is_empty => (depth, start) = (depth.checked_sub(1)?, at + 1),
            ';' if !inner => {
                all.extend(Some(text[start..at].trim()).filter(|statement| !statement.is_empty()));
                start = at + 1;
            }
            '{' | '}' | ':' | '[' => return None,
            _ => {}
        }
    }
    // The last statement may lack its semicolon.
    all.extend(Some(text[start..].trim()).filter(|statement| !statement.is_empty()));
    (depth == 0 && !inner).then_some(all)
}

/// `.b32 a, b<4>`.
fn declare(registers: &mut FxHashMap<String, u32>, text: &str) -> Option<()> {
    let (ty, names) = text.trim().split_once(char::is_whitespace)?;
    let bits = match ty {
        ".pred" => 1,
        ".b8" | ".u8" | ".s8" => 8,
        ".b16" | ".u16" | ".s16" | ".f16" => 16,
        ".b32" | ".u32" | ".s32" | ".f32" | ".f16x2" => 32,
        ".b64" | ".u64" | ".s64" | ".f64" => 64,
        _ => return None,
    };
    for name in names.split(',').map(str::trim) {
        let all: Vec<String> = match name.strip_suffix('>').and_then(|name| name.split_once('<')) {
            Some((stem, count)) => {
                let count: u32 = count.trim().parse().ok().filter(|count| *count <= 4096)?;
                (0..count).map(|index| format!("{}{index}", stem.trim())).collect()
            }
            None => vec![name.to_owned()],
        };
        for name in all {
            let is_new = is_name(&name) && registers.insert(name, bits).is_none();
            is_new.then_some(())?;
        }
    }
    Some(())
}

fn is_name(text: &str) -> bool {
    let text = text.strip_prefix('%').unwrap_or(text);
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$')
}

/// `@!p add.s32 a, b, 1`.
fn instruction(text: &str) -> Option<Instruction> {
    let (guard, text) = match text.strip_prefix('@') {
        Some(rest) => {
            let (name, rest) = rest.split_once(char::is_whitespace)?;
            let (name, negated) = name.strip_prefix('!').map_or((name, false), |name| (name, true));
            (Some((name.to_owned(), negated)), rest.trim())
        }
        None => (None, text),
    };
    let (name, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let words = name.split('.').map(str::to_owned).collect();
    let operands = if operands.is_empty() { Vec::new() } else { operand_list(operands)? };
    Some(Instruction { guard, words, operands })
}

fn operand_list(text: &str) -> Option<Vec<Operand>> {
    let (mut all, mut rest) = (Vec::new(), text.trim());
    loop {
        let (own, behind) = match rest.strip_prefix('{') {
            Some(parts) => {
                let (parts, behind) = parts.split_once('}')?;
                (Operand::Parts(operand_list(parts)?), behind.trim())
            }
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                (operand(rest[..end].trim())?, &rest[end..])
            }
        };
        all.push(own);
        match behind.strip_prefix(',') {
            Some(behind) => rest = behind.trim(),
            None => return behind.is_empty().then_some(all),
        }
    }
}

fn operand(text: &str) -> Option<Operand> {
    let is_place = text.strip_prefix('$').is_some_and(|number| number.parse::<u32>().is_ok());
    if is_place || is_name(text) {
        return Some(Operand::Register(text.to_owned()));
    }
    float(text).or_else(|| decimal(text)).or_else(|| number(text).map(Operand::Number))
}

/// `0.0`, `-1.5`.
fn decimal(text: &str) -> Option<Operand> {
    let (whole, fraction) = text.strip_prefix('-').unwrap_or(text).split_once('.')?;
    let is_digits = |digits: &str| !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_digit());
    (is_digits(whole) && is_digits(fraction)).then(|| text.parse().ok().map(Operand::Decimal))?
}

/// `0f3F800000`, `0d3FF0000000000000`.
fn float(text: &str) -> Option<Operand> {
    let bits = match text.get(..2)? {
        "0f" | "0F" => 32,
        "0d" | "0D" => 64,
        _ => return None,
    };
    let digits = text.get(2..).filter(|digits| digits.len() as u32 == bits / 4 && is_hex(digits))?;
    Some(Operand::Float { bits, value: u64::from_str_radix(digits, 16).ok()? })
}

fn is_hex(digits: &str) -> bool {
    digits.chars().all(|digit| digit.is_ascii_hexdigit())
}

/// `12`, `-1`, `0x7F`, `0x7FU`.
fn number(text: &str) -> Option<u64> {
    let hex = |digits: &str| u64::from_str_radix(digits, 16).ok();
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let digits = digits.strip_suffix('U').unwrap_or(digits);
    let value = match digits.get(..2) {
        Some("0x" | "0X") => hex(&digits[2..])?,
        Some("0b" | "0B") => u64::from_str_radix(&digits[2..], 2).ok()?,
        _ if digits.len() > 1 && digits.starts_with('0') => u64::from_str_radix(digits, 8).ok()?,
        _ => digits.parse().ok()?,
    };
    Some(if negative { value.wrapping_neg() } else { value })
}

#[cfg(test)]
mod tests {
    use super::{Operand, parse};

    #[test]
    fn texts_are_read() {
        let text = parse(
            "{ .reg .b32 a, t<2>; // registers\n .reg .pred p;\n mov.b32 {t0, t1}, $1; /* and */ @!p add.s32 $0, t0, -0x2; }",
        )
        .expect("it is known");
        assert_eq!(text.registers.len(), 4);
        assert_eq!(text.registers["t1"], 32);
        let [first, second] = &text.instructions[..] else { panic!("{text:?}") };
        let register = |name: &str| Operand::Register(name.into());
        assert_eq!(first.operands, [Operand::Parts(vec![register("t0"), register("t1")]), register("$1")]);
        assert_eq!(second.guard, Some(("p".into(), true)));
        assert_eq!(second.words, ["add", "s32"]);
        assert_eq!(second.operands[2], Operand::Number(-2i64 as u64));
        let float = parse("mov.f32 $0, 0f3F800000").expect("it is known");
        assert_eq!(float.instructions[0].operands[1], Operand::Float { bits: 32, value: 0x3f80_0000 });
        let decimal = parse("mov.f32 $0, -1.5").expect("it is known");
        assert_eq!(decimal.instructions[0].operands[1], Operand::Decimal(-1.5));
    }

    #[test]
    fn what_is_no_straight_code_is_not_read() {
        for text in [
            "loop: add.s32 $0, $1, 1;",
            "ld.global.b32 $0, [$1];",
            "{ add.s32 $0, $1, 1;",
            "{ .reg .b32 a; } { .reg .b32 a; }",
            ".local .b32 a;",
            "add.s32 $0, $1, 1..5;",
            "add.f32 $0, $1, 0f3F8;",
            "add.f32 $0, $1, 0f+3F80000;",
            "add.s32 $0, $1, 1; /* no end",
            "add.s32 $0, $1, 1; /*/",
        ] {
            assert!(parse(text).is_none(), "{text}");
        }
    }
}
