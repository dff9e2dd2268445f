//! Which rule says what is known of the result of which operation. Operations without a rule make values of which nothing
//! is known.

use super::{AxisInfo, AxisTable, arithmetic, spread};
use crate::ops::{arith_cast, arith_int, compare, constant, memory, program, shape};
use ir::{Module, Op, OpRow};

/// What is known of the (first) result of an operation; `None` for nothing.
pub(crate) type Rule = fn(&Module, Op, &AxisTable) -> Option<AxisInfo>;

static RULES: &[(&OpRow, Rule)] = &[
    (&constant::CONSTANT, spread::constant),
    (&shape::MAKE_RANGE, spread::make_range),
    (&shape::SPLAT, spread::splat),
    (&shape::UNSPLAT, spread::unsplat),
    (&shape::EXPAND_DIMS, spread::expand_dims),
    (&shape::BROADCAST, spread::broadcast),
    (&shape::TRANS, spread::trans),
    (&shape::RESHAPE, spread::reshape),
    (&memory::LOAD, spread::load),
    (&program::GET_PROGRAM_ID, spread::in_grid),
    (&program::GET_NUM_PROGRAMS, spread::in_grid),
    (&arith_int::ADDI, arithmetic::add),
    (&arith_int::SUBI, arithmetic::sub),
    (&memory::ADDPTR, arithmetic::addptr),
    (&arith_int::MULI, arithmetic::mul),
    (&arith_int::DIVSI, arithmetic::div_signed),
    (&arith_int::DIVUI, arithmetic::div_unsigned),
    (&arith_int::REMSI, arithmetic::rem_signed),
    (&arith_int::REMUI, arithmetic::rem_unsigned),
    (&arith_int::SHLI, arithmetic::shift_left),
    (&arith_int::SHRSI, arithmetic::shift_right),
    (&arith_int::SHRUI, arithmetic::shift_right),
    (&arith_int::ANDI, arithmetic::and),
    (&arith_int::ORI, arithmetic::bitwise),
    (&arith_int::XORI, arithmetic::bitwise),
    (&arith_int::MAXSI, arithmetic::max_signed),
    (&arith_int::MINSI, arithmetic::min_signed),
    (&arith_int::MAXUI, arithmetic::extremum),
    (&arith_int::MINUI, arithmetic::extremum),
    (&compare::CMPI, arithmetic::compare),
    (&compare::SELECT, arithmetic::select),
    (&arith_cast::EXTSI, arithmetic::extend_signed),
    (&arith_cast::EXTUI, arithmetic::extend_unsigned),
    (&arith_cast::TRUNCI, arithmetic::truncate),
    (&arith_cast::TT_BITCAST, arithmetic::bitcast),
    (&arith_cast::PTR_TO_INT, arithmetic::pointer_to_int),
    (&arith_cast::INT_TO_PTR, arithmetic::int_to_pointer),
];

/// The rule of an operation.
pub(crate) fn rule(row: &OpRow) -> Option<Rule> {
    RULES.iter().find(|(own, _)| own.is(row)).map(|(_, rule)| *rule)
}
