//! What one program does: operations by kind and bytes by access, as amounts that name the loops they depend on.
//!
//! Integer arithmetic is not counted: most of it makes addresses. Both sides of a condition are counted, and masked-off
//! elements count as accessed: the amounts are upper bounds.

use crate::loops::{Amount, Loop};
use ir::{Block, Module, Op, OpRow, Type};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use ttgir::ops::async_copy::ASYNC_COPY;
use ttgir::ops::bulk::{BULK_LOAD, BULK_STORE};
use ttgir::ops::group_dot::{WARP_GROUP_DOT, block_shape};
use ttir::ops::arith_float as float;
use ttir::ops::atomic::{ATOMIC_CAS, ATOMIC_LOAD, ATOMIC_RMW, ATOMIC_STORE};
use ttir::ops::control::{FOR, IF, WHILE};
use ttir::ops::descriptor;
use ttir::ops::dot::DOT;
use ttir::ops::math;
use ttir::ops::memory::{LOAD, STORE};
use ttir::ops::reduce::{REDUCE, SCAN};
use ttir::types::{elem, numel, shape};

/// Operations on floats: how many of the type's own arithmetic an element costs, and how many elementary functions.
static ARITHMETIC: &[(&OpRow, f64, f64)] = &[
    (&float::ADDF, 1.0, 0.0),
    (&float::SUBF, 1.0, 0.0),
    (&float::MULF, 1.0, 0.0),
    (&float::MAXIMUMF, 1.0, 0.0),
    (&float::MINIMUMF, 1.0, 0.0),
    (&float::MAXNUMF, 1.0, 0.0),
    (&float::MINNUMF, 1.0, 0.0),
    (&float::NEGF, 1.0, 0.0),
    (&float::CLAMPF, 2.0, 0.0),
    (&float::DIVF, 4.0, 1.0),
    (&float::PRECISE_DIVF, 8.0, 1.0),
    (&float::REMF, 8.0, 1.0),
    (&math::FMA, 2.0, 0.0),
    (&math::EXP, 1.0, 1.0),
    (&math::EXP2, 0.0, 1.0),
    (&math::LOG, 1.0, 1.0),
    (&math::LOG2, 0.0, 1.0),
    (&math::SIN, 4.0, 1.0),
    (&math::COS, 4.0, 1.0),
    (&math::SQRT, 1.0, 1.0),
    (&math::PRECISE_SQRT, 6.0, 1.0),
    (&math::RSQRT, 0.0, 1.0),
    (&math::ERF, 20.0, 1.0),
    (&math::TANH, 8.0, 2.0),
];

/// How an operation touches memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads and writes, or waits for others.
    Atomic,
}

impl Kind {
    /// In one word.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Load => "load",
            Kind::Store => "store",
            Kind::Atomic => "atomic",
        }
    }
}

/// Where an access finds the type of what it moves.
enum Moved {
    /// The block of addresses that is operand 0.
    Addresses,
    /// The result.
    Result,
    /// An operand: a block or a piece of shared memory.
    Operand(usize),
}

static ACCESSES: &[(&OpRow, Kind, Moved)] = &[
    (&LOAD, Kind::Load, Moved::Addresses),
    (&STORE, Kind::Store, Moved::Addresses),
    (&ASYNC_COPY, Kind::Load, Moved::Addresses),
    (&ATOMIC_RMW, Kind::Atomic, Moved::Addresses),
    (&ATOMIC_CAS, Kind::Atomic, Moved::Addresses),
    (&ATOMIC_LOAD, Kind::Atomic, Moved::Addresses),
    (&ATOMIC_STORE, Kind::Atomic, Moved::Addresses),
    (&descriptor::LOAD, Kind::Load, Moved::Result),
    (&descriptor::GATHER, Kind::Load, Moved::Result),
    (&descriptor::STORE, Kind::Store, Moved::Operand(1)),
    (&descriptor::SCATTER, Kind::Store, Moved::Operand(1)),
    (&descriptor::REDUCE, Kind::Atomic, Moved::Operand(1)),
    (&BULK_LOAD, Kind::Load, Moved::Operand(3)),
    (&BULK_STORE, Kind::Store, Moved::Operand(2)),
];

/// What an access moves.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Touch {
    pub(crate) kind: Kind,
    pub(crate) elem: Type,
    pub(crate) elements: u64,
    pub(crate) by_address: bool,
}

impl Touch {
    pub(crate) fn bytes(&self) -> u64 {
        self.elements * ttir::types::elem_bytes(self.elem)
    }
}

/// How an operation touches the memory of the device, if it does.
pub(crate) fn touch(module: &Module, op: Op) -> Option<Touch> {
    let (_, kind, moved) = ACCESSES.iter().find(|(row, ..)| module.is(op, row))?;
    let of_value = |value: ir::Value| {
        let ty = module.ty(value);
        match ttgir::types::memdesc(ty) {
            Some(desc) => (desc.elem, desc.shape.iter().product::<i64>()),
            None => (elem(ty), numel(ty)),
        }
    };
    let (elem, elements, by_address) = match moved {
        Moved::Addresses => {
            let ty = module.ty(module.operand(op, 0));
            (ttir::types::pointee(ty)?, numel(ty), true)
        }
        Moved::Result => {
            let (elem, elements) = of_value(module.result(op, 0));
            (elem, elements, false)
        }
        Moved::Operand(index) => {
            let (elem, elements) = of_value(*module.operands(op).get(*index)?);
            (elem, elements, false)
        }
    };
    Some(Touch { kind: *kind, elem, elements: elements as u64, by_address })
}

/// What one program does.
#[derive(Default, Debug)]
pub(crate) struct Work {
    /// Operations by the name of their rate, without matrix products.
    pub(crate) arithmetic: BTreeMap<String, Amount>,
    /// Operations of matrix products.
    pub(crate) products: Vec<(Op, Amount)>,
    /// Accesses, with the loops around them.
    pub(crate) accesses: Vec<(Op, Touch, Vec<usize>)>,
}

/// Counts what a kernel does.
pub(crate) fn count(module: &Module, kernel: Op, loops: &[Loop]) -> Work {
    let numbers = loops.iter().enumerate().map(|(index, one)| (one.op, index)).collect();
    let mut counter = Counter { module, numbers, nest: Vec::new(), work: Work::default() };
    counter.block(module.entry(module.region(kernel, 0)));
    counter.work
}

struct Counter<'a> {
    module: &'a Module,
    numbers: FxHashMap<Op, usize>,
    nest: Vec<usize>,
    work: Work,
}

impl Counter<'_> {
    fn block(&mut self, block: Block) {
        let module = self.module;
        for op in module.ops(block) {
            let is_loop = module.is(op, &FOR) || module.is(op, &WHILE);
            if is_loop || module.is(op, &IF) {
                self.nest.extend(self.numbers.get(&op));
                for &region in module.regions(op) {
                    module.blocks(region).iter().for_each(|block| self.block(*block));
                }
                if is_loop {
                    self.nest.pop();
                }
            } else {
                self.op(op);
            }
        }
    }

    fn op(&mut self, op: Op) {
        let module = self.module;
        if let Some(touch) = touch(module, op) {
            self.work.accesses.push((op, touch, self.nest.clone()));
        } else if module.is(op, &DOT) || module.is(op, &WARP_GROUP_DOT) {
            let depth = block_shape(module, module.operand(op, 0)).last().copied().unwrap_or(1);
            let mut amount = Amount::default();
            amount.add(&self.nest, 2.0 * (numel(module.ty(module.result(op, 0))) * depth) as f64);
            self.work.products.push((op, amount));
        } else if module.is(op, &REDUCE) || module.is(op, &SCAN) {
            self.combined(op);
        } else if let Some((_, own, special)) = ARITHMETIC.iter().find(|(row, ..)| module.is(op, row)) {
            let ty = module.ty(module.result(op, 0));
            if !shape(ty).is_empty() {
                let elements = numel(ty) as f64;
                self.add(&elem(ty).to_string(), own * elements);
                self.add("special", special * elements);
            }
        }
    }

    fn add(&mut self, rate: &str, amount: f64) {
        if amount > 0.0 {
            self.work.arithmetic.entry(rate.to_owned()).or_default().add(&self.nest, amount);
        }
    }

    /// Every element is combined with another once; in a scan about twice.
    fn combined(&mut self, op: Op) {
        let module = self.module;
        let entry = module.entry(module.region(op, 0));
        let elements = numel(module.ty(module.operand(op, 0))) as f64;
        let times = if module.is(op, &SCAN) { 2.0 } else { 1.0 };
        for inner in module.ops(entry) {
            if let Some((_, own, special)) = ARITHMETIC.iter().find(|(row, ..)| module.is(inner, row)) {
                let ty = elem(module.ty(module.result(inner, 0)));
                self.add(&ty.to_string(), own * elements * times);
                self.add("special", special * elements * times);
            }
        }
    }
}
