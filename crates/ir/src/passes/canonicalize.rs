//! Canonical form: constants folded, operations replaced by simpler ones, what nobody uses removed.
//!
//! A worklist holds every operation once; a change puts the users and the operands' definitions of what changed back on
//! it. What happens to one operation is decided by its row: `eval` on constant operands, `fold`, `patterns`. Constant
//! operands of commutative operations go to the right. At the end constants stand once, at the start of their function.

use crate::diagnostic::Diagnostic;
use crate::entity::{Block, Op, Value};
use crate::module::row::{EvalArgs, Fold};
use crate::module::traits::Traits;
use crate::module::{Module, OpInit};
use crate::pass::PassRow;
use crate::types::Type;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

/// Brings a program into canonical form.
pub static CANONICALIZE: PassRow = PassRow {
    name: "canonicalize",
    doc: "Folds constants, simplifies operations, removes unused ones.",
    run,
};

/// The raw bits of a value that is a constant with equal elements.
pub fn constant_value(module: &Module, value: Value) -> Option<u64> {
    module.registry().rules().to_bits(module.constant(value)?)
}

/// Operations to look at, each at most once in the list.
#[derive(Default)]
struct Worklist {
    stack: Vec<Op>,
    queued: Vec<bool>,
}

impl Worklist {
    fn push(&mut self, op: Op) {
        let index = op.as_u32() as usize;
        if index >= self.queued.len() {
            self.queued.resize(index + 64, false);
        }
        if !std::mem::replace(&mut self.queued[index], true) {
            self.stack.push(op);
        }
    }

    fn pop(&mut self) -> Option<Op> {
        let op = self.stack.pop()?;
        self.queued[op.as_u32() as usize] = false;
        Some(op)
    }

    fn push_users(&mut self, module: &Module, value: Value) {
        for &(user, _) in module.uses(value) {
            self.push(user);
        }
    }
}

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    let mut worklist = Worklist::default();
    for op in module.walk(module.top()).into_iter().skip(1).rev() {
        worklist.push(op);
    }
    while let Some(op) = worklist.pop() {
        // What was erased since it was put on the list stands in no block.
        if module.block_of(op).is_some() {
            visit(module, op, &mut worklist);
        }
    }
    for function in module.ops(module.body()).collect::<Vec<_>>() {
        hoist_constants(module, function);
    }
    Ok(())
}

fn visit(module: &mut Module, op: Op, worklist: &mut Worklist) {
    if module.results(op).iter().all(|&result| module.is_unused(result)) && super::is_removable(module, op) {
        erase(module, op, worklist);
        return;
    }
    if swap_constant_right(module, op) {
        worklist.push(op);
    }
    if let Some(fold) = fold(module, op) {
        replace(module, op, fold, worklist);
        return;
    }
    let patterns = module.row(op).patterns;
    if patterns.is_empty() {
        return;
    }
    // Those that do not apply change nothing.
    let before = module.num_ops();
    let users: SmallVec<[Op; 8]> =
        module.results(op).iter().flat_map(|&result| module.uses(result)).map(|use_| use_.0).collect();
    let sources: SmallVec<[Op; 8]> =
        module.operands(op).iter().filter_map(|&value| module.def_op(value)).collect();
    for pattern in patterns {
        if !pattern(module, op) {
            continue;
        }
        let new = (before..module.num_ops()).map(|index| Op::from_u32(index as u32));
        for op in new.chain([op]).chain(users).chain(sources) {
            worklist.push(op);
        }
        return;
    }
}

fn erase(module: &mut Module, op: Op, worklist: &mut Worklist) {
    let mut operands: SmallVec<[Value; 8]> = SmallVec::from_slice(module.operands(op));
    if !module.regions(op).is_empty() {
        let inside = module.walk(op);
        operands.extend(inside.iter().skip(1).flat_map(|&op| module.operands(op).iter().copied()));
    }
    module.erase(op);
    for value in operands {
        if let Some(def) = module.def_op(value) {
            worklist.push(def);
        }
    }
}

fn swap_constant_right(module: &mut Module, op: Op) -> bool {
    let &[left, right] = module.operands(op) else { return false };
    if !module.has(op, Traits::COMMUTATIVE)
        || module.constant(left).is_none()
        || module.constant(right).is_some()
    {
        return false;
    }
    module.set_operands(op, &[right, left]);
    true
}

fn fold(module: &Module, op: Op) -> Option<Fold> {
    if module.has(op, Traits::CONSTANT) || module.results(op).len() != 1 {
        return None;
    }
    evaluate(module, op).or_else(|| module.row(op).fold.and_then(|fold| fold(module, op)))
}

/// The constant that an elementwise operation on constants is.
fn evaluate(module: &Module, op: Op) -> Option<Fold> {
    let row = module.row(op);
    let eval = row.eval.filter(|_| row.traits.has(Traits::ELEMENTWISE))?;
    let operands = module.operands(op);
    if operands.is_empty() {
        return None;
    }
    let bits: SmallVec<[u64; 3]> =
        operands.iter().map(|&value| constant_value(module, value)).collect::<Option<_>>()?;
    let rules = module.registry().rules();
    let types: SmallVec<[Type; 3]> = operands.iter().map(|&value| rules.elem(module.ty(value))).collect();
    let result = module.ty(module.result(op, 0));
    let args = EvalArgs { attrs: module.attrs(op), operand_types: &types, result_type: rules.elem(result) };
    rules.to_attr(result, eval(&args, &bits)?).map(Fold::Attr)
}

fn replace(module: &mut Module, op: Op, fold: Fold, worklist: &mut Worklist) {
    let result = module.result(op, 0);
    worklist.push_users(module, result);
    let to = match fold {
        Fold::Value(value) => value,
        Fold::Attr(attr) => {
            let init = OpInit {
                results: smallvec![module.ty(result)],
                attrs: smallvec![Some(attr)],
                ..OpInit::default()
            };
            let constant = module.create(module.registry().constant(), init, module.loc(op));
            module.insert_before(op, constant);
            module.result(constant, 0)
        }
    };
    module.replace_uses(result, to);
    erase(module, op, worklist);
}

/// Moves the constants of a function to its start, each once, in the order of their first use.
fn hoist_constants(module: &mut Module, function: Op) {
    let Some(&entry) = module.regions(function).first().and_then(|&region| module.blocks(region).first())
    else {
        return;
    };
    let mut known = FxHashMap::default();
    let constants: Vec<Op> =
        module.walk(function).into_iter().filter(|&op| module.has(op, Traits::CONSTANT)).collect();
    let mut kept = Vec::new();
    for op in constants {
        let result = module.result(op, 0);
        let key = (module.constant_value(op).cloned(), module.ty(result));
        if let Some(&first) = known.get(&key) {
            module.replace_uses(result, first);
            module.erase(op);
        } else {
            known.insert(key, result);
            kept.push(op);
        }
    }
    place_at_start(module, entry, &kept);
}

fn place_at_start(module: &mut Module, entry: Block, constants: &[Op]) {
    for &op in constants.iter().rev() {
        module.detach(op);
        module.prepend(entry, op);
    }
}
