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

    /// Refuses a comment that never ends: it would hide what we write behind the text.
    pub fn check(&self) -> Result<(), TargetError> {
        let Some(call) = self.calls.iter().find(|call| comment_never_ends(&call.text)) else { return Ok(()) };
        Err(TargetError::Compile {
            message: format!("the inline assembly `{}` has a comment that never ends", call.text.trim()),
            location: call.location.clone(),
        })
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

/// Whether a `/*` has no `*/`, and is in no comment of one line.
fn comment_never_ends(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find("/*").into_iter().chain(rest.find("//")).min() {
        let comment = &rest[at + 2..];
        let (end, is_block) = match rest[at..].starts_with("/*") {
            true => (comment.find("*/").map(|end| end + 2), true),
            false => (comment.find('\n'), false),
        };
        match end {
            Some(end) => rest = &comment[end..],
            None => return is_block,
        }
    }
    false
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
    fn comments_that_never_end_are_refused() {
        let check = |text: &str| {
            let call = Call { text: text.to_owned(), location: Some("k.py:3:5".to_owned()) };
            InlineAssembly { calls: vec![call] }.check().map_err(|error| error.to_string())
        };
        for text in ["/* oh", "mov.b32 $0, $1; /*/", "/* a */ // b\n /* c", "// a\n/* b */ /*"] {
            let said = check(text).expect_err(text);
            assert!(said.starts_with("k.py:3:5: the inline assembly"), "{said}");
        }
        for text in ["", "/* a */", "// /* a", "mov.b32 $0, $1; // a\n", "/* // */ /**/"] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn instructions_are_the_first_words_of_statements() {
        let all: Vec<&str> =
            mnemonics("{ .reg .b32 t;\n @p mov.b32 t, $1; loop: \n cvt.u16 $0, t; }").collect();
        assert_eq!(all, ["mov.b32", "cvt.u16"]);
        assert!(quotes("| mov.b32 %r1", "mov.b32") && !quotes("| xmov.b32.x %r1", "mov.b32"));
    }
}
