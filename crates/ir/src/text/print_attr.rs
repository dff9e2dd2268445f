//! Prints attributes.

use crate::attr_data::DialectAttr;
use crate::entity::Op;
use crate::module::row::{AttrKind, OpRow};
use crate::text::number::write_float;
use crate::text::print::DictEdit;
use crate::text::print::Printer;
use crate::types::Type;
use crate::types::attr::{Attr, Elements};
use std::fmt::Write;

impl Printer<'_> {
    /// Writes a name, in quotes where needed.
    pub(super) fn bare_word(&mut self, name: &str) {
        if is_bare_word(name) { self.text(name) } else { self.string(name) }
    }

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
            Attr::Own(own) => self.own_attr(own),
            Attr::Dialect { name, body } => {
                // A dialect of this build writes its attributes where they stand.
                let own = name.split('.').next().is_some_and(|dialect| self.knows_dialect(dialect));
                if own {
                    self.text("#");
                    self.text(name);
                    if !body.is_empty() {
                        self.text("<");
                        self.text(body);
                        self.text(">");
                    }
                } else if self.collecting {
                    self.aliases.visit_attr(name, body);
                } else if let Some(alias) = self.aliases.attr_name(name, body) {
                    let _ = write!(self.out, "#{alias}");
                } else {
                    self.aliases.write_attr_body(&mut self.out, name, body);
                }
            }
        }
    }

    /// Writes an attribute of a dialect, by alias if it has one.
    fn own_attr(&mut self, own: &DialectAttr) {
        let Some(word) = own.alias() else { return self.own_in_full(own) };
        if !self.collecting {
            return match self.aliases.own_name(own) {
                Some(alias) => _ = write!(self.out, "#{alias}"),
                None => self.own_in_full(own),
            };
        }
        if self.aliases.open_own(own, word) {
            own.print(self);
            self.aliases.close_own();
        }
    }

    /// Writes an attribute of a dialect in full; those inside it are written by alias.
    pub(super) fn own_in_full(&mut self, own: &DialectAttr) {
        self.text("#");
        self.text(own.name());
        own.print(self);
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
        self.bare_word(name);
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
            (Attr::DenseArray { elem, values }, _) => {
                self.list(values.iter(), |p, &value| p.number(*elem, value as u64));
            }
            (attr, _) => self.attr_value(attr),
        }
    }

    /// Writes ` {name = value, …}` with the slots that `hide` does not list and that are not at their default, and
    /// everything beyond the slots; nothing if there is nothing.
    pub fn attr_dict(&mut self, op: Op, hide: &[usize]) {
        self.edited_dict(op, &DictEdit { hide, add: &[] });
    }

    /// Writes ` attributes {name = value, …}`, or nothing.
    pub fn attr_dict_with_keyword(&mut self, op: Op, hide: &[usize]) {
        self.dict_with_prefix(op, &DictEdit { hide, add: &[] }, " attributes ");
    }

    pub(super) fn edited_dict(&mut self, op: Op, edit: &DictEdit<'_>) {
        self.dict_with_prefix(op, edit, " ");
    }

    fn dict_with_prefix(&mut self, op: Op, edit: &DictEdit<'_>, prefix: &str) {
        let module = self.module();
        let slots = module.attrs(op).iter().zip(module.row(op).attrs).enumerate();
        let mut entries: Vec<(&str, &Attr)> = slots
            .filter(|(slot, _)| !edit.hide.contains(slot))
            .filter_map(|(_, (attr, spec))| {
                let attr = attr.as_ref()?;
                (spec.default_attr().as_ref() != Some(attr)).then_some((spec.name, attr))
            })
            .collect();
        entries.extend(edit.add.iter().map(|(name, attr)| (*name, attr)));
        entries.extend(module.extra(op).iter().map(|(key, attr)| (key.name(), attr)));
        entries.sort_by_key(|entry| entry.0);
        if !entries.is_empty() {
            self.text(prefix);
            self.dict(&entries);
        }
    }

    pub(super) fn dict(&mut self, entries: &[(&str, &Attr)]) {
        self.text("{");
        self.list(entries, |p, (name, attr)| p.named_attr(name, attr));
        self.text("}");
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
fn is_bare_word(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|c| c.is_ascii_alphabetic() || c == b'_')
        && bytes.all(|c| c.is_ascii_alphanumeric() || b"_$.".contains(&c))
}
