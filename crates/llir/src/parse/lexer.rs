//! Words, names, numbers and marks of textual LLVM IR, with their places.

use super::ParseError;

/// One piece of text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token {
    /// A keyword, a type, a mnemonic, a label.
    Word(String),
    /// `%name`.
    Local(String),
    /// `@name`.
    Global(String),
    /// `!name` or `!7`.
    Metadata(String),
    /// A number as it is written.
    Number(String),
    /// Bytes between quotes.
    Text(Vec<u8>),
    /// One of `( ) { } [ ] < > , = : * #`.
    Mark(char),
}

/// A piece of text and where it begins.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) token: Token,
    pub(super) line: u32,
    pub(super) column: u32,
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"$._-".contains(&byte)
}

/// Takes a text apart.
pub(super) fn lex(text: &str) -> Result<Vec<Placed>, ParseError> {
    let mut tokens = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let number = index as u32 + 1;
        let bytes = line.as_bytes();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            if *byte == b';' {
                break;
            }
            if byte.is_ascii_whitespace() {
                at += 1;
                continue;
            }
            let column = at as u32 + 1;
            let token = token(bytes, &mut at).ok_or_else(|| ParseError {
                line: number,
                column,
                message: format!("`{}` begins nothing", line[at..].chars().next().unwrap_or(' ')),
            })?;
            tokens.push(Placed { token, line: number, column });
        }
    }
    Ok(tokens)
}

/// The token at a place, which moves behind it.
fn token(bytes: &[u8], at: &mut usize) -> Option<Token> {
    let first = *bytes.get(*at)?;
    let named = |at: &mut usize| {
        *at += 1;
        if bytes.get(*at) == Some(&b'"') {
            return Some(String::from_utf8_lossy(&quoted(bytes, at)?).into_owned());
        }
        Some(run(bytes, at, is_name)).filter(|name| !name.is_empty())
    };
    match first {
        b'%' => named(at).map(Token::Local),
        b'@' => named(at).map(Token::Global),
        b'!' => named(at).map(Token::Metadata),
        b'"' => quoted(bytes, at).map(Token::Text),
        b'0'..=b'9' | b'-' | b'+' => {
            let sign = if first.is_ascii_digit() {
                String::new()
            } else {
                *at += 1;
                char::from(first).to_string()
            };
            Some(Token::Number(sign + &run(bytes, at, |byte| is_name(byte) || byte == b'+')))
        }
        byte if is_name(byte) => Some(Token::Word(run(bytes, at, is_name))),
        b'(' | b')' | b'{' | b'}' | b'[' | b']' | b'<' | b'>' | b',' | b'=' | b':' | b'*' | b'#' => {
            *at += 1;
            Some(Token::Mark(char::from(first)))
        }
        _ => None,
    }
}

fn run(bytes: &[u8], at: &mut usize, belongs: impl Fn(u8) -> bool) -> String {
    let start = *at;
    while bytes.get(*at).is_some_and(|byte| belongs(*byte)) {
        *at += 1;
    }
    String::from_utf8_lossy(&bytes[start..*at]).into_owned()
}

/// Bytes between quotes, `\22` for the byte of that number.
fn quoted(bytes: &[u8], at: &mut usize) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    *at += 1;
    loop {
        match *bytes.get(*at)? {
            b'"' => {
                *at += 1;
                return Some(text);
            }
            b'\\' if bytes.get(*at + 1) == Some(&b'\\') => {
                text.push(b'\\');
                *at += 2;
            }
            b'\\' => {
                let digits = std::str::from_utf8(bytes.get(*at + 1..*at + 3)?).ok()?;
                text.push(u8::from_str_radix(digits, 16).ok()?);
                *at += 3;
            }
            byte => {
                text.push(byte);
                *at += 1;
            }
        }
    }
}

/// The text between the quotes that a text begins with.
pub(super) fn text_between_quotes(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let is_quoted = bytes.first() == Some(&b'"');
    let text = is_quoted.then(|| quoted(bytes, &mut 0)).flatten()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// A place among tokens.
pub(super) struct Cursor<'t> {
    tokens: &'t [Placed],
    at: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(tokens: &'t [Placed]) -> Cursor<'t> {
        Cursor { tokens, at: 0 }
    }

    /// The next token.
    pub(super) fn peek(&self) -> Option<&'t Token> {
        self.tokens.get(self.at).map(|placed| &placed.token)
    }

    /// The token behind the next one.
    pub(super) fn peek_second(&self) -> Option<&'t Token> {
        self.tokens.get(self.at + 1).map(|placed| &placed.token)
    }

    /// Takes the next token.
    pub(super) fn take(&mut self) -> Option<&'t Token> {
        let token = self.peek();
        self.at += usize::from(token.is_some());
        token
    }

    /// Line and column of the next token; of the last one at the end.
    pub(super) fn place(&self) -> (u32, u32) {
        let placed = self.tokens.get(self.at).or(self.tokens.last());
        placed.map_or((1, 1), |placed| (placed.line, placed.column))
    }

    /// An error at the next token.
    pub(super) fn wrong(&self, message: &str) -> ParseError {
        let (line, column) = self.place();
        ParseError { line, column, message: message.to_owned() }
    }

    /// Takes a mark if it is next.
    pub(super) fn accept(&mut self, mark: char) -> bool {
        let found = self.peek() == Some(&Token::Mark(mark));
        self.at += usize::from(found);
        found
    }

    /// Takes a word if it is next.
    pub(super) fn accept_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Word(found)) if found == word);
        self.at += usize::from(found);
        found
    }

    /// Takes a mark.
    pub(super) fn expect(&mut self, mark: char) -> Result<(), ParseError> {
        if self.accept(mark) { Ok(()) } else { Err(self.wrong(&format!("`{mark}` is expected here"))) }
    }

    /// Takes a word that must be this one.
    pub(super) fn expect_word(&mut self, word: &str) -> Result<(), ParseError> {
        if self.accept_word(word) { Ok(()) } else { Err(self.wrong(&format!("`{word}` is expected here"))) }
    }

    /// Takes any word.
    pub(super) fn word(&mut self, what: &str) -> Result<&'t str, ParseError> {
        match self.peek() {
            Some(Token::Word(word)) => {
                self.at += 1;
                Ok(word)
            }
            _ => Err(self.wrong(&format!("{what} is expected here"))),
        }
    }

    /// Takes a `%name`.
    pub(super) fn local(&mut self, what: &str) -> Result<&'t str, ParseError> {
        match self.peek() {
            Some(Token::Local(name)) => {
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.wrong(&format!("{what} is expected here"))),
        }
    }

    /// Takes a whole number.
    pub(super) fn number<N: std::str::FromStr>(&mut self, what: &str) -> Result<N, ParseError> {
        match self.peek() {
            Some(Token::Number(text)) => {
                let number = text.parse().map_err(|_| self.wrong(&format!("{what} is expected here")))?;
                self.at += 1;
                Ok(number)
            }
            _ => Err(self.wrong(&format!("{what} is expected here"))),
        }
    }

    /// Takes text between quotes.
    pub(super) fn text(&mut self, what: &str) -> Result<String, ParseError> {
        match self.peek() {
            Some(Token::Text(bytes)) => {
                self.at += 1;
                Ok(String::from_utf8_lossy(bytes).into_owned())
            }
            _ => Err(self.wrong(&format!("{what} is expected here"))),
        }
    }

    /// Goes to the first token of the next line.
    pub(super) fn skip_line(&mut self) {
        let (line, _) = self.place();
        while self.tokens.get(self.at).is_some_and(|placed| placed.line == line) {
            self.at += 1;
        }
    }
}
