//! Reads the directive strings of [`crate::Format::Text`] into a list of steps, once for each row.

use crate::module::row::{Format, OpRow};
use rustc_hash::FxHashMap;
use std::sync::{OnceLock, RwLock};

/// A declared part of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// Operand group of this number.
    Operand(usize),
    /// Result group of this number.
    Result(usize),
    /// Attribute slot of this number.
    Attr(usize),
}

/// One step of a format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Directive {
    /// A word or punctuation as it stands.
    Literal(&'static str),
    /// The values or the attribute of a part.
    Part(Part),
    /// The types of a part.
    Type(Part),
    /// The parameters of the type of a part, without the type's name.
    ShortType(Part),
    /// The types of all operands.
    OperandTypes,
    /// `(operand types) -> result types`.
    FunctionalType,
    /// All attributes that no step names.
    AttrDict,
    /// Directives that are written if the first part in them is there.
    Optional(Part, Vec<Directive>),
}

/// A format, ready to use.
#[derive(Debug)]
pub(super) struct Directives {
    /// The steps in order.
    pub(super) steps: Vec<Directive>,
    /// Slots that steps name, and so the dictionary does not hold.
    pub(super) named: Vec<usize>,
}

/// The steps of a row's directive string.
///
/// # Panics
/// When the string is malformed or names something the row does not declare: a mistake in the row that any test brings
/// out ([`check_format`]).
pub(super) fn steps(row: &'static OpRow, text: &'static str) -> &'static Directives {
    static KNOWN: OnceLock<RwLock<FxHashMap<(usize, usize), &'static Directives>>> = OnceLock::new();
    let poisoned = "the table is only ever inserted into, so a panic elsewhere leaves it whole";
    let known = KNOWN.get_or_init(RwLock::default);
    let key = (std::ptr::from_ref(row) as usize, text.as_ptr() as usize);
    if let Some(steps) = known.read().expect(poisoned).get(&key) {
        return steps;
    }
    let mut reader = Reader { row, rest: text, named: Vec::new() };
    let steps = reader.steps();
    assert!(reader.rest.is_empty(), "{}: unbalanced `{}` in the format", row.name, reader.rest);
    let steps: &'static Directives = Box::leak(Box::new(Directives { steps, named: reader.named }));
    known.write().expect(poisoned).insert(key, steps);
    steps
}

/// Reads the directive string of a row, if it has one.
///
/// # Panics
/// As [`steps`].
pub(crate) fn check_format(row: &'static OpRow) {
    if let Format::Text(text) = row.format {
        steps(row, text);
    }
}

struct Reader {
    row: &'static OpRow,
    rest: &'static str,
    named: Vec<usize>,
}

impl Reader {
    /// Reads up to the end or to the `)?` that closes the open group.
    fn steps(&mut self) -> Vec<Directive> {
        let mut steps = Vec::new();
        loop {
            self.rest = self.rest.trim_start();
            if self.rest.is_empty() || self.rest.starts_with(")?") {
                return steps;
            }
            steps.push(self.step());
        }
    }

    fn step(&mut self) -> Directive {
        if let Some(rest) = self.rest.strip_prefix('$') {
            self.rest = rest;
            let part = self.part();
            if let Part::Attr(slot) = part {
                self.named.push(slot);
            }
            return Directive::Part(part);
        }
        for (prefix, make) in
            [("type($", Directive::Type as fn(Part) -> Directive), ("short-type($", Directive::ShortType)]
        {
            if let Some(rest) = self.rest.strip_prefix(prefix) {
                self.rest = rest;
                let part = self.part();
                self.rest = self
                    .rest
                    .strip_prefix(')')
                    .unwrap_or_else(|| panic!("{}: `)` is missing", self.row.name));
                return make(part);
            }
        }
        let directives = [
            ("types(operands)", Directive::OperandTypes),
            ("functional-type", Directive::FunctionalType),
            ("attr-dict", Directive::AttrDict),
        ];
        for (word, step) in directives {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return step;
            }
        }
        if self.rest.starts_with('(') && self.is_group() {
            return self.group();
        }
        self.literal()
    }

    /// Whether the parenthesis that opens here is closed by `)?`.
    fn is_group(&self) -> bool {
        let mut depth = 0;
        for (at, c) in self.rest.char_indices() {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return self.rest[at..].starts_with(")?");
            }
        }
        false
    }

    fn group(&mut self) -> Directive {
        self.rest = &self.rest[1..];
        let steps = self.steps();
        self.rest = &self.rest[2..];
        let part = steps.iter().find_map(|step| match step {
            Directive::Part(part) | Directive::Type(part) => Some(*part),
            _ => None,
        });
        Directive::Optional(
            part.unwrap_or_else(|| panic!("{}: an optional part names nothing", self.row.name)),
            steps,
        )
    }

    fn literal(&mut self) -> Directive {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = if self.rest.starts_with("->") {
            2
        } else if self.rest.starts_with(word) {
            self.rest.find(|c| !word(c)).unwrap_or(self.rest.len())
        } else {
            1
        };
        let (literal, rest) = self.rest.split_at(length);
        self.rest = rest;
        Directive::Literal(literal)
    }

    fn part(&mut self) -> Part {
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        let row = self.row;
        let operand = row.operands.iter().position(|spec| spec.name == name).map(Part::Operand);
        let attr = || row.attr_slot(name).map(Part::Attr);
        let result = || row.results.iter().position(|spec| spec.name == name).map(Part::Result);
        operand
            .or_else(attr)
            .or_else(result)
            .unwrap_or_else(|| panic!("{}: no part is called {name}", row.name))
    }
}
