//! Where all lanes must wait for each other: between two accesses to the same bytes of which one writes.
//!
//! The walk keeps what was read and written since the last barrier. An operation whose accesses conflict with that gets
//! a barrier in front. A loop is walked until what its end leaves behind is known at its beginning. An asynchronous
//! copy writes at some time before the wait for it, and each lane waits for its own copies only: what the copies wrote
//! is taken as written at the wait, so that who reads it next waits for all lanes. Of a ring of buffers that a loop
//! goes through, only those meet that are the same one ([`super::slots`]).
//!
//! What other blocks of a cluster read may be written again, and a block may end, only behind a barrier of the cluster.
//!
//! Bulk copies write past the ordinary accesses: what a lane has begun to read may still be on its way to its registers
//! when it arrives at a barrier, and a bulk copy that begins behind that overwrites it (seen on an H200: `ldmatrix` in
//! front of `bar.sync`, its use behind). So a fence stands in front of such a barrier, and in front of what tells
//! another warp that a buffer is free.
//!
//! Device memory that a program both loads and stores is kept in order by the same barriers ([`super::device`]).

use super::buffers::Buffers;
use super::device::{Device, Touch};
use super::slots::Slot;
use super::touched::{Accesses, Late, Span, State, add};
use super::{Barrier, Order};
use ir::{Block, Effect, Module, Op, Traits, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use ttgir::ops::async_copy::AsyncWaitOp;
use ttgir::ops::barrier::{ARRIVE_BARRIER, FENCE_ASYNC_SHARED, INIT_BARRIER, INVAL_BARRIER};
use ttgir::ops::group_dot::{WARP_GROUP_DOT_WAIT, WarpGroupDotOp, WarpGroupDotWaitOp};
use ttgir::ops::roles::WARP_SPECIALIZE;
use ttgir::roots::{callee, reachable};
use ttgir::types::memdesc;
use ttir::ops::access::AccessOp;
use ttir::ops::atomic::Sem;
use ttir::ops::control::{IF, WHILE};
use ttir::ops::memory::BARRIER;

/// Whether an operation is another view of memory.
fn is_view(module: &Module, op: Op) -> bool {
    module.results(op).iter().any(|&result| memdesc(module.ty(result)).is_some())
}

/// An operation with what it touches before its own first barrier, and after its last if it has any.
struct Step {
    op: Op,
    before: Accesses,
    after: Option<Accesses>,
}

/// Where lanes wait for each other.
#[derive(Default)]
pub(super) struct Waits {
    /// The operations that need a barrier in front.
    pub(super) barriers: FxHashMap<Op, Barrier>,
    /// The operations that need a fence in front, and in front of their barrier if they have one.
    pub(super) fences: FxHashSet<Op>,
    /// Whether other blocks may still read when a block is at its end.
    pub(super) read_at_end: bool,
}

/// Where lanes must wait for each other. `program` is the barrier of all lanes of the program.
pub(super) fn insert(
    module: &Module,
    kernel: Op,
    (buffers, offsets): (&Buffers, &[u32]),
    program: Barrier,
) -> Waits {
    let device = Device::of(module, kernel, &reachable(module, kernel));
    let is_needed = !buffers.list.is_empty() || device.is_written();
    let mut walk = Walk::new(module, (buffers, offsets), device, program);
    let mut state = State::default();
    if is_needed {
        walk.block(module.entry_of(kernel), &mut state);
    }
    Waits { barriers: walk.barriers, fences: walk.fences, read_at_end: !state.remote.is_empty() }
}

/// Whether device memory needs barriers of its own: other than those that the program asks for.
pub(super) fn orders_device(module: &Module, kernel: Op, program: Barrier) -> bool {
    let device = Device::of(module, kernel, &reachable(module, kernel));
    if !device.is_written() {
        return false;
    }
    let buffers = Buffers::default();
    let mut walk = Walk::new(module, (&buffers, &[]), device, program);
    walk.block(module.entry_of(kernel), &mut State::default());
    !walk.barriers.is_empty()
}

/// Whether all lanes of the program wait for each other in front of what an operation does.
fn waits_itself(module: &Module, op: Op) -> bool {
    let order = AccessOp::of(module, op).and_then(AccessOp::sem);
    module.is(op, &BARRIER) || order.is_some_and(Sem::releases)
}

struct Walk<'a> {
    module: &'a Module,
    buffers: &'a Buffers,
    offsets: &'a [u32],
    device: Device,
    program: Barrier,
    barriers: FxHashMap<Op, Barrier>,
    fences: FxHashSet<Op>,
    /// The operations of blocks that matter here, in order: blocks of loops are walked several times.
    steps: FxHashMap<Block, Rc<[Step]>>,
    /// Functions around; one that calls itself is refused where calls are lowered.
    calls: Vec<Op>,
}

impl<'a> Walk<'a> {
    fn new(
        module: &'a Module,
        (buffers, offsets): (&'a Buffers, &'a [u32]),
        device: Device,
        program: Barrier,
    ) -> Walk<'a> {
        Walk {
            module,
            buffers,
            offsets,
            device,
            program,
            barriers: FxHashMap::default(),
            fences: FxHashSet::default(),
            steps: FxHashMap::default(),
            calls: Vec::new(),
        }
    }

    fn block(&mut self, block: Block, state: &mut State) {
        let steps = match self.steps.get(&block) {
            Some(steps) => steps.clone(),
            None => {
                let steps: Rc<[Step]> = self.module.ops(block).filter_map(|op| self.step(op)).collect();
                self.steps.insert(block, steps.clone());
                steps
            }
        };
        for step in steps.iter() {
            self.walk(step, state);
        }
    }

    /// `None` for an operation that touches nothing and waits for nothing.
    fn step(&self, op: Op) -> Option<Step> {
        let (module, buffers) = (self.module, self.buffers);
        let computes = module.has(op, Traits::PURE) && module.regions(op).is_empty();
        let mut operands = module.operands(op).iter();
        let is_shared =
            buffers.of_op.contains_key(&op) || operands.any(|operand| buffers.views.contains_key(operand));
        if computes && !is_shared {
            return None;
        }
        let (mut before, after) = self.accesses(op);
        before.device = self.touches(op);
        Some(Step { op, before, after })
    }

    fn walk(&mut self, step: &Step, state: &mut State) {
        let (module, op) = (self.module, step.op);
        if let Some(callee) = callee(module, op) {
            if !self.calls.contains(&callee) {
                self.calls.push(callee);
                self.block(module.entry_of(callee), state);
                self.calls.pop();
            }
        } else if module.has(op, Traits::LOOP) {
            self.a_loop(op, state);
        } else if module.is(op, &IF) {
            let before = state.clone();
            let mut after = if module.regions(op).len() < 2 { before.clone() } else { State::default() };
            for &region in module.regions(op) {
                let mut branch = before.clone();
                let blocks = module.blocks(region);
                blocks.iter().for_each(|&block| self.block(block, &mut branch));
                after.join(&branch);
            }
            *state = after;
        } else if module.is(op, &WARP_SPECIALIZE) {
            self.roles(step, state);
        } else {
            self.plain(step, state);
        }
    }

    /// Regions that run at the same time, between two barriers of all warps. A barrier in one of them orders its own
    /// warps alone, and what two of them touch they order by barriers in memory.
    fn roles(&mut self, step: &Step, state: &mut State) {
        let op = step.op;
        // The warps that begin bulk copies know nothing of what others read before.
        if !std::mem::take(&mut state.unfenced).is_empty() {
            self.fences.insert(op);
        }
        if let Some(barrier) = self.barriers.get(&op) {
            state.wait(*barrier, self.program);
        }
        if let Some(barrier) = state.conflicts(self.module, &step.before, self.program) {
            self.barriers.insert(op, barrier);
        }
        state.wait(Barrier::Block, self.program);
        let module = self.module;
        let mut ends = state.clone();
        for (number, &region) in module.regions(op).iter().enumerate() {
            let mut own = if number == 0 { state.clone() } else { State::default() };
            self.block(module.entry(region), &mut own);
            if number == 0 { ends = own } else { ends.join(&own) }
        }
        ends.wait(Barrier::Block, self.program);
        *state = ends;
    }

    /// A conflict with what was touched before the loop gets a barrier in front of the loop, not one in each iteration.
    fn a_loop(&mut self, op: Op, state: &mut State) {
        if self.fences.contains(&op) {
            state.unfenced.clear();
        }
        if let Some(&known) = self.barriers.get(&op) {
            state.wait(known, self.program);
        }
        let barrier = state.strongest(self.program);
        let mut waited = state.clone();
        waited.unfenced.clear();
        waited.wait(barrier, self.program);
        if waited == *state {
            self.iterations(op, state);
            return;
        }
        let mut after = waited.clone();
        self.iterations(op, &mut after);
        let inside = (self.barriers.clone(), self.fences.clone());
        let mut plain = state.clone();
        self.iterations(op, &mut plain);
        if self.barriers == inside.0 && self.fences == inside.1 {
            *state = plain;
            return;
        }
        (self.barriers, self.fences) = inside;
        self.barriers.insert(op, barrier);
        if !state.unfenced.is_empty() {
            self.fences.insert(op);
        }
        *state = after;
    }

    /// Walks a loop until what its end leaves behind is known at its beginning.
    fn iterations(&mut self, op: Op, state: &mut State) {
        let module = self.module;
        let mut entry = state.clone();
        loop {
            let mut end = entry.clone();
            let mut leaves = None;
            for &region in module.regions(op) {
                module.blocks(region).iter().for_each(|&block| self.block(block, &mut end));
                leaves.get_or_insert_with(|| end.clone());
            }
            let mut next = entry.clone();
            let mut aged = end.clone();
            aged.age(module, op);
            next.join(&aged);
            if next == entry {
                // A `for` may run no time at all; a `while` runs its first region at least once.
                *state = if module.is(op, &WHILE) { leaves.unwrap_or(end) } else { next };
                state.leave(op);
                return;
            }
            entry = next;
        }
    }

    fn plain(&mut self, step: &Step, state: &mut State) {
        let Step { op, before, after } = step;
        let op = *op;
        let own = waits_itself(self.module, op).then_some(Barrier::Cluster);
        let tells = self.module.is(op, &ARRIVE_BARRIER) && !state.unfenced.is_empty();
        if tells || state.lacks_fence(before) {
            self.fences.insert(op);
        }
        if self.fences.contains(&op) {
            state.fence();
        }
        if let Some(barrier) = own.max(self.barriers.get(&op).copied()) {
            state.wait(barrier, self.program);
        }
        if let Some(barrier) = state.conflicts(self.module, before, self.program) {
            let barrier = self.barriers.get(&op).map_or(barrier, |known| barrier.max(*known));
            self.barriers.insert(op, barrier);
            state.wait(barrier, self.program);
        }
        if self.module.is(op, &FENCE_ASYNC_SHARED) {
            state.fence();
        }
        if let Some(dot) = WarpGroupDotOp::of(self.module, op) {
            // One that is not asynchronous waits for all.
            if dot.is_async() { state.begin_dot() } else { state.end_dots(0) }
        }
        state.join(before);
        if let Some(after) = after {
            state.wait(after.strongest(self.program), self.program);
            state.join(after);
        }
        if self.is_read_by_lanes(op) {
            let reads = after.iter().flat_map(|after| &after.reads).chain(&before.reads);
            add(&mut state.unfenced, &reads.copied().collect::<Vec<_>>());
        }
        if let Some(wait) = AsyncWaitOp::of(self.module, op) {
            state.land_copies(wait.num());
        }
        match WarpGroupDotWaitOp::of(self.module, op) {
            Some(wait) => state.end_dots(wait.pendings()),
            None => state.end_late(self.module.row(op).name),
        }
    }

    /// Whether lanes read the shared memory that an operation reads: dots of warp groups read it past them, and
    /// barriers in memory hold no data.
    fn is_read_by_lanes(&self, op: Op) -> bool {
        let module = self.module;
        let barrier = |value: &Value| memdesc(module.ty(*value)).is_some_and(|of| of.elem == Type::int(64));
        let of_barriers = module.results(op).is_empty() && module.operands(op).iter().any(barrier);
        WarpGroupDotOp::of(module, op).is_none() && !of_barriers
    }

    /// What an operation touches in device memory.
    fn touches(&self, op: Op) -> [Vec<Touch>; 2] {
        let mut touches = self.device.touches(self.module, op);
        if !self.calls.is_empty() {
            touches.iter_mut().flatten().for_each(|touch| *touch = touch.in_call());
        }
        touches
    }

    /// What an operation touches before its own first barrier, and after its last if it has any.
    fn accesses(&self, op: Op) -> (Accesses, Option<Accesses>) {
        let mut before = Accesses::default();
        if let Some(&buffer) = self.buffers.of_op.get(&op) {
            let span = self.span(buffer);
            match self.buffers.list[buffer].scratch {
                Some(Order::Waits) => {
                    before.writes.push(span);
                    return (before, Some(Accesses { reads: vec![span], ..Accesses::default() }));
                }
                Some(Order::WaitsForCluster) => {
                    before.writes.push(span);
                    return (before, Some(Accesses { remote: vec![span], ..Accesses::default() }));
                }
                Some(Order::WithinWarp) => {
                    let span = Span { within: Some(buffer), ..span };
                    before.writes.push(span);
                    before.reads.push(span);
                }
                None if !self.module.operands(op).is_empty() => before.writes.push(span),
                None => {}
            }
        }
        // Most operations have nothing to do with memory that is shared.
        if self.module.operands(op).iter().all(|operand| !self.buffers.views.contains_key(operand)) {
            return (before, None);
        }
        for group in 0..self.module.row(op).operands.len() {
            for operand in self.module.operand_group(op, group) {
                self.operand(op, self.effect(op, group), *operand, &mut before);
            }
        }
        (before, None)
    }

    fn operand(&self, op: Op, effect: Effect, operand: Value, accesses: &mut Accesses) {
        // One lane makes and ends all barriers that count.
        let by_one = [&INIT_BARRIER, &INVAL_BARRIER].iter().any(|row| self.module.is(op, row));
        let slot = Slot::of(self.module, self.buffers, operand);
        for &buffer in self.buffers.views.get(&operand).into_iter().flatten() {
            let span = Span { within: by_one.then_some(buffer), slot, ..self.span(buffer) };
            match effect {
                Effect::Nothing | Effect::Allocate => {}
                Effect::Read => add(&mut accesses.reads, &[span]),
                Effect::Write | Effect::Atomic | Effect::Unknown => add(&mut accesses.writes, &[span]),
                Effect::ReadUntil(row) => add(&mut accesses.late, &[Late { wait: row.name, span, newer: 0 }]),
                Effect::WriteUntil(_) => add(&mut accesses.copies, &[span]),
                Effect::WriteGuarded => add(&mut accesses.guarded, &[span]),
            }
        }
    }

    /// What an operation does to the memory descriptors of an operand group. What its row does not say writes.
    fn effect(&self, op: Op, group: usize) -> Effect {
        let module = self.module;
        match module.row(op).operands[group].effect {
            // A dot that is not asynchronous waits for itself: all is read when it is done.
            Effect::ReadUntil(wait)
                if wait.is(&WARP_GROUP_DOT_WAIT) && !WarpGroupDotOp::new(module, op).is_async() =>
            {
                Effect::Read
            }
            // Views touch nothing, and what ends a block hands on.
            Effect::Unknown if module.has(op, Traits::TERMINATOR) || is_view(module, op) => Effect::Nothing,
            effect => effect,
        }
    }

    fn span(&self, buffer: usize) -> Span {
        let start = self.offsets[buffer];
        Span { start, end: start + self.buffers.list[buffer].bytes, within: None, slot: None }
    }
}
