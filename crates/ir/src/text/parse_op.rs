//! Reads operations, regions and names of values.

use crate::entity::{Block, Loc, Op, Region, Value};
use crate::loc::LocData;
use crate::module::OpInit;
use crate::module::row::{Format, OpRow};
use crate::module::traits::Traits;
use crate::text::parse::{Alias, Group, ParseError, Parser, is_word};
use crate::text::parse_attr::{NamedAttr, slot_attr};
use crate::text::parse_branch::OpenBlocks;
use crate::types::Type;
use crate::types::attr::{Attr, AttrKey};
use smallvec::SmallVec;

/// A block argument or a parameter of a function as it is written.
#[derive(Clone, Debug)]
pub struct Arg<'t> {
    /// Its name, without `%`.
    pub name: &'t str,
    /// Its type.
    pub ty: Type,
    /// Its attributes.
    pub attrs: Vec<NamedAttr>,
    /// Its location, if one is written.
    pub loc: Option<Loc>,
}

impl<'t> Arg<'t> {
    /// Of a name and a type.
    pub fn new(name: &'t str, ty: Type) -> Arg<'t> {
        Arg { name, ty, attrs: Vec::new(), loc: None }
    }
}

/// Attributes in the slots of a row, and those beyond.
type SplitAttrs = (SmallVec<[Option<Attr>; 2]>, Vec<NamedAttr>);

/// `%name:2` in front of an operation.
struct ResultName<'t> {
    name: &'t str,
    count: usize,
    at: usize,
}

impl<'t> Parser<'t> {
    // --- names and values ---

    /// Takes `%name` and gives the name.
    ///
    /// # Errors
    /// When none stands here.
    pub fn value_name(&mut self) -> Result<&'t str, ParseError> {
        if !self.accept("%") {
            return Err(self.expected("a value"));
        }
        match self.take_while(|c| is_word(c) || c == b'-') {
            "" => Err(self.expected("a name behind `%`")),
            name => Ok(name),
        }
    }

    /// Takes `%name` or `%name#1` and gives the value, which must be defined above.
    ///
    /// # Errors
    /// When none stands here or it is not defined.
    pub fn operand(&mut self) -> Result<Value, ParseError> {
        let start = self.peek_byte().map_or(self.text.len(), |_| self.at);
        let name = self.value_name()?;
        let index = if self.text[self.at..].starts_with('#') {
            self.at += 1;
            let digits = self.take_while(|c| c.is_ascii_digit());
            Some(digits.parse::<usize>().map_err(|_| self.error_at(start, "expected a number behind `#`"))?)
        } else {
            None
        };
        let Some(group) = self.names.get(name) else {
            return Err(self.error_at(start, format!("`%{name}` is not defined here")));
        };
        match (index, group.as_slice()) {
            (None, &[value]) => Ok(value),
            (None, group) => {
                let count = group.len();
                Err(self.error_at(start, format!("`%{name}` is {count} values: write `%{name}#0`")))
            }
            (Some(index), group) => match group.get(index) {
                Some(&value) => Ok(value),
                None => {
                    let count = group.len();
                    Err(self.error_at(start, format!("`%{name}` has {count} values, there is no `#{index}`")))
                }
            },
        }
    }

    /// Reads operands with commas between them, possibly none.
    ///
    /// # Errors
    /// When one is not defined.
    pub fn operands(&mut self) -> Result<SmallVec<[Value; 4]>, ParseError> {
        let mut values = SmallVec::new();
        if !self.peek("%") {
            return Ok(values);
        }
        loop {
            values.push(self.operand()?);
            if !self.peek(",") {
                return Ok(values);
            }
            let before = self.at;
            self.accept(",");
            if !self.peek("%") {
                self.at = before;
                return Ok(values);
            }
        }
    }

    /// Checks that values are of the types that are written for them.
    ///
    /// # Errors
    /// When they are not, at the place where the parser stands.
    pub fn check_types(&mut self, values: &[Value], types: &[Type]) -> Result<(), ParseError> {
        if values.len() != types.len() {
            return Err(self.error(format!("{} values, but {} types", values.len(), types.len())));
        }
        for (&value, &ty) in values.iter().zip(types) {
            let own = self.module.ty(value);
            if own != ty {
                return Err(self.error(format!("a value of type {own} is used as {ty}")));
            }
        }
        Ok(())
    }

    /// Lets a name stand for values.
    fn bind(&mut self, name: &'t str, values: Group, at: usize) -> Result<(), ParseError> {
        if let Some(&first) = values.first() {
            self.labels.push((first, name));
        }
        if self.names.insert(name, values).is_some() {
            return Err(self.error_at(at, format!("`%{name}` is defined twice")));
        }
        self.bound.push(name);
        Ok(())
    }

    // --- making operations ---

    /// Makes an operation at the end of the open block.
    pub fn append(&mut self, row: &'static OpRow, init: OpInit) -> Op {
        let loc = self.module.locs.unknown();
        let op = self.module.create(row, init, loc);
        self.module.append(self.block, op);
        op
    }

    /// Puts an operation without operands at the end of the region's last block if that has no terminator: it may be
    /// left out in the text.
    pub fn imply_terminator(&mut self, region: Region, row: &'static OpRow) {
        let Some(&block) = self.module.blocks(region).last() else { return };
        if self.module.last_op(block).is_some_and(|last| self.module.has(last, Traits::TERMINATOR)) {
            return;
        }
        let loc = self.module.locs.unknown();
        let op = self.module.create(row, OpInit::default(), loc);
        self.module.append(block, op);
        self.implied.push(op);
    }

    /// Sorts attributes into the slots of a row and those beyond.
    ///
    /// # Errors
    /// When one does not fit its slot.
    pub fn split_attrs(
        &mut self,
        row: &'static OpRow,
        entries: Vec<NamedAttr>,
    ) -> Result<SplitAttrs, ParseError> {
        let mut slots: SmallVec<[Option<Attr>; 2]> = row.attrs.iter().map(|_| None).collect();
        let mut extra = Vec::new();
        for (key, attr) in entries {
            match row.attr_slot(key.name()) {
                Some(slot) => {
                    let attr = slot_attr(&row.attrs[slot], attr).map_err(|message| self.error(message))?;
                    slots[slot] = Some(attr);
                }
                None => extra.push((key, attr)),
            }
        }
        Ok((slots, extra))
    }

    /// Sets attributes of an operation, in its slots or beyond.
    ///
    /// # Errors
    /// When one does not fit its slot.
    pub fn set_attrs(&mut self, op: Op, entries: Vec<NamedAttr>) -> Result<(), ParseError> {
        let (slots, extra) = self.split_attrs(self.module.row(op), entries)?;
        for (slot, attr) in slots.into_iter().enumerate().filter(|(_, attr)| attr.is_some()) {
            self.module.set_attr(op, slot, attr);
        }
        self.set_extra(op, extra);
        Ok(())
    }

    /// Gives an operation the attributes beyond its slots.
    pub fn set_extra(&mut self, op: Op, extra: Vec<(AttrKey, Attr)>) {
        for (key, attr) in extra {
            self.module.set_extra(op, key, Some(attr));
        }
    }

    // --- regions ---

    /// Reads `%name: type {attributes} loc(…)`.
    ///
    /// # Errors
    /// When something else stands here.
    pub fn arg(&mut self) -> Result<Arg<'t>, ParseError> {
        let name = self.value_name()?;
        self.expect(":")?;
        let ty = self.parse_type()?;
        let attrs = self.optional_attr_dict()?;
        let loc = self.optional_loc()?;
        Ok(Arg { name, ty, attrs, loc })
    }

    /// Reads `{ … }` into a region. Its first block has these arguments, or those of a `^bb0(…):` that is written.
    ///
    /// # Errors
    /// When the text is malformed.
    pub fn region(&mut self, region: Region, args: &[Arg<'t>]) -> Result<(), ParseError> {
        self.expect("{")?;
        self.region_behind_brace(region, args)
    }

    fn region_behind_brace(&mut self, region: Region, args: &[Arg<'t>]) -> Result<(), ParseError> {
        let isolated =
            self.module.region_parent(region).is_some_and(|op| self.module.has(op, Traits::ISOLATED));
        let outside = isolated.then(|| (std::mem::take(&mut self.names), std::mem::take(&mut self.bound)));
        let mark = self.bound.len();
        let outer = self.block;
        let result = self.nested(|p| p.blocks(region, args));
        self.block = outer;
        match outside {
            Some((names, bound)) => (self.names, self.bound) = (names, bound),
            None => {
                for name in self.bound.drain(mark..) {
                    self.names.remove(name);
                }
            }
        }
        result
    }

    fn blocks(&mut self, region: Region, args: &[Arg<'t>]) -> Result<(), ParseError> {
        let mut open = OpenBlocks::default();
        if args.is_empty() && self.peek("^") {
            self.block_header(region, &mut open)?;
        } else {
            self.block = self.module.add_block(region);
            open.add(self.block, self.at, None);
            self.bind_args(self.block, args)?;
        }
        loop {
            if self.accept("}") {
                return self.close_blocks(region, open);
            }
            if self.peek("^") {
                self.block_header(region, &mut open)?;
            } else if !self.branch(&mut open)? {
                self.op()?;
            }
        }
    }

    /// Reads `^bb0(%x: f32):`.
    fn block_header(&mut self, region: Region, open: &mut OpenBlocks<'t>) -> Result<(), ParseError> {
        self.expect("^")?;
        let at = self.at - 1;
        let label = self.keyword()?;
        let args = if self.accept("(") { self.list(")", Self::arg)? } else { Vec::new() };
        self.expect(":")?;
        self.block = self.module.add_block(region);
        if !open.add(self.block, at, Some(label)) {
            return Err(self.error_at(at, format!("the block `^{label}` stands here twice")));
        }
        self.bind_args(self.block, &args)
    }

    fn bind_args(&mut self, block: Block, args: &[Arg<'t>]) -> Result<(), ParseError> {
        for (index, arg) in args.iter().enumerate() {
            let value = self.module.add_arg(block, arg.ty);
            for (key, attr) in &arg.attrs {
                self.module.set_arg_attr(block, index, key.clone(), Some(attr.clone()));
            }
            if let Some(loc) = arg.loc {
                self.module.set_arg_loc(block, index, loc);
            }
            self.bind(arg.name, Group::from_slice(&[value]), self.at)?;
        }
        Ok(())
    }

    // --- operations ---

    /// Reads aliases and operations up to the end. One `module` stands for the whole program. What files say behind it
    /// between `{-#` and `#-}` means nothing to it.
    pub(super) fn file_body(&mut self) -> Result<(), ParseError> {
        while let Some(c) = self.peek_byte() {
            match c {
                b'#' => self.alias_definition()?,
                b'{' if self.text[self.at..].starts_with("{-#") => break,
                _ => self.op()?,
            }
        }
        let body = self.module.body();
        let (Some(first), last) = (self.module.first_op(body), self.module.last_op(body)) else {
            return Ok(());
        };
        let row = self.registry.module();
        if Some(first) != last || !self.module.is(first, row) {
            return Ok(());
        }
        let top = self.module.top();
        self.module.set_loc(top, self.module.loc(first));
        for (slot, attr) in self.module.attrs(first).to_vec().into_iter().enumerate() {
            self.module.set_attr(top, slot, attr);
        }
        let extra = self.module.extra(first).to_vec();
        self.set_extra(top, extra);
        let blocks = self.module.blocks(self.module.region(first, 0)).to_vec();
        self.module.detach(first);
        for block in blocks {
            self.module.splice_block(block, body);
        }
        Ok(())
    }

    fn alias_definition(&mut self) -> Result<(), ParseError> {
        let start = self.at;
        self.at += 1;
        let name = self.take_while(is_word);
        self.expect("=")?;
        match self.alias(name, start)? {
            Alias::Loc(_, range) | Alias::Attr(_, range, _) if range.start == self.at => {
                self.at = range.end;
                Ok(())
            }
            _ => Err(self.error_at(start, format!("`#{name}` is defined twice"))),
        }
    }

    /// Reads an operation into the open block.
    pub(super) fn op(&mut self) -> Result<(), ParseError> {
        self.nested(Self::whole_op)
    }

    fn whole_op(&mut self) -> Result<(), ParseError> {
        let names = self.result_names()?;
        let start = self.peek_byte().map_or(self.text.len(), |_| self.at);
        let mark = self.implied.len();
        let op = if self.peek("\"") { self.generic_op()? } else { self.pretty_op()? };
        let loc = match self.optional_loc()? {
            Some(loc) => loc,
            None => self.place_in_file(start),
        };
        self.module.set_loc(op, loc);
        for implied in self.implied.split_off(mark) {
            self.module.set_loc(implied, loc);
        }
        self.bind_results(op, &names, start)
    }

    fn result_names(&mut self) -> Result<Vec<ResultName<'t>>, ParseError> {
        let mut names = Vec::new();
        if !self.peek("%") {
            return Ok(names);
        }
        loop {
            let at = self.peek_byte().map_or(self.text.len(), |_| self.at);
            let name = self.value_name()?;
            let count = if self.accept(":") { self.parse_int()? } else { 1 };
            let count =
                usize::try_from(count).map_err(|_| self.error_at(at, "expected a number of values"))?;
            names.push(ResultName { name, count, at });
            if !self.accept(",") {
                self.expect("=")?;
                return Ok(names);
            }
        }
    }

    fn bind_results(&mut self, op: Op, names: &[ResultName<'t>], at: usize) -> Result<(), ParseError> {
        if names.is_empty() {
            return Ok(());
        }
        let results: SmallVec<[Value; 4]> = SmallVec::from_slice(self.module.results(op));
        let named = names.iter().fold(0usize, |sum, name| sum.saturating_add(name.count));
        if named != results.len() {
            let name = self.module.row(op).name;
            return Err(
                self.error_at(at, format!("`{name}` has {} results, {named} are named", results.len()))
            );
        }
        let mut start = 0;
        for name in names {
            self.bind(name.name, Group::from_slice(&results[start..start + name.count]), name.at)?;
            start += name.count;
        }
        Ok(())
    }

    pub(super) fn place_in_file(&mut self, at: usize) -> Loc {
        let Some(file) = self.file.clone() else { return self.module.locs.unknown() };
        if self.lines.is_empty() {
            let starts = self.text.bytes().enumerate().filter(|(_, c)| *c == b'\n').map(|(end, _)| end + 1);
            self.lines = std::iter::once(0).chain(starts).collect();
        }
        let line = self.lines.partition_point(|&start| start <= at);
        let start = self.lines[line - 1];
        let col = self.text[start..at].chars().count() as u32 + 1;
        self.module.locs.intern(LocData::File { file, line: line as u32, col })
    }

    /// Reads `name …` as the row's format says.
    fn pretty_op(&mut self) -> Result<Op, ParseError> {
        let start = self.at;
        let word = self.keyword().map_err(|_| self.expected("an operation"))?;
        let row = match self.registry.op(word) {
            Some(row) => row,
            None => {
                self.registry.op(&format!("builtin.{word}")).ok_or_else(|| self.unknown_op(start, word))?
            }
        };
        match row.format {
            Format::Generic => Err(self
                .error_at(start, format!("`{word}` has only the generic form: `\"{word}\"(…) : (…) -> …`"))),
            Format::Text(text) => self.directives(row, text),
            Format::Custom { parse, .. } => parse(self),
        }
    }

    fn unknown_op(&self, at: usize, name: &str) -> ParseError {
        self.error_at(at, format!("the operation `{name}` is not known"))
    }

    /// Reads `"name"(%a, %b) <{…}> ({…}) {…} : (types) -> types`.
    fn generic_op(&mut self) -> Result<Op, ParseError> {
        let start = self.at;
        let name = self.parse_string()?;
        let row = self.registry.op(&name).ok_or_else(|| self.unknown_op(start, &name))?;
        self.expect("(")?;
        let operands: SmallVec<[Value; 4]> = self.list(")", Self::operand)?.into();
        let properties = if self.accept("<") {
            let entries = self.parse_dict()?;
            self.expect(">")?;
            entries
        } else {
            Vec::new()
        };
        let properties = self.check_segments(row, properties, operands.len())?;
        let op = self.append(row, OpInit { operands: operands.clone(), ..OpInit::default() });
        self.set_attrs(op, properties)?;
        if self.accept("(") {
            self.list(")", |p| p.generic_region(op))?;
        }
        let regions = self.module.regions(op).len();
        if row.regions.is_some_and(|expected| expected != regions) {
            let expected = row.regions.unwrap_or(0);
            return Err(self.error_at(start, format!("`{name}` has {expected} regions, found {regions}")));
        }
        let entries = self.optional_attr_dict()?;
        let entries = self.check_segments(row, entries, operands.len())?;
        self.set_attrs(op, entries)?;
        self.expect(":")?;
        let (params, results) = self.parse_function_type()?;
        self.check_types(&operands, &params)?;
        for ty in results {
            self.module.push_result(op, ty);
        }
        Ok(op)
    }

    fn generic_region(&mut self, op: Op) -> Result<(), ParseError> {
        let region = self.module.push_region(op);
        self.expect("{")?;
        if self.accept("}") { Ok(()) } else { self.region_behind_brace(region, &[]) }
    }

    /// Takes out the property that says how many values each operand has; it must say what the row says.
    fn check_segments(
        &mut self,
        row: &'static OpRow,
        mut entries: Vec<NamedAttr>,
        count: usize,
    ) -> Result<Vec<NamedAttr>, ParseError> {
        entries.retain(|(key, _)| key.name() != "resultSegmentSizes");
        let Some(at) = entries.iter().position(|(key, _)| key.name() == super::SEGMENTS) else {
            return Ok(entries);
        };
        let (_, attr) = entries.remove(at);
        let given: Option<Vec<i64>> =
            if let Attr::DenseArray { values, .. } = attr { Some(values.to_vec()) } else { None };
        let own: Option<Vec<i64>> =
            row.operand_groups(count).map(|sizes| sizes.iter().map(|&size| size as i64).collect());
        if given.is_some() && given == own {
            Ok(entries)
        } else {
            Err(self.error(format!("`{}` cannot have operands grouped like this", row.name)))
        }
    }
}
