//! Prints an operation behind its results: the generic form, and formats given by directives.

use crate::entity::{Op, Value};
use crate::module::row::{Arity, AttrKind, Format, OpRow};
use crate::text::format::{Directive, Directives, Part, steps};
use crate::text::print::{Printer, RegionStyle};
use crate::types::attr::Attr;

/// Writes the name of an operation and all behind it, without the location.
pub(super) fn print_op(printer: &mut Printer<'_>, op: Op) {
    let row = printer.module().row(op);
    if printer.options().generic {
        return generic(printer, op, row);
    }
    match row.format {
        Format::Generic => generic(printer, op, row),
        Format::Text(text) => {
            printer.text(row.name);
            printer.directives(op, text, &DictEdit::default());
        }
        Format::Custom { print, .. } => {
            printer.text(row.name.strip_prefix("builtin.").unwrap_or(row.name));
            print(printer, op);
        }
    }
}

/// How a dictionary of attributes differs from what the operation carries.
#[derive(Clone, Copy, Default, Debug)]
pub struct DictEdit<'a> {
    /// Slots that are left out.
    pub hide: &'a [usize],
    /// What is added.
    pub add: &'a [(&'a str, Attr)],
}

impl Printer<'_> {
    /// Writes what stands behind the name of an operation as directives say (see [`Format::Text`]), for formats that
    /// differ from directives in the dictionary only.
    pub fn directives(&mut self, op: Op, text: &'static str, edit: &DictEdit<'_>) {
        let steps = steps(self.module().row(op), text);
        let mut writer = Writer { printer: self, op, steps, edit, space: true, punctuation: false };
        writer.steps(&steps.steps);
    }
}

fn generic(printer: &mut Printer<'_>, op: Op, row: &'static OpRow) {
    let module = printer.module();
    printer.text("\"");
    printer.text(row.name);
    printer.text("\"(");
    printer.values(module.operands(op));
    printer.text(")");
    let several = row.operands.iter().filter(|spec| spec.arity != Arity::One).count() > 1;
    let groups = if several { row.operand_groups(module.operands(op).len()) } else { None };
    printer.properties(op, groups.as_deref());
    if !module.regions(op).is_empty() {
        printer.text(" (");
        printer.list(module.regions(op), |p, &region| p.region(region, RegionStyle::FULL));
        printer.text(")");
    }
    printer.extra_dict(op);
    printer.text(" : ");
    printer.functional_type(op);
}

fn is_unit(row: &OpRow, slot: usize) -> bool {
    matches!(row.attrs[slot].kind, AttrKind::Unit)
}

/// Writes steps with spaces between them: none around brackets and before commas.
struct Writer<'p, 'm> {
    printer: &'p mut Printer<'m>,
    op: Op,
    steps: &'static Directives,
    edit: &'p DictEdit<'p>,
    space: bool,
    punctuation: bool,
}

impl<'m> Writer<'_, 'm> {
    fn steps(&mut self, steps: &[Directive]) {
        for step in steps {
            self.step(step);
        }
    }

    fn step(&mut self, step: &Directive) {
        let module = self.printer.module();
        match step {
            Directive::Literal(text) => return self.literal(text),
            Directive::AttrDict => {
                let both;
                let hide = match self.edit.hide {
                    [] => self.steps.named.as_slice(),
                    more => {
                        both = [self.steps.named.as_slice(), more].concat();
                        &both
                    }
                };
                self.printer.edited_dict(self.op, &DictEdit { hide, ..*self.edit });
                self.punctuation = false;
                return;
            }
            Directive::Optional(part, steps) => {
                if self.is_present(*part) {
                    self.steps(steps);
                }
                return;
            }
            // The words around it say that it is there.
            Directive::Part(Part::Attr(slot)) if is_unit(module.row(self.op), *slot) => return,
            _ => {}
        }
        if self.space || !self.punctuation {
            self.printer.text(" ");
        }
        (self.space, self.punctuation) = (true, false);
        match step {
            Directive::Part(Part::Attr(slot)) => self.printer.slot(self.op, *slot),
            Directive::Part(Part::Operand(group)) => {
                self.printer.values(module.operand_group(self.op, *group))
            }
            Directive::Type(part) => {
                let values = self.values(*part);
                self.printer.types_of(values);
            }
            Directive::ShortType(part) => {
                let values = self.values(*part);
                self.printer.list(values, |p, &value| p.short_ty(module.ty(value)));
            }
            Directive::OperandTypes => self.printer.types_of(module.operands(self.op)),
            Directive::FunctionalType => self.printer.functional_type(self.op),
            _ => {}
        }
    }

    fn values(&self, part: Part) -> &'m [Value] {
        let module = self.printer.module();
        match part {
            Part::Operand(group) => module.operand_group(self.op, group),
            Part::Result(group) => module.result_group(self.op, group),
            Part::Attr(_) => &[],
        }
    }

    fn literal(&mut self, text: &str) {
        let first = text.as_bytes().first().copied().unwrap_or(b' ');
        let tight: &[u8] = if self.punctuation { b">)}]," } else { b"<>(){}[]," };
        if self.space && (text.len() > 1 || !tight.contains(&first)) {
            self.printer.text(" ");
        }
        self.printer.text(text);
        self.space = text.len() != 1 || !b"<({[".contains(&first);
        self.punctuation = first != b'_' && !first.is_ascii_alphabetic();
    }

    fn is_present(&self, part: Part) -> bool {
        let module = self.printer.module();
        match part {
            Part::Operand(_) | Part::Result(_) => !self.values(part).is_empty(),
            Part::Attr(slot) => {
                let default = module.row(self.op).attrs[slot].default_attr();
                module.attr(self.op, slot).is_some_and(|attr| default.as_ref() != Some(attr))
            }
        }
    }
}
