//! Prints a program in the syntax of the reference.
//!
//! [`Printer`] is what hand-written formats and types are written against. A text is made in two runs of the same code:
//! the first meets every location and attribute to find aliases, the second writes.

use crate::attr::{Attr, AttrKey, Elements};
use crate::entity::{Block, Loc, Op, Region, Value};
use crate::module::Module;
use crate::row::{AttrKind, OpRow, Traits};
use crate::text::alias::{Aliases, DefinitionPlace, write_string};
use crate::text::name::{Label, name_values, place_in_group, result_groups};
use crate::text::number::write_float;
use crate::types::{Type, TypeKind};
use std::fmt::Write;

/// What to write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PrintOptions {
    /// Source locations behind operations and block arguments.
    pub locations: bool,
    /// Every operation in its generic form, `"name"(%a) <{…}> : (…) -> …`.
    pub generic: bool,
}

impl Default for PrintOptions {
    fn default() -> Self {
        PrintOptions { locations: true, generic: false }
    }
}

impl PrintOptions {
    /// Without locations.
    pub const PLAIN: PrintOptions = PrintOptions { locations: false, generic: false };
}

/// How a region is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegionStyle {
    /// Write the arguments of the first block as `^bb0(…):`.
    pub entry_args: bool,
    /// Write the terminators.
    pub terminators: bool,
}

impl RegionStyle {
    /// With arguments of the first block and terminators.
    pub const FULL: RegionStyle = RegionStyle { entry_args: true, terminators: true };
    /// Without arguments of the first block, which the operation itself writes.
    pub const BODY: RegionStyle = RegionStyle { entry_args: false, terminators: true };
    /// Without arguments of the first block and without terminators.
    pub const IMPLICIT: RegionStyle = RegionStyle { entry_args: false, terminators: false };
}

/// A program in the text form.
pub fn print(module: &Module, options: PrintOptions) -> String {
    let mut printer = Printer::new(Some(module), options);
    printer.labels = name_values(module, None);
    printer.collecting = true;
    printer.op(module.top());
    printer.collecting = false;
    printer.aliases.finish();
    printer.aliases.write_definitions(&mut printer.out, &module.locs, DefinitionPlace::Front);
    printer.op(module.top());
    printer.out.push('\n');
    printer.aliases.write_definitions(&mut printer.out, &module.locs, DefinitionPlace::Behind);
    printer.out
}

/// One operation in the text form without locations, for messages and debugging.
pub fn op_to_string(module: &Module, op: Op) -> String {
    let mut printer = Printer::new(Some(module), PrintOptions::PLAIN);
    printer.labels = name_values(module, None);
    printer.op(op);
    printer.out
}

/// A type in the text form.
pub fn type_to_string(ty: Type) -> String {
    let mut printer = Printer::new(None, PrintOptions::PLAIN);
    printer.ty(ty);
    printer.out
}

/// An attribute in the text form.
pub fn attr_to_string(attr: &Attr) -> String {
    let mut printer = Printer::new(None, PrintOptions::PLAIN);
    printer.attr(attr);
    printer.out
}

impl std::fmt::Display for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&print(self, PrintOptions::PLAIN))
    }
}

/// Writes text. Nothing it writes puts spaces around itself unless it says so.
pub struct Printer<'m> {
    module: Option<&'m Module>,
    options: PrintOptions,
    out: String,
    indent: usize,
    labels: Vec<Label>,
    aliases: Aliases,
    collecting: bool,
}

impl<'m> Printer<'m> {
    fn new(module: Option<&'m Module>, options: PrintOptions) -> Printer<'m> {
        Printer {
            module,
            options,
            out: String::new(),
            indent: 0,
            labels: Vec::new(),
            aliases: Aliases::default(),
            collecting: false,
        }
    }

    /// The program.
    ///
    /// # Panics
    /// When a type is written by itself: types know no program.
    pub fn module(&self) -> &'m Module {
        self.module.expect("the print function of a type does not ask for the program")
    }

    /// What is written.
    pub fn options(&self) -> PrintOptions {
        self.options
    }

    /// Writes a text as it is.
    pub fn text(&mut self, text: &str) {
        if !self.collecting {
            self.out.push_str(text);
        }
    }

    /// Writes a number.
    pub fn int(&mut self, value: i64) {
        if !self.collecting {
            let _ = write!(self.out, "{value}");
        }
    }

    /// Writes a text in quotes.
    pub fn string(&mut self, text: &str) {
        if !self.collecting {
            write_string(&mut self.out, text);
        }
    }

    /// Writes `@name`, in quotes where needed.
    pub fn symbol(&mut self, name: &str) {
        self.text("@");
        self.word(name);
    }

    /// Writes a name, in quotes where needed.
    fn word(&mut self, name: &str) {
        if is_bare_word(name) { self.text(name) } else { self.string(name) }
    }

    /// Writes parts with `, ` between them.
    pub fn list<T>(&mut self, items: impl IntoIterator<Item = T>, mut each: impl FnMut(&mut Self, T)) {
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.text(", ");
            }
            each(self, item);
        }
    }

    // --- values ---

    /// Writes `%name` or `%name#1`.
    pub fn value(&mut self, value: Value) {
        if self.collecting {
            return;
        }
        let (first, place) = match place_in_group(self.module(), value) {
            Some((first, place)) => (first, Some(place)),
            None => (value, None),
        };
        self.label(first);
        if let Some(place) = place {
            let _ = write!(self.out, "#{place}");
        }
    }

    fn label(&mut self, value: Value) {
        let _ = match self.labels.get(value.as_u32() as usize) {
            Some(Label::Number(number)) => write!(self.out, "%{number}"),
            Some(Label::Name(name)) => write!(self.out, "%{name}"),
            _ => write!(self.out, "%<<detached {}>>", value.as_u32()),
        };
    }

    /// Writes values with `, ` between them.
    pub fn values(&mut self, values: &[Value]) {
        self.list(values, |p, &value| p.value(value));
    }

    // --- types ---

    /// Writes a type.
    pub fn ty(&mut self, ty: Type) {
        match ty.kind() {
            TypeKind::Int(bits) => {
                self.text("i");
                self.int(i64::from(*bits));
            }
            TypeKind::Float(kind) => self.text(kind.name()),
            TypeKind::Index => self.text("index"),
            TypeKind::None => self.text("none"),
            TypeKind::Function { params, results } => self.function_type(params, results),
            TypeKind::Dialect { row, params } => {
                self.text(if row.name.contains('.') { "!" } else { "" });
                self.text(row.name);
                (row.print)(params, self);
            }
        }
    }

    /// Writes only the parameters of a dialect's type, `<f32>` for `!tt.ptr<f32>`; other types in full.
    pub fn short_ty(&mut self, ty: Type) {
        match ty.kind() {
            TypeKind::Dialect { row, params } => (row.print)(params, self),
            _ => self.ty(ty),
        }
    }

    /// Writes types with `, ` between them.
    pub fn types(&mut self, types: &[Type]) {
        self.list(types, |p, &ty| p.ty(ty));
    }

    /// Writes the types of values with `, ` between them.
    pub fn types_of(&mut self, values: &[Value]) {
        let module = self.module();
        self.list(values, |p, &value| p.ty(module.ty(value)));
    }

    /// Writes `(params) -> results`.
    pub fn function_type(&mut self, params: &[Type], results: &[Type]) {
        self.text("(");
        self.types(params);
        self.text(") -> ");
        self.result_types(results);
    }

    /// Writes `(operand types) -> result types` of an operation.
    pub fn functional_type(&mut self, op: Op) {
        let module = self.module();
        let params: Vec<Type> = module.operands(op).iter().map(|&value| module.ty(value)).collect();
        let results: Vec<Type> = module.results(op).iter().map(|&value| module.ty(value)).collect();
        self.function_type(&params, &results);
    }

    /// Writes one type bare, others in parentheses: what stands behind `->`.
    pub fn result_types(&mut self, types: &[Type]) {
        match types {
            [ty] if !matches!(ty.kind(), TypeKind::Function { .. }) => self.ty(*ty),
            types => {
                self.text("(");
                self.types(types);
                self.text(")");
            }
        }
    }

    /// Writes the dimensions of a shape, each followed by `x`.
    pub fn dimensions(&mut self, shape: &[i64]) {
        for &size in shape {
            self.int(size);
            self.text("x");
        }
    }

    // --- attributes ---

    /// Writes an attribute with its type: `4 : i32`.
    pub fn attr(&mut self, attr: &Attr) {
        self.attr_value(attr);
        if let Attr::Int { ty, .. } | Attr::Float { ty, .. } = attr
            && ty.as_int() != Some(1)
        {
            self.text(" : ");
            self.ty(*ty);
        }
    }

    /// Writes an attribute without its type where that can be known from elsewhere: `4`.
    pub fn attr_value(&mut self, attr: &Attr) {
        match attr {
            Attr::Unit => self.text("unit"),
            Attr::Bool(value) => self.text(if *value { "true" } else { "false" }),
            Attr::Int { value, ty } => self.number(*ty, *value as u64),
            Attr::Float { bits, ty } => self.number(*ty, *bits),
            Attr::Str(text) => self.string(text),
            Attr::Type(ty) => self.ty(*ty),
            Attr::Array(items) => {
                self.text("[");
                self.list(items.iter(), |p, item| match item {
                    Attr::Int { ty, .. } if ty.as_int() == Some(64) => p.attr_value(item),
                    item => p.attr(item),
                });
                self.text("]");
            }
            Attr::DenseArray { elem, values } => {
                self.text("array<");
                self.ty(*elem);
                self.text(if values.is_empty() { "" } else { ": " });
                self.list(values.iter(), |p, &value| p.number(*elem, value as u64));
                self.text(">");
            }
            Attr::Dense { ty, elements } => self.dense(*ty, elements),
            Attr::Symbol(name) => self.symbol(name),
            Attr::Enum { value, .. } => {
                self.int(i64::from(*value));
                self.text(" : i32");
            }
            Attr::Dict(entries) => {
                self.text("{");
                self.list(entries.iter(), |p, (key, attr)| p.named_attr(key.name(), attr));
                self.text("}");
            }
            Attr::Dialect { name, body } => {
                if self.collecting {
                    self.aliases.visit_attr(name, body);
                } else if let Some(alias) = self.aliases.attr_name(name, body) {
                    let _ = write!(self.out, "#{alias}");
                } else {
                    self.aliases.write_attr_body(&mut self.out, name, body);
                }
            }
        }
    }

    /// Writes a number of a scalar type; a value or the bits of a float.
    fn number(&mut self, ty: Type, bits: u64) {
        if self.collecting {
            return;
        }
        match (ty.as_float(), ty.as_int()) {
            (Some(kind), _) => write_float(&mut self.out, kind, bits),
            (None, Some(1)) => self.text(if bits & 1 == 1 { "true" } else { "false" }),
            (None, Some(width)) => {
                let value = crate::scalar::sign_extend(width, bits);
                let _ = write!(self.out, "{value}");
            }
            _ => _ = write!(self.out, "{}", bits as i64),
        }
    }

    fn dense(&mut self, ty: Type, elements: &Elements) {
        let Some((shape, elem)) = ty.shape_and_element() else {
            return self.text("dense<>");
        };
        self.text("dense<");
        match elements {
            Elements::Splat(bits) => self.number(elem, *bits),
            Elements::List(list) => self.dense_level(shape, elem, list),
        }
        self.text("> : ");
        self.ty(ty);
    }

    fn dense_level(&mut self, shape: &[i64], elem: Type, list: &[u64]) {
        let Some((&count, inner)) = shape.split_first() else {
            if let Some(&bits) = list.first() {
                self.number(elem, bits);
            }
            return;
        };
        let stride = list.len() / usize::try_from(count).unwrap_or(1).max(1);
        self.text("[");
        self.list(list.chunks(stride.max(1)), |p, chunk| p.dense_level(inner, elem, chunk));
        self.text("]");
    }

    fn named_attr(&mut self, name: &str, attr: &Attr) {
        self.word(name);
        if *attr != Attr::Unit {
            self.text(" = ");
            self.attr(attr);
        }
    }

    /// Writes an attribute slot the way a format names it: a keyword for an enumeration, a number without its type.
    pub fn slot(&mut self, op: Op, slot: usize) {
        let module = self.module();
        let (Some(attr), Some(spec)) = (module.attr(op, slot), module.row(op).attrs.get(slot)) else {
            return;
        };
        match (attr, spec.kind) {
            (Attr::Enum { row, value }, _) => match row.keyword(*value) {
                Some(keyword) => self.text(keyword),
                None => self.attr(attr),
            },
            (attr, AttrKind::Any) => self.attr(attr),
            (attr, _) => self.attr_value(attr),
        }
    }

    /// Writes ` {name = value, …}` with the slots that `hide` does not list and that are not at their default, and
    /// everything beyond the slots; nothing if there is nothing.
    pub fn attr_dict(&mut self, op: Op, hide: &[usize]) {
        self.dict_with_prefix(op, hide, " ");
    }

    /// Writes ` attributes {name = value, …}`, or nothing.
    pub fn attr_dict_with_keyword(&mut self, op: Op, hide: &[usize]) {
        self.dict_with_prefix(op, hide, " attributes ");
    }

    fn dict_with_prefix(&mut self, op: Op, hide: &[usize], prefix: &str) {
        let module = self.module();
        let slots = module.attrs(op).iter().zip(module.row(op).attrs).enumerate();
        let mut entries: Vec<(&str, &Attr)> = slots
            .filter(|(slot, _)| !hide.contains(slot))
            .filter_map(|(_, (attr, spec))| {
                let attr = attr.as_ref()?;
                (spec.default_attr().as_ref() != Some(attr)).then_some((spec.name, attr))
            })
            .collect();
        entries.extend(module.extra(op).iter().map(|(key, attr)| (key.name(), attr)));
        entries.sort_by_key(|entry| entry.0);
        if !entries.is_empty() {
            self.text(prefix);
            self.dict(&entries);
        }
    }

    fn dict(&mut self, entries: &[(&str, &Attr)]) {
        self.text("{");
        self.list(entries, |p, (name, attr)| p.named_attr(name, attr));
        self.text("}");
    }

    // --- locations, regions, operations ---

    /// Writes `%name: type {attributes} loc(…)` of a block argument.
    pub fn arg(&mut self, block: Block, index: usize) {
        let module = self.module();
        let value = module.args(block)[index];
        self.value(value);
        self.text(": ");
        self.ty(module.ty(value));
        let attrs: Vec<(&str, &Attr)> = module
            .arg_attrs(block, index)
            .iter()
            .map(|(key, attr): &(AttrKey, Attr)| (key.name(), attr))
            .collect();
        if !attrs.is_empty() {
            self.text(" ");
            self.dict(&attrs);
        }
        self.loc_in_full(module.arg_loc(block, index));
    }

    fn loc_in_full(&mut self, loc: Loc) {
        if !self.options.locations {
            return;
        }
        let module = self.module();
        if self.collecting {
            self.aliases.visit_loc(&module.locs, loc, false);
            return;
        }
        self.out.push_str(" loc(");
        self.aliases.write_loc_body(&mut self.out, &module.locs, loc);
        self.out.push(')');
    }

    fn newline(&mut self) {
        if !self.collecting {
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n(' ', self.indent));
        }
    }

    /// Writes `{ … }` over several lines; the first line starts where the text stands.
    pub fn region(&mut self, region: Region, style: RegionStyle) {
        let module = self.module();
        self.text("{");
        let mut number = 0;
        for &block in module.blocks(region) {
            let args = module.args(block).len();
            if number > 0 || (style.entry_args && args > 0) {
                self.newline();
                self.text("^bb");
                self.int(number);
                if args > 0 {
                    self.text("(");
                    self.list(0..args, |p, index| p.arg(block, index));
                    self.text(")");
                }
                self.text(":");
            }
            number += 1;
            self.block_body(block, style);
        }
        self.newline();
        self.text("}");
    }

    fn block_body(&mut self, block: Block, style: RegionStyle) {
        let module = self.module();
        self.indent += 2;
        for op in module.ops(block) {
            if !style.terminators && module.has(op, Traits::TERMINATOR) && module.next(op).is_none() {
                break;
            }
            self.newline();
            self.op(op);
        }
        self.indent -= 2;
    }

    /// Writes a whole operation: `%results = name … loc(…)`.
    pub fn op(&mut self, op: Op) {
        let module = self.module();
        let loc = module.loc(op);
        if self.collecting {
            if self.options.locations {
                self.aliases.visit_loc(&module.locs, loc, true);
            }
        } else {
            self.results(op);
        }
        super::print_op::print_op(self, op);
        if self.options.locations && !self.collecting {
            self.out.push_str(" loc(");
            self.aliases.write_loc(&mut self.out, &module.locs, loc);
            self.out.push(')');
        }
    }

    fn results(&mut self, op: Op) {
        let module = self.module();
        let results = module.results(op);
        if results.is_empty() {
            return;
        }
        let mut start = 0;
        for group in result_groups(module, op) {
            self.text(if start > 0 { ", " } else { "" });
            self.label(results[start]);
            if group.size > 1 {
                let _ = write!(self.out, ":{}", group.size);
            }
            start += group.size;
        }
        self.text(" = ");
    }

    /// Writes ` <{name = value, …}>` with every filled slot.
    pub(super) fn properties(&mut self, op: Op, segments: Option<&[usize]>) {
        let module = self.module();
        let row: &OpRow = module.row(op);
        let segments = segments.map(segment_attr);
        let mut entries: Vec<(&str, &Attr)> = row
            .attrs
            .iter()
            .zip(module.attrs(op))
            .filter_map(|(spec, attr)| attr.as_ref().map(|attr| (spec.name, attr)))
            .chain(segments.iter().map(|attr| (super::SEGMENTS, attr)))
            .collect();
        entries.sort_by_key(|entry| entry.0);
        if !entries.is_empty() {
            self.text(" <");
            self.dict(&entries);
            self.text(">");
        }
    }

    /// Writes ` {name = value, …}` with what is beyond the slots.
    pub(super) fn extra_dict(&mut self, op: Op) {
        let module = self.module();
        let all: Vec<usize> = (0..module.attrs(op).len()).collect();
        self.attr_dict(op, &all);
    }
}

fn segment_attr(sizes: &[usize]) -> Attr {
    Attr::DenseArray { elem: Type::int(32), values: sizes.iter().map(|&size| size as i64).collect() }
}

/// Whether a name needs no quotes.
pub(super) fn is_bare_word(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|c| c.is_ascii_alphabetic() || c == b'_')
        && bytes.all(|c| c.is_ascii_alphanumeric() || b"_$.".contains(&c))
}
