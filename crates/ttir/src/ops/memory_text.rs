//! Text forms of loads and stores: where they stand in the caches is one attribute in the text, `cachePolicy`, and two
//! slots in the program. The older form, `cacheModifier = cg evictionPolicy = evict_first`, is read as well.

use super::descriptor;
use super::memory::{CACHE, EVICT, LOAD, STORE};
use ir::text::{DictEdit, ParseError, Parser, Printer};
use ir::{Attr, AttrKey, EnumRow, Module, Op, OpRow};
use std::sync::Arc;

/// Slots of the two attributes, the same in every row.
const SLOTS: [usize; 2] = [0, 1];
const KEY: &str = "cachePolicy";
const ATTR: &str = "tt.cache_policy";

pub(crate) fn print_load(printer: &mut Printer<'_>, op: Op) {
    print(printer, op, "$ptr (, $mask)? (, $other)? attr-dict : type($ptr)");
}

pub(crate) fn parse_load(parser: &mut Parser<'_>) -> Result<Op, ParseError> {
    parse(
        parser,
        &LOAD,
        "$ptr (, $mask)? (, $other)? (cacheModifier = $cacheModifier)? (evictionPolicy = $evictionPolicy)? attr-dict : type($ptr)",
    )
}

pub(crate) fn print_store(printer: &mut Printer<'_>, op: Op) {
    print(printer, op, "$ptr, $value (, $mask)? attr-dict : type($ptr)");
}

pub(crate) fn parse_store(parser: &mut Parser<'_>) -> Result<Op, ParseError> {
    parse(
        parser,
        &STORE,
        "$ptr, $value (, $mask)? (cacheModifier = $cacheModifier)? (evictionPolicy = $evictionPolicy)? attr-dict : type($ptr)",
    )
}

pub(crate) fn print_descriptor_load(printer: &mut Printer<'_>, op: Op) {
    print(printer, op, "$desc [ $indices ] attr-dict : type($desc) -> type($result)");
}

pub(crate) fn parse_descriptor_load(parser: &mut Parser<'_>) -> Result<Op, ParseError> {
    parse(
        parser,
        &descriptor::LOAD,
        "$desc [ $indices ] (cacheModifier = $cache)? (evictionPolicy = $evict)? attr-dict : type($desc) -> type($result)",
    )
}

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
    let keyword = |slot, row: &'static EnumRow| row.keyword(module.attr(op, slot)?.as_enum(row)?);
    let (cache, evict) = (keyword(SLOTS[0], &CACHE)?, keyword(SLOTS[1], &EVICT)?);
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
    let slots = slots(&attr).ok_or_else(|| {
        let what = format!("`{KEY}` must be #{ATTR}<cache_modifier = …, eviction_policy = …>");
        parser.error(what)
    })?;
    for (slot, value) in SLOTS.into_iter().zip(slots) {
        parser.module.set_attr(op, slot, Some(value));
    }
    parser.module.set_extra(op, AttrKey::unknown(KEY), None);
    Ok(op)
}

fn slots(attr: &Attr) -> Option<[Attr; 2]> {
    let Attr::Dialect { name, body } = attr else { return None };
    let (cache, evict) = body.split_once(',').filter(|_| **name == *ATTR)?;
    let case = |text: &str, key: &str, row: &'static EnumRow| {
        let (found, keyword) = text.split_once('=')?;
        let value = row.value(keyword.trim()).filter(|_| found.trim() == key)?;
        Some(Attr::Enum { row, value })
    };
    Some([case(cache, "cache_modifier", &CACHE)?, case(evict, "eviction_policy", &EVICT)?])
}
