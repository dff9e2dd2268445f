//! Text forms of control flow, functions and constants.

use ir::Op;
use ir::text::{ParseError, Parser, Printer};

pub(crate) fn print_select(_printer: &mut Printer<'_>, _op: Op) {}

pub(crate) fn parse_select(_parser: &mut Parser<'_>) -> Result<Op, ParseError> {
    unimplemented!()
}

pub(crate) fn print_constant(_printer: &mut Printer<'_>, _op: Op) {}

pub(crate) fn parse_constant(_parser: &mut Parser<'_>) -> Result<Op, ParseError> {
    unimplemented!()
}

pub(crate) fn print_for(_printer: &mut Printer<'_>, _op: Op) {}

pub(crate) fn parse_for(_parser: &mut Parser<'_>) -> Result<Op, ParseError> {
    unimplemented!()
}

pub(crate) fn print_if(_printer: &mut Printer<'_>, _op: Op) {}

pub(crate) fn parse_if(_parser: &mut Parser<'_>) -> Result<Op, ParseError> {
    unimplemented!()
}

pub(crate) fn print_while(_printer: &mut Printer<'_>, _op: Op) {}

pub(crate) fn parse_while(_parser: &mut Parser<'_>) -> Result<Op, ParseError> {
    unimplemented!()
}

pub(crate) fn print_condition(_printer: &mut Printer<'_>, _op: Op) {}

pub(crate) fn parse_condition(_parser: &mut Parser<'_>) -> Result<Op, ParseError> {
    unimplemented!()
}

pub(crate) fn print_module(_printer: &mut Printer<'_>, _op: Op) {}

pub(crate) fn parse_module(_parser: &mut Parser<'_>) -> Result<Op, ParseError> {
    unimplemented!()
}

pub(crate) fn print_func(_printer: &mut Printer<'_>, _op: Op) {}

pub(crate) fn parse_func(_parser: &mut Parser<'_>) -> Result<Op, ParseError> {
    unimplemented!()
}
