//! Values that loops carry beside those that they were written with.

use ir::{Block, Module, Op, Value};
use ttir::ops::control::ForOp;

/// One more carried value; what it becomes is set later.
pub(crate) fn carry(module: &mut Module, op: Op, body: Block, init: Value) -> Value {
    let ty = module.ty(init);
    module.push_operand(op, init);
    module.push_result(op, ty);
    let arg = module.add_arg(body, ty);
    let last = module.terminator(body);
    module.push_operand(last, arg);
    arg
}

/// Sets what a carried value becomes.
pub(crate) fn yield_as(module: &mut Module, body: Block, arg: Value, next: Value) {
    let number = module.args(body).iter().position(|&own| own == arg).expect("an argument of the body") - 1;
    let last = module.terminator(body);
    module.set_operand(last, number, next);
}

/// One more value that every loop of a nest carries, from one run of an inner loop to the next; gives it as the
/// innermost has it. What it becomes is set later.
pub(crate) fn carry_through(module: &mut Module, loops: &[Op], init: Value) -> Value {
    let mut value = init;
    let mut args = Vec::new();
    for &op in loops {
        let body = ForOp::new(module, op).body();
        value = carry(module, op, body, value);
        args.push(value);
    }
    for (pair, &arg) in loops.windows(2).zip(&args) {
        let body = ForOp::new(module, pair[0]).body();
        let result = *module.results(pair[1]).last().expect("the value was added");
        yield_as(module, body, arg, result);
    }
    value
}
