//! `deuteron ops`: the rows of operations, as reference documentation in Markdown.

use crate::{Failure, output};
use clap::Args;
use ir::{Arity, AttrKind, AttrSpec, Effect, Format, Infer, OpRow, Presence, Traits, ValueSpec};
use std::fmt::Write as _;

/// Show what the operations of ttir and ttgir are: operands, attributes, results, rules.
#[derive(Args)]
pub(crate) struct Ops {
    /// Names (`tt.load`), or prefixes that end with a dot (`math.`); without any, a line for each operation.
    names: Vec<String>,
}

impl Ops {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let rows = rows();
        if self.names.is_empty() {
            let lines: String =
                rows.iter().map(|row| format!("{:<36} {}\n", row.name, headline(row))).collect();
            return output::write(lines.as_bytes());
        }
        let mut pages = Vec::new();
        for name in &self.names {
            let meant = |row: &&&OpRow| {
                row.name == name || (name.ends_with('.') && row.name.starts_with(name.as_str()))
            };
            let before = pages.len();
            pages.extend(rows.iter().filter(meant).map(|row| page(row)));
            if pages.len() == before {
                return Err(Failure(format!("there is no operation `{name}`; `deuteron ops` lists them")));
            }
        }
        output::write(pages.join("\n").as_bytes())
    }
}

/// Every row, by name.
fn rows() -> Vec<&'static OpRow> {
    let mut rows: Vec<&OpRow> = [ttir::ops::DIALECT.families, ttgir::ops::DIALECT.families].concat().concat();
    rows.sort_unstable_by_key(|row| row.name);
    rows
}

/// The first sentence of the documentation.
fn headline(row: &OpRow) -> &'static str {
    row.doc.split_inclusive(". ").next().unwrap_or_default().trim_end()
}

/// One operation.
fn page(row: &OpRow) -> String {
    let mut text = format!("## `{}`\n\n{}\n", row.name, row.doc);
    let operands = row.operands.iter().map(|spec| value_line("operand", spec));
    let attributes = row.attrs.iter().map(attribute_line);
    let results = row.results.iter().map(|spec| value_line("result", spec));
    let lines: Vec<String> = operands.chain(attributes).chain(results).collect();
    if !lines.is_empty() {
        text += "\n| | name | what |\n|---|---|---|\n";
        text.extend(lines);
    }
    if let Format::Text(format) = row.format {
        let _ = write!(text, "\nWritten: `{} {}`\n", row.name, format);
    }
    let properties = properties(row);
    if !properties.is_empty() {
        let _ = write!(text, "\n{}.\n", capitalised(&properties.join("; ")));
    }
    text
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn value_line(kind: &str, spec: &ValueSpec) -> String {
    let arity = match spec.arity {
        Arity::One => "",
        Arity::Optional => ", optional",
        Arity::Variadic => ", any number",
    };
    let effect = match spec.effect {
        Effect::Unknown | Effect::Nothing => String::new(),
        Effect::Allocate => "; made here".to_owned(),
        Effect::Read => "; its memory is read".to_owned(),
        Effect::Write => "; its memory is written".to_owned(),
        Effect::Atomic => "; its memory is read and written at once".to_owned(),
        Effect::ReadUntil(row) => format!("; its memory is read until `{}`", row.name),
        Effect::WriteUntil(row) => format!("; its memory is written until `{}`", row.name),
        Effect::WriteGuarded => "; its memory is written until a barrier in memory completes".to_owned(),
    };
    format!("| {kind}{arity} | `{}` | {}{effect} |\n", spec.name, spec.constraint.name)
}

fn attribute_line(spec: &AttrSpec) -> String {
    let kind = match spec.kind {
        AttrKind::Unit => "present or not".to_owned(),
        AttrKind::Bool => "`true` or `false`".to_owned(),
        AttrKind::Int(bits) => format!("integer of {bits} bits"),
        AttrKind::Str => "text".to_owned(),
        AttrKind::Type => "type".to_owned(),
        AttrKind::Symbol => "symbol".to_owned(),
        AttrKind::Enum(row) => {
            let cases: Vec<String> = row.cases.iter().map(|(keyword, _)| format!("`{keyword}`")).collect();
            cases.join(", ")
        }
        AttrKind::DenseArray(bits) => format!("list of integers of {bits} bits"),
        AttrKind::Any => "any attribute".to_owned(),
    };
    let default = match (spec.presence, spec.kind) {
        (Presence::Required, _) => String::new(),
        (Presence::Optional, _) => "; optional".to_owned(),
        (Presence::Bool(value), _) => format!("; `{value}` by default"),
        (Presence::Int(value), _) => format!("; {value} by default"),
        (Presence::Str(value), _) => format!("; `\"{value}\"` by default"),
        (Presence::Enum(value), AttrKind::Enum(row)) => {
            row.keyword(value).map(|keyword| format!("; `{keyword}` by default")).unwrap_or_default()
        }
        (Presence::Enum(value), _) => format!("; {value} by default"),
    };
    format!("| attribute | `{}` | {kind}{default} |\n", spec.name)
}

/// What holds of every operation of the row, in words.
const TRAITS: &[(Traits, &str)] = &[
    (Traits::PURE, "pure"),
    (Traits::ELEMENTWISE, "elementwise"),
    (Traits::COMMUTATIVE, "commutative"),
    (Traits::CONSTANT, "a constant"),
    (Traits::NO_SPECULATION, "never run where the program would not have run it"),
    (Traits::REGION_EFFECTS, "has the effects of its regions"),
    (Traits::LOOP, "a loop"),
    (Traits::CALL, "a call"),
    (Traits::SYMBOL, "defines a symbol"),
    (Traits::ISOLATED, "its regions use no values from outside"),
    (Traits::TERMINATOR, "ends a block"),
];

/// What it does to memory, in words.
fn effects(row: &OpRow) -> Vec<&'static str> {
    let reads = if matches!(row.effect, Effect::Allocate) { "makes memory" } else { "reads memory" };
    let writes = "writes memory or has another effect that is kept in order";
    [row.reads().then_some(reads), row.writes().then_some(writes)].into_iter().flatten().collect()
}

fn properties(row: &OpRow) -> Vec<String> {
    let mut words: Vec<String> =
        TRAITS.iter().filter(|(held, _)| row.traits.has(*held)).map(|(_, word)| (*word).to_owned()).collect();
    words.extend(effects(row).into_iter().map(str::to_owned));
    match row.regions {
        Some(0) => {}
        Some(1) => words.push("has one region".to_owned()),
        Some(count) => words.push(format!("has {count} regions")),
        None => words.push("has any number of regions".to_owned()),
    }
    if let Infer::SameAs(index) = row.infer
        && let Some(operand) = row.operands.get(index)
    {
        words.push(format!("the result has the type of `{}`", operand.name));
    }
    words
}
