//! Prints a program in the syntax of the reference.
//!
//! [`Printer`] is what hand-written formats and types are written against. A text is made in two runs of the same code:
//! the first meets every location and attribute to find aliases, the second writes.

mod op;

use crate::entity::{Block, Loc, Op, Region, Value};
use crate::module::Module;
use crate::module::row::Format;
use crate::module::traits::Traits;
use crate::text::alias::{Aliases, DefinitionPlace, write_string};
use crate::text::decimal::write_int;
use crate::text::name::{Label, name_values, place_in_group, result_groups};
use crate::types::attr::{Attr, AttrKey};
use crate::types::{Type, TypeKind};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Write;
use std::ops::Range;

pub use op::DictEdit;

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
}

/// A program in the text form.
pub fn print(module: &Module, options: PrintOptions) -> String {
    let mut printer = Printer::new(Some(module), options);
    printer.out.reserve(ROOM);
    printer.labels = name_values(module, None);
    printer.collecting = true;
    printer.op(module.top());
    printer.collecting = false;
    printer.aliases.finish();
    printer.definitions(DefinitionPlace::Front);
    printer.op(module.top());
    printer.out.push('\n');
    printer.definitions(DefinitionPlace::Behind);
    printer.out
}

/// Bytes that most programs take no more of.
const ROOM: usize = 1 << 15;

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
    pub(super) out: String,
    indent: usize,
    labels: Vec<Label>,
    pub(super) aliases: Aliases,
    pub(super) collecting: bool,
    /// Where in `out` a type was written already.
    types: FxHashMap<Type, Range<usize>>,
    /// Types that were met in the first run.
    met: FxHashSet<Type>,
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
            types: FxHashMap::default(),
            met: FxHashSet::default(),
        }
    }

    /// The program.
    ///
    /// # Panics
    /// When a type is written by itself: types know no program.
    pub fn module(&self) -> &'m Module {
        self.module.expect("the print function of a type does not ask for the program")
    }

    fn definitions(&mut self, place: DefinitionPlace) {
        let locs = &self.module().locs;
        for index in self.aliases.definitions(place) {
            if let Some(own) = self.aliases.write_definition(&mut self.out, locs, index) {
                self.own_in_full(&own);
            }
            self.out.push('\n');
        }
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
            write_int(&mut self.out, value);
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
        self.bare_word(name);
    }

    pub(super) fn knows_dialect(&self, name: &str) -> bool {
        self.module.is_some_and(|module| module.registry().dialects().contains(&name))
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
        self.out.push('%');
        match self.labels.get(value.as_u32() as usize) {
            Some(Label::Number(number)) => write_int(&mut self.out, i64::from(*number)),
            Some(Label::Name(name)) => self.out.push_str(name),
            _ => _ = write!(self.out, "<<detached {}>>", value.as_u32()),
        }
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
                if self.collecting && (self.is_met(ty) || !ty.has_attribute()) {
                    return;
                }
                if let Some(range) = self.types.get(&ty).filter(|_| !self.collecting) {
                    return self.out.extend_from_within(range.clone());
                }
                let start = self.out.len();
                self.text(if row.name.contains('.') { "!" } else { "" });
                self.text(row.name);
                (row.print)(params, self);
                if !self.collecting {
                    self.types.insert(ty, start..self.out.len());
                }
            }
        }
    }

    /// Whether a type was met before, so that no attribute in it is new. Who is inside an attribute hears of all in it.
    fn is_met(&mut self, ty: Type) -> bool {
        !self.aliases.is_inside() && !self.met.insert(ty)
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

    /// Begins a new line, indented like the operation.
    pub fn newline(&mut self) {
        if !self.collecting {
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n(' ', self.indent));
        }
    }

    /// Writes `{ … }` over several lines; the first line starts where the text stands.
    pub fn region(&mut self, region: Region, style: RegionStyle) {
        let module = self.module();
        self.text("{");
        for (number, &block) in module.blocks(region).iter().enumerate() {
            let args = module.args(block).len();
            if number > 0 || (style.entry_args && args > 0) {
                self.newline();
                self.text("^bb");
                self.int(number as i64);
                if args > 0 {
                    self.text("(");
                    self.list(0..args, |p, index| p.arg(block, index));
                    self.text(")");
                }
                self.text(":");
            }
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
            if self.has_nothing_new(op) {
                return;
            }
        } else {
            self.results(op);
        }
        op::print_op(self, op);
        if self.options.locations && !self.collecting {
            self.out.push_str(" loc(");
            self.aliases.write_loc(&mut self.out, &module.locs, loc);
            self.out.push(')');
        }
    }

    /// Whether the first run meets nothing in an operation: most have types and attributes that have no aliases, or
    /// were met before. Formats that are functions may write what is not in the operation.
    fn has_nothing_new(&self, op: Op) -> bool {
        let module = self.module();
        let is_known = |&value: &Value| self.is_known(module.ty(value));
        !matches!(module.row(op).format, Format::Custom { .. })
            && module.regions(op).is_empty()
            && !self.aliases.is_inside()
            && module.operands(op).iter().chain(module.results(op)).all(is_known)
            && module.attrs(op).iter().flatten().all(|attr| self.is_plain(attr))
            && module.extra(op).iter().all(|(_, attr)| self.is_plain(attr))
    }

    /// Whether no attribute in a type is new.
    fn is_known(&self, ty: Type) -> bool {
        !ty.has_attribute() || self.met.contains(&ty)
    }

    /// Whether no attribute in an attribute is new.
    fn is_plain(&self, attr: &Attr) -> bool {
        match attr {
            Attr::Type(ty) | Attr::Dense { ty, .. } => self.is_known(*ty),
            Attr::Array(items) => items.iter().all(|item| self.is_plain(item)),
            Attr::Dict(entries) => entries.iter().all(|(_, attr)| self.is_plain(attr)),
            Attr::Own(_) | Attr::Dialect { .. } => false,
            Attr::Unit
            | Attr::Bool(_)
            | Attr::Int { .. }
            | Attr::Float { .. }
            | Attr::Str(_)
            | Attr::DenseArray { .. }
            | Attr::Symbol(_)
            | Attr::Enum { .. } => true,
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
}
