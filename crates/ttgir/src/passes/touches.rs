//! What operations of a kernel read and write of the device's memory, as far as the parameters show from which pointers
//! come.

use crate::ops::bulk::{BulkLoadOp, BulkWriteOp, TENSORMAP_ACQUIRE, TENSORMAP_CREATE};
use crate::roots::{Root, Roots, callee, effect, is_pointer, reachable};
use ir::{Effect, Module, Op, Traits};
use ttir::ops::access::AccessOp;
use ttir::ops::atomic::Sem;
use ttir::ops::descriptor::DescriptorAccessOp;
use ttir::ops::extern_call::{ExternElementwiseOp, InlineAsmOp};
use ttir::ops::func::FUNC;

/// Whether an operation accesses memory by a descriptor.
pub(super) fn is_by_descriptor(module: &Module, op: Op) -> bool {
    BulkLoadOp::of(module, op).is_some()
        || BulkWriteOp::of(module, op).is_some()
        || DescriptorAccessOp::of(module, op).is_some()
}

/// Memory that is read, and memory that is written.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Touches {
    pub(super) reads: Vec<Root>,
    pub(super) writes: Vec<Root>,
}

impl Touches {
    /// What an operation touches by ordinary accesses; what other programs wrote and it lets this one see counts as
    /// written.
    pub(super) fn ordinary(module: &Module, roots: &Roots, op: Op) -> Touches {
        let mut touches = Touches::own(module, roots, op);
        if acquires(module, op) {
            touches.writes.push(Root::Any);
        }
        touches
    }

    /// What an operation touches by ordinary accesses.
    pub(super) fn own(module: &Module, roots: &Roots, op: Op) -> Touches {
        let mut touches = Touches::default();
        if is_opaque(module, op) {
            touches.writes.push(Root::Any);
            touches.reads.push(Root::Any);
        }
        if [&TENSORMAP_CREATE, &TENSORMAP_ACQUIRE].iter().any(|row| module.is(op, row)) {
            return touches;
        }
        for group in 0..module.row(op).operands.len() {
            let effect = effect(module, op, group);
            if matches!(effect, Effect::Nothing) {
                continue;
            }
            let list = if matches!(effect, Effect::Read) { &mut touches.reads } else { &mut touches.writes };
            let pointers = module.operand_group(op, group).iter();
            for &pointer in pointers.filter(|&&value| is_pointer(module.ty(value))) {
                list.extend(roots.get(pointer).iter().filter(|&&root| root != Root::Own));
            }
        }
        touches
    }

    /// What an operation touches by a descriptor.
    pub(super) fn by_descriptor(module: &Module, roots: &Roots, op: Op) -> Touches {
        let mut touches = Touches::default();
        let loaded = BulkLoadOp::of(module, op).map(BulkLoadOp::desc);
        let stored = BulkWriteOp::of(module, op).map(BulkWriteOp::desc);
        let accessed = DescriptorAccessOp::of(module, op).map(DescriptorAccessOp::desc);
        let (is_read, is_written) = (module.row(op).reads(), module.row(op).writes());
        touches
            .reads
            .extend(loaded.or(accessed.filter(|_| is_read)).into_iter().flat_map(|desc| roots.get(desc)));
        touches
            .writes
            .extend(stored.or(accessed.filter(|_| is_written)).into_iter().flat_map(|desc| roots.get(desc)));
        touches
    }

    /// Adds what something else touches.
    pub(super) fn join(&mut self, other: &Touches) {
        let lists = [(&mut self.reads, &other.reads), (&mut self.writes, &other.writes)];
        for (own, more) in lists.into_iter().filter(|(_, more)| !more.is_empty()) {
            own.extend(more);
            own.sort_unstable();
            own.dedup();
        }
    }

    /// Whether it writes what something later reads or writes, or reads what that writes.
    pub(super) fn must_precede(&self, later: &Touches) -> bool {
        let meet = |one: &[Root], two: &[Root]| one.iter().any(|one| two.iter().any(|two| one.meets(*two)));
        meet(&self.writes, &later.reads)
            || meet(&self.writes, &later.writes)
            || meet(&self.reads, &later.writes)
    }
}

/// Whether a load reads what one of some operations may write, or sees what one of them lets this program see. What
/// instructions of the target do without a pointer is left out.
pub(super) fn reads_what_is_written(module: &Module, load: Op, ops: &[Op]) -> bool {
    // Most loops only load: then it does not matter from where pointers come.
    let ops: Vec<Op> = ops.iter().copied().filter(|&op| may_write(module, op)).collect();
    let mut functions = std::iter::successors(Some(load), |&op| module.parent_op(op));
    let Some(function) = functions.find(|&op| module.is(op, &FUNC)).filter(|_| !ops.is_empty()) else {
        return false;
    };
    let roots = Roots::of(module, function, &reachable(module, function));
    let mut written = Touches::default();
    for op in ops {
        written.join(&Touches::ordinary(module, &roots, op));
        written.join(&Touches::by_descriptor(module, &roots, op));
    }
    let mut own = Touches::by_descriptor(module, &roots, load);
    own.join(&Touches::ordinary(module, &roots, load));
    Touches { reads: Vec::new(), ..written }.must_precede(&own)
}

/// Whether an operation, without those in its regions, may write to the device's memory, or lets this program see what
/// others wrote. What instructions of the target do without a pointer is left out.
pub(super) fn may_write(module: &Module, op: Op) -> bool {
    let is_asm = InlineAsmOp::of(module, op).is_some() || ExternElementwiseOp::of(module, op).is_some();
    let shows = module.row(op).writes() && !is_asm
        || module.operands(op).iter().any(|&value| is_pointer(module.ty(value)));
    let anywhere = Roots::default();
    let writes = |touches: Touches| !touches.writes.is_empty();
    shows
        && (writes(Touches::ordinary(module, &anywhere, op))
            || writes(Touches::by_descriptor(module, &anywhere, op)))
}

/// The parameters through which a kernel writes; none where it may write elsewhere, or see what others write.
pub(crate) fn written_params(module: &Module, kernel: Op) -> Option<Vec<usize>> {
    let ops = reachable(module, kernel);
    let roots = Roots::of(module, kernel, &ops);
    let mut written = Touches::default();
    for op in ops {
        written.join(&Touches::ordinary(module, &roots, op));
        written.join(&Touches::by_descriptor(module, &roots, op));
    }
    let param = |root: Root| match root {
        Root::Param(slot) => Some(slot),
        Root::Own | Root::Any => None,
    };
    written.writes.into_iter().map(param).collect()
}

/// Whether an operation may do what its operands do not show.
fn is_opaque(module: &Module, op: Op) -> bool {
    let hides =
        |is_pure: bool| !is_pure || module.operands(op).iter().any(|&value| is_pointer(module.ty(value)));
    callee(module, op).is_some()
        || InlineAsmOp::of(module, op).is_some_and(|asm| hides(asm.pure()))
        || ExternElementwiseOp::of(module, op).is_some_and(|call| hides(call.pure()))
}

/// Whether what other programs wrote may be seen behind an operation that was not seen in front of it. Who does not
/// look at what an atomic gives learns nothing by it.
fn acquires(module: &Module, op: Op) -> bool {
    let Some(access) = AccessOp::of(module, op) else { return false };
    let looks =
        module.has(op, Traits::WAITS) || access.result().is_some_and(|result| !module.is_unused(result));
    looks && (access.volatile() || access.sem().is_some_and(Sem::acquires))
}
