//! Inline assembly: PTX with `$0`, `$1`, … for operands, results first.
//!
//! An operand that is tied to a result shares its register, so that a chain of instructions that each update a value in
//! place needs no copies. Results of text with several statements never share registers with other operands.

use super::{Outcome, Part, Selector};
use crate::ptx::machine::{AsmText, Class, MInst, Operand, Reg, Text};
use crate::ptx::shape::{word_class, word_count};
use llir::{Asm, Constraint, Inst, InstData, Payload, Value};
use smallvec::SmallVec;

/// What the letter of a constraint asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Register(Class),
    Immediate,
}

const LETTERS: &[(&str, Place)] = &[
    ("b", Place::Register(Class::Pred)),
    ("c", Place::Register(Class::B16)),
    ("h", Place::Register(Class::B16)),
    ("r", Place::Register(Class::B32)),
    ("f", Place::Register(Class::B32)),
    ("l", Place::Register(Class::B64)),
    ("d", Place::Register(Class::B64)),
    ("n", Place::Immediate),
    ("i", Place::Immediate),
];

fn place(letters: &str) -> Result<Place, String> {
    let row = LETTERS.iter().find(|row| row.0 == letters);
    let known = "b (1 bit), h (16), r and f (32), l and d (64), n (constant)";
    row.map(|row| row.1)
        .ok_or_else(|| format!("the constraint `{letters}` of inline assembly is none of {known}"))
}

pub(super) fn emit(s: &mut Selector<'_>, inst: Inst, data: &InstData) -> Outcome {
    let Payload::Asm(asm) = &data.payload else { return Err("inline assembly without its text".into()) };
    let value = s.func.result(inst);
    let (results, after) = results(s, asm, value, data)?;
    let count = results.len();
    let mut operands: SmallVec<[Operand; 4]> = results.into_iter().map(Operand::Reg).collect();
    let mut ties = SmallVec::new();
    let mut args = data.operands.iter();
    for entry in asm.entries() {
        let operand = match entry {
            Constraint::Output(_) | Constraint::Clobber(_) => continue,
            Constraint::Input(letters) => input(s, *args.next().ok_or("too few operands")?, place(letters)?)?,
            Constraint::Tied(output) => {
                ties.push((output, operands.len()));
                tied(s, *args.next().ok_or("too few operands")?, &operands[output])?
            }
        };
        operands.push(operand);
    }
    let (text, places) = split(&asm.text, operands.len())?;
    let text = AsmText { early: statements(&asm.text) > 1, text, places, ties };
    let location = s.location;
    s.out.push(MInst { text: Text::Asm(Box::new(text)), defs: count, operands, location });
    s.out.extend(after);
    Ok(())
}

/// Registers for the results, and what brings them to the width of the value where that is another.
fn results(
    s: &mut Selector<'_>,
    asm: &Asm,
    value: Option<Value>,
    data: &InstData,
) -> Result<(Vec<Reg>, Vec<MInst>), String> {
    let own = match value {
        Some(_) => word_count(data.ty).ok_or_else(|| format!("PTX has no registers for {}", data.ty))?,
        None => 0,
    };
    let mut regs = Vec::new();
    let mut after = Vec::new();
    let letters = asm.entries().filter_map(|entry| match entry {
        Constraint::Output(letters) => Some(letters),
        _ => None,
    });
    for (index, letters) in letters.enumerate() {
        let (Place::Register(class), Some(have)) = (place(letters)?, word_class(data.ty, index as u32))
        else {
            return Err(format!("result {index} of inline assembly has the constraint `{letters}`"));
        };
        let reg = s.word(value.ok_or("a result without a value")?, index as u32);
        if class == have {
            regs.push(reg);
            continue;
        }
        let raw = s.fresh(class);
        let before = s.out.len();
        convert(s, reg, have, Operand::Reg(raw), class)?;
        after.extend(s.out.split_off(before));
        regs.push(raw);
    }
    if regs.len() != own as usize {
        return Err(format!("inline assembly gives {} registers for {}", regs.len(), data.ty));
    }
    Ok((regs, after))
}

/// Brings an integer to a register of another class; upper bits are zero.
fn convert(s: &mut Selector<'_>, to: Reg, to_class: Class, from: Operand, from_class: Class) -> Outcome {
    match (from_class, to_class) {
        (Class::Pred, wide) => {
            s.push(format!("selp.b{}", wide.bits()), &[to], &[Operand::Int(1), Operand::Int(0), from]);
        }
        (wide, Class::Pred) => s.push(format!("setp.ne.b{}", wide.bits()), &[to], &[from, Operand::Int(0)]),
        (a, b) => s.push(format!("cvt.u{}.u{}", b.bits(), a.bits()), &[to], &[from]),
    }
    Ok(())
}

fn input(s: &mut Selector<'_>, value: Value, place: Place) -> Result<Operand, String> {
    let vector = s.ty(value).is_vector();
    let Place::Register(class) = place else {
        return match s.scalar(value) {
            Operand::Reg(_) => Err("an operand of inline assembly that must be constant is not".into()),
            operand => Ok(operand),
        };
    };
    let shape = s.shape(s.ty(value))?;
    if shape.words != 1 {
        return Err(format!(
            "an operand of inline assembly has type {}, which needs {} registers",
            s.ty(value),
            shape.words
        ));
    }
    let reg = s.reg(value, if vector { Part::Word(0) } else { Part::Scalar });
    if shape.class == class {
        return Ok(Operand::Reg(reg));
    }
    let wide = s.fresh(class);
    let is_byte = s.ty(value).lane_bits() == 8 && !vector;
    if is_byte && matches!(class, Class::B32 | Class::B64) {
        s.push(super::cast::widening(8, class.bits(), false)?, &[wide], &[Operand::Reg(reg)]);
    } else {
        convert(s, wide, class, Operand::Reg(reg), shape.class)?;
    }
    Ok(Operand::Reg(wide))
}

/// A register that holds a copy of the value and becomes one with the result.
fn tied(s: &mut Selector<'_>, value: Value, output: &Operand) -> Result<Operand, String> {
    let Operand::Reg(output) = output else { return Err("an operand is tied to no register".into()) };
    let class = s.regs[*output];
    let vector = s.ty(value).is_vector();
    let own = s.shape(s.ty(value))?;
    let copy = s.fresh(class);
    if own.class != class || own.words != 1 {
        let operand = input(s, value, Place::Register(class))?;
        s.copy(copy, operand);
        return Ok(Operand::Reg(copy));
    }
    let operand = s.part(value, if vector { Part::Word(0) } else { Part::Scalar });
    s.copy(copy, operand);
    Ok(Operand::Reg(copy))
}

/// The text without its operands, and where those stand: before which byte, and which.
fn split(text: &str, operands: usize) -> Result<(String, Vec<(usize, usize)>), String> {
    let mut places = Vec::new();
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        plain.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let braced = rest.strip_prefix('{');
        let body = braced.unwrap_or(rest);
        let digits = body.bytes().take_while(u8::is_ascii_digit).count();
        let Ok(index) = body[..digits].parse::<usize>() else {
            // `$$` is a dollar; `$(`, `$|`, `$)` are braces and bars that LLVM would take for its own.
            let mut letters = rest.chars();
            match letters.next() {
                Some('$') => plain.push('$'),
                Some('(') => plain.push('{'),
                Some(')') => plain.push('}'),
                Some('|') => plain.push('|'),
                _ => {
                    return Err(format!(
                        "`${}` in inline assembly names no operand",
                        rest.chars().take(8).collect::<String>()
                    ));
                }
            }
            rest = letters.as_str();
            continue;
        };
        rest = &body[digits..];
        if braced.is_some() {
            let end = rest.find('}').ok_or("a `${` in inline assembly is not closed")?;
            rest = &rest[end + 1..];
        }
        if index >= operands {
            return Err(format!("`${index}` in inline assembly: there are {operands} operands"));
        }
        places.push((plain.len(), index));
    }
    plain.push_str(rest);
    Ok((plain, places))
}

/// How many statements a text has.
fn statements(text: &str) -> usize {
    text.split(';').filter(|statement| !statement.trim().is_empty()).count()
}

#[cfg(test)]
mod tests {
    use super::{split, statements};

    #[test]
    fn texts_are_split_at_their_operands() {
        let found = |text: &str, places: &[(usize, usize)]| Ok((text.to_owned(), places.to_vec()));
        assert_eq!(split("add.s32 $0, ${1:x}, $$2;", 2), found("add.s32 , , $2;", &[(8, 0), (10, 1)]));
        assert_eq!(split("$(x$)", 0), found("{x}", &[]));
        assert!(split("$2", 2).is_err() && split("$x", 2).is_err() && split("${0", 2).is_err());
        assert_eq!(split("", 0), found("", &[]));
    }

    #[test]
    fn statements_are_counted() {
        assert_eq!(statements("add.s32 $0, $1, $2;"), 1);
        assert_eq!(statements("{ .reg .b32 t; mov.b32 t, $1; }"), 3);
    }
}
