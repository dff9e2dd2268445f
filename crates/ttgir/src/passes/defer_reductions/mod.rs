//! Reductions that a loop carries stay private to each lane until the loop ends.
//!
//! ```text
//! %m = scf.for … iter_args(%a = %init) {           %p = scf.for … iter_args(%a = dense<NaN>) {
//!   %r = "tt.reduce"(%x) max                         %r = "tt.reduce"(%x as […, lanes, …]) max    // in a lane
//!   %n = arith.maxnumf %a, %r                  =>    %n = arith.maxnumf %a, %r
//!   scf.yield %n                                     scf.yield %n
//! }                                                }
//!                                                  %q = "tt.reduce"(%p) max
//!                                                  %m = arith.maxnumf %init, %q
//! ```
//!
//! The same for the running maximum and the sum of exponentials that is rescaled to it ([`online`]), and for a sum that
//! is rescaled to a maximum which all lanes know ([`scaled`]). Reductions leave their order open, so what is combined
//! is the same, in another order. Only where the carried value has no other use in the loop, and where lanes share the
//! reduced dimension: else there is nothing to save. A loop that carries nothing but such sums and maxima may then run
//! in any order, which [`reverse`] makes use of.

mod online;
mod private;
mod reverse;
mod running;
mod scaled;

use ir::pass::PassRow;
use ir::{Block, Def, Diagnostic, Module, Op, OpRow, Value};
use ttir::ops::control::{FOR, ForOp, yielded};

/// Keeps reductions that a loop carries private to lanes until the loop ends.
pub static DEFER_REDUCTIONS: PassRow = PassRow {
    name: "defer-reductions",
    doc: "Keeps reductions that a loop carries private to lanes until the loop ends.",
    run,
};

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    let loops: Vec<Op> = module.walk(module.top()).into_iter().filter(|&op| module.is(op, &FOR)).collect();
    let mut any_order = Vec::new();
    for around in loops.into_iter().rev() {
        let body = module.entry_of(around);
        let carried = |index| Carried { around, body, index };
        let count = module.results(around).len();
        let mut deferred = 0;
        for index in 0..count {
            if online::defer(module, carried(index)) {
                deferred += 2;
            } else if running::defer(module, carried(index)) {
                deferred += 1;
            }
        }
        // The order of its iterations matters.
        for index in 0..count {
            scaled::defer(module, carried(index));
        }
        if deferred > 0 && deferred == module.results(around).len() {
            any_order.push(around);
        }
    }
    reverse::reverse(module, &any_order);
    Ok(())
}

/// A value that a loop carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Carried {
    around: Op,
    body: Block,
    index: usize,
}

impl Carried {
    /// As the body sees it.
    fn arg(self, module: &Module) -> Value {
        module.args(self.body)[self.index + 1]
    }

    /// What it is at first.
    fn init(self, module: &Module) -> Value {
        ForOp::new(module, self.around).inits()[self.index]
    }

    /// What it is at last.
    fn result(self, module: &Module) -> Value {
        module.result(self.around, self.index)
    }

    /// What the body hands on.
    fn next(self, module: &Module) -> Value {
        yielded(module, self.body)[self.index]
    }

    /// Carries another value: what it is at first, and what the body hands on.
    fn replace(self, module: &mut Module, init: Value, next: Value) {
        let ty = module.ty(init);
        module.set_operand(self.around, ForOp::NUM_BOUNDS + self.index, init);
        let (arg, result) = (self.arg(module), self.result(module));
        module.set_ty(arg, ty);
        module.set_ty(result, ty);
        module.set_operand(module.terminator(self.body), self.index, next);
    }

    /// The operation of a row in the body that makes a value.
    fn made_by(self, module: &Module, value: Value, row: &'static OpRow) -> Option<Op> {
        let Def::Result(op, _) = module.def(value) else { return None };
        (module.is(op, row) && module.block_of(op) == Some(self.body)).then_some(op)
    }
}

/// The other of two operands.
fn other(module: &Module, op: Op, value: Value) -> Option<Value> {
    match module.operands(op) {
        [one, two] if *one == value && *two != value => Some(*two),
        [one, two] if *two == value && *one != value => Some(*one),
        _ => None,
    }
}

/// Whether a value has so many uses.
fn used(module: &Module, value: Value, times: usize) -> bool {
    module.uses(value).len() == times
}
