//! A block that a loop turns at its start and turns back at its end is carried as it is in between.
//!
//! ```text
//! scf.for … iter_args(%acc = %x) {                 %t = tt.trans %x
//!   %t = tt.trans %acc                             scf.for … iter_args(%acc = %t) {
//!   %d = tt.dot %b, %a, %t                   =>      %d = tt.dot %b, %a, %acc
//!   %y = tt.trans %d                                 scf.yield %d
//!   scf.yield %y                                   }
//! }                                                %r = tt.trans of the result
//! ```
//!
//! So a dot whose operands were exchanged adds up from iteration to iteration, like one that stands as it was written.

use crate::ops::control::{FOR, ForOp};
use crate::ops::shape::{TRANS, TransOp};
use ir::pass::PassRow;
use ir::{Builder, Diagnostic, Module, Op, Value};

/// Carries blocks as loops use them.
pub static CARRY_TRANSPOSED: PassRow = PassRow {
    name: "carry-transposed",
    doc: "Lets a loop carry a block transposed that it transposes at its start and transposes back at its end.",
    run,
};

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    // Inner loops first: what they carry may then be carried so by the loops around.
    for op in
        module.walk(module.top()).into_iter().rev().filter(|&op| module.is(op, &FOR)).collect::<Vec<_>>()
    {
        for number in 0..module.results(op).len() {
            carry(module, op, number);
        }
    }
    Ok(())
}

/// Carries the value of a number transposed, if the loop has no other use for it.
fn carry(module: &mut Module, op: Op, number: usize) {
    let body = ForOp::new(module, op).body();
    let arg = module.args(body)[number + 1];
    let users: Vec<Op> = module.uses(arg).iter().map(|use_| use_.0).collect();
    let order_of = |user: Op| TransOp::of(module, user).map(|trans| trans.order().to_vec());
    let Some(order) = users.first().and_then(|&user| order_of(user)) else { return };
    let last = module.terminator(body);
    let Some(back) = module.def_op(module.operand(last, number)) else { return };
    let turns_back = order_of(back).is_some_and(|back| is_inverse(&back, &order));
    if !turns_back || users.iter().any(|&user| order_of(user).as_ref() != Some(&order)) {
        return;
    }
    let (turned, back) = (TransOp::new(module, back).src(), TransOp::new(module, back).order().to_vec());
    let ty = module.ty(turned);
    let init = ForOp::new(module, op).inits()[number];
    let slot = module.operands(op).len() - module.results(op).len() + number;
    let new = trans(&mut Builder::before(module, op), init, &order);
    module.set_operand(op, slot, new);
    module.set_ty(arg, ty);
    for user in users {
        module.replace_uses(module.result(user, 0), arg);
        module.erase(user);
    }
    module.set_operand(last, number, turned);
    let result = module.result(op, number);
    module.set_ty(result, ty);
    let next = module.next(op).expect("a block ends with a terminator");
    let as_before = trans(&mut Builder::before(module, next), result, &back);
    let turn = module.def_op(as_before);
    module.replace_uses_if(result, as_before, |_, user, _| Some(user) != turn);
}

/// Whether one order undoes another.
fn is_inverse(one: &[i64], other: &[i64]) -> bool {
    one.len() == other.len() && one.iter().enumerate().all(|(at, &from)| other[from as usize] == at as i64)
}

fn trans(builder: &mut Builder<'_>, value: Value, order: &[i64]) -> Value {
    builder.build(&TRANS, &[value], &TransOp::attrs(order))
}
