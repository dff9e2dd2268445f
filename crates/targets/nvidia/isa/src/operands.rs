//! What an instruction takes, as its row says.
//!
//! One letter for each operand, in order, and behind it what the register has, where that is not the last type of the
//! mnemonic: `DAA` of `add.s32` are three registers of 32 bits, `D+AAA+` of `mad.wide.u16` results and sums of twice as
//! many.

/// What an operand is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `D`: a result.
    Result,
    /// `V`: results in braces, as many as the mnemonic says; one without braces, where the row does not say otherwise.
    Results,
    /// `A`: a register or a constant.
    Operand,
    /// `W`: several in braces, as for results.
    Operands,
    /// `M`: an address in brackets.
    Address,
    /// `I`: a constant.
    Constant,
    /// `N`: a name.
    Name,
    /// `C`: a policy of the cache, where the mnemonic has `L2::cache_hint`, and nothing elsewhere.
    Policy,
}

/// How many bits the register of an operand has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// Those of the last type in the mnemonic.
    Last,
    /// `'`: those of the first type.
    First,
    /// `+`: twice those of the last type.
    Double,
    /// `p`: a truth value.
    Predicate,
    /// `2`, `4`, `8`: so many bytes; of a constant the only one there may be.
    Number(u32),
}

/// One operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OperandRow {
    /// What it is.
    pub kind: Kind,
    /// What its register has.
    pub width: Width,
    /// A small letter: it may be left out.
    pub optional: bool,
    /// `|`: a truth value stands behind it, after a bar.
    pub with_predicate: bool,
    /// `{`: braces stand around one register, too.
    pub braced: bool,
    /// `~`: several in braces may stand in its place.
    pub several: bool,
}

const KINDS: &[(char, Kind)] = &[
    ('D', Kind::Result),
    ('V', Kind::Results),
    ('A', Kind::Operand),
    ('W', Kind::Operands),
    ('M', Kind::Address),
    ('I', Kind::Constant),
    ('N', Kind::Name),
    ('C', Kind::Policy),
];

/// The operands of a row; `None` where a letter means nothing, which a test excludes.
pub fn operands(text: &str) -> Option<Vec<OperandRow>> {
    let mut operands: Vec<OperandRow> = Vec::new();
    for letter in text.chars() {
        if let Some((_, kind)) = KINDS.iter().find(|(own, _)| *own == letter.to_ascii_uppercase()) {
            let optional = letter.is_ascii_lowercase();
            operands.push(OperandRow {
                kind: *kind,
                width: Width::Last,
                optional,
                with_predicate: false,
                braced: false,
                several: false,
            });
            continue;
        }
        let last = operands.last_mut()?;
        match letter {
            '|' => last.with_predicate = true,
            '{' => last.braced = true,
            '~' => last.several = true,
            '\'' => last.width = Width::First,
            '+' => last.width = Width::Double,
            'p' => last.width = Width::Predicate,
            digit => {
                let before = if let Width::Number(number) = last.width { number } else { 0 };
                last.width = Width::Number(10 * before + digit.to_digit(10)?);
            }
        }
    }
    Some(operands)
}

#[cfg(test)]
mod tests {
    use super::{Kind, Width, operands};

    #[test]
    fn letters_and_widths() {
        let read = operands("D+|AAp m8").map(|_| ());
        assert_eq!(read, None, "a blank is no operand");
        let read = operands("D+|Apm8").expect("three operands");
        let kinds: Vec<_> = read.iter().map(|operand| (operand.kind, operand.width)).collect();
        assert_eq!(
            kinds,
            [
                (Kind::Result, Width::Double),
                (Kind::Operand, Width::Predicate),
                (Kind::Address, Width::Number(8))
            ]
        );
        assert!(read[0].with_predicate && read[2].optional && !read[1].optional);
    }
}
