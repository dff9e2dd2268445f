//! How deep the syntax tree of a text may be. Trees that are much deeper than any compile takes are not made at all:
//! each walk over one, and its end, would take the stack down.

use ruff_python_ast::token::TokenKind;
use ruff_python_parser::{Mode, lexer};

/// More than Python itself takes, and little for the stacks that compiles run on.
const MOST: usize = 5000;

/// Whether the syntax tree of a text may be deeper than the limit. Texts that are shorter than it have not that much.
pub(crate) fn is_too_deep(text: &str) -> bool {
    if text.len() <= MOST {
        return false;
    }
    let mut lexer = lexer::lex(text, Mode::Module);
    let mut depth = Depth::default();
    loop {
        match lexer.next_token() {
            TokenKind::EndOfFile => return false,
            token => depth.add(token),
        }
        if depth.total > MOST {
            return true;
        }
    }
}

/// A bound of the depth where a token stands: every token but names, numbers and texts may be a node around the next.
struct Depth {
    total: usize,
    /// What the brackets that are open have so far; a comma or the end of a statement takes it back.
    brackets: Vec<Level>,
}

#[derive(Clone, Copy, Default)]
struct Level {
    tokens: usize,
    /// Lambdas, whose parameters have commas.
    lambdas: usize,
}

impl Default for Depth {
    fn default() -> Depth {
        Depth { total: 0, brackets: vec![Level::default()] }
    }
}

impl Depth {
    fn add(&mut self, token: TokenKind) {
        use TokenKind::{
            Comma, Comment, Dedent, FStringEnd, FStringStart, Float, Indent, Int, Lambda, Lbrace, Lpar, Lsqb,
            Name, Newline, NonLogicalNewline, Rbrace, Rpar, Rsqb, Semi, String, TStringEnd, TStringStart,
        };
        let here = self.brackets[self.brackets.len() - 1];
        match token {
            Name | Int | Float | String | Comment | NonLogicalNewline => {}
            Lpar | Lsqb | Lbrace | FStringStart | TStringStart => {
                self.set(Level { tokens: here.tokens + 1, ..here });
                self.brackets.push(Level::default());
            }
            Rpar | Rsqb | Rbrace | FStringEnd | TStringEnd => {
                self.set(Level::default());
                if self.brackets.len() > 1 {
                    self.brackets.pop();
                }
            }
            Indent => self.total += 1,
            Dedent => self.total = self.total.saturating_sub(1),
            Lambda => self.set(Level { lambdas: here.lambdas + 1, ..here }),
            Comma => self.set(Level { tokens: 0, ..here }),
            Newline | Semi => self.set(Level::default()),
            _ => self.set(Level { tokens: here.tokens + 1, ..here }),
        }
    }

    /// Puts what the innermost brackets have.
    fn set(&mut self, level: Level) {
        let here = self.brackets.last_mut().expect("the outermost level is never closed");
        let before = std::mem::replace(here, level);
        self.total =
            (self.total + level.tokens + level.lambdas).saturating_sub(before.tokens + before.lambdas);
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, is_too_deep};

    #[test]
    fn depth_is_no_length() {
        let repeated = |part: &str| part.repeat(2 * MOST);
        for deep in [
            repeated("-"),
            repeated("["),
            repeated("not "),
            repeated("lambda a, b: "),
            repeated("{f(x)(y)}[0]"),
        ] {
            assert!(is_too_deep(&format!("x = {deep}n")));
            assert!(is_too_deep(&format!("def f(x):\n    return (1, {deep}n\n")));
        }
        for long in [
            format!("x = [{}]", repeated("f(1) + 2, ")),
            repeated("x = -n\n"),
            repeated("x = -n; "),
            "n".repeat(2 * MOST),
        ] {
            assert!(!is_too_deep(&long));
        }
        let blocks: String = (0..=MOST).map(|depth| format!("{}if n:\n", " ".repeat(depth))).collect();
        assert!(is_too_deep(&blocks));
    }
}
