//! Reads attributes.

use crate::module::row::{AttrKind, AttrSpec};
use crate::scalar::{float_bits, sign_extend, truncate};
use crate::text::parse::{Alias, ParseError, Parser, is_word, parse_integer};
use crate::types::attr::{Attr, AttrKey, Elements};
use crate::types::{FloatKind, Type};
use std::sync::Arc;

/// An attribute with its name.
pub type NamedAttr = (AttrKey, Attr);

/// Bytes of attributes that aliases may stand for in a program: an alias of two others, each of which is one of two
/// others, and so on, would fill the memory.
const MOST_WRITTEN_OUT: usize = 1 << 26;

impl<'t> Parser<'t> {
    /// Reads an attribute. A number that does not say its type has the expected one; without that, `i64` or `f64`.
    ///
    /// # Errors
    /// When none stands here.
    pub fn parse_attr(&mut self, expected: Option<Type>) -> Result<Attr, ParseError> {
        self.nested(|p| p.attr(expected))
    }

    fn attr(&mut self, expected: Option<Type>) -> Result<Attr, ParseError> {
        match self.peek_byte() {
            Some(b'"') => Ok(Attr::Str(Arc::from(self.parse_string()?))),
            Some(b'[') => {
                self.at += 1;
                Ok(Attr::Array(self.list("]", |p| p.parse_attr(None))?.into()))
            }
            Some(b'{') => Ok(Attr::Dict(self.parse_dict()?.into())),
            Some(b'@') => Ok(Attr::Symbol(self.parse_symbol()?)),
            Some(b'#') => self.hash_attr(),
            Some(b'-' | b'0'..=b'9') => self.number_attr(expected),
            _ => self.word_attr(),
        }
    }

    fn word_attr(&mut self) -> Result<Attr, ParseError> {
        for (word, attr) in [("true", Attr::Bool(true)), ("false", Attr::Bool(false)), ("unit", Attr::Unit)] {
            if self.accept(word) {
                return Ok(attr);
            }
        }
        if self.peek("dense") {
            return self.dense_attr();
        }
        if self.peek("array") {
            return self.dense_array_attr();
        }
        match self.optional_type()? {
            Some(ty) => Ok(Attr::Type(ty)),
            None => Err(self.expected("an attribute")),
        }
    }

    /// Reads a number with its type.
    fn number_attr(&mut self, expected: Option<Type>) -> Result<Attr, ParseError> {
        let start = self.at;
        let literal = self.number_literal().ok_or_else(|| self.expected("a number"))?;
        let ty = if self.accept(":") {
            self.parse_type()?
        } else {
            expected.unwrap_or_else(|| {
                if literal.contains('.') { Type::float(FloatKind::F64) } else { Type::int(64) }
            })
        };
        let bits = number_bits(literal, ty).map_err(|message| self.error_at(start, message))?;
        Ok(match (ty.as_float(), ty.as_int()) {
            (Some(_), _) => Attr::Float { bits, ty },
            (None, Some(1)) => Attr::Bool(bits == 1),
            _ => {
                let width = ty.scalar_bits().expect("numbers are read of types with a width");
                Attr::Int { value: sign_extend(width, bits), ty }
            }
        })
    }

    /// Reads `array<i32: 0, 1>`.
    fn dense_array_attr(&mut self) -> Result<Attr, ParseError> {
        self.expect("array")?;
        self.expect("<")?;
        let elem = self.parse_type()?;
        let values = if self.accept(":") {
            self.list(">", |p| {
                let bits = p.element(elem)?;
                Ok(sign_extend(elem.scalar_bits().expect("numbers are read of types with a width"), bits))
            })?
        } else {
            self.expect(">")?;
            Vec::new()
        };
        // A float keeps its bits, a truth value is 0 or 1.
        let plain = |value: i64| if elem.as_int() == Some(1) { value & 1 } else { value };
        Ok(Attr::DenseArray { elem, values: values.into_iter().map(plain).collect() })
    }

    /// Reads one number or truth value of a known type, as raw bits.
    fn element(&mut self, ty: Type) -> Result<u64, ParseError> {
        let start = self.peek_byte().map_or(self.text.len(), |_| self.at);
        let literal = self.element_literal()?;
        number_bits(literal, ty).map_err(|message| self.error_at(start, message))
    }

    fn element_literal(&mut self) -> Result<&'t str, ParseError> {
        match self.peek_keyword() {
            Some(word @ ("true" | "false")) => {
                self.at += word.len();
                Ok(word)
            }
            _ => self.number_literal().ok_or_else(|| self.expected("a number")),
        }
    }

    /// Reads `dense<…> : type`. The elements are read before their type is known.
    fn dense_attr(&mut self) -> Result<Attr, ParseError> {
        let start = self.at;
        self.expect("dense")?;
        self.expect("<")?;
        let mut literals = Vec::new();
        let mut shape = Vec::new();
        let hex = if self.peek("\"") { Some(self.parse_string()?) } else { None };
        if hex.is_none() && !self.peek(">") {
            self.dense_level(&mut literals, &mut shape, 0)?;
        }
        self.expect(">")?;
        self.expect(":")?;
        let ty = self.parse_type()?;
        let Some((dims, elem)) = ty.shape_and_element() else {
            return Err(self.error_at(start, format!("`dense` needs a type with a shape, not {ty}")));
        };
        if let Some(hex) = hex {
            let elements = hex_elements(&hex, dims, elem).map_err(|message| self.error_at(start, message))?;
            return Ok(Attr::Dense { ty, elements });
        }
        let splat = shape.is_empty() && literals.len() == 1;
        if !splat && shape != dims {
            return Err(
                self.error_at(start, format!("elements of shape {shape:?} for a type of shape {dims:?}"))
            );
        }
        let bits: Result<Vec<u64>, String> =
            literals.iter().map(|literal| number_bits(literal, elem)).collect();
        let bits = bits.map_err(|message| self.error_at(start, message))?;
        Ok(Attr::Dense { ty, elements: elements(bits) })
    }

    fn dense_level(
        &mut self,
        literals: &mut Vec<&'t str>,
        shape: &mut Vec<i64>,
        level: usize,
    ) -> Result<(), ParseError> {
        if !self.peek("[") {
            if level < shape.len() {
                return Err(self.expected("`[`: lists of elements nest evenly"));
            }
            literals.push(self.element_literal()?);
            return Ok(());
        }
        let start = self.at;
        self.at += 1;
        let first = literals.is_empty();
        if first {
            shape.push(0);
        }
        if level >= shape.len() {
            return Err(self.error_at(start, "lists of elements must nest evenly"));
        }
        let count = self.nested(|p| p.list("]", |p| p.dense_level(literals, shape, level + 1)))?.len() as i64;
        if shape[level] == 0 {
            shape[level] = count;
        }
        if shape[level] == count {
            Ok(())
        } else {
            Err(self.error_at(start, "lists of elements differ in length"))
        }
    }

    /// Reads `{name = value, flag, …}`, sorted by name.
    ///
    /// # Errors
    /// When something else stands here or a name occurs twice.
    pub fn parse_dict(&mut self) -> Result<Vec<NamedAttr>, ParseError> {
        let start = self.at;
        self.expect("{")?;
        let mut entries = self.list("}", |p| {
            let name = if p.peek("\"") {
                AttrKey::unknown(&p.parse_string()?)
            } else {
                AttrKey::unknown(p.keyword()?)
            };
            let attr = if p.accept("=") { p.parse_attr(None)? } else { Attr::Unit };
            Ok((name, attr))
        })?;
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        match entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            None => Ok(entries),
            Some(pair) => Err(self.error_at(start, format!("`{}` is given twice", pair[0].0.name()))),
        }
    }

    /// Reads `{name = value, …}` if it stands here.
    ///
    /// # Errors
    /// When it is malformed.
    pub fn optional_attr_dict(&mut self) -> Result<Vec<NamedAttr>, ParseError> {
        if self.peek("{") { self.parse_dict() } else { Ok(Vec::new()) }
    }

    /// Reads `#alias` or `#dialect.name<body>`.
    fn hash_attr(&mut self) -> Result<Attr, ParseError> {
        let start = self.at;
        self.at += 1;
        let name = self.take_while(is_word);
        if let Some(row) = self.registry.attr(name) {
            return self.nested(row.parse).map(Attr::Own);
        }
        if name.contains('.') {
            let body =
                if self.text[self.at..].starts_with('<') { self.dialect_body()? } else { String::new() };
            return Ok(Attr::Dialect { name: Arc::from(name), body: Arc::from(body) });
        }
        match self.alias(name, start)? {
            // Layouts are shared, and programs have many.
            Alias::Attr(attr @ Attr::Own(_), ..) => Ok(attr),
            Alias::Attr(attr, _, bytes) => {
                self.written_out = self.written_out.saturating_add(bytes);
                if self.written_out > MOST_WRITTEN_OUT {
                    return Err(
                        self.error_at(start, "attributes are too large with what their aliases stand for")
                    );
                }
                Ok(attr)
            }
            _ => Err(self.error_at(start, format!("`#{name}` is a location, not an attribute"))),
        }
    }

    /// Reads `<…>` of a dialect's attribute as text, with the aliases in it written out.
    fn dialect_body(&mut self) -> Result<String, ParseError> {
        let start = self.at;
        self.at += 1;
        let mut out = String::new();
        let mut depth = 1;
        loop {
            let Some(&c) = self.text.as_bytes().get(self.at) else {
                return Err(self.error_at(start, "this `<` is not closed"));
            };
            match c {
                b'"' => {
                    let from = self.at;
                    self.parse_string()?;
                    out.push_str(&self.text[from..self.at]);
                    continue;
                }
                b'#' => {
                    let attr = self.nested(Self::hash_attr)?;
                    out.push_str(&crate::text::attr_to_string(&attr));
                    continue;
                }
                b'-' if self.text[self.at..].starts_with("->") => {
                    out.push_str("->");
                    self.at += 2;
                    continue;
                }
                b'<' => depth += 1,
                b'>' => depth -= 1,
                _ => {}
            }
            let length = self.text[self.at..].chars().next().map_or(1, char::len_utf8);
            let from = self.at;
            self.at += length;
            if depth == 0 {
                return Ok(out);
            }
            if depth > 64 {
                return Err(self.error_at(start, "nested too deep"));
            }
            out.push_str(&self.text[from..self.at]);
        }
    }

    /// What an alias stands for; read where it is defined, the first time it is met.
    pub(super) fn alias(&mut self, name: &'t str, used_at: usize) -> Result<Alias, ParseError> {
        match self.aliases.get(name).cloned() {
            None => Err(self.error_at(used_at, format!("`#{name}` is not defined"))),
            Some(Alias::Open) => Err(self.error_at(used_at, format!("`#{name}` is defined by itself"))),
            Some(Alias::At(at)) => {
                let back = std::mem::replace(&mut self.at, at);
                self.aliases.insert(name, Alias::Open);
                let before = std::mem::take(&mut self.written_out);
                let alias = self.nested(|p| {
                    if p.peek("loc") {
                        let loc = p.loc()?;
                        Ok(Alias::Loc(loc, at..p.at))
                    } else {
                        let attr = p.parse_attr(None)?;
                        Ok(Alias::Attr(attr, at..p.at, (p.at - at).saturating_add(p.written_out)))
                    }
                })?;
                self.written_out = before;
                self.at = back;
                self.aliases.insert(name, alias.clone());
                Ok(alias)
            }
            Some(known) => Ok(known),
        }
    }

    /// Reads what may stand in an attribute slot where the format names the slot.
    ///
    /// # Errors
    /// When something else stands here.
    pub fn slot(&mut self, spec: &AttrSpec) -> Result<Attr, ParseError> {
        let start = self.peek_byte().map_or(self.text.len(), |_| self.at);
        match spec.kind {
            // The words around it say that it is there.
            AttrKind::Unit => Ok(Attr::Unit),
            AttrKind::Enum(row) => {
                let word = self.keyword()?;
                match row.value(word) {
                    Some(value) => Ok(Attr::Enum { row, value }),
                    None => {
                        let cases: Vec<&str> = row.cases.iter().map(|case| case.0).collect();
                        let cases = cases.join(", ");
                        Err(self.error_at(start, format!("`{word}` is no {}; there are {cases}", row.name)))
                    }
                }
            }
            AttrKind::DenseArray(bits) => {
                let mut values = vec![self.parse_int()?];
                while self.accept(",") {
                    values.push(self.parse_int()?);
                }
                Ok(Attr::DenseArray { elem: Type::int(bits), values: values.into() })
            }
            AttrKind::Int(bits) => {
                // A `:` behind it belongs to the format.
                let attr = Attr::int(self.parse_int()?, Type::int(bits));
                slot_attr(spec, attr).map_err(|message| self.error_at(start, message))
            }
            _ => {
                let attr = self.parse_attr(None)?;
                slot_attr(spec, attr).map_err(|message| self.error_at(start, message))
            }
        }
    }
}

/// The raw bits of a number or truth value of a scalar type.
fn number_bits(literal: &str, ty: Type) -> Result<u64, String> {
    if let "true" | "false" = literal {
        return match ty.as_int() {
            Some(1) => Ok(u64::from(literal == "true")),
            _ => Err(format!("`{literal}` is not of type {ty}")),
        };
    }
    if let Some(kind) = ty.as_float() {
        if literal.contains('.') {
            return literal
                .parse()
                .map(|value| float_bits(kind, value))
                .map_err(|_| format!("`{literal}` is no number"));
        }
        return match literal.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
            Some(bits) if truncate(kind.bits(), bits) == bits => Ok(bits),
            _ => Err(format!("`{literal}` is no {ty}: write a point, or all bits behind `0x`")),
        };
    }
    let Some(width) = ty.scalar_bits() else { return Err(format!("{ty} has no numbers")) };
    let value = parse_integer(literal).ok_or_else(|| format!("`{literal}` is no whole number"))?;
    let bits = width.min(64);
    if value < -(1i128 << (bits - 1)) || value >= 1i128 << bits {
        return Err(format!("{literal} does not fit {ty}"));
    }
    Ok(truncate(bits, value as u64))
}

fn elements(bits: Vec<u64>) -> Elements {
    match bits.as_slice() {
        [first, rest @ ..] if rest.iter().all(|other| other == first) => Elements::Splat(*first),
        _ => Elements::List(bits.into()),
    }
}

/// The elements of `dense<"0x…">`: all bytes of all elements, or of one for all, lowest byte first.
fn hex_elements(text: &str, dims: &[i64], elem: Type) -> Result<Elements, String> {
    let digits = text.strip_prefix("0x").ok_or("elements in quotes begin with `0x`")?.as_bytes();
    let width = elem
        .scalar_bits()
        .filter(|bits| bits % 8 == 0)
        .ok_or_else(|| format!("{elem} is not made of bytes"))?;
    let width = width as usize / 8;
    let digit = |c: u8| (c as char).to_digit(16).map(u64::from).ok_or("not a hexadecimal digit");
    let mut bits = Vec::new();
    for chunk in digits.chunks(width * 2) {
        if chunk.len() != width * 2 || width > 8 {
            return Err(format!("{} digits do not make elements of type {elem}", digits.len()));
        }
        let mut value = 0;
        for (index, pair) in chunk.chunks(2).enumerate() {
            value |= (digit(pair[0])? * 16 + digit(pair[1])?) << (8 * index);
        }
        bits.push(value);
    }
    let count = dims.iter().try_fold(1i64, |count, &dim| count.checked_mul(dim));
    match bits.len() {
        1 => Ok(Elements::Splat(bits[0])),
        found if Some(found as i64) == count => Ok(elements(bits)),
        found => Err(format!("{found} elements for a type of shape {dims:?}")),
    }
}

/// An attribute as it stands in its slot; dictionaries write some as plain numbers.
pub(super) fn slot_attr(spec: &AttrSpec, attr: Attr) -> Result<Attr, String> {
    match (spec.kind, attr) {
        (AttrKind::Unit, attr @ Attr::Unit)
        | (AttrKind::Bool, attr @ Attr::Bool(_))
        | (AttrKind::Str, attr @ Attr::Str(_))
        | (AttrKind::Type, attr @ Attr::Type(_))
        | (AttrKind::Symbol, attr @ Attr::Symbol(_))
        | (AttrKind::Any, attr) => Ok(attr),
        (AttrKind::Symbol, Attr::Str(name)) => Ok(Attr::Symbol(name)),
        (AttrKind::Int(bits), attr @ Attr::Int { ty, .. }) if ty == Type::int(bits) => Ok(attr),
        (AttrKind::Int(1), Attr::Bool(value)) => Ok(Attr::Int { value: i64::from(value), ty: Type::int(1) }),
        (AttrKind::Enum(row), Attr::Int { value, .. }) => {
            let value = u32::try_from(value).ok().filter(|&value| row.keyword(value).is_some());
            value
                .map(|value| Attr::Enum { row, value })
                .ok_or_else(|| format!("`{}` has no such case", spec.name))
        }
        (AttrKind::Enum(row), Attr::Enum { row: own, value }) if *row == *own => {
            Ok(Attr::Enum { row, value })
        }
        (AttrKind::DenseArray(bits), attr @ Attr::DenseArray { elem, .. }) if elem == Type::int(bits) => {
            Ok(attr)
        }
        (kind, attr) => {
            let found = crate::text::attr_to_string(&attr);
            Err(format!("`{}` must be {}, found {found}", spec.name, describe(kind)))
        }
    }
}

fn describe(kind: AttrKind) -> String {
    match kind {
        AttrKind::Unit => "given without a value".into(),
        AttrKind::Bool => "true or false".into(),
        AttrKind::Int(bits) => format!("an i{bits}"),
        AttrKind::Str => "a text in quotes".into(),
        AttrKind::Type => "a type".into(),
        AttrKind::Symbol => "a @name".into(),
        AttrKind::Enum(row) => format!("a case of {}", row.name),
        AttrKind::DenseArray(bits) => format!("an array<i{bits}: …>"),
        AttrKind::Any => "an attribute".into(),
    }
}
