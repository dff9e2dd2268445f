//! Accesses as they are told to whoever looks for races.

use super::data::Data;
use super::interpreter::Interpreter;
use super::positions::strides;
use super::races::{Doing, Races, Run, Site};
use crate::ops::access::AccessOp;
use crate::ops::atomic::{Scope, Sem};
use crate::types::{elem, elem_bytes, shape};
use ir::{Op, Type};

/// What an atomic orders among programs.
#[derive(Clone, Copy)]
pub(crate) struct Order {
    /// Whether it is atomic for other programs.
    pub(crate) is_atomic: bool,
    pub(crate) acquires: bool,
    pub(crate) releases: bool,
}

impl Order {
    /// Of an access by addresses.
    pub(crate) fn of(access: AccessOp<'_>) -> Order {
        let is_atomic = access.is_atomic() && access.scope() != Some(Scope::Cta);
        let sem = access.sem().filter(|_| is_atomic);
        Order {
            is_atomic: is_atomic || access.volatile(),
            acquires: sem.is_some_and(Sem::acquires),
            releases: sem.is_some_and(Sem::releases),
        }
    }

    pub(crate) fn reading(self) -> Doing {
        if self.is_atomic { Doing::AtomicRead } else { Doing::Read }
    }

    pub(crate) fn writing(self) -> Doing {
        if self.is_atomic { Doing::AtomicWrite } else { Doing::Write }
    }
}

/// The elements of a block that are accessed.
#[derive(Clone, Copy)]
pub(crate) struct Elements<'a> {
    count: usize,
    addresses: &'a Data,
    mask: Option<&'a Data>,
}

impl<'a> Elements<'a> {
    /// Of the addresses of a block.
    pub(crate) fn new(ty: Type, addresses: &'a Data, mask: Option<&'a Data>) -> Elements<'a> {
        Elements { count: crate::types::numel(ty) as usize, addresses, mask }
    }

    /// Where they are: positions and addresses.
    pub(crate) fn each(&self) -> impl Iterator<Item = (usize, u64)> {
        let (addresses, mask) = (self.addresses.side(), self.mask.map(Data::side));
        let holds = move |&position: &usize| mask.is_none_or(|mask| mask.at(position) & 1 != 0);
        (0..self.count).filter(holds).map(move |position| (position, addresses.at(position)))
    }

    /// Lines whose elements of so many bytes lie one behind another, if addresses say so and none is masked off.
    fn lines(&self, size: u64) -> Option<Vec<Run>> {
        let is_whole = self.mask.is_none_or(|mask| mask.as_uniform().is_some_and(|bits| bits & 1 != 0));
        let affine = self.addresses.as_affine().filter(|_| is_whole)?;
        let dim = affine.dense(size)?;
        let (count, step) = (affine.shape[dim] as u64, strides(affine.shape)[dim]);
        let run = |(position, address)| Run { position, step, address, count };
        Some(affine.lines(dim).into_iter().map(run).collect())
    }
}

/// Elements as runs of those that lie one behind another.
fn runs(each: impl Iterator<Item = (usize, u64)>, size: u64) -> impl Iterator<Item = Run> {
    let mut each = each.filter(move |(_, address)| address.is_multiple_of(size)).peekable();
    std::iter::from_fn(move || {
        let (position, address) = each.next()?;
        let mut run = Run { position, step: 1, address, count: 1 };
        let mut follows = |run: &Run| {
            let next = (position + run.count as usize, address + run.count * size);
            each.next_if_eq(&next).is_some()
        };
        while follows(&run) {
            run.count += 1;
        }
        Some(run)
    })
}

impl Interpreter<'_> {
    /// Whether anybody wants to know of accesses.
    pub(crate) fn tracks(&self) -> bool {
        self.memory.races.is_some()
    }

    fn with_races(&mut self, work: impl FnOnce(&mut Self, &mut Races)) {
        if let Some(mut races) = self.memory.races.take() {
            work(self, &mut races);
            self.memory.races = Some(races);
        }
    }

    fn touch_runs(
        &mut self,
        op: Op,
        (doing, ty): (Doing, Type),
        runs: impl Iterator<Item = Run>,
        written: Option<&Data>,
    ) {
        self.with_races(|interpreter, races| {
            let place = interpreter.hooks.place().unwrap_or_else(|| op.as_u32());
            let site = Site { place, doing, ty: elem(ty), shape: shape(ty) };
            races.touch(interpreter.program, site, runs, interpreter.memory, written);
        });
    }

    /// Tells of elements of a block of this type that are accessed next, by positions and addresses. `written` is what
    /// a plain write writes.
    pub(crate) fn touch(
        &mut self,
        op: Op,
        doing: Doing,
        ty: Type,
        each: impl Iterator<Item = (usize, u64)>,
        written: Option<&Data>,
    ) {
        self.touch_runs(op, (doing, ty), runs(each, elem_bytes(elem(ty))), written);
    }

    /// Tells of a whole block.
    pub(crate) fn touch_block(
        &mut self,
        op: Op,
        doing: Doing,
        ty: Type,
        elements: Elements<'_>,
        written: Option<&Data>,
    ) {
        if !self.tracks() {
            return;
        }
        let size = elem_bytes(elem(ty));
        match elements.lines(size) {
            Some(lines) if lines.iter().all(|line| line.address.is_multiple_of(size)) => {
                self.touch_runs(op, (doing, ty), lines.into_iter(), written);
            }
            _ => self.touch(op, doing, ty, elements.each(), written),
        }
    }

    /// Tells that the accesses of others that were released at these addresses come before what comes next.
    pub(crate) fn acquire(&mut self, order: Order, elements: Elements<'_>) {
        if order.acquires {
            self.with_races(|interpreter, races| {
                races.acquire(interpreter.program, elements.each().map(|(_, address)| address));
            });
        }
    }

    /// Tells that memory was written here by an operation; whether it reads what it writes.
    pub(crate) fn release(&mut self, order: Order, addresses: impl Iterator<Item = u64>, is_update: bool) {
        self.with_races(|interpreter, races| {
            if order.releases {
                races.release(interpreter.program, addresses, is_update);
            } else if !(is_update && order.is_atomic) {
                races.forget(addresses);
            }
        });
    }
}
