//! Reads a program: the tokens, and what hand-written formats and types are written against.
//!
//! The parser reads characters on demand, without a list of tokens, because the same characters mean different things
//! in shapes (`128x64xf32`), names and numbers. Nothing it reads makes it panic; nesting is limited.

use crate::diagnostic::Diagnostic;
use crate::entity::{Block, Loc, Op, Value};
use crate::module::Module;
use crate::module::row::Registry;
use crate::text::name::name_values;
use crate::types::Type;
use crate::types::attr::Attr;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// How deep regions, types, attributes and locations may nest, all together.
const MAX_DEPTH: u32 = 128;

/// What may stand in front of a definition in its line.
const BLANKS: [char; 2] = [' ', '\t'];

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// What is wrong.
    pub message: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub col: u32,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: error: {}", self.line, self.col, self.message)
    }
}

impl std::error::Error for ParseError {}

impl ParseError {
    /// As a diagnostic in a file of this name.
    pub fn in_file(self, file: &str) -> Diagnostic {
        Diagnostic::new(self.message).at(Some(format!("{file}:{}:{}", self.line, self.col)))
    }
}

/// How to read a program.
#[derive(Clone, Copy, Default, Debug)]
pub struct ParseOptions<'o> {
    /// Operations without a location get their place in a file of this name; without it, the unknown location.
    pub file: Option<&'o str>,
}

/// Reads a program: aliases and operations, usually one `module { … }`.
///
/// # Errors
/// When the text is not a program; the place says where.
pub fn parse(
    text: &str,
    registry: &'static Registry,
    options: ParseOptions<'_>,
) -> Result<Module, ParseError> {
    let mut parser = Parser::new(text, registry);
    parser.file = options.file.map(Arc::from);
    parser.file_body()?;
    let Parser { mut module, labels, .. } = parser;
    keep_names(&mut module, &labels);
    Ok(module)
}

/// Reads a type.
///
/// # Errors
/// When the text is not a type.
pub fn parse_type(text: &str, registry: &'static Registry) -> Result<Type, ParseError> {
    let mut parser = Parser::new(text, registry);
    let ty = parser.parse_type()?;
    parser.expect_end()?;
    Ok(ty)
}

/// Reads an attribute.
///
/// # Errors
/// When the text is not an attribute.
pub fn parse_attr(text: &str, registry: &'static Registry) -> Result<Attr, ParseError> {
    let mut parser = Parser::new(text, registry);
    let attr = parser.parse_attr(None)?;
    parser.expect_end()?;
    Ok(attr)
}

/// What a `#name` stands for.
#[derive(Clone)]
pub(super) enum Alias {
    /// Not looked at yet: the place behind its `=`.
    At(usize),
    /// Being read: meeting it again is a cycle.
    Open,
    /// A location, and where it is written.
    Loc(Loc, Range<usize>),
    /// An attribute, where it is written, and how many bytes it has with all that it stands for written out.
    Attr(Attr, Range<usize>, usize),
}

/// The values that a name stands for: one, or a group (`%x:2`).
pub(super) type Group = SmallVec<[Value; 1]>;

/// Reads text. Each function skips blanks and comments (`// …`) in front of what it reads.
pub struct Parser<'t> {
    /// The program as read so far.
    pub module: Module,
    pub(super) text: &'t str,
    pub(super) at: usize,
    pub(super) registry: &'static Registry,
    pub(super) block: Block,
    pub(super) names: FxHashMap<&'t str, Group>,
    pub(super) bound: Vec<&'t str>,
    pub(super) labels: Vec<(Value, &'t str)>,
    pub(super) aliases: FxHashMap<&'t str, Alias>,
    pub(super) implied: Vec<Op>,
    pub(super) file: Option<Arc<str>>,
    pub(super) lines: Vec<usize>,
    pub(super) types: FxHashMap<&'t str, Type>,
    /// How many bytes of attributes aliases stood for so far.
    pub(super) written_out: usize,
    depth: u32,
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str, registry: &'static Registry) -> Parser<'t> {
        let module = Module::new(registry);
        let block = module.body();
        let mut parser = Parser {
            module,
            text,
            at: 0,
            registry,
            block,
            names: FxHashMap::default(),
            bound: Vec::new(),
            labels: Vec::new(),
            aliases: FxHashMap::default(),
            implied: Vec::new(),
            file: None,
            lines: Vec::new(),
            types: FxHashMap::default(),
            written_out: 0,
            depth: 0,
        };
        parser.find_aliases();
        parser
    }

    /// Notes where each alias is defined, at the beginning of a line: they may be used in front of that.
    fn find_aliases(&mut self) {
        let mut start = 0;
        while let Some(rest) = self.text.get(start..) {
            if let Some(line) = rest.trim_start_matches(BLANKS).strip_prefix('#') {
                let length = line.bytes().position(|c| !is_word(c)).unwrap_or(line.len());
                let name = &line[..length];
                let behind = line[length..].trim_start_matches(BLANKS);
                if behind.starts_with('=') {
                    let at = self.text.len() - behind.len() + 1;
                    self.aliases.entry(name).or_insert(Alias::At(at));
                }
            }
            match rest.find('\n') {
                Some(end) => start += end + 1,
                None => break,
            }
        }
    }

    // --- places and errors ---

    /// An error at the next token.
    pub fn error(&mut self, message: impl Into<String>) -> ParseError {
        self.skip_blanks();
        self.error_at(self.at, message)
    }

    pub(super) fn error_at(&self, at: usize, message: impl Into<String>) -> ParseError {
        let before = &self.text[..at.min(self.text.len())];
        let line = before.bytes().filter(|&c| c == b'\n').count() as u32 + 1;
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        let col = before[start..].chars().count() as u32 + 1;
        ParseError { message: message.into(), line, col }
    }

    /// An error that says what should have stood here and what does.
    pub fn expected(&mut self, what: &str) -> ParseError {
        self.skip_blanks();
        let rest = &self.text[self.at..];
        let found = if rest.is_empty() {
            "the end".to_owned()
        } else {
            let word = rest.bytes().position(|c| !is_word(c) && c != b'%').unwrap_or(rest.len());
            let length = if word > 0 { word } else { rest.chars().next().map_or(0, char::len_utf8) };
            format!("`{}`", rest[..length].chars().take(40).collect::<String>())
        };
        self.error(format!("expected {what}, found {found}"))
    }

    pub(super) fn nested<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, ParseError>,
    ) -> Result<T, ParseError> {
        if self.depth >= MAX_DEPTH {
            return Err(self.error(format!("nested deeper than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    // --- tokens ---

    pub(super) fn skip_blanks(&mut self) {
        let bytes = self.text.as_bytes();
        loop {
            while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
                self.at += 1;
            }
            if !self.text[self.at..].starts_with("//") {
                return;
            }
            self.at = self.text[self.at..].find('\n').map_or(self.text.len(), |end| self.at + end + 1);
        }
    }

    pub(super) fn peek_byte(&mut self) -> Option<u8> {
        self.skip_blanks();
        self.text.as_bytes().get(self.at).copied()
    }

    /// Whether this word or punctuation stands next.
    pub fn peek(&mut self, token: &str) -> bool {
        self.skip_blanks();
        let Some(rest) = self.text[self.at..].strip_prefix(token) else { return false };
        let ends_in_word = token.bytes().next_back().is_some_and(is_word);
        !(ends_in_word && rest.bytes().next().is_some_and(is_word))
    }

    /// Takes this word or punctuation if it stands next.
    pub fn accept(&mut self, token: &str) -> bool {
        let found = self.peek(token);
        if found {
            self.at += token.len();
        }
        found
    }

    /// Takes this word or punctuation.
    ///
    /// # Errors
    /// When something else stands here.
    pub fn expect(&mut self, token: &str) -> Result<(), ParseError> {
        if self.accept(token) { Ok(()) } else { Err(self.expected(&format!("`{token}`"))) }
    }

    /// Whether nothing is left.
    pub fn at_end(&mut self) -> bool {
        self.peek_byte().is_none()
    }

    fn expect_end(&mut self) -> Result<(), ParseError> {
        if self.at_end() { Ok(()) } else { Err(self.expected("the end")) }
    }

    pub(super) fn take_while(&mut self, valid: impl Fn(u8) -> bool) -> &'t str {
        let text = self.text;
        let start = self.at;
        while text.as_bytes().get(self.at).is_some_and(|&c| valid(c)) {
            self.at += 1;
        }
        &text[start..self.at]
    }

    /// The next word, if one stands here, without taking it. Words hold letters, digits, `_`, `$` and `.`.
    pub fn peek_keyword(&mut self) -> Option<&'t str> {
        let start = self.peek_byte().filter(|c| c.is_ascii_alphabetic() || *c == b'_').map(|_| self.at)?;
        let word = self.take_while(is_word);
        self.at = start;
        Some(word)
    }

    /// Takes a word.
    ///
    /// # Errors
    /// When none stands here.
    pub fn keyword(&mut self) -> Result<&'t str, ParseError> {
        match self.peek_keyword() {
            Some(word) => {
                self.at += word.len();
                Ok(word)
            }
            None => Err(self.expected("a word")),
        }
    }

    /// Takes a whole number.
    ///
    /// # Errors
    /// When none stands here or it does not fit 64 bits.
    pub fn parse_int(&mut self) -> Result<i64, ParseError> {
        let start = self.peek_byte().map(|_| self.at);
        let literal = self.number_literal().ok_or_else(|| self.expected("a number"))?;
        parse_integer(literal)
            .and_then(|value| i64::try_from(value).ok())
            .ok_or_else(|| self.error_at(start.unwrap_or(0), format!("`{literal}` is not a 64-bit number")))
    }

    /// Takes a number as it is written.
    pub(super) fn number_literal(&mut self) -> Option<&'t str> {
        self.skip_blanks();
        let text = self.text;
        let start = self.at;
        if text[self.at..].starts_with('-') {
            self.at += 1;
        }
        if self.take_while(|c| c.is_ascii_digit()).is_empty() {
            self.at = start;
            return None;
        }
        if text[self.at..].starts_with('x') && matches!(&text[start..self.at], "0" | "-0") {
            self.at += 1;
            self.take_while(|c| c.is_ascii_hexdigit());
            return Some(&text[start..self.at]);
        }
        if text[self.at..].starts_with('.') {
            self.at += 1;
            self.take_while(|c| c.is_ascii_digit());
            let behind = self.at;
            if text[self.at..].starts_with(['e', 'E']) {
                self.at += 1;
                if text[self.at..].starts_with(['+', '-']) {
                    self.at += 1;
                }
                if self.take_while(|c| c.is_ascii_digit()).is_empty() {
                    self.at = behind;
                }
            }
        }
        Some(&text[start..self.at])
    }

    /// Takes a text in quotes.
    ///
    /// # Errors
    /// When none stands here, or it does not end, or an escape in it is wrong.
    pub fn parse_string(&mut self) -> Result<String, ParseError> {
        let start = self.peek_byte().map_or(self.text.len(), |_| self.at);
        self.expect("\"")?;
        let bytes = self.text.as_bytes();
        let mut out = Vec::new();
        loop {
            match bytes.get(self.at) {
                None | Some(b'\n') => return Err(self.error_at(start, "this text in quotes does not end")),
                Some(b'"') => break,
                Some(b'\\') => {
                    let (byte, length) = escape(&bytes[self.at + 1..])
                        .ok_or_else(|| self.error_at(self.at, "this escape is not known"))?;
                    out.push(byte);
                    self.at += 1 + length;
                }
                Some(&byte) => {
                    out.push(byte);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        String::from_utf8(out).map_err(|_| self.error_at(start, "this text is not UTF-8"))
    }

    /// Takes `@name`.
    ///
    /// # Errors
    /// When none stands here.
    pub fn parse_symbol(&mut self) -> Result<Arc<str>, ParseError> {
        self.expect("@")?;
        if self.text[self.at..].starts_with('"') {
            return Ok(Arc::from(self.parse_string()?));
        }
        match self.take_while(is_word) {
            "" => Err(self.expected("a name behind `@`")),
            name => Ok(Arc::from(name)),
        }
    }

    /// Reads items with commas between them up to a closing token, which is taken as well.
    ///
    /// # Errors
    /// Those of the items, or when something else stands between them.
    pub fn list<T>(
        &mut self,
        close: &str,
        mut item: impl FnMut(&mut Self) -> Result<T, ParseError>,
    ) -> Result<Vec<T>, ParseError> {
        let mut items = Vec::new();
        if self.accept(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.accept(close) {
                return Ok(items);
            }
            if !self.accept(",") {
                return Err(self.expected(&format!("`,` or `{close}`")));
            }
        }
    }
}

/// Whether a character may stand in a word.
pub(super) fn is_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'_' | b'$' | b'.')
}

/// The value of a decimal or hexadecimal whole number.
pub(super) fn parse_integer(literal: &str) -> Option<i128> {
    let (sign, digits) = match literal.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, literal),
    };
    let value = match digits.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(sign * value)
}

/// What an escape stands for and how long it is behind the backslash.
fn escape(behind: &[u8]) -> Option<(u8, usize)> {
    match behind {
        [b'n', ..] => Some((b'\n', 1)),
        [b't', ..] => Some((b'\t', 1)),
        [c @ (b'"' | b'\\'), ..] => Some((*c, 1)),
        [high, low, ..] => {
            let digit = |c: u8| (c as char).to_digit(16);
            Some(((digit(*high)? * 16 + digit(*low)?) as u8, 2))
        }
        _ => None,
    }
}

/// Gives values the names of the text, where printing would not come to the same name by itself.
fn keep_names(module: &mut Module, labels: &[(Value, &str)]) {
    let mut texts: Vec<Option<&str>> = vec![None; module.num_values()];
    for &(value, label) in labels {
        texts[value.as_u32() as usize] = Some(label);
    }
    let mut wanted: Vec<(Value, Arc<str>)> = Vec::new();
    name_values(
        module,
        Some(&mut |value, wish, unique| {
            let text = texts[value.as_u32() as usize]?;
            if text.bytes().all(|c| c.is_ascii_digit())
                || wish.is_some_and(|wish| unique.preview(wish) == text)
            {
                return None;
            }
            let name: Arc<str> = Arc::from(unique.base_of(text).unwrap_or(text));
            wanted.push((value, name.clone()));
            Some(name)
        }),
    );
    for (value, name) in wanted {
        module.set_name(value, &name);
    }
}
