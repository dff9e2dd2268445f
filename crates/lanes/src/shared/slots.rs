//! Which buffer of a ring an operation touches, counted from the iteration that a loop is in.
//!
//! ```text
//! scf.for … iter_args(%c = -1) {
//!   %n = %c + 1
//!   %i = %n >= 5 ? 0 : %n
//!   %m = ttg.memdesc_index %ring[%i]      // iteration i touches buffer i % 5: phase 0
//!   scf.yield %i
//! }
//! ```
//!
//! Two touches of a ring meet where their phases are equal; from one iteration to the next a phase gets one less.

use super::buffers::Buffers;
use ir::{Def, Module, Op, Value};
use ttgir::ops::group_dot::WarpGroupDotWaitOp;
use ttgir::ops::shared::{AllocOp, MemdescIndexOp, MemdescTransOp};
use ttgir::types::memdesc;
use ttir::ops::arith_int::{ADDI, int_value};
use ttir::ops::compare::{CmpIOp, CmpIPredicate, SelectOp};
use ttir::ops::control::ForOp;
use ttir::ops::forms::BinaryOp;

/// Iteration `i` of a loop touches buffer `(i + phase) % depth` of a ring.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Slot {
    around: Op,
    buffer: usize,
    depth: u32,
    phase: u32,
}

impl Slot {
    /// That of a memory descriptor, if it is one buffer of a ring through which a loop counts.
    pub(super) fn of(module: &Module, buffers: &Buffers, view: Value) -> Option<Slot> {
        let index = index_of(module, view)?;
        let alloc = AllocOp::of(module, module.def_op(index.src())?)?;
        let depth = u32::try_from(*memdesc(module.ty(index.src()))?.shape.first()?).ok()?;
        let counted = Counted::of(module, index.index())?;
        let buffer = *buffers.of_op.get(&alloc.op)?;
        (counted.depth == depth).then_some(Slot {
            around: counted.around,
            buffer,
            depth,
            phase: counted.phase,
        })
    }

    /// Whether two touches of the same iteration are known to be of two buffers of one ring.
    pub(super) fn differs(self, other: Slot) -> bool {
        self.phase != other.phase && Slot { phase: self.phase, ..other } == self
    }

    /// The same, counted from the next iteration of a loop.
    pub(super) fn in_next_iteration(self, around: Op) -> Slot {
        let back = if self.around == around { self.depth - 1 } else { 0 };
        Slot { phase: (self.phase + back) % self.depth, ..self }
    }

    /// The same behind a loop.
    pub(super) fn behind(self, around: Op) -> Option<Slot> {
        (self.around != around).then_some(self)
    }
}

/// The choice of a buffer that a memory descriptor is a view of, all of it.
fn index_of(module: &Module, view: Value) -> Option<MemdescIndexOp<'_>> {
    let mut view = view;
    loop {
        let Def::Result(op, number) = module.def(view) else { return None };
        if let Some(index) = MemdescIndexOp::of(module, op) {
            return Some(index);
        }
        // A wait hands on each operand as the result of the same number.
        let wait = WarpGroupDotWaitOp::of(module, op).map(|wait| wait.inputs()[number as usize]);
        view = wait.or_else(|| MemdescTransOp::of(module, op).map(MemdescTransOp::src))?;
    }
}

/// A number that is `(i + phase) % depth` in iteration `i` of a loop.
struct Counted {
    around: Op,
    depth: u32,
    phase: u32,
}

impl Counted {
    /// The number of this iteration, or the carried one of the iteration before.
    fn of(module: &Module, number: Value) -> Option<Counted> {
        match module.def(number) {
            Def::Result(op, _) => {
                let (arg, depth) = next_of(SelectOp::of(module, op)?)?;
                let (around, first, yielded) = carried(module, arg)?;
                let phase = u32::try_from(first + 1).ok().filter(|&phase| phase < depth)?;
                (yielded == number).then_some(Counted { around, depth, phase })
            }
            Def::Arg(..) => {
                let (around, first, yielded) = carried(module, number)?;
                let (arg, depth) = next_of(SelectOp::of(module, module.def_op(yielded)?)?)?;
                let phase = u32::try_from(first).ok().filter(|&phase| phase < depth)?;
                (arg == number).then_some(Counted { around, depth, phase })
            }
        }
    }
}

/// What a choice counts on from, and where it begins again: `%n >= depth ? 0 : %n` of `%n = %arg + 1`.
fn next_of(select: SelectOp<'_>) -> Option<(Value, u32)> {
    let module = select.module;
    let is_over = CmpIOp::of(module, module.def_op(select.condition())?)?;
    let next = select.false_value();
    let fits = is_over.predicate() == CmpIPredicate::Sge
        && is_over.lhs() == next
        && int_value(module, select.true_value()) == Some(0);
    let sum = module.def_op(next).filter(|&op| fits && module.is(op, &ADDI))?;
    let sum = BinaryOp::new(module, sum);
    let depth = u32::try_from(int_value(module, is_over.rhs())?).ok()?;
    (int_value(module, sum.rhs()) == Some(1)).then_some((sum.lhs(), depth))
}

/// The loop that carries an argument, the constant that it begins with, and what is handed to the next iteration.
fn carried(module: &Module, arg: Value) -> Option<(Op, i64, Value)> {
    let Def::Arg(block, number) = module.def(arg) else { return None };
    let around = ForOp::of(module, module.parent_op(module.last_op(block)?)?)?;
    let at = (number as usize).checked_sub(1)?;
    let first = int_value(module, *around.inits().get(at)?)?;
    Some((around.op, first, around.yielded()[at]))
}
