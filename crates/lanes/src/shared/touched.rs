//! What lanes touched since they waited for each other, and which barrier or fence that calls for in front of the next
//! operation ([`super::barriers`]).

use super::Barrier;
use super::device::Touch;
use super::slots::Slot;
use ir::{Module, Op};
use std::collections::BTreeSet;
use ttgir::ops::group_dot::WARP_GROUP_DOT_WAIT;

/// Bytes, with the operation that keeps them within warps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub(super) struct Span {
    pub(super) start: u32,
    pub(super) end: u32,
    /// Number of the buffer, if each warp touches only its own part, always the same one.
    pub(super) within: Option<usize>,
    /// Which one of a ring they are.
    pub(super) slot: Option<Slot>,
}

impl Span {
    fn meets(self, other: Span) -> bool {
        let own = self.within.is_some() && self.within == other.within;
        let apart = self.slot.zip(other.slot).is_some_and(|(one, two)| one.differs(two));
        self.start < other.end && other.start < self.end && !own && !apart
    }
}

/// What reads on until a wait of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub(super) struct Late {
    /// Name of the row.
    pub(super) wait: &'static str,
    pub(super) span: Span,
    /// At least so many dots have begun since.
    pub(super) newer: u32,
}

/// More dots than any wait leaves going on.
const MOST_NEWER: u32 = 16;

/// What was touched since the last barrier.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct State {
    pub(super) reads: Vec<Span>,
    pub(super) writes: Vec<Span>,
    /// What other blocks read since the last barrier of the cluster.
    pub(super) remote: Vec<Span>,
    /// Copies that nobody has waited for; a barrier does not end them.
    pub(super) copies: Vec<Span>,
    /// Writes that nobody has to wait for; never kept.
    pub(super) guarded: Vec<Span>,
    /// What lanes have read since their last fence; a barrier does not end it.
    pub(super) unfenced: Vec<Span>,
    /// What lanes had read when they fenced, since the last barrier.
    pub(super) fenced: Vec<Span>,
    /// What reads on until a wait.
    pub(super) late: Vec<Late>,
    /// Device memory that was loaded, and that was stored.
    pub(super) device: [Vec<Touch>; 2],
}

/// What an operation touches, one side of its own barrier.
pub(super) type Accesses = State;

impl State {
    /// Lanes wait for each other; `program` is the barrier of all lanes of the program.
    pub(super) fn wait(&mut self, barrier: Barrier, program: Barrier) {
        self.reads.clear();
        self.writes.clear();
        self.fenced.clear();
        if barrier == Barrier::Cluster {
            self.remote.clear();
        }
        if barrier >= program {
            self.device = Default::default();
        }
    }

    /// Each lane fences what it has read.
    pub(super) fn fence(&mut self) {
        let read = std::mem::take(&mut self.unfenced);
        add(&mut self.fenced, &read);
    }

    /// The barrier that leaves nothing behind.
    pub(super) fn strongest(&self, program: Barrier) -> Barrier {
        let of_device = self.device.iter().any(|list| !list.is_empty()).then_some(program);
        let of_cluster = (!self.remote.is_empty()).then_some(Barrier::Cluster);
        of_device.max(of_cluster).unwrap_or(Barrier::Block)
    }

    pub(super) fn join(&mut self, other: &State) {
        add(&mut self.reads, &other.reads);
        add(&mut self.writes, &other.writes);
        add(&mut self.remote, &other.remote);
        add(&mut self.copies, &other.copies);
        add(&mut self.unfenced, &other.unfenced);
        add(&mut self.fenced, &other.fenced);
        add(&mut self.late, &other.late);
        for (own, more) in self.device.iter_mut().zip(&other.device) {
            add(own, more);
        }
    }

    /// What the next iteration of a loop sees of this one.
    pub(super) fn age(&mut self, module: &Module, around: Op) {
        self.renumber(|slot| Some(slot.in_next_iteration(around)));
        for list in &mut self.device {
            let aged: Vec<Touch> = list.iter().map(|touch| touch.in_next_iteration(module, around)).collect();
            list.clear();
            add(list, &aged);
        }
    }

    /// What is seen behind a loop.
    pub(super) fn leave(&mut self, around: Op) {
        self.renumber(|slot| slot.behind(around));
    }

    fn renumber(&mut self, of: impl Fn(Slot) -> Option<Slot>) {
        let moved = |span: Span| Span { slot: span.slot.and_then(&of), ..span };
        let lists = [&mut self.reads, &mut self.writes, &mut self.remote, &mut self.copies];
        for list in lists.into_iter().chain([&mut self.unfenced, &mut self.fenced]) {
            *list = sorted(list.iter().map(|&span| moved(span)));
        }
        self.late = sorted(self.late.iter().map(|&late| Late { span: moved(late.span), ..late }));
    }

    /// A dot begins.
    pub(super) fn begin_dot(&mut self) {
        let older = |late: &Late| match late.wait == WARP_GROUP_DOT_WAIT.name {
            true => Late { newer: (late.newer + 1).min(MOST_NEWER), ..*late },
            false => *late,
        };
        self.late = sorted(self.late.iter().map(older));
    }

    /// All dots are done but the last `pendings`.
    pub(super) fn end_dots(&mut self, pendings: u32) {
        let is_done = |late: &Late| late.wait == WARP_GROUP_DOT_WAIT.name && late.newer >= pendings;
        let done: Vec<Span> = self.late.iter().filter(|late| is_done(late)).map(|late| late.span).collect();
        add(&mut self.reads, &done);
        self.late.retain(|late| !is_done(late));
    }

    /// A wait of a row, other than of dots.
    pub(super) fn end_late(&mut self, row: &str) {
        let done: Vec<Span> =
            self.late.iter().filter(|late| late.wait == row).map(|late| late.span).collect();
        add(&mut self.reads, &done);
    }

    /// Each lane has waited for its own copies, for all of them where none is left.
    pub(super) fn land_copies(&mut self, left: u32) {
        add(&mut self.writes, &self.copies);
        if left == 0 {
            self.copies.clear();
        }
    }

    /// The barrier that must stand between.
    pub(super) fn conflicts(
        &self,
        module: &Module,
        accesses: &Accesses,
        program: Barrier,
    ) -> Option<Barrier> {
        let of_device = self.disorders(module, accesses).then_some(program);
        of_device.max(self.of_shared(accesses))
    }

    /// Whether device memory is touched that other lanes have touched, and one of both stores.
    fn disorders(&self, module: &Module, accesses: &Accesses) -> bool {
        let [loaded, stored] = &self.device;
        let [loads, stores] = &accesses.device;
        let meet = |list: &[Touch], other: &[Touch]| {
            list.iter().any(|one| other.iter().any(|two| one.meets(*two, module)))
        };
        meet(stored, loads) || meet(stored, stores) || meet(loaded, stores)
    }

    /// Whether a fence must stand in front of the barrier.
    pub(super) fn lacks_fence(&self, accesses: &Accesses) -> bool {
        meet(&self.unfenced, &accesses.guarded)
    }

    fn of_shared(&self, accesses: &Accesses) -> Option<Barrier> {
        if [&accesses.writes, &accesses.copies, &accesses.guarded].iter().any(|list| meet(&self.remote, list))
        {
            return Some(Barrier::Cluster);
        }
        let late: Vec<Span> = accesses.late.iter().map(|late| late.span).collect();
        let found = meet(&self.writes, &accesses.reads)
            || meet(&self.writes, &late)
            || meet(&self.writes, &accesses.guarded)
            || meet(&self.reads, &accesses.guarded)
            || meet(&self.unfenced, &accesses.guarded)
            || meet(&self.fenced, &accesses.guarded)
            || meet(&self.writes, &accesses.writes)
            || meet(&self.writes, &accesses.copies)
            || meet(&self.reads, &accesses.writes)
            || meet(&self.reads, &accesses.copies);
        found.then_some(Barrier::Block)
    }
}

fn meet(list: &[Span], other: &[Span]) -> bool {
    list.iter().any(|one| other.iter().any(|two| one.meets(*two)))
}

pub(super) fn add<T: Ord + Copy>(list: &mut Vec<T>, more: &[T]) {
    for span in more {
        if let Err(at) = list.binary_search(span) {
            list.insert(at, *span);
        }
    }
}

fn sorted<T: Ord + Copy>(items: impl Iterator<Item = T>) -> Vec<T> {
    items.collect::<BTreeSet<T>>().into_iter().collect()
}
