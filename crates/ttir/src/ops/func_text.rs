//! Text forms of files and functions.

use super::func::{FUNC, MODULE, func_attr};
use ir::text::{Arg, ParseError, Parser, Printer, RegionStyle};
use ir::{Attr, Op, OpInit, Type, TypeKind};
use smallvec::SmallVec;

/// `attributes {…} { … }`.
pub(crate) fn print_module(printer: &mut Printer<'_>, op: Op) {
    printer.attr_dict_with_keyword(op, &[]);
    printer.text(" ");
    printer.region(printer.module().region(op, 0), RegionStyle::BODY);
}

pub(crate) fn parse_module(parser: &mut Parser<'_>) -> Result<Op, ParseError> {
    if parser.peek("@") {
        parser.parse_symbol()?;
    }
    let attrs = if parser.accept("attributes") { parser.parse_dict()? } else { Vec::new() };
    let op = parser.append(&MODULE, OpInit { regions: 1, ..OpInit::default() });
    parser.set_attrs(op, attrs)?;
    let region = parser.module.region(op, 0);
    parser.region(region, &[])?;
    Ok(op)
}

/// `public @name(%a: type {…}, …) -> type attributes {…} { … }`.
pub(crate) fn print_func(printer: &mut Printer<'_>, op: Op) {
    let module = printer.module();
    printer.text(" ");
    if let Some(Attr::Str(visibility)) = module.attr(op, func_attr::VISIBILITY) {
        printer.text(visibility);
        printer.text(" ");
    }
    let name = module.attr(op, func_attr::NAME).and_then(Attr::as_str).unwrap_or_default();
    printer.symbol(name);
    let region = module.region(op, 0);
    let entry = module.entry(region);
    printer.text("(");
    printer.list(0..module.args(entry).len(), |printer, index| printer.arg(entry, index));
    printer.text(")");
    if let Some(TypeKind::Function { results, .. }) = function_type(module.attr(op, func_attr::TYPE))
        && !results.is_empty()
    {
        printer.text(" -> ");
        printer.result_types(results);
    }
    printer.attr_dict_with_keyword(op, &[func_attr::NAME, func_attr::TYPE, func_attr::VISIBILITY]);
    printer.text(" ");
    printer.region(region, RegionStyle::BODY);
}

fn function_type(attr: Option<&Attr>) -> Option<&'static TypeKind> {
    match attr {
        Some(Attr::Type(ty)) => Some(ty.kind()),
        _ => None,
    }
}

pub(crate) fn parse_func(parser: &mut Parser<'_>) -> Result<Op, ParseError> {
    let visibility = ["public", "private", "nested"].into_iter().find(|word| parser.accept(word));
    let name = parser.parse_symbol()?;
    parser.expect("(")?;
    let args: Vec<Arg<'_>> = parser.list(")", Parser::arg)?;
    let results = if parser.accept("->") { parse_results(parser)? } else { Vec::new() };
    let attrs = if parser.accept("attributes") { parser.parse_dict()? } else { Vec::new() };
    let ty = Type::function(args.iter().map(|arg| arg.ty).collect(), results);
    let slots = [Some(Attr::Symbol(name)), Some(Attr::Type(ty)), visibility.map(Attr::str)];
    let init = OpInit { attrs: SmallVec::from_iter(slots), regions: 1, ..OpInit::default() };
    let op = parser.append(&FUNC, init);
    parser.set_attrs(op, attrs)?;
    let region = parser.module.region(op, 0);
    parser.region(region, &args)?;
    Ok(op)
}

/// One type, or several in parentheses, each with attributes that are not kept.
fn parse_results(parser: &mut Parser<'_>) -> Result<Vec<Type>, ParseError> {
    if !parser.accept("(") {
        return Ok(vec![parser.parse_type()?]);
    }
    parser.list(")", |parser| {
        let ty = parser.parse_type()?;
        parser.optional_attr_dict()?;
        Ok(ty)
    })
}
