//! Text forms of control flow and constants.

use super::constant::{CONSTANT, attr_type};
use super::control::{CONDITION, FOR, IF, WHILE, YIELD};
use crate::types::is_tensor;
use ir::text::{Arg, ParseError, Parser, Printer, RegionStyle};
use ir::{Op, OpInit, Type, Value};
use smallvec::SmallVec;

// --- arith.select ---

/// `%condition, %a, %b : [condition type, ]type`: the condition's type is written when it is a tensor.
pub(crate) fn print_select(printer: &mut Printer<'_>, op: Op) {
    let module = printer.module();
    printer.text(" ");
    printer.values(module.operands(op));
    printer.attr_dict(op, &[]);
    printer.text(" : ");
    let condition = module.ty(module.operand(op, 0));
    if is_tensor(condition) {
        printer.ty(condition);
        printer.text(", ");
    }
    printer.ty(module.ty(module.result(op, 0)));
}

pub(crate) fn parse_select(parser: &mut Parser<'_>) -> Result<Op, ParseError> {
    let mut operands: SmallVec<[Value; 4]> = SmallVec::new();
    for separator in [",", ",", ""] {
        operands.push(parser.operand()?);
        parser.expect(separator)?;
    }
    let attrs = parser.optional_attr_dict()?;
    parser.expect(":")?;
    let mut types = parser.parse_types()?;
    if types.len() == 1 {
        types.insert(0, Type::int(1));
    }
    let [condition, ty] = types[..] else { return Err(parser.error("expected one or two types")) };
    parser.check_types(&operands, &[condition, ty, ty])?;
    let init = OpInit { operands, results: SmallVec::from_slice(&[ty]), ..OpInit::default() };
    let op = parser.append(&super::compare::SELECT, init);
    parser.set_attrs(op, attrs)?;
    Ok(op)
}

// --- arith.constant ---

/// `value`, which says its type.
pub(crate) fn print_constant(printer: &mut Printer<'_>, op: Op) {
    printer.attr_dict(op, &[0]);
    printer.text(" ");
    if let Some(attr) = printer.module().attr(op, 0) {
        printer.attr(attr);
    }
}

pub(crate) fn parse_constant(parser: &mut Parser<'_>) -> Result<Op, ParseError> {
    let attrs = parser.optional_attr_dict()?;
    let value = parser.parse_attr(None)?;
    let Some(ty) = attr_type(&value) else {
        return Err(parser.error("a constant is a number, a truth value or `dense<…>`"));
    };
    let init = OpInit {
        results: SmallVec::from_slice(&[ty]),
        attrs: SmallVec::from_iter([Some(value)]),
        ..OpInit::default()
    };
    let op = parser.append(&CONSTANT, init);
    parser.set_attrs(op, attrs)?;
    Ok(op)
}

// --- scf.for ---

/// `%i = %lower to %upper step %step iter_args(%x = %init) -> (type)  : i32 { … }`.
pub(crate) fn print_for(printer: &mut Printer<'_>, op: Op) {
    let module = printer.module();
    let region = module.region(op, 0);
    let args = module.args(module.entry(region));
    let operands = module.operands(op);
    printer.text(" ");
    printer.value(args[0]);
    printer.text(" = ");
    printer.value(operands[0]);
    printer.text(" to ");
    printer.value(operands[1]);
    printer.text(" step ");
    printer.value(operands[2]);
    if operands.len() > 3 {
        printer.text(" iter_args(");
        print_carried(printer, &args[1..], &operands[3..]);
        printer.text(") -> (");
        printer.types_of(&operands[3..]);
        printer.text(") ");
    }
    // The reference writes two blanks here when the counter is no `index`, which it never is.
    printer.text(if operands.len() > 3 { " : " } else { "  : " });
    printer.ty(module.ty(operands[0]));
    printer.text(" ");
    printer.region(region, RegionStyle { terminators: operands.len() > 3, ..RegionStyle::BODY });
    printer.attr_dict(op, &[]);
}

/// `%arg = %init, …`.
fn print_carried(printer: &mut Printer<'_>, args: &[Value], inits: &[Value]) {
    printer.list(args.iter().zip(inits), |printer, (&arg, &init)| {
        printer.value(arg);
        printer.text(" = ");
        printer.value(init);
    });
}

pub(crate) fn parse_for(parser: &mut Parser<'_>) -> Result<Op, ParseError> {
    let counter = parser.value_name()?;
    parser.expect("=")?;
    let mut operands: SmallVec<[Value; 4]> = SmallVec::new();
    operands.push(parser.operand()?);
    parser.expect("to")?;
    operands.push(parser.operand()?);
    parser.expect("step")?;
    operands.push(parser.operand()?);
    let mut args = vec![Arg::new(counter, Type::int(32))];
    let mut results = SmallVec::new();
    if parser.accept("iter_args") {
        parser.expect("(")?;
        let carried = parse_carried(parser)?;
        parser.expect("->")?;
        let types = parser.parse_result_types()?;
        let inits: Vec<Value> = carried.iter().map(|(_, value)| *value).collect();
        parser.check_types(&inits, &types)?;
        args.extend(carried.iter().zip(&types).map(|((name, _), &ty)| Arg::new(name, ty)));
        operands.extend(inits);
        results.extend(types);
    }
    let ty = if parser.accept(":") { parser.parse_type()? } else { Type::index() };
    parser.check_types(&operands[..3], &[ty; 3])?;
    args[0].ty = ty;
    let op = parser.append(&FOR, OpInit { operands, results, regions: 1, ..OpInit::default() });
    let region = parser.module.region(op, 0);
    parser.region(region, &args)?;
    parser.imply_terminator(region, &YIELD);
    let attrs = parser.optional_attr_dict()?;
    parser.set_attrs(op, attrs)?;
    Ok(op)
}

/// `%arg = %init, …)`.
fn parse_carried<'t>(parser: &mut Parser<'t>) -> Result<Vec<(&'t str, Value)>, ParseError> {
    parser.list(")", |parser| {
        let name = parser.value_name()?;
        parser.expect("=")?;
        Ok((name, parser.operand()?))
    })
}

// --- scf.if ---

/// `%condition -> (types) { … } else { … }`.
pub(crate) fn print_if(printer: &mut Printer<'_>, op: Op) {
    let module = printer.module();
    printer.text(" ");
    printer.values(module.operands(op));
    let results = module.results(op);
    if !results.is_empty() {
        printer.text(" -> (");
        printer.types_of(results);
        printer.text(")");
    }
    let style = RegionStyle { terminators: !results.is_empty(), ..RegionStyle::BODY };
    printer.text(" ");
    printer.region(module.region(op, 0), style);
    if !module.blocks(module.region(op, 1)).is_empty() {
        printer.text(" else ");
        printer.region(module.region(op, 1), style);
    }
    printer.attr_dict(op, &[]);
}

pub(crate) fn parse_if(parser: &mut Parser<'_>) -> Result<Op, ParseError> {
    let condition = parser.operand()?;
    let results = if parser.accept("->") { parser.parse_result_types()? } else { Vec::new() };
    let init = OpInit {
        operands: SmallVec::from_slice(&[condition]),
        results: results.into(),
        regions: 2,
        ..OpInit::default()
    };
    let op = parser.append(&IF, init);
    let then = parser.module.region(op, 0);
    parser.region(then, &[])?;
    parser.imply_terminator(then, &YIELD);
    if parser.accept("else") {
        let otherwise = parser.module.region(op, 1);
        parser.region(otherwise, &[])?;
        parser.imply_terminator(otherwise, &YIELD);
    }
    let attrs = parser.optional_attr_dict()?;
    parser.set_attrs(op, attrs)?;
    Ok(op)
}

// --- scf.while ---

/// `(%x = %init) : (types) -> types { … } do { ^bb0(%y: type): … }`.
pub(crate) fn print_while(printer: &mut Printer<'_>, op: Op) {
    let module = printer.module();
    let before = module.region(op, 0);
    printer.text(" ");
    if !module.operands(op).is_empty() {
        printer.text("(");
        print_carried(printer, module.args(module.entry(before)), module.operands(op));
        printer.text(") ");
    }
    printer.text(": ");
    printer.functional_type(op);
    printer.text(" ");
    printer.region(before, RegionStyle::BODY);
    printer.text(" do ");
    printer.region(module.region(op, 1), RegionStyle::FULL);
    if !module.extra(op).is_empty() {
        printer.attr_dict_with_keyword(op, &[]);
    }
}

pub(crate) fn parse_while(parser: &mut Parser<'_>) -> Result<Op, ParseError> {
    let carried = if parser.accept("(") { parse_carried(parser)? } else { Vec::new() };
    parser.expect(":")?;
    let (params, results) = parser.parse_function_type()?;
    let operands: SmallVec<[Value; 4]> = carried.iter().map(|(_, value)| *value).collect();
    parser.check_types(&operands, &params)?;
    let args: Vec<Arg<'_>> = carried.iter().zip(&params).map(|((name, _), &ty)| Arg::new(name, ty)).collect();
    let op =
        parser.append(&WHILE, OpInit { operands, results: results.into(), regions: 2, ..OpInit::default() });
    let [before, after] = [0, 1].map(|index| parser.module.region(op, index));
    parser.region(before, &args)?;
    parser.expect("do")?;
    parser.region(after, &[])?;
    parser.imply_terminator(after, &YIELD);
    if parser.accept("attributes") {
        let attrs = parser.parse_dict()?;
        parser.set_attrs(op, attrs)?;
    }
    Ok(op)
}

// --- scf.condition ---

/// `(%condition) %a, %b : types`.
pub(crate) fn print_condition(printer: &mut Printer<'_>, op: Op) {
    let operands = printer.module().operands(op);
    let (condition, args) = operands.split_at(1.min(operands.len()));
    printer.text("(");
    printer.values(condition);
    printer.text(")");
    printer.attr_dict(op, &[]);
    if !args.is_empty() {
        printer.text(" ");
        printer.values(args);
        printer.text(" : ");
        printer.types_of(args);
    }
}

pub(crate) fn parse_condition(parser: &mut Parser<'_>) -> Result<Op, ParseError> {
    parser.expect("(")?;
    let mut operands: SmallVec<[Value; 4]> = SmallVec::from_slice(&[parser.operand()?]);
    parser.expect(")")?;
    let attrs = parser.optional_attr_dict()?;
    let args = parser.operands()?;
    if !args.is_empty() {
        parser.expect(":")?;
        let types = parser.parse_types()?;
        parser.check_types(&args, &types)?;
        operands.extend(args);
    }
    let op = parser.append(&CONDITION, OpInit { operands, ..OpInit::default() });
    parser.set_attrs(op, attrs)?;
    Ok(op)
}
