//! Packed assembly whose elements have nothing to do with each other: each bit of a result depends on elements of the
//! operands at its own place alone. It does not matter then which elements of a block one run takes.
//!
//! ```text
//! mul.bf16x2 $0, $1, $2;             at its own place
//! prmt.b32 $0, $1, 0, 0x0123;        the bytes change places
//! ```
//!
//! What each bit of a register depends on is followed through the text. An instruction that is not known here is taken
//! to mix all of what it reads.

use super::sequence::per_word;
use super::text::{self, Instruction, Operand, Text};
use ir::{Attr, Module, Op};
use rustc_hash::FxHashMap;
use ttir::ops::extern_call::{ANY_ORDER, InlineAsmOp};
use ttir::types::elem;

/// The most elements of a run that are told apart.
const MOST: usize = 64;

/// One bit of a register: the places that it depends on, or its value if that is known.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Bit {
    Known(bool),
    Of(u64),
}

impl Bit {
    fn places(self) -> u64 {
        match self {
            Bit::Known(_) => 0,
            Bit::Of(places) => places,
        }
    }
}

type Bits = Vec<Bit>;
type Registers = FxHashMap<String, Bits>;

/// Instructions that read more than their operands, or write more than the first of them.
const OTHERS: [&str; 10] =
    ["addc", "subc", "madc", "shfl", "vote", "match", "redux", "activemask", "bar", "barrier"];

/// Notes of packed assembly whether it takes elements in any order.
pub fn note_any_order(module: &mut Module) {
    for op in module.walk(module.top()) {
        if InlineAsmOp::of(module, op).is_some_and(|asm| asm.packed_element() > 1)
            && keeps_places(module, op) == Some(true)
        {
            module.set_extra(op, ANY_ORDER.key(), Some(Attr::Unit));
        }
    }
}

/// Whether elements stay at their places; `None` where that is not known.
fn keeps_places(module: &Module, op: Op) -> Option<bool> {
    let asm = InlineAsmOp::new(module, op);
    let pack = asm.packed_element() as usize;
    let text = text::parse(asm.asm_string()).filter(|_| pack <= MOST)?;
    let mut registers: Registers =
        text.registers.iter().map(|(name, &bits)| (name.clone(), vec![Bit::Of(0); bits as usize])).collect();
    let mut number = 0;
    let mut results = Vec::new();
    for &result in module.results(op) {
        for word in words(elem(module.ty(result)), pack)? {
            let name = format!("${number}");
            registers.insert(name.clone(), vec![Bit::Of(0); word.len()]);
            results.push((name, word));
            number += 1;
        }
    }
    let is_tied = |part: &str| part.trim().starts_with(|first: char| first.is_ascii_digit());
    if asm.constraints().split(',').any(is_tied) {
        return None;
    }
    for &arg in asm.args() {
        for word in words(elem(module.ty(arg)), pack)? {
            registers.insert(format!("${number}"), word.iter().map(|&place| Bit::Of(1 << place)).collect());
            number += 1;
        }
    }
    run(&text, &mut registers)?;
    Some(results.iter().all(|(name, word)| {
        let all = registers[name].iter().zip(word);
        all.into_iter().all(|(bit, &place)| bit.places() & !(1 << place) == 0)
    }))
}

/// The place of the element that each bit of each word belongs to.
fn words(ty: ir::Type, pack: usize) -> Option<Vec<Vec<usize>>> {
    let (each, bits) = (per_word(ty), ty.scalar_bits()?.max(8) as usize);
    let width = if each > 1 { 32 } else { bits };
    let word = |first: usize| (0..width).map(|bit| (first + bit / bits).min(pack - 1)).collect();
    Some((0..pack).step_by(each).map(word).collect())
}

fn run(text: &Text, registers: &mut Registers) -> Option<()> {
    for instruction in &text.instructions {
        let (to, from) = instruction.operands.split_first()?;
        let width = width(to, registers)?;
        let mut value = value(instruction, from, width, registers)?;
        if let Some((guard, _)) = &instruction.guard {
            let places = union(registers.get(guard)?);
            let old = read(to, width, registers)?;
            for (new, old) in value.iter_mut().zip(old) {
                *new = Bit::Of(new.places() | old.places() | places);
            }
        }
        write(to, &value, registers)?;
    }
    Some(())
}

fn union(bits: &[Bit]) -> u64 {
    bits.iter().fold(0, |all, bit| all | bit.places())
}

fn width(operand: &Operand, registers: &Registers) -> Option<usize> {
    match operand {
        Operand::Register(name) => registers.get(name).map(Vec::len),
        Operand::Parts(parts) => parts.iter().map(|part| width(part, registers)).sum(),
        Operand::Number(_) | Operand::Float { .. } | Operand::Decimal(_) => None,
    }
}

fn read(operand: &Operand, width: usize, registers: &Registers) -> Option<Bits> {
    let number = |value: u64| (0..width).map(|bit| Bit::Known(bit < 64 && value >> bit & 1 == 1)).collect();
    match operand {
        Operand::Register(name) => registers.get(name).cloned(),
        Operand::Number(value) | Operand::Float { value, .. } => Some(number(*value)),
        // Its bits depend on the instruction.
        Operand::Decimal(_) => None,
        Operand::Parts(parts) => {
            let each = width / parts.len().max(1);
            let all: Option<Vec<Bits>> = parts.iter().map(|part| read(part, each, registers)).collect();
            all.map(|parts| parts.concat())
        }
    }
}

fn write(operand: &Operand, value: &[Bit], registers: &mut Registers) -> Option<()> {
    match operand {
        Operand::Register(name) => {
            let own = registers.get_mut(name).filter(|own| own.len() == value.len())?;
            own.copy_from_slice(value);
        }
        Operand::Parts(parts) => {
            let mut rest = value;
            for part in parts {
                let (own, behind) = rest.split_at_checked(width(part, registers)?)?;
                write(part, own, registers)?;
                rest = behind;
            }
        }
        Operand::Number(_) | Operand::Float { .. } | Operand::Decimal(_) => return None,
    }
    Some(())
}

/// What an instruction writes to a register of so many bits.
fn value(instruction: &Instruction, from: &[Operand], width: usize, registers: &Registers) -> Option<Bits> {
    let words: Vec<&str> = instruction.words.iter().map(String::as_str).collect();
    if OTHERS.contains(&words[0]) || words.contains(&"cc") {
        return None;
    }
    let operands: Vec<Bits> =
        from.iter().map(|operand| read(operand, width, registers)).collect::<Option<_>>()?;
    let same_width = operands.iter().all(|operand| operand.len() == width);
    let known = match (words[0], &operands[..], from) {
        ("mov", [only], _) if same_width => Some(only.clone()),
        ("not", [only], _) if same_width => Some(bitwise(&[only], 1)),
        ("and", [a, b], _) if same_width => Some(bitwise(&[a, b], 0b1000)),
        ("or", [a, b], _) if same_width => Some(bitwise(&[a, b], 0b1110)),
        ("xor", [a, b], _) if same_width => Some(bitwise(&[a, b], 0b0110)),
        ("lop3", [a, b, c, _], [.., Operand::Number(table)]) if same_width => {
            // The table has the bit of `a` as its highest.
            Some(bitwise(&[c, b, a], *table as u32))
        }
        ("shl" | "shr", [of, _], [_, Operand::Number(by)]) if of.len() == width => {
            Some(shifted(of, *by, words[0] == "shl", words.last().is_some_and(|ty| ty.starts_with('s'))))
        }
        ("prmt", [a, b, _], [_, _, Operand::Number(chosen)]) if words.len() == 2 && same_width => {
            Some(permuted(&[a.as_slice(), b].concat(), *chosen))
        }
        ("cvt", ..) => converted(&words, &operands, width),
        _ if words.last().is_some_and(|ty| ty.ends_with("x2")) && same_width => Some(by_halves(&operands)),
        _ => None,
    };
    Some(known.unwrap_or_else(|| vec![Bit::Of(operands.iter().fold(0, |all, own| all | union(own))); width]))
}

/// A function of the bits at each place, by its table: the first operand is the lowest bit of the row.
fn bitwise(operands: &[&Bits], table: u32) -> Bits {
    let at = |index: usize| {
        let bits: Vec<Bit> = operands.iter().map(|operand| operand[index]).collect();
        let rows = (0..1u32 << bits.len()).filter(|row| {
            bits.iter()
                .enumerate()
                .all(|(at, bit)| !matches!(bit, Bit::Known(one) if *one != (row >> at & 1 == 1)))
        });
        let rows: Vec<u32> = rows.collect();
        let answer = |row: u32| table >> row & 1 == 1;
        if rows.iter().all(|&row| answer(row) == answer(rows[0])) {
            return Bit::Known(answer(rows[0]));
        }
        let matters = |at: usize| rows.iter().any(|&row| answer(row) != answer(row ^ 1 << at));
        let places = bits.iter().enumerate().filter(|(at, bit)| matches!(bit, Bit::Of(_)) && matters(*at));
        Bit::Of(places.fold(0, |all, (_, bit)| all | bit.places()))
    };
    (0..operands[0].len()).map(at).collect()
}

fn shifted(of: &Bits, by: u64, left: bool, signed: bool) -> Bits {
    let by = usize::try_from(by).unwrap_or(of.len()).min(of.len());
    let last = of[of.len() - 1];
    let fill = if signed && !left { last } else { Bit::Known(false) };
    match left {
        true => std::iter::repeat_n(fill, by).chain(of[..of.len() - by].iter().copied()).collect(),
        false => of[by..].iter().copied().chain(std::iter::repeat_n(fill, by)).collect(),
    }
}

/// Bytes of two words, each chosen by four bits; the highest of these asks for the sign of the byte, eight times.
fn permuted(both: &[Bit], chosen: u64) -> Bits {
    let byte = |number: u32| {
        let choice = (chosen >> (4 * number) & 15) as usize;
        let own = &both[8 * (choice & 7)..][..8];
        if choice & 8 == 0 { own.to_vec() } else { vec![own[7]; 8] }
    };
    (0..4).flat_map(byte).collect()
}

/// Two floats that become two others: of a word with both, or of two words, the first of which is the upper one.
fn converted(words: &[&str], operands: &[Bits], width: usize) -> Option<Bits> {
    let types: Vec<&str> = words.iter().rev().take(2).copied().collect();
    let (from, to) = (types.first()?, types.get(1)?);
    let half = |places: u64| vec![Bit::Of(places); width / 2];
    match operands {
        [one] if from.ends_with("x2") && to.ends_with("x2") => {
            let (low, high) = one.split_at(one.len() / 2);
            Some([half(union(low)), half(union(high))].concat())
        }
        [high, low] if to.ends_with("x2") => Some([half(union(low)), half(union(high))].concat()),
        _ => None,
    }
}

fn by_halves(operands: &[Bits]) -> Bits {
    let width = operands.first().map_or(0, Vec::len);
    let half = |range: std::ops::Range<usize>| {
        vec![Bit::Of(operands.iter().fold(0, |all, own| all | union(&own[range.clone()]))); range.len()]
    };
    [half(0..width / 2), half(width / 2..width)].concat()
}

#[cfg(test)]
mod tests {
    use super::{ANY_ORDER, note_any_order};

    /// Whether a text is noted that takes `pack` elements of a type and makes as many of another.
    fn is_noted(text: &str, constraints: &str, pack: u32, from: &str, to: &str) -> bool {
        let text = format!(
            r#"tt.func public @f(%x: tensor<8x{from}>) -> tensor<8x{to}> {{
  %y = tt.elementwise_inline_asm "{text}" {{constraints = "{constraints}", packed_element = {pack} : i32, pure = true}} %x : tensor<8x{from}> -> tensor<8x{to}>
  tt.return %y : tensor<8x{to}>
}}"#
        );
        let mut module =
            ir::text::parse(&text, ttir::registry(), ir::text::ParseOptions::default()).expect("it parses");
        note_any_order(&mut module);
        module.walk(module.top()).iter().any(|&op| module.extra_attr(op, ANY_ORDER.name).is_some())
    }

    #[test]
    fn what_stays_at_its_place_is_noted() {
        for (text, constraints, pack, from, to) in [
            ("mul.bf16x2 $0, $1, $1;", "=r,r", 2, "bf16", "bf16"),
            ("ex2.approx.ftz.f16x2 $0, $1;", "=r,r", 2, "f16", "f16"),
            ("cvt.rn.f16x2.f32 $0, $2, $1;", "=r,r,r", 2, "f32", "f16"),
            ("not.b32 $0, $1;", "=r,r", 4, "i8", "i8"),
            ("and.b32 $0, $1, 0x0f0f0f0f;", "=r,r", 4, "i8", "i8"),
            (
                "{ prmt.b32 $0, $2, 0, 0x5140; shl.b32 $0, $0, 7; prmt.b32 $1, $2, 0, 0x7362; shl.b32 $1, $1, 7; }",
                "=r,=r,r",
                4,
                "i8",
                "bf16",
            ),
            (
                "{ .reg .b32 t; shr.u32 t, $1, 4; lop3.b32 $0, t, 0x0f0f0f0f, 0x10101010, 0xea; }",
                "=r,r",
                4,
                "i8",
                "i8",
            ),
            ("{ add.f32 $0, $2, $2; add.f32 $1, $3, $3; }", "=f,=f,f,f", 2, "f32", "f32"),
        ] {
            assert!(is_noted(text, constraints, pack, from, to), "{text}");
        }
    }

    #[test]
    fn what_changes_places_is_not() {
        for (text, constraints, pack, from, to) in [
            ("prmt.b32 $0, $1, 0, 0x0123;", "=r,r", 4, "i8", "i8"),
            ("shl.b32 $0, $1, 1;", "=r,r", 4, "i8", "i8"),
            ("add.s32 $0, $1, $1;", "=r,r", 2, "i16", "i16"),
            ("cvt.rn.f16x2.f32 $0, $1, $2;", "=r,r,r", 2, "f32", "f16"),
            ("lop3.b32 $0, $1, 0xff, 0x00ff0000, 0xf0; shr.u32 $0, $0, 8;", "=r,r", 4, "i8", "i8"),
            ("{ add.f32 $0, $2, $3; add.f32 $1, $3, $3; }", "=f,=f,f,f", 2, "f32", "f32"),
            ("shfl.sync.bfly.b32 $0, $1, 1, 31, -1;", "=r,r", 2, "f16", "f16"),
            (
                "{ .reg .pred p; setp.lt.f32 p, $2, 0f00000000; mov.b32 $0, $2; mov.b32 $1, $3; @p mov.b32 $1, 0; }",
                "=f,=f,f,f",
                2,
                "f32",
                "f32",
            ),
        ] {
            assert!(!is_noted(text, constraints, pack, from, to), "{text}");
        }
    }
}
