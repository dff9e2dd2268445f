//! Conditions that are known, loops that run not at all or once, values that a loop carries but never changes.
//!
//! ```text
//! scf.if true { A } else { B }                          =>  A
//! scf.for %i = 5 to 5 step 1 iter_args(%x = %a) { … }   =>  %a
//! scf.for %i = 0 to 4 step 8 iter_args(%x = %a) { A }   =>  A with 0 for %i and %a for %x
//! scf.for … iter_args(%x = %a) { … scf.yield %x }       =>  uses of %x and of the result become %a, and it is not carried
//! ```

use crate::ops::arith_int::constant_int;
use ir::{Block, Module, Op, OpInit, Value};

/// Moves the operations of a block in front of `op`, and puts what the block yields in place of `op`'s results.
fn inline_block(module: &mut Module, op: Op, block: Block, args: &[Value]) {
    for (param, &arg) in module.args(block).to_vec().into_iter().zip(args) {
        module.replace_uses(param, arg);
    }
    let inside: Vec<Op> = module.ops(block).collect();
    let Some((&terminator, rest)) = inside.split_last() else { return };
    for &inner in rest {
        module.move_before(op, inner);
    }
    let yielded = module.operands(terminator).to_vec();
    for (result, value) in module.results(op).to_vec().into_iter().zip(yielded) {
        module.replace_uses(result, value);
    }
    module.erase(op);
}

/// A condition that is known: the region that runs stays.
pub(crate) fn fold_if(module: &mut Module, op: Op) -> bool {
    let Some(condition) = constant_int(module, op, 0) else { return false };
    let region = module.region(op, usize::from(condition == 0));
    match module.blocks(region).first() {
        Some(&block) => inline_block(module, op, block, &[]),
        None => module.erase(op),
    }
    true
}

/// Lower bound, upper bound, step, where they are constants.
fn bounds(module: &Module, op: Op) -> Option<[i64; 3]> {
    Some([constant_int(module, op, 0)?, constant_int(module, op, 1)?, constant_int(module, op, 2)?])
}

/// A loop that does not run is its initial values.
pub(crate) fn skip_empty_loop(module: &mut Module, op: Op) -> bool {
    let empty = bounds(module, op).is_some_and(|[lower, upper, step]| step > 0 && lower >= upper);
    if !empty {
        return false;
    }
    let inits = module.operands(op)[3..].to_vec();
    for (result, init) in module.results(op).to_vec().into_iter().zip(inits) {
        module.replace_uses(result, init);
    }
    module.erase(op);
    true
}

/// A loop that runs once is its body.
pub(crate) fn inline_single_iteration(module: &mut Module, op: Op) -> bool {
    let once = bounds(module, op).is_some_and(|[lower, upper, step]| {
        step > 0 && lower < upper && i128::from(lower) + i128::from(step) >= i128::from(upper)
    });
    if !once {
        return false;
    }
    let block = module.entry(module.region(op, 0));
    let mut args = vec![module.operand(op, 0)];
    args.extend(&module.operands(op)[3..]);
    inline_block(module, op, block, &args);
    true
}

/// A carried value that each iteration yields unchanged is its initial value, inside and after the loop.
pub(crate) fn forward_invariant_values(module: &mut Module, op: Op) -> bool {
    let block = module.entry(module.region(op, 0));
    let Some(terminator) = module.last_op(block) else { return false };
    let inits = module.operands(op)[3..].to_vec();
    let mut changed = false;
    for (index, &init) in inits.iter().enumerate() {
        let (param, result) = (module.args(block)[index + 1], module.result(op, index));
        let yielded = module.operand(terminator, index);
        if yielded != param && yielded != init {
            continue;
        }
        let used_inside = module.uses(param).iter().any(|&(user, _)| user != terminator);
        if used_inside || !module.is_unused(result) {
            module.replace_uses_if(param, init, |_, user, _| user != terminator);
            module.replace_uses(result, init);
            changed = true;
        }
    }
    changed
}

/// Which carried values nobody needs: unused after the loop, and inside only handed on.
fn unneeded(module: &Module, op: Op, block: Block, terminator: Op) -> Vec<bool> {
    (0..module.results(op).len())
        .map(|index| {
            let param = module.args(block)[index + 1];
            let only_handed_on = module.uses(param).iter().all(|&use_| use_ == (terminator, index as u32));
            only_handed_on && module.is_unused(module.result(op, index))
        })
        .collect()
}

/// A loop stops carrying values that nobody needs.
pub(crate) fn drop_unneeded_values(module: &mut Module, op: Op) -> bool {
    let block = module.entry(module.region(op, 0));
    let Some(terminator) = module.last_op(block) else { return false };
    let unneeded = unneeded(module, op, block, terminator);
    if !unneeded.contains(&true) {
        return false;
    }
    let keep = |values: &[Value]| -> Vec<Value> {
        values.iter().zip(&unneeded).filter(|(_, unneeded)| !**unneeded).map(|(&value, _)| value).collect()
    };
    let (inits, yielded) = (keep(&module.operands(op)[3..]), keep(module.operands(terminator)));
    let results = keep(module.results(op));
    let mut operands = module.operands(op)[..3].to_vec();
    operands.extend(inits);
    let init = OpInit {
        operands: operands.into(),
        results: results.iter().map(|&value| module.ty(value)).collect(),
        regions: 1,
        ..OpInit::default()
    };
    let slim = module.create(module.row(op), init, module.loc(op));
    module.insert_before(op, slim);
    for (key, attr) in module.extra(op).to_vec() {
        module.set_extra(slim, key, Some(attr));
    }
    module.set_operands(terminator, &yielded);
    move_body(module, block, slim, &unneeded);
    for (index, old) in results.into_iter().enumerate() {
        let new = module.result(slim, index);
        rename(module, old, new);
    }
    module.erase(op);
    true
}

/// Moves the body of a loop into another that carries fewer values.
fn move_body(module: &mut Module, block: Block, target: Op, unneeded: &[bool]) {
    let region = module.region(target, 0);
    let entry = module.add_block(region);
    for (index, param) in module.args(block).to_vec().into_iter().enumerate() {
        if index > 0 && unneeded[index - 1] {
            continue;
        }
        let new = module.add_arg(entry, module.ty(param));
        module.set_arg_loc(entry, module.args(entry).len() - 1, module.arg_loc(block, index));
        rename(module, param, new);
    }
    module.splice_block(block, entry);
}

fn rename(module: &mut Module, old: Value, new: Value) {
    if let Some(name) = module.name(old).map(str::to_owned) {
        module.set_name(new, &name);
    }
    module.replace_uses(old, new);
}
