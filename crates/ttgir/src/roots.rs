//! Which parameters pointers and descriptors of a kernel come from, and what operations touch through them.
//!
//! Parameters are taken to be of memory that lies apart. What is loaded, or made of a number, may point anywhere.

use crate::from_ttir::map_slot;
use crate::ops::bulk::{GLOBAL_SCRATCH_ALLOC, ReinterpretDescriptorOp, TensormapCreateOp};
use crate::ops::roles::{WARP_YIELD, WarpSpecializeOp};
use ir::{Effect, Module, Op, Traits, Type, Value};
use rustc_hash::FxHashMap;
use ttir::ops::control::{ConditionOp, FOR, ForOp, IF, WHILE, WhileOp, YieldOp};
use ttir::ops::func::{CallOp, FuncOp, RETURN};
use ttir::types::{DESCRIPTOR, PTR_LIKE};

/// Where a pointer comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Root {
    /// From the parameter of this number.
    Param(usize),
    /// From memory that the program has for itself, and orders itself.
    Own,
    /// Nothing is known.
    Any,
}

impl Root {
    /// Whether pointers of these roots may be of the same memory.
    pub fn meets(self, other: Root) -> bool {
        match (self, other) {
            (Root::Own, _) | (_, Root::Own) => false,
            (Root::Any, _) | (_, Root::Any) => true,
            (Root::Param(one), Root::Param(two)) => one == two,
        }
    }
}

/// Whether a value is a pointer, or a block of them.
pub fn is_pointer(ty: Type) -> bool {
    (PTR_LIKE.check)(ty)
}

fn is_followed(ty: Type) -> bool {
    is_pointer(ty) || (DESCRIPTOR.check)(ty)
}

/// The roots of the pointers and descriptors of a kernel and of the functions that it calls.
#[derive(Default, Debug)]
pub struct Roots {
    of: FxHashMap<Value, Vec<Root>>,
}

impl Roots {
    /// `ops` are all operations of the kernel and of the functions that it calls ([`reachable`]).
    pub fn of(module: &Module, kernel: Op, ops: &[Op]) -> Roots {
        let mut roots = Roots::default();
        for (slot, &param) in FuncOp::new(module, kernel).params().iter().enumerate() {
            let slot = map_slot(module, param).unwrap_or(slot);
            roots.join(param, &[Root::Param(slot)]);
        }
        let mut ways = Vec::new();
        for &op in ops {
            if makes_pointers(module, op) {
                let root = if module.is(op, &GLOBAL_SCRATCH_ALLOC) { Root::Own } else { Root::Any };
                for &result in module.results(op) {
                    roots.join(result, &[root]);
                }
            } else {
                let followed = |(from, _): &(Value, Value)| is_followed(module.ty(*from));
                ways.extend(flows(module, op, is_followed).into_iter().filter(followed));
                ways.extend(described(module, op));
            }
        }
        roots.spread(&ways);
        roots
    }

    /// Where a pointer or a descriptor may come from: anywhere, if nothing was found that leads to it.
    pub fn get(&self, value: Value) -> &[Root] {
        match self.of.get(&value).map(Vec::as_slice) {
            None | Some([]) => &[Root::Any],
            Some(roots) => roots,
        }
    }

    /// Follows pointers until nothing changes; what has no root yet gets it in a later iteration.
    fn spread(&mut self, ways: &[(Value, Value)]) {
        let mut changes = true;
        while std::mem::take(&mut changes) {
            for (from, to) in ways {
                let roots = self.of.get(from).cloned().unwrap_or_default();
                changes |= self.join(*to, &roots);
            }
        }
    }

    /// Whether that is something new.
    fn join(&mut self, value: Value, roots: &[Root]) -> bool {
        let known = self.of.entry(value).or_default();
        let before = known.len();
        for root in roots {
            if !known.contains(root) {
                known.push(*root);
            }
        }
        known.len() > before
    }
}

/// A descriptor that is written to memory is of what it describes: that, and the descriptor.
fn described(module: &Module, op: Op) -> impl Iterator<Item = (Value, Value)> {
    let descriptor = ReinterpretDescriptorOp::of(module, op);
    descriptor.into_iter().flat_map(move |descriptor| {
        let users = module.uses(descriptor.raw_desc()).iter();
        let created = users.filter_map(move |&(user, _)| TensormapCreateOp::of(module, user));
        created.map(move |create| (create.global_address(), descriptor.result()))
    })
}

/// The operations of a kernel and of the functions that it calls.
pub fn reachable(module: &Module, kernel: Op) -> Vec<Op> {
    let (mut ops, mut open, mut seen) = (Vec::new(), vec![kernel], vec![kernel]);
    while let Some(function) = open.pop() {
        for op in module.walk(function) {
            if let Some(callee) = callee(module, op).filter(|callee| !seen.contains(callee)) {
                seen.push(callee);
                open.push(callee);
            }
            ops.push(op);
        }
    }
    ops
}

/// The function that an operation calls.
pub fn callee(module: &Module, op: Op) -> Option<Op> {
    module.symbol(CallOp::of(module, op)?.callee())
}

/// Whether an operation gives pointers that are none of its operands.
fn makes_pointers(module: &Module, op: Op) -> bool {
    let gives = |values: &[Value]| values.iter().any(|&value| is_followed(module.ty(value)));
    if !gives(module.results(op)) {
        return false;
    }
    let hands_on = [&FOR, &WHILE, &IF].iter().any(|row| module.is(op, row)) || callee(module, op).is_some();
    let moves = module.has(op, Traits::PURE) && module.regions(op).is_empty() && gives(module.operands(op));
    !hands_on && !moves
}

/// Whether an operation may store.
pub fn stores(module: &Module, op: Op) -> bool {
    (0..module.row(op).operands.len()).any(|group| {
        !matches!(effect(module, op, group), Effect::Nothing | Effect::Read)
            && module.operand_group(op, group).iter().any(|&value| is_pointer(module.ty(value)))
    })
}

/// What an operation does to the memory behind an operand group: [`Effect::Nothing`], [`Effect::Read`], or something
/// that writes.
pub fn effect(module: &Module, op: Op, group: usize) -> Effect {
    let is_plain = module.has(op, Traits::TERMINATOR)
        || module.has(op, Traits::PURE)
        || !module.regions(op).is_empty()
        || callee(module, op).is_some();
    match module.row(op).operands[group].effect {
        Effect::Unknown if is_plain => Effect::Nothing,
        effect => effect,
    }
}

/// Pairs of values of which the second may be the first, or a view of it: memory is what a type says.
pub fn flows(module: &Module, op: Op, is_memory: fn(Type) -> bool) -> Vec<(Value, Value)> {
    // Most operations compute.
    let computes = module.has(op, Traits::PURE) && !module.has(op, Traits::TERMINATOR);
    if computes && !module.results(op).iter().any(|&result| is_memory(module.ty(result))) {
        return Vec::new();
    }
    let zip = |from: &[Value], to: &[Value]| from.iter().copied().zip(to.iter().copied()).collect::<Vec<_>>();
    if let Some(of) = ForOp::of(module, op) {
        return [zip(of.inits(), of.carried()), zip(of.inits(), of.results())].concat();
    }
    if let Some(of) = WhileOp::of(module, op) {
        return zip(of.inits(), module.args(of.before()));
    }
    if let Some(condition) = ConditionOp::of(module, op) {
        let Some(parent) = module.parent_op(op) else { return Vec::new() };
        let after = module.args(WhileOp::new(module, parent).after());
        return [zip(condition.args(), after), zip(condition.args(), module.results(parent))].concat();
    }
    if let Some(ends) = YieldOp::of(module, op) {
        let Some(parent) = module.parent_op(op) else { return Vec::new() };
        if let Some(of) = WhileOp::of(module, parent) {
            return zip(ends.results(), module.args(of.before()));
        }
        let results = zip(ends.results(), module.results(parent));
        return match ForOp::of(module, parent) {
            Some(of) => [zip(ends.results(), of.carried()), results].concat(),
            None => results,
        };
    }
    if let Some(of) = WarpSpecializeOp::of(module, op) {
        let partitions = module.regions(op)[1..].iter();
        return partitions
            .flat_map(|&region| zip(of.captures(), module.args(module.entry(region))))
            .collect();
    }
    if module.is(op, &WARP_YIELD) {
        let Some(parent) = module.parent_op(op) else { return Vec::new() };
        return zip(module.operands(op), module.results(parent));
    }
    if let Some(callee) = callee(module, op) {
        let entry = FuncOp::new(module, callee).entry();
        let returned = module.last_op(entry).filter(|&last| module.is(last, &RETURN));
        let results = returned.map(|last| zip(module.operands(last), module.results(op))).unwrap_or_default();
        return [zip(module.operands(op), module.args(entry)), results].concat();
    }
    // A view: all memory among the operands.
    let views = module.results(op).iter().filter(|&&result| is_memory(module.ty(result)));
    views.flat_map(|&result| module.operands(op).iter().map(move |&operand| (operand, result))).collect()
}
