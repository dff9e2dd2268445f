//! Text forms of control flow. Which rows they are of is said by who asks.

use ir::text::{Arg, ParseError, Parser, Printer, RegionStyle};
use ir::{Op, OpInit, OpRow, Type, Value};
use smallvec::SmallVec;

/// The rows of an operation with regions.
pub(crate) struct Rows {
    /// Its own.
    pub(crate) own: &'static OpRow,
    /// What ends its regions where the text leaves that out.
    pub(crate) end: &'static OpRow,
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

pub(crate) fn parse_for(parser: &mut Parser<'_>, rows: &Rows) -> Result<Op, ParseError> {
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
    let op = parser.append(rows.own, OpInit { operands, results, regions: 1, ..OpInit::default() });
    let region = parser.module.region(op, 0);
    parser.region(region, &args)?;
    parser.imply_terminator(region, rows.end);
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

pub(crate) fn parse_if(parser: &mut Parser<'_>, rows: &Rows) -> Result<Op, ParseError> {
    let condition = parser.operand()?;
    let results = if parser.accept("->") { parser.parse_result_types()? } else { Vec::new() };
    let init = OpInit {
        operands: SmallVec::from_slice(&[condition]),
        results: results.into(),
        regions: 2,
        ..OpInit::default()
    };
    let op = parser.append(rows.own, init);
    let then = parser.module.region(op, 0);
    parser.region(then, &[])?;
    parser.imply_terminator(then, rows.end);
    if parser.accept("else") {
        let otherwise = parser.module.region(op, 1);
        parser.region(otherwise, &[])?;
        parser.imply_terminator(otherwise, rows.end);
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

pub(crate) fn parse_while(parser: &mut Parser<'_>, rows: &Rows) -> Result<Op, ParseError> {
    let carried = if parser.accept("(") { parse_carried(parser)? } else { Vec::new() };
    parser.expect(":")?;
    let (params, results) = parser.parse_function_type()?;
    let operands: SmallVec<[Value; 4]> = carried.iter().map(|(_, value)| *value).collect();
    parser.check_types(&operands, &params)?;
    let args: Vec<Arg<'_>> = carried.iter().zip(&params).map(|((name, _), &ty)| Arg::new(name, ty)).collect();
    let op = parser
        .append(rows.own, OpInit { operands, results: results.into(), regions: 2, ..OpInit::default() });
    let [before, after] = [0, 1].map(|index| parser.module.region(op, index));
    parser.region(before, &args)?;
    parser.expect("do")?;
    parser.region(after, &[])?;
    parser.imply_terminator(after, rows.end);
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

pub(crate) fn parse_condition(parser: &mut Parser<'_>, row: &'static OpRow) -> Result<Op, ParseError> {
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
    let op = parser.append(row, OpInit { operands, ..OpInit::default() });
    parser.set_attrs(op, attrs)?;
    Ok(op)
}
