//! Reads types.

use crate::module::row::TypeConstraint;
use crate::text::alias::skip_angles;
use crate::text::parse::{ParseError, Parser};
use crate::types::{FloatKind, Type, TypeRow};

impl<'t> Parser<'t> {
    /// Reads a type.
    ///
    /// # Errors
    /// When none stands here.
    pub fn parse_type(&mut self) -> Result<Type, ParseError> {
        self.nested(|p| match p.optional_type()? {
            Some(ty) => Ok(ty),
            None => Err(p.expected("a type")),
        })
    }

    /// Reads a type if one begins here.
    pub(super) fn optional_type(&mut self) -> Result<Option<Type>, ParseError> {
        if self.peek("(") {
            let (params, results) = self.parse_function_type()?;
            return Ok(Some(Type::function(params, results)));
        }
        let start = self.at;
        let sigil = self.accept("!");
        let Some(word) = self.peek_keyword() else {
            self.at = start;
            return Ok(None);
        };
        if let Some(row) = self.registry.ty(word).filter(|row| row.name.contains('.') == sigil) {
            self.at += word.len();
            return self.known_type(row).map(Some);
        }
        if sigil {
            return Err(self.error(format!("the type `!{word}` is not known")));
        }
        let ty = match word {
            "index" => Some(Type::index()),
            "none" => Some(Type::none()),
            word => builtin_type(word),
        };
        if ty.is_some() {
            self.at += word.len();
        }
        Ok(ty)
    }

    /// Reads the parameters of a type, or finds the type by its text if the same was read before.
    fn known_type(&mut self, row: &'static TypeRow) -> Result<Type, ParseError> {
        let (text, start) = (self.text, self.at);
        let bytes = text.as_bytes();
        let end = if bytes.get(start) == Some(&b'<') { skip_angles(bytes, start) } else { start };
        // The name belongs to the text, because types of other names have the same parameters.
        let spelled = text.get(start - row.name.len()..end).unwrap_or_default();
        if let Some(&ty) = self.types.get(spelled) {
            self.at = end;
            return Ok(ty);
        }
        let ty = self.dialect_type(row)?;
        if self.at == end {
            self.types.insert(spelled, ty);
        }
        Ok(ty)
    }

    fn dialect_type(&mut self, row: &'static TypeRow) -> Result<Type, ParseError> {
        let start = self.at;
        let params = (row.parse)(self)?;
        match (row.verify)(&params) {
            Ok(()) => Ok(Type::dialect(row, params)),
            Err(message) => Err(self.error_at(start, message)),
        }
    }

    /// Reads a type of which the name may be left out (`<f32>` for `!tt.ptr<f32>`); the constraint tells which it is.
    ///
    /// # Errors
    /// When no type stands here that meets the constraint.
    pub fn parse_short_type(&mut self, constraint: &TypeConstraint) -> Result<Type, ParseError> {
        if !self.peek("<") {
            return self.parse_type();
        }
        let start = self.at;
        for row in self.registry.types() {
            self.at = start;
            if let Ok(ty) = self.nested(|p| p.dialect_type(row))
                && (constraint.check)(ty)
            {
                return Ok(ty);
            }
        }
        self.at = start;
        Err(self.error(format!("expected {}", constraint.name)))
    }

    /// Reads types with commas between them; at least one.
    ///
    /// # Errors
    /// When none stands here.
    pub fn parse_types(&mut self) -> Result<Vec<Type>, ParseError> {
        let mut types = vec![self.parse_type()?];
        while self.accept(",") {
            types.push(self.parse_type()?);
        }
        Ok(types)
    }

    /// Reads what stands behind `->`: one type, or any number in parentheses.
    ///
    /// # Errors
    /// When neither stands here.
    pub fn parse_result_types(&mut self) -> Result<Vec<Type>, ParseError> {
        if self.accept("(") { self.list(")", Self::parse_type) } else { Ok(vec![self.parse_type()?]) }
    }

    /// Reads `(types) -> types`.
    ///
    /// # Errors
    /// When something else stands here.
    pub fn parse_function_type(&mut self) -> Result<(Vec<Type>, Vec<Type>), ParseError> {
        self.expect("(")?;
        let params = self.list(")", Self::parse_type)?;
        self.expect("->")?;
        Ok((params, self.nested(Self::parse_result_types)?))
    }

    /// Reads `128x64x`: the dimensions of a shape, possibly none.
    ///
    /// # Errors
    /// When a number is too large.
    pub fn parse_dimensions(&mut self) -> Result<Vec<i64>, ParseError> {
        let mut shape = Vec::new();
        loop {
            self.skip_blanks();
            let start = self.at;
            let digits = self.take_while(|c| c.is_ascii_digit());
            if digits.is_empty() {
                return Ok(shape);
            }
            let size =
                digits.parse().map_err(|_| self.error_at(start, format!("`{digits}` is too large")))?;
            shape.push(size);
            if !self.text[self.at..].starts_with('x') {
                return Err(self.expected("`x` behind a dimension"));
            }
            self.at += 1;
        }
    }

    /// Reads `128x64`: sizes with `x` between them.
    ///
    /// # Errors
    /// When none stands here or a number is too large.
    pub fn parse_sizes(&mut self) -> Result<Vec<i64>, ParseError> {
        let mut sizes = Vec::new();
        loop {
            self.skip_blanks();
            let start = self.at;
            let digits = self.take_while(|c| c.is_ascii_digit());
            if digits.is_empty() {
                return Err(self.expected("a size"));
            }
            sizes.push(digits.parse().map_err(|_| self.error_at(start, format!("`{digits}` is too large")))?);
            if !self.text[self.at..].starts_with('x') {
                return Ok(sizes);
            }
            self.at += 1;
        }
    }
}

/// `i32`, `f16`, …
fn builtin_type(word: &str) -> Option<Type> {
    if let Some(row) = FloatKind::TABLE.iter().find(|row| row.1 == word) {
        return Some(Type::float(row.0));
    }
    let bits: u32 = word.strip_prefix('i').filter(|bits| !bits.starts_with('0'))?.parse().ok()?;
    (1..=128).contains(&bits).then(|| Type::int(bits))
}
