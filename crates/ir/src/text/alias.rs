//! Short names for locations and long attributes: `#loc3`, `#loop_annotation`.
//!
//! A first run of the printer visits everything that will be written. Aliases are then numbered by how deep they nest
//! (so that each is defined after those it uses), next by their word, next by when they were met. An alias that only
//! trailing locations of operations use is written behind the program, the others in front of it.

use crate::attr_data::DialectAttr;
use crate::entity::Loc;
use crate::loc::{LocData, LocTable};
use crate::text::decimal::write_int;
use rustc_hash::FxHashMap;
use std::fmt::Write;
use std::sync::Arc;

/// What an alias stands for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Subject {
    Loc(Loc),
    /// `dialect.name` and the body between angle brackets.
    Attr(Arc<str>, Arc<str>),
    /// An attribute that a dialect of this build declares, and the word its aliases begin with.
    Own(DialectAttr, &'static str),
}

struct Entry {
    subject: Subject,
    depth: u32,
    deferrable: bool,
    children: Vec<usize>,
    name: String,
}

/// The aliases of one text.
#[derive(Default)]
pub(super) struct Aliases {
    entries: Vec<Entry>,
    locs: FxHashMap<Loc, usize>,
    attrs: FxHashMap<(Arc<str>, Arc<str>), usize>,
    owns: FxHashMap<DialectAttr, usize>,
    /// Attributes of dialects that are being visited, with those met inside them.
    open: Vec<(usize, Vec<usize>)>,
    order: Vec<usize>,
}

/// A `#dialect.name<body>` inside the body of another.
pub(super) struct Nested<'b> {
    /// Where it stands.
    pub(super) range: std::ops::Range<usize>,
    /// `dialect.name`.
    pub(super) name: &'b str,
    /// What stands between its angle brackets.
    pub(super) body: &'b str,
}

impl Aliases {
    /// Meets a location.
    pub(super) fn visit_loc(&mut self, locs: &LocTable, loc: Loc, deferrable: bool) -> usize {
        if let Some(&index) = self.locs.get(&loc) {
            self.meet_again(index, deferrable);
            return index;
        }
        let index = self.enter(Subject::Loc(loc), deferrable);
        self.locs.insert(loc, index);
        let children: Vec<Loc> = match locs.get(loc) {
            LocData::Unknown | LocData::File { .. } => Vec::new(),
            LocData::Name { child, .. } if *child == locs.unknown() => Vec::new(),
            LocData::Name { child, .. } => vec![*child],
            LocData::CallSite { callee, caller } => vec![*callee, *caller],
            LocData::Fused(all) => all.clone(),
        };
        let children = children.into_iter().map(|child| self.visit_loc(locs, child, deferrable)).collect();
        self.leave(index, children);
        index
    }

    /// Meets an attribute of a dialect.
    pub(super) fn visit_attr(&mut self, name: &Arc<str>, body: &Arc<str>) -> usize {
        let key = (name.clone(), body.clone());
        if let Some(&index) = self.attrs.get(&key) {
            return index;
        }
        let index = self.enter(Subject::Attr(name.clone(), body.clone()), false);
        self.attrs.insert(key, index);
        let children = nested_attrs(body)
            .iter()
            .map(|nested| self.visit_attr(&Arc::from(nested.name), &Arc::from(nested.body)))
            .collect();
        self.leave(index, children);
        index
    }

    /// Meets an attribute of a dialect of this build. Whether it is new: then what is inside it must be visited and
    /// [`Aliases::close_own`] called.
    pub(super) fn open_own(&mut self, own: &DialectAttr, word: &'static str) -> bool {
        let known = self.owns.get(own).copied();
        let index = known.unwrap_or_else(|| self.enter(Subject::Own(own.clone(), word), false));
        if let Some((_, inside)) = self.open.last_mut() {
            inside.push(index);
        }
        if known.is_none() {
            self.owns.insert(own.clone(), index);
            self.open.push((index, Vec::new()));
        }
        known.is_none()
    }

    /// Whether an attribute is open.
    pub(super) fn is_inside(&self) -> bool {
        !self.open.is_empty()
    }

    /// All inside the attribute that was opened last has been visited.
    pub(super) fn close_own(&mut self) {
        if let Some((index, children)) = self.open.pop() {
            self.leave(index, children);
        }
    }

    /// The alias of an attribute of a dialect of this build.
    pub(super) fn own_name(&self, own: &DialectAttr) -> Option<&str> {
        let index = *self.owns.get(own)?;
        Some(self.entries[index].name.as_str()).filter(|name| !name.is_empty())
    }

    fn enter(&mut self, subject: Subject, deferrable: bool) -> usize {
        self.entries.push(Entry { subject, depth: 1, deferrable, children: Vec::new(), name: String::new() });
        self.entries.len() - 1
    }

    fn leave(&mut self, index: usize, children: Vec<usize>) {
        let deepest = children.iter().map(|&child| self.entries[child].depth).max().unwrap_or(0);
        self.entries[index].depth = deepest + 1;
        self.entries[index].children = children;
    }

    fn meet_again(&mut self, index: usize, deferrable: bool) {
        if deferrable || !self.entries[index].deferrable {
            return;
        }
        self.entries[index].deferrable = false;
        for child in self.entries[index].children.clone() {
            self.meet_again(child, false);
        }
    }

    /// Numbers what was met.
    pub(super) fn finish(&mut self) {
        let mut order: Vec<usize> = (0..self.entries.len()).collect();
        order.sort_by(|&a, &b| {
            let (a, b) = (&self.entries[a], &self.entries[b]);
            a.depth.cmp(&b.depth).then_with(|| word(&a.subject).cmp(word(&b.subject)))
        });
        let mut counts: FxHashMap<String, i64> = FxHashMap::default();
        for &index in &order {
            let word = word(&self.entries[index].subject);
            let mut name = String::with_capacity(word.len() + 4);
            name.push_str(word);
            let count = match counts.get_mut(word) {
                Some(count) => count,
                None => counts.entry(word.to_owned()).or_default(),
            };
            if *count > 0 {
                write_int(&mut name, *count);
            }
            *count += 1;
            self.entries[index].name = name;
        }
        self.order = order;
    }

    /// The alias of a location.
    pub(super) fn loc_name(&self, loc: Loc) -> Option<&str> {
        self.locs.get(&loc).map(|&index| self.entries[index].name.as_str()).filter(|name| !name.is_empty())
    }

    /// The alias of an attribute.
    pub(super) fn attr_name(&self, name: &Arc<str>, body: &Arc<str>) -> Option<&str> {
        let index = *self.attrs.get(&(name.clone(), body.clone()))?;
        Some(self.entries[index].name.as_str()).filter(|name| !name.is_empty())
    }

    /// The definitions that stand in front of the program or behind it, in order.
    pub(super) fn definitions(&self, place: DefinitionPlace) -> Vec<usize> {
        let here = |index: &usize| self.entries[*index].deferrable == (place == DefinitionPlace::Behind);
        self.order.iter().copied().filter(here).collect()
    }

    /// Writes `#name = …` up to an attribute of a dialect of this build, which is given back to be written.
    pub(super) fn write_definition(
        &self,
        out: &mut String,
        locs: &LocTable,
        index: usize,
    ) -> Option<DialectAttr> {
        let entry = &self.entries[index];
        out.push('#');
        out.push_str(&entry.name);
        out.push_str(" = ");
        match &entry.subject {
            Subject::Loc(loc) => {
                out.push_str("loc(");
                self.write_loc_body(out, locs, *loc);
                out.push(')');
            }
            Subject::Attr(name, body) => self.write_attr_body(out, name, body),
            Subject::Own(own, _) => return Some(own.clone()),
        }
        None
    }

    /// Writes a location, by alias if it has one.
    pub(super) fn write_loc(&self, out: &mut String, locs: &LocTable, loc: Loc) {
        match self.loc_name(loc) {
            Some(name) => {
                out.push('#');
                out.push_str(name);
            }
            None => self.write_loc_body(out, locs, loc),
        }
    }

    /// Writes a location in full; those it is made of are written by alias.
    pub(super) fn write_loc_body(&self, out: &mut String, locs: &LocTable, loc: Loc) {
        match locs.get(loc) {
            LocData::Unknown => out.push_str("unknown"),
            LocData::File { file, line, col } => {
                write_string(out, file);
                for number in [line, col] {
                    out.push(':');
                    write_int(out, i64::from(*number));
                }
            }
            LocData::Name { name, child } => {
                write_string(out, name);
                if *child != locs.unknown() {
                    out.push('(');
                    self.write_loc(out, locs, *child);
                    out.push(')');
                }
            }
            LocData::CallSite { callee, caller } => {
                out.push_str("callsite(");
                self.write_loc(out, locs, *callee);
                out.push_str(" at ");
                self.write_loc(out, locs, *caller);
                out.push(')');
            }
            LocData::Fused(all) => {
                out.push_str("fused[");
                for (index, &loc) in all.iter().enumerate() {
                    out.push_str(if index > 0 { ", " } else { "" });
                    self.write_loc(out, locs, loc);
                }
                out.push(']');
            }
        }
    }

    /// Writes an attribute of a dialect in full; those inside it are written by alias.
    pub(super) fn write_attr_body(&self, out: &mut String, name: &str, body: &str) {
        let _ = write!(out, "#{name}");
        if body.is_empty() {
            return;
        }
        out.push('<');
        let mut done = 0;
        for nested in nested_attrs(body) {
            out.push_str(&body[done..nested.range.start]);
            match self.attr_name(&Arc::from(nested.name), &Arc::from(nested.body)) {
                Some(alias) => _ = write!(out, "#{alias}"),
                None => self.write_attr_body(out, nested.name, nested.body),
            }
            done = nested.range.end;
        }
        out.push_str(&body[done..]);
        out.push('>');
    }
}

/// Which definitions to write.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DefinitionPlace {
    /// Those in front of the program.
    Front,
    /// Those behind it.
    Behind,
}

fn word(subject: &Subject) -> &str {
    match subject {
        Subject::Loc(_) => "loc",
        Subject::Own(_, word) => word,
        Subject::Attr(name, _) => name.rsplit('.').next().unwrap_or(name),
    }
}

/// Writes a text in quotes.
pub(super) fn write_string(out: &mut String, text: &str) {
    out.push('"');
    // Most are plain: file names.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\') {
        out.push_str(text);
        return out.push('"');
    }
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\22"),
            '\\' => out.push_str("\\\\"),
            ' '..='~' => out.push(c),
            c => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    let _ = write!(out, "\\{byte:02X}");
                }
            }
        }
    }
    out.push('"');
}

/// The `#dialect.name<…>` that stand in a body, outermost only.
pub(super) fn nested_attrs(body: &str) -> Vec<Nested<'_>> {
    let bytes = body.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = skip_string(bytes, at),
            b'#' => {
                let start = at;
                at += 1;
                let word = |c: &u8| c.is_ascii_alphanumeric() || b"_.$".contains(c);
                at += bytes[at..].iter().take_while(|c| word(c)).count();
                let name = &body[start + 1..at];
                if !name.contains('.') {
                    continue;
                }
                let inner = at;
                if bytes.get(at) == Some(&b'<') {
                    at = skip_angles(bytes, at);
                }
                let body = if at > inner + 1 { &body[inner + 1..at - 1] } else { "" };
                found.push(Nested { range: start..at, name, body });
            }
            _ => at += 1,
        }
    }
    found
}

/// The place behind a string that starts here.
fn skip_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// The place behind the `>` that closes the `<` here.
pub(super) fn skip_angles(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0;
    let mut at = start;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                at = skip_string(bytes, at);
                continue;
            }
            b'<' => depth += 1,
            b'>' if at > start && bytes[at - 1] == b'-' => {}
            b'>' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}
