//! Inline assembly for one instruction of the table.
//!
//! `template("ldmatrix.sync.aligned.m8n8.x4.shared.b16", None, &[Slot::Results("r", 4), Slot::Address("r", 0)])` gives
//! the text `ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4];` and the constraints `=r,=r,=r,=r,r`.

use super::table::find;
use llir::Asm;
use std::fmt::{self, Write};

/// One operand of an instruction; letters are LLVM's: b 1 bit, h 16, r and f 32, l and d 64, n a constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot<'a> {
    /// A result.
    Result(&'a str),
    /// Several results in braces.
    Results(&'a str, usize),
    /// Several results in braces, each updated in place: as many operands are tied to them.
    Updates(&'a str, usize),
    /// An operand.
    Operand(&'a str),
    /// Several operands in braces.
    Operands(&'a str, usize),
    /// An address in a register, and a constant to add to it.
    Address(&'a str, i64),
    /// Text as it is: a constant, a name.
    Text(&'a str),
}

/// Why there is no inline assembly.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TemplateError {
    /// The mnemonic is not in the table.
    Unknown(String),
    /// The operands are not those of the row: the mnemonic and the row's operands.
    Operands(String, &'static str),
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TemplateError::Unknown(mnemonic) => write!(f, "`{mnemonic}` is not in the table of instructions"),
            TemplateError::Operands(mnemonic, row) => {
                write!(f, "`{mnemonic}` takes other operands; its row has `{row}`")
            }
        }
    }
}

impl std::error::Error for TemplateError {}

/// Inline assembly with one instruction. Results come first among the operands, then operands in the order of the slots,
/// then what updates are tied to, and at last the guard: a truth value without which nothing happens.
///
/// # Errors
/// The instruction is unknown or takes other operands.
pub fn template(mnemonic: &str, guarded: bool, slots: &[Slot<'_>]) -> Result<Asm, TemplateError> {
    let (row, _) = find(mnemonic).ok_or_else(|| TemplateError::Unknown(mnemonic.into()))?;
    if !fits(row.operands, slots) {
        return Err(TemplateError::Operands(mnemonic.into(), row.operands));
    }
    let results: usize = slots.iter().map(Slot::result_count).sum();
    let operands: usize = slots.iter().map(Slot::operand_count).sum();
    let updates: usize = slots.iter().map(Slot::update_count).sum();
    let mut text = String::new();
    if guarded {
        _ = write!(text, "@${} ", results + operands + updates);
    }
    text.push_str(mnemonic);
    let (mut result, mut operand) = (0, results);
    let (mut outputs, mut inputs, mut ties) = (Vec::new(), Vec::new(), Vec::new());
    for (index, slot) in slots.iter().enumerate() {
        text.push_str(if index == 0 { " " } else { ", " });
        let next = if slot.result_count() > 0 { &mut result } else { &mut operand };
        slot.write(&mut text, next);
        for count in 0..slot.result_count() {
            outputs.push(format!("={}", slot.letters()));
            if slot.update_count() > 0 {
                ties.push((*next - slot.result_count() + count).to_string());
            }
        }
        inputs.extend((0..slot.operand_count()).map(|_| slot.letters().to_owned()));
    }
    text.push(';');
    outputs.extend(inputs);
    outputs.extend(ties);
    outputs.extend(guarded.then(|| "b".to_owned()));
    Ok(Asm { text, constraints: outputs.join(","), side_effects: results == 0 })
}

impl Slot<'_> {
    fn result_count(&self) -> usize {
        match self {
            Slot::Result(_) => 1,
            Slot::Results(_, count) | Slot::Updates(_, count) => *count,
            _ => 0,
        }
    }

    fn operand_count(&self) -> usize {
        match self {
            Slot::Operand(_) | Slot::Address(..) => 1,
            Slot::Operands(_, count) => *count,
            _ => 0,
        }
    }

    fn update_count(&self) -> usize {
        if let Slot::Updates(_, count) = self { *count } else { 0 }
    }

    fn letters(&self) -> &str {
        match self {
            Slot::Result(letters)
            | Slot::Results(letters, _)
            | Slot::Updates(letters, _)
            | Slot::Operand(letters)
            | Slot::Operands(letters, _)
            | Slot::Address(letters, _) => letters,
            Slot::Text(_) => "",
        }
    }

    fn write(&self, text: &mut String, next: &mut usize) {
        match self {
            Slot::Text(plain) => text.push_str(plain),
            Slot::Result(_) | Slot::Operand(_) => {
                _ = write!(text, "${next}");
                *next += 1;
            }
            Slot::Address(_, offset) => {
                _ = match offset {
                    0 => write!(text, "[${next}]"),
                    offset => write!(text, "[${next}{offset:+}]"),
                };
                *next += 1;
            }
            Slot::Results(_, count) | Slot::Updates(_, count) | Slot::Operands(_, count) => {
                let names: Vec<String> = (*next..*next + count).map(|index| format!("${index}")).collect();
                _ = write!(text, "{{{}}}", names.join(", "));
                *next += count;
            }
        }
    }
}

/// Whether slots are what a row takes.
fn fits(operands: &str, slots: &[Slot<'_>]) -> bool {
    let mut slots = slots.iter().peekable();
    for kind in operands.chars() {
        let matches = slots.peek().is_some_and(|slot| match kind.to_ascii_uppercase() {
            'D' => matches!(slot, Slot::Result(_) | Slot::Results(..) | Slot::Text(_)),
            'V' => matches!(slot, Slot::Result(_) | Slot::Results(..) | Slot::Updates(..)),
            'W' => matches!(slot, Slot::Operand(_) | Slot::Operands(..) | Slot::Text(_)),
            'M' => matches!(slot, Slot::Address(..) | Slot::Text(_)),
            'A' => matches!(slot, Slot::Operand(_) | Slot::Operands(..) | Slot::Text(_)),
            _ => matches!(slot, Slot::Operand("n") | Slot::Text(_)),
        });
        match matches {
            true => _ = slots.next(),
            false if kind.is_ascii_uppercase() => return false,
            false => {}
        }
    }
    slots.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::{Slot, TemplateError, template};

    #[test]
    fn templates_number_results_first() {
        let slots = [Slot::Results("r", 4), Slot::Address("r", 16)];
        let asm = template("ldmatrix.sync.aligned.m8n8.x4.shared.b16", false, &slots).expect("known");
        assert_eq!(asm.text, "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4+16];");
        assert_eq!(asm.constraints, "=r,=r,=r,=r,r");
        let slots = [Slot::Updates("f", 2), Slot::Operand("l"), Slot::Text("1")];
        assert!(matches!(template("bar.sync", false, &slots), Err(TemplateError::Operands(..))));
        let slots = [Slot::Address("l", 0), Slot::Operand("r")];
        let asm = template("st.global.b32", true, &slots).expect("known");
        assert_eq!((asm.text.as_str(), asm.constraints.as_str()), ("@$2 st.global.b32 [$0], $1;", "l,r,b"));
        assert!(asm.side_effects);
        assert_eq!(template("frob", false, &[]), Err(TemplateError::Unknown("frob".into())));
    }
}
