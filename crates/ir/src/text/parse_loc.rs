//! Reads source locations.

use crate::entity::Loc;
use crate::loc::LocData;
use crate::text::parse::{Alias, ParseError, Parser, is_word};
use std::sync::Arc;

impl Parser<'_> {
    /// Reads `loc(…)` if it stands here.
    ///
    /// # Errors
    /// When it is malformed.
    pub fn optional_loc(&mut self) -> Result<Option<Loc>, ParseError> {
        if self.peek("loc") { self.loc().map(Some) } else { Ok(None) }
    }

    pub(super) fn loc(&mut self) -> Result<Loc, ParseError> {
        self.expect("loc")?;
        self.expect("(")?;
        let loc = self.loc_body()?;
        self.expect(")")?;
        Ok(loc)
    }

    fn loc_body(&mut self) -> Result<Loc, ParseError> {
        self.nested(|p| match p.peek_byte() {
            Some(b'#') => {
                let start = p.at;
                p.at += 1;
                let name = p.take_while(is_word);
                match p.alias(name, start)? {
                    Alias::Loc(loc, _) => Ok(loc),
                    _ => Err(p.error_at(start, format!("`#{name}` is no location"))),
                }
            }
            Some(b'"') => p.named_loc(),
            _ => p.composed_loc(),
        })
    }

    /// Reads `"file":3:5`, `"name"(place)` or `"name"`.
    fn named_loc(&mut self) -> Result<Loc, ParseError> {
        let name: Arc<str> = Arc::from(self.parse_string()?);
        if self.accept(":") {
            let line = self.place_number()?;
            self.expect(":")?;
            let col = self.place_number()?;
            return Ok(self.module.locs.intern(LocData::File { file: name, line, col }));
        }
        let child = if self.accept("(") {
            let child = self.loc_body()?;
            self.expect(")")?;
            child
        } else {
            self.module.locs.unknown()
        };
        Ok(self.module.locs.intern(LocData::Name { name, child }))
    }

    fn place_number(&mut self) -> Result<u32, ParseError> {
        let value = self.parse_int()?;
        u32::try_from(value).map_err(|_| self.error(format!("{value} is no line or column")))
    }

    fn composed_loc(&mut self) -> Result<Loc, ParseError> {
        if self.accept("unknown") {
            return Ok(self.module.locs.unknown());
        }
        if self.accept("callsite") {
            self.expect("(")?;
            let callee = self.loc_body()?;
            self.expect("at")?;
            let caller = self.loc_body()?;
            self.expect(")")?;
            return Ok(self.module.locs.intern(LocData::CallSite { callee, caller }));
        }
        if self.accept("fused") {
            self.expect("[")?;
            let all = self.list("]", Self::loc_body)?;
            return Ok(self.module.locs.intern(LocData::Fused(all)));
        }
        Err(self.expected("a location"))
    }
}
