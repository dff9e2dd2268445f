//! Inline assembly of a kernel, where the assembler refuses it.
//!
//! What an assembler refuses of our own text is an error of ours. Where it complains of an instruction that the kernel
//! brings along, the error is the kernel's, and has the place of the call.

use target::TargetError;
use ttir::ops::extern_call::{INLINE_ASM, InlineAsmOp};

/// The calls of inline assembly in a kernel.
pub struct InlineAssembly {
    calls: Vec<Call>,
}

struct Call {
    text: String,
    location: Option<String>,
}

impl InlineAssembly {
    /// Those of a module.
    pub fn of(module: &ir::Module) -> InlineAssembly {
        let all = module.walk(module.top()).into_iter().filter(|op| module.is(*op, &INLINE_ASM));
        let call = |op| Call {
            text: InlineAsmOp::new(module, op).asm_string().to_owned(),
            location: module.locs.describe(module.loc(op)),
        };
        InlineAssembly { calls: all.map(call).collect() }
    }

    /// The error, or that of the call whose instruction it quotes.
    pub fn blame(&self, error: TargetError) -> TargetError {
        let TargetError::Internal(message) = error else { return error };
        let is_quoted = |call: &&Call| mnemonics(&call.text).any(|word| quotes(&message, word));
        // Of constraints and operands no instruction says anything.
        let of_constraints = || {
            let is_about_them =
                ["inline asm", "constraint", " asm \""].iter().any(|word| message.contains(word));
            self.calls.first().filter(|_| is_about_them)
        };
        match self.calls.iter().find(is_quoted).or_else(of_constraints) {
            Some(call) => TargetError::Compile {
                message: format!("the inline assembly `{}` is refused: {message}", call.text.trim()),
                location: call.location.clone(),
            },
            None => TargetError::Internal(message),
        }
    }
}

/// The names of the instructions of a text.
fn mnemonics(text: &str) -> impl Iterator<Item = &str> {
    let statements = text.split([';', '\n', '{', '}']).map(str::trim);
    statements.filter_map(|statement| {
        let is_predicate = |word: &&str| word.starts_with('@');
        let word = statement.split_whitespace().find(|word| !is_predicate(word))?;
        let is_name = word.starts_with(|first: char| first.is_ascii_alphabetic()) && !word.ends_with(':');
        is_name.then_some(word)
    })
}

/// Whether a message has a word that is not a part of another one.
fn quotes(message: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
    message
        .match_indices(word)
        .any(|(at, _)| !message[..at].ends_with(is_part) && !message[at + word.len()..].starts_with(is_part))
}

#[cfg(test)]
mod tests {
    use super::{Call, InlineAssembly, mnemonics, quotes};
    use target::TargetError;

    #[test]
    fn the_call_whose_instruction_is_quoted_is_blamed() {
        let call =
            |text: &str, line: u32| Call { text: text.to_owned(), location: Some(format!("k.py:{line}:5")) };
        let calls = InlineAssembly { calls: vec![call("add.s32 $0, $1, 1;", 3), call("@p bswap $0;", 7)] };
        let blame = |text: &str| calls.blame(TargetError::Internal(text.to_owned())).to_string();
        let said = blame("line 29: unknown instruction\n  | bswap %r5;");
        assert!(
            said.starts_with("k.py:7:5: the inline assembly `@p bswap $0;` is refused: line 29"),
            "{said}"
        );
        let said = blame("number of input constraints does not match number of parameters");
        assert!(said.starts_with("k.py:3:5: the inline assembly `add.s32 $0, $1, 1;` is refused"), "{said}");
        assert_eq!(
            blame("line 9\n  | sub.s32 %r1;"),
            "internal error (please report it): line 9\n  | sub.s32 %r1;"
        );
    }

    #[test]
    fn instructions_are_the_first_words_of_statements() {
        let all: Vec<&str> =
            mnemonics("{ .reg .b32 t;\n @p mov.b32 t, $1; loop: \n cvt.u16 $0, t; }").collect();
        assert_eq!(all, ["mov.b32", "cvt.u16"]);
        assert!(quotes("| mov.b32 %r1", "mov.b32") && !quotes("| xmov.b32.x %r1", "mov.b32"));
    }
}
