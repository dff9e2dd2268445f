//! Loops that may wait for what others write: now and then they ask whether the launch is to be given up.
//!
//! Such are `scf.while` with an atomic or a volatile load inside, and what waits by itself ([`Traits::WAITS`]). Left
//! out: `scf.for`, which ends by itself.

use super::emitter::Emitter;
use crate::abi::offsets;
use ir::{Module, Op, Traits};
use llir::{IntCompare, Type, Value};
use ttir::ops::access::AccessOp;
use ttir::ops::control::WhileOp;

/// Iterations from one question to the next, a power of two: a question takes some 20 ns, an atomic at least 5.
const ITERATIONS: i32 = 16;

/// Whether an operation reads memory that others may change meanwhile.
pub(super) fn may_spin(module: &Module, op: Op) -> bool {
    let mut accesses = module.walk(op).into_iter().filter_map(|inner| AccessOp::of(module, inner));
    accesses.any(|access| access.is_atomic() || access.volatile())
}

/// Whether programs may wait for what others write.
pub(crate) fn may_wait(module: &Module) -> bool {
    let waits = |op: Op| {
        module.has(op, Traits::WAITS) || WhileOp::of(module, op).is_some_and(|of| may_spin(module, of.op))
    };
    module.walk(module.top()).into_iter().any(waits)
}

impl Emitter<'_> {
    /// Ends an iteration of a loop that may spin; takes how many there were before, answers how many there are now.
    pub(super) fn end_spin(&mut self, iterations: Value) -> Value {
        let (one, low, zero) = (self.b.i32(1), self.b.i32(ITERATIONS - 1), self.b.i32(0));
        let iterations = self.b.add(iterations, one);
        let low = self.b.and(iterations, low);
        let is_due = self.b.icmp(IntCompare::Eq, low, zero);
        let due = self.b.begin_if(is_due);
        let poll = self.callback(offsets::POLL);
        let answer = self
            .b
            .call_indirect(poll, Type::I32, &[self.frame.context])
            .expect("a function that gives a number");
        let is_given_up = self.b.icmp(IntCompare::Ne, answer, zero);
        let given_up = self.b.begin_if(is_given_up);
        self.b.ret(Some(answer));
        self.b.end_if(given_up, &[]);
        self.b.end_if(due, &[]);
        iterations
    }
}
