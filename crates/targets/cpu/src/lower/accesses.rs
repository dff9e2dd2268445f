//! Which memory an operation touches, as far as the order of steps depends on it.
//!
//! Addresses are told apart by the kernel parameter they start from. Two parameters are taken to be two tensors, or the
//! same one accessed at the same places; anything that cannot be traced to a parameter may be anywhere. A launch looks
//! whether that is so where it matters ([`guards`]), and takes a kernel to which every parameter may be anywhere where
//! it is not ([`let_overlap`]).

use ir::{Attr, DeclaredKey, Def, Module, Op, OpRow, Traits, Value};
use std::collections::BTreeSet;
use target::{Condition, Guards, Number, Piece};
use ttir::ops::access::AccessOp;
use ttir::ops::control::ForOp;
use ttir::ops::forms::UnaryOp;
use ttir::ops::{arith_cast, control, func, memory, program};

/// The parameter that an address starts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Base {
    /// A parameter of the kernel.
    Param(u32),
    /// Anything.
    Unknown,
}

/// One access.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Access {
    base: Base,
    /// The address, where it is one expression.
    pointer: Option<Value>,
    /// Whether it writes.
    pub(crate) is_write: bool,
}

/// The accesses of a step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Accesses {
    all: Vec<Access>,
}

/// A program is one thread here, its accesses keep their order anyway, and launches do not overlap.
pub(crate) const NOTHING_TO_RUN: [&OpRow; 4] = [
    &program::ASSUME,
    &memory::BARRIER,
    &program::GRID_DEPENDENCY_WAIT,
    &program::GRID_DEPENDENCY_LAUNCH_DEPENDENTS,
];

impl Access {
    /// Whether both may touch the same memory.
    pub(crate) fn may_touch(&self, other: &Access) -> bool {
        self.base == Base::Unknown || other.base == Base::Unknown || self.base == other.base
    }

    /// Whether both touch the same address in the same lane.
    pub(crate) fn is_same(&self, module: &Module, other: &Access) -> bool {
        match (self.pointer, other.pointer) {
            (Some(a), Some(b)) => same_expression(module, a, b, None, DEPTH),
            _ => false,
        }
    }
}

impl Accesses {
    /// Adds accesses.
    pub(crate) fn extend(&mut self, more: &[Access]) {
        for access in more {
            if !self.all.contains(access) {
                self.all.push(*access);
            }
        }
    }

    /// Whether any of them writes.
    pub(crate) fn writes(&self) -> bool {
        self.all.iter().any(|access| access.is_write)
    }

    /// Whether an access must stay behind these: `Some(true)` if only behind them lane by lane.
    pub(crate) fn conflict(&self, module: &Module, access: &Access) -> Option<bool> {
        let mut conflict = None;
        for own in &self.all {
            if (own.is_write || access.is_write) && own.may_touch(access) {
                let same = own.is_same(module, access);
                conflict = Some(conflict.unwrap_or(true) && same);
            }
        }
        conflict
    }
}

/// What an operation touches, the operations in its regions included.
pub(crate) fn of(module: &Module, op: Op) -> Vec<Access> {
    let mut found: Vec<Access> = Vec::new();
    for inner in module.walk(op) {
        let row = module.row(inner);
        let (reads, writes) = (row.reads(), row.writes());
        let plain = AccessOp::of(module, inner).filter(|access| !access.is_atomic() && !access.volatile());
        let access = if let Some(plain) = plain {
            let pointer = plain.ptr();
            Access { base: trace(module, pointer), pointer: Some(pointer), is_write: writes }
        } else if (reads || writes) && !NOTHING_TO_RUN.iter().any(|quiet| row.is(quiet)) {
            let is_volatile = AccessOp::of(module, inner).is_some_and(AccessOp::volatile);
            Access { base: Base::Unknown, pointer: None, is_write: writes || is_volatile }
        } else {
            continue;
        };
        let access = if inner == op { access } else { Access { pointer: None, ..access } };
        if !found.contains(&access) {
            found.push(access);
        }
    }
    found
}

/// Whether an operation loads, and may do so earlier, later or twice.
pub(crate) fn is_plain_load(module: &Module, op: Op) -> bool {
    AccessOp::load(module, op).is_some_and(|load| !load.volatile())
}

/// The address that an operation moves within its tensor.
fn passed(module: &Module, op: Op) -> Option<Value> {
    let row = module.row(op);
    let kept = [&memory::ADDPTR, &arith_cast::TT_BITCAST, &arith_cast::BITCAST].iter().any(|own| row.is(own));
    (kept || row.traits.has(Traits::MOVES)).then(|| UnaryOp::new(module, op).src())
}

/// Whether what a loop yields for a carried address is that address, moved.
fn stays(module: &Module, carried: Value, block: ir::Block, number: u32) -> bool {
    let mut value = control::yielded(module, block)[number as usize - 1];
    while value != carried {
        match module.def_op(value).and_then(|op| passed(module, op)) {
            Some(from) => value = from,
            None => return false,
        }
    }
    true
}

/// The parameter that an address starts from.
fn trace(module: &Module, mut value: Value) -> Base {
    loop {
        value = match module.def(value) {
            Def::Result(op, number) => match (passed(module, op), ForOp::of(module, op)) {
                (Some(from), _) => from,
                (None, Some(of)) => of.carried()[number as usize],
                (None, None) => return Base::Unknown,
            },
            Def::Arg(block, number) => match module.region_parent(module.block_region(block)) {
                Some(op) if module.extra_attr(op, OVERLAPS.name).is_some() => return Base::Unknown,
                Some(op) if module.is(op, &func::FUNC) => return Base::Param(number),
                Some(op)
                    if module.is(op, &control::FOR) && number > 0 && stays(module, value, block, number) =>
                {
                    ForOp::new(module, op).inits()[number as usize - 1]
                }
                _ => return Base::Unknown,
            },
        };
    }
}

/// The kernel parameter that an address starts from.
pub(crate) fn param_of(module: &Module, pointer: Value) -> Option<Value> {
    let Base::Param(number) = trace(module, pointer) else { return None };
    let kernel = std::iter::successors(op_around(module, pointer), |&op| module.parent_op(op))
        .find(|&op| module.is(op, &func::FUNC))?;
    module.args(module.entry(module.region(kernel, 0))).get(number as usize).copied()
}

/// The operation that makes a value, or in whose region it is an argument.
fn op_around(module: &Module, value: Value) -> Option<Op> {
    match module.def(value) {
        Def::Result(op, _) => Some(op),
        Def::Arg(block, _) => module.region_parent(module.block_region(block)),
    }
}

/// Lets every parameter be the memory of any other.
pub(crate) fn let_overlap(module: &mut Module, kernel: Op) {
    module.set_extra(kernel, OVERLAPS.key(), Some(Attr::Unit));
}

/// What launches must look at: of two parameters of which one is written, and which are accessed in different places,
/// the memory must not be the same. Memory that begins elsewhere in the same tensor is not found.
pub(crate) fn guards(module: &Module) -> Guards {
    let accesses: Vec<Access> = module
        .walk(module.top())
        .into_iter()
        .filter(|&op| AccessOp::of(module, op).is_some())
        .flat_map(|op| of(module, op))
        .collect();
    let mut pairs = BTreeSet::new();
    for (number, one) in accesses.iter().enumerate() {
        for other in &accesses[number + 1..] {
            let (Base::Param(first), Base::Param(second)) = (one.base, other.base) else { continue };
            if first != second && (one.is_write || other.is_write) && !at_same_places(module, one, other) {
                pairs.insert((first.min(second), first.max(second)));
            }
        }
    }
    let piece = |base: u32| Piece { base: base as usize, bytes: 0 };
    let apart = |(first, second)| Condition::Apart([piece(first), piece(second)]);
    let conditions: Vec<Condition> = pairs.into_iter().map(apart).collect();
    let numbers = if conditions.is_empty() { Vec::new() } else { vec![Number::Constant(1)] };
    Guards { numbers, conditions }
}

/// Whether two accesses would be of the same elements if their parameters were the same memory.
fn at_same_places(module: &Module, one: &Access, other: &Access) -> bool {
    let (Some(a), Some(b)) = (one.pointer, other.pointer) else { return false };
    let (Some(first), Some(second)) = (param_of(module, a), param_of(module, b)) else { return false };
    same_expression(module, a, b, Some((first, second)), DEPTH)
}

/// How many operations deep addresses are compared.
const DEPTH: u32 = 12;

/// A kernel whose parameters may all be the same memory.
static OVERLAPS: DeclaredKey =
    DeclaredKey::new("cpu.overlaps", "Parameters may be the same memory, accessed in different places.");

/// Whether two values are computed alike, looking so many operations deep; the two of `equal` count as one.
fn same_expression(module: &Module, a: Value, b: Value, equal: Option<(Value, Value)>, depth: u32) -> bool {
    if a == b || Some((a, b)) == equal {
        return true;
    }
    let (Def::Result(p, m), Def::Result(q, n)) = (module.def(a), module.def(b)) else { return false };
    let pure = module.has(p, Traits::PURE) && module.regions(p).is_empty();
    let alike = pure
        && depth > 0
        && m == n
        && std::ptr::eq(module.row(p), module.row(q))
        && module.ty(a) == module.ty(b)
        && module.attrs(p) == module.attrs(q)
        && module.operands(p).len() == module.operands(q).len();
    alike
        && module
            .operands(p)
            .iter()
            .zip(module.operands(q))
            .all(|(&a, &b)| same_expression(module, a, b, equal, depth - 1))
}
