//! Text forms of loads and stores: where they stand in the caches is one attribute in the text, `cachePolicy`, and two
//! slots in the program. The older form, `cacheModifier = cg evictionPolicy = evict_first`, is read as well.

use ir::text::{DictEdit, ParseError, Parser, Printer};
use ir::{Attr, AttrKey, AttrKind, EnumRow, Module, Op, OpRow};
use std::sync::Arc;

/// Slots of the two attributes, the same in every row.
const SLOTS: [usize; 2] = [0, 1];
const KEY: &str = "cachePolicy";
const ATTR: &str = "tt.cache_policy";

/// Writes an operation by directives, with slots 0 and 1 as one attribute, `cachePolicy`.
pub fn print(printer: &mut Printer<'_>, op: Op, directives: &'static str) {
    let policy: Vec<(&str, Attr)> =
        policy(printer.module(), op).into_iter().map(|attr| (KEY, attr)).collect();
    printer.directives(op, directives, &DictEdit { hide: &SLOTS, add: &policy });
}

/// The attribute, unless everything is at its default.
fn policy(module: &Module, op: Op) -> Option<Attr> {
    let row = module.row(op);
    if SLOTS.iter().all(|&slot| row.attrs[slot].default_attr().as_ref() == module.attr(op, slot)) {
        return None;
    }
    let [cache, evict] = SLOTS.map(|slot| {
        let cases = cases(row, slot)?;
        cases.keyword(module.attr(op, slot)?.as_enum(cases)?)
    });
    let (cache, evict) = (cache?, evict?);
    let body = format!("cache_modifier = {cache}, eviction_policy = {evict}");
    Some(Attr::Dialect { name: Arc::from(ATTR), body: Arc::from(body) })
}

/// Reads an operation by directives; `cachePolicy` fills slots 0 and 1.
///
/// # Errors
/// When something else stands here.
pub fn parse(
    parser: &mut Parser<'_>,
    row: &'static OpRow,
    directives: &'static str,
) -> Result<Op, ParseError> {
    let op = parser.directives(row, directives)?;
    let Some(attr) = parser.module.extra_attr(op, KEY).cloned() else { return Ok(op) };
    let slots = slots(row, &attr).ok_or_else(|| {
        let what = format!("`{KEY}` must be #{ATTR}<cache_modifier = …, eviction_policy = …>");
        parser.error(what)
    })?;
    for (slot, value) in SLOTS.into_iter().zip(slots) {
        parser.module.set_attr(op, slot, Some(value));
    }
    parser.module.set_extra(op, AttrKey::unknown(KEY), None);
    Ok(op)
}

/// The cases of an enumeration slot.
fn cases(row: &OpRow, slot: usize) -> Option<&'static EnumRow> {
    if let AttrKind::Enum(cases) = row.attrs[slot].kind { Some(cases) } else { None }
}

fn slots(row: &OpRow, attr: &Attr) -> Option<[Attr; 2]> {
    let Attr::Dialect { name, body } = attr else { return None };
    let (cache, evict) = body.split_once(',').filter(|_| **name == *ATTR)?;
    let case = |text: &str, key: &str, slot: usize| {
        let (found, keyword) = text.split_once('=')?;
        let row = cases(row, slot)?;
        let value = row.value(keyword.trim()).filter(|_| found.trim() == key)?;
        Some(Attr::Enum { row, value })
    };
    Some([case(cache, "cache_modifier", SLOTS[0])?, case(evict, "eviction_policy", SLOTS[1])?])
}
