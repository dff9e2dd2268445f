//! Two exponentials below a common maximum become one.
//!
//! ```text
//! %h = arith.maxnumf %a, %b                %h = arith.maxnumf %a, %b
//! %x = arith.subf %a, %h                   %lower = arith.cmpf une, %a, %h
//! %p = math.exp %x                   =>    %l = arith.select %lower, %a, %b
//! %y = arith.subf %b, %h                   %e = math.exp (%l - %h)
//! %q = math.exp %y                         %one = 1 + 0 · %h
//!                                          %p = arith.select %lower, %e, %one ; %q = arith.select %lower, %one, %e
//! ```
//!
//! One of the two is that of zero. This is what a running maximum and the sum of exponentials below it do for every
//! element of a block: half of the powers are saved. The results are the same: where `%h` is no number, or infinite,
//! the difference that is left out is NaN, and so is `%one`. Where a sum is rescaled by one and the other is added to
//! it, less is selected ([`sum`]).

mod sum;

use self::sum::Sum;
use crate::ops::arith_float::{ADDF, MULF, SUBF};
use crate::ops::compare::{CMPF, CmpFOp, CmpFPredicate, SELECT};
use crate::ops::constant;
use crate::ops::forms::BinaryOp;
use crate::ops::math::{EXP, EXP2};
use ir::pass::PassRow;
use ir::{Builder, Diagnostic, Module, Op, OpRow, Traits, Value};

/// Makes one exponential of two below a common maximum.
pub static SHARE_EXPONENTIALS: PassRow = PassRow {
    name: "share-exponentials",
    doc: "Makes one exponential of two whose arguments are below a common maximum.",
    run,
};

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    for op in module.walk(module.top()) {
        if module.has(op, Traits::MAXIMUM) {
            for row in [&EXP, &EXP2] {
                share(module, op, row);
            }
        }
    }
    Ok(())
}

/// Two exponentials below a common maximum.
struct Powers {
    /// The operation that makes the maximum, and its result.
    maximum: Op,
    highest: Value,
    /// What is below it.
    below: [Value; 2],
    /// The exponentials of how far.
    powers: [Op; 2],
    /// Their row.
    row: &'static OpRow,
}

fn share(module: &mut Module, maximum: Op, row: &'static OpRow) {
    let of = BinaryOp::new(module, maximum);
    let (a, b, highest) = (of.lhs(), of.rhs(), module.result(maximum, 0));
    let (Some(p), Some(q)) = (below(module, row, a, highest), below(module, row, b, highest)) else { return };
    if a == b || module.block_of(p) != module.block_of(q) {
        return;
    }
    let powers = Powers { maximum, highest, below: [a, b], powers: [p, q], row };
    match Sum::of(module, &powers) {
        Some(sum) => sum.share(module, &powers),
        None => select(module, &powers),
    }
}

/// Builds each exponential by a selection.
fn select(module: &mut Module, powers: &Powers) {
    let ([a, b], [p, q], highest) = (powers.below, powers.powers, powers.highest);
    let ty = module.ty(highest);
    let mut builder = Builder::before(module, first(module, p, q));
    let lower = builder.build(&CMPF, &[a, highest], &CmpFOp::attrs(CmpFPredicate::Une));
    let least = builder.build(&SELECT, &[lower, a, b], &[]);
    let difference = builder.build(&SUBF, &[least, highest], &[]);
    let power = builder.build(powers.row, &[difference], &[]);
    let (zero, unit) = (constant::float(&mut builder, ty, 0.0), constant::float(&mut builder, ty, 1.0));
    let nothing = builder.build(&MULF, &[highest, zero], &[]);
    let one = builder.build(&ADDF, &[nothing, unit], &[]);
    let of_a = builder.build(&SELECT, &[lower, power, one], &[]);
    let of_b = builder.build(&SELECT, &[lower, one, power], &[]);
    for (old, new) in [(p, of_a), (q, of_b)] {
        let result = module.result(old, 0);
        module.replace_uses(result, new);
        module.erase(old);
    }
}

/// The exponential of what a value is less than another.
fn below(module: &Module, row: &'static OpRow, value: Value, highest: Value) -> Option<Op> {
    let difference = |user: Op| {
        let operands = module.operands(user);
        (module.is(user, &SUBF) && operands == [value, highest]).then(|| module.result(user, 0))
    };
    let differences = module.uses(value).iter().filter_map(|&(user, _)| difference(user));
    let mut powers = differences.flat_map(|value| module.uses(value).iter().map(|&(user, _)| user));
    powers.find(|&user| module.is(user, row))
}

/// The one of two operations of a block that comes first.
fn first(module: &Module, one: Op, other: Op) -> Op {
    let mut before = std::iter::successors(module.prev(one), |&op| module.prev(op));
    if before.any(|op| op == other) { other } else { one }
}
