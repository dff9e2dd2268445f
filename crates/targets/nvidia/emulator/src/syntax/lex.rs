//! Text to tokens. Opcodes with their dots, and names with `::`, are one word each.

use crate::diagnostic::Diagnostic;

/// One token.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token {
    /// `add.s32`, `%tid.x`, `$L__BB0_1`, `mbarrier::complete_tx::bytes`.
    Word(String),
    /// `.reg`, without its dot.
    Directive(String),
    Integer(i128),
    Float(f64),
    Bits32(u32),
    Bits64(u64),
    Text(String),
    Mark(char),
}

/// A token and its line.
#[derive(Debug, Clone)]
pub(crate) struct Spot {
    pub(crate) token: Token,
    pub(crate) line: u32,
}

struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    line: u32,
    out: Vec<Spot>,
}

/// All tokens of a text.
pub(crate) fn lex(text: &str) -> Result<Vec<Spot>, Diagnostic> {
    let mut lexer = Lexer { bytes: text.as_bytes(), at: 0, line: 1, out: Vec::with_capacity(text.len() / 3) };
    while lexer.skip_blank()? {
        let line = lexer.line;
        let token = lexer.token()?;
        lexer.out.push(Spot { token, line });
    }
    Ok(lexer.out)
}

fn starts_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$' | b'%')
}

fn in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%')
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Skips blanks and comments; false at the end.
    fn skip_blank(&mut self) -> Result<bool, Diagnostic> {
        while self.at < self.bytes.len() {
            match (self.peek(0), self.peek(1)) {
                (b'\n', _) => {
                    self.line += 1;
                    self.at += 1;
                }
                (b'/', b'/') => {
                    while self.at < self.bytes.len() && self.peek(0) != b'\n' {
                        self.at += 1;
                    }
                }
                (b'/', b'*') => self.skip_comment()?,
                (byte, _) if byte.is_ascii_whitespace() => self.at += 1,
                _ => return Ok(true),
            }
        }
        Ok(false)
    }

    fn skip_comment(&mut self) -> Result<(), Diagnostic> {
        let begun = self.line;
        self.at += 2;
        while !(self.peek(0) == b'*' && self.peek(1) == b'/') {
            if self.at >= self.bytes.len() {
                return Err(Diagnostic::new(begun, "a comment begins here and never ends"));
            }
            self.line += u32::from(self.peek(0) == b'\n');
            self.at += 1;
        }
        self.at += 2;
        Ok(())
    }

    fn token(&mut self) -> Result<Token, Diagnostic> {
        let byte = self.peek(0);
        if starts_word(byte) {
            return Ok(Token::Word(self.word()));
        }
        if byte == b'.' && starts_word(self.peek(1)) {
            self.at += 1;
            let start = self.at;
            while in_word(self.peek(0)) {
                self.at += 1;
            }
            return Ok(Token::Directive(self.slice(start)));
        }
        if byte.is_ascii_digit() {
            return self.number();
        }
        if byte == b'"' {
            return self.text();
        }
        if !byte.is_ascii() {
            return Err(Diagnostic::new(self.line, "a character outside ASCII"));
        }
        self.at += 1;
        Ok(Token::Mark(byte as char))
    }

    fn slice(&self, start: usize) -> String {
        String::from_utf8_lossy(&self.bytes[start..self.at]).into_owned()
    }

    fn word(&mut self) -> String {
        let start = self.at;
        loop {
            if in_word(self.peek(0)) || (self.peek(0) == b'.' && in_word(self.peek(1))) {
                self.at += 1;
            } else if self.peek(0) == b':' && self.peek(1) == b':' && in_word(self.peek(2)) {
                self.at += 2;
            } else {
                return self.slice(start);
            }
        }
    }

    fn number(&mut self) -> Result<Token, Diagnostic> {
        let start = self.at;
        let hexadecimal =
            self.peek(0) == b'0' && matches!(self.peek(1), b'x' | b'X' | b'f' | b'F' | b'd' | b'D');
        while self.peek(0).is_ascii_alphanumeric()
            || (self.peek(0) == b'.' && self.peek(1).is_ascii_digit())
            || (!hexadecimal
                && matches!(self.peek(0), b'+' | b'-')
                && matches!(self.bytes[self.at - 1], b'e' | b'E'))
        {
            self.at += 1;
        }
        let text = self.slice(start);
        literal(&text).ok_or_else(|| Diagnostic::new(self.line, format!("{text:?} is not a number")))
    }

    fn text(&mut self) -> Result<Token, Diagnostic> {
        self.at += 1;
        let start = self.at;
        while self.peek(0) != b'"' {
            if self.at >= self.bytes.len() || self.peek(0) == b'\n' {
                return Err(Diagnostic::new(self.line, "a string does not end on its line"));
            }
            self.at += 1 + usize::from(self.peek(0) == b'\\');
        }
        let text = self.slice(start);
        self.at += 1;
        Ok(Token::Text(text))
    }
}

/// The value of a literal.
fn literal(text: &str) -> Option<Token> {
    let lower = text.to_ascii_lowercase();
    if let Some(bits) = lower.strip_prefix("0f") {
        return u32::from_str_radix(bits, 16).ok().map(Token::Bits32);
    }
    if let Some(bits) = lower.strip_prefix("0d") {
        return u64::from_str_radix(bits, 16).ok().map(Token::Bits64);
    }
    let digits = lower.strip_suffix('u').unwrap_or(&lower);
    let (radix, digits) = if let Some(rest) = digits.strip_prefix("0x") {
        (16, rest)
    } else if let Some(rest) = digits.strip_prefix("0b") {
        (2, rest)
    } else if digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit()) {
        (8, &digits[1..])
    } else {
        (10, digits)
    };
    if let Ok(value) = u64::from_str_radix(digits, radix) {
        return Some(Token::Integer(i128::from(value)));
    }
    text.parse().ok().map(Token::Float)
}
