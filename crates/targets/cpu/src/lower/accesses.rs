//! Which memory an operation touches, as far as the order of steps depends on it.
//!
//! Addresses are told apart by the kernel parameter they start from. Two parameters are taken to be two tensors, or the
//! same one accessed at the same places; anything that cannot be traced to a parameter may be anywhere. A launch looks
//! whether that is so where it matters ([`guards`]), and takes a kernel to which every parameter may be anywhere where
//! it is not ([`let_overlap`]). So does whoever launches without looking.

use super::types;
use ir::{Attr, DeclaredKey, Def, Module, Op, Traits, Value};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use target::{Clear, Condition, Guards};
use ttir::distinct::are_distinct;
use ttir::interval::Interval;
use ttir::ops::access::AccessOp;
use ttir::ops::control::ForOp;
use ttir::ops::forms::{BinaryOp, UnaryOp};
use ttir::ops::shape::MakeRangeOp;
use ttir::ops::{arith_cast, arith_int, control, func, memory};
use ttir::types::{elem, elem_bytes, pointee};

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

impl Access {
    /// Whether both may touch the same memory.
    pub(crate) fn may_touch(&self, other: &Access) -> bool {
        self.base == Base::Unknown || other.base == Base::Unknown || self.base == other.base
    }

    /// Whether both touch the same address in the same lane, and no other lane does.
    pub(crate) fn is_same(&self, module: &Module, other: &Access) -> bool {
        match (self.pointer, other.pointer) {
            (Some(a), Some(b)) => same_expression(module, a, b, None, DEPTH) && are_distinct(module, a),
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

    /// Whether an access must stay behind these: `Some(true)` if only behind them lane by lane, as behind accesses of
    /// the same places of another parameter, which may be the same tensor.
    pub(crate) fn conflict(&self, module: &Module, access: &Access) -> Option<bool> {
        let mut conflict = None;
        for own in self.all.iter().filter(|own| own.is_write || access.is_write) {
            if own.may_touch(access) {
                let same = own.is_same(module, access);
                conflict = Some(conflict.unwrap_or(true) && same);
            } else if at_same_places(module, own, access) {
                conflict = Some(conflict.unwrap_or(true));
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
        } else if (reads || writes) && !row.traits.has(Traits::MARKER) {
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
    module.args(module.entry_of(kernel)).get(number as usize).copied()
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

/// What launches must look at: two parameters of which one is written must not be the same memory, unless accesses that
/// are computed alike are of the same elements, each loaded before it is stored to.
pub(crate) fn guards(module: &Module) -> Guards {
    let accesses: Vec<(Op, Access)> = module
        .walk(module.top())
        .into_iter()
        .filter(|&op| AccessOp::of(module, op).is_some())
        .flat_map(|op| of(module, op).into_iter().map(move |access| (op, access)))
        .collect();
    let mut found: BTreeMap<[u32; 2], Clear> = BTreeMap::new();
    for (number, one) in accesses.iter().enumerate() {
        for other in &accesses[number + 1..] {
            let (Base::Param(first), Base::Param(second)) = (one.1.base, other.1.base) else { continue };
            if first == second || !(one.1.is_write || other.1.is_write) {
                continue;
            }
            let bases = [first.min(second), first.max(second)];
            let clear = needed(module, one, other, bases.map(|base| base as usize));
            found.entry(bases).and_modify(|all| *all = both(*all, clear)).or_insert(clear);
        }
    }
    Guards { numbers: Vec::new(), conditions: found.into_values().map(Condition::Clear).collect() }
}

/// What a launch must be for two accesses by two parameters to need no order.
fn needed(module: &Module, one: &(Op, Access), other: &(Op, Access), bases: [usize; 2]) -> Clear {
    let in_one_block = module.block_of(one.0) == module.block_of(other.0);
    if !in_one_block || !at_same_places(module, &one.1, &other.1) {
        return Clear { bases, same: false, bytes: None };
    }
    let bytes = one.1.pointer.and_then(|pointer| extent(module, pointer));
    let same = !one.1.is_write && follows_from(module, other.0, one.0);
    Clear { bases, same, bytes }
}

/// What two conditions ask for.
fn both(one: Clear, other: Clear) -> Clear {
    let bytes = one.bytes.zip(other.bytes).map(|(one, other)| one.max(other));
    Clear { same: one.same && other.same, bytes, ..one }
}

/// Whether an operation has what another one makes among the values that its operands are made of.
fn follows_from(module: &Module, op: Op, source: Op) -> bool {
    let mut seen = FxHashSet::default();
    let mut open = vec![op];
    while let Some(op) = open.pop() {
        if op == source {
            return true;
        }
        if seen.insert(op) {
            open.extend(module.operands(op).iter().filter_map(|&operand| module.def_op(operand)));
        }
    }
    false
}

/// The bytes from the first to the end of the last element of a block of addresses, as far as constants tell.
fn extent(module: &Module, pointer: Value) -> Option<u64> {
    let bytes = elem_bytes(pointee(elem(module.ty(pointer)))?);
    let elements = span(module, pointer, DEPTH)?.checked_add(1)?;
    u64::try_from(elements.checked_mul(i64::try_from(bytes).ok()?)?).ok()
}

/// How far the elements of a block of integers, or of addresses in elements, are from each other at most.
fn span(module: &Module, value: Value, depth: u32) -> Option<i64> {
    if types::shape(module.ty(value)).is_empty() {
        return Some(0);
    }
    let depth = depth.checked_sub(1)?;
    let op = module.def_op(value)?;
    if let Some(range) = MakeRangeOp::of(module, op) {
        return Some(i64::from(range.end()) - 1 - i64::from(range.start()));
    }
    let row = module.row(op);
    if row.traits.has(Traits::MOVES) || row.traits.has(Traits::WIDENS) {
        return span(module, UnaryOp::new(module, op).src(), depth);
    }
    if row.traits.has(Traits::ADDS) || row.is(&arith_int::SUBI) {
        let mut parts = module.operands(op).iter().map(|&part| span(module, part, depth));
        return parts.try_fold(0_i64, |sum, part| sum.checked_add(part?));
    }
    if row.is(&arith_int::MULI) {
        let of = BinaryOp::new(module, op);
        let by = |value| arith_int::int_value(module, value)?.checked_abs();
        match (span(module, of.lhs(), depth)?, span(module, of.rhs(), depth)?) {
            (0, 0) => return Some(0),
            (left, 0) => return left.checked_mul(by(of.rhs())?),
            (0, right) => return right.checked_mul(by(of.lhs())?),
            _ => {}
        }
    }
    let bounds = Interval::of(module, value)?;
    bounds.high.checked_sub(bounds.low)
}

/// Whether two accesses would be of the same elements, each of one lane, if their parameters were the same memory.
fn at_same_places(module: &Module, one: &Access, other: &Access) -> bool {
    let (Some(a), Some(b)) = (one.pointer, other.pointer) else { return false };
    let (Some(first), Some(second)) = (param_of(module, a), param_of(module, b)) else { return false };
    same_expression(module, a, b, Some((first, second)), DEPTH) && are_distinct(module, a)
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
