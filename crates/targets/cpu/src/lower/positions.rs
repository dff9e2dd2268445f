//! Indices that count positions: never below zero, whatever wraps around elsewhere.

use super::strides::DEPTH;
use ir::{Def, Module, Traits, Value};
use ttir::ops::control::ForOp;
use ttir::ops::forms::BinaryOp;
use ttir::ops::{arith_int, program, shape};

/// The most that the number of a program or an iteration is multiplied by, for its product to count as a position: what
/// is larger may be there to wrap around, as in random numbers.
const LARGEST_STEP: i64 = 1 << 16;

/// Whether a value is made of ranges, numbers of programs and iterations, products of these with small constants, and
/// sums.
pub(crate) fn is_position(module: &Module, value: Value) -> bool {
    is_position_within(module, value, DEPTH)
}

fn is_position_within(module: &Module, value: Value, depth: u32) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let is_one = |value: Value| is_position_within(module, value, depth);
    let op = match module.def(value) {
        Def::Result(op, _) => op,
        Def::Arg(block, _) => {
            let of = module.region_parent(module.block_region(block)).and_then(|op| ForOp::of(module, op));
            return of.is_some_and(|of| of.counter() == value && is_one(of.lower()));
        }
    };
    if let Some(number) = arith_int::int_value(module, value) {
        return (0..=i64::from(i32::MAX)).contains(&number);
    }
    let row = module.row(op);
    let is_small = |value: Value| {
        arith_int::int_value(module, value).is_some_and(|number| (0..=LARGEST_STEP).contains(&number))
    };
    if row.is(&shape::MAKE_RANGE) || row.is(&program::GET_PROGRAM_ID) {
        true
    } else if row.traits.has_any(Traits::VIEW.and(Traits::WIDENS)) || row.is(&shape::SPLAT) {
        module.operands(op).iter().all(|&operand| is_one(operand))
    } else if row.is(&arith_int::ADDI) {
        let two = BinaryOp::new(module, op);
        is_one(two.lhs()) && is_one(two.rhs())
    } else if row.is(&arith_int::MULI) {
        let two = BinaryOp::new(module, op);
        (is_one(two.lhs()) && is_small(two.rhs())) || (is_small(two.lhs()) && is_one(two.rhs()))
    } else {
        false
    }
}
