//! Conditions that are known, assertions that are repeated, loops that run not at all or once, values that a loop
//! carries but never changes.
//!
//! ```text
//! scf.if true { A } else { B }                          =>  A
//! scf.for %i = 5 to 5 step 1 iter_args(%x = %a) { … }   =>  %a
//! scf.for %i = 0 to 4 step 8 iter_args(%x = %a) { A }   =>  A with 0 for %i and %a for %x
//! tt.assert %c, "m" … tt.assert %c, "n"                 =>  tt.assert %c, "m"
//! scf.for … iter_args(%x = %a) { … scf.yield %x }       =>  uses of %x and of the result become %a, and it is not carried
//! ```

use crate::ops::arith_int::int_value;
use crate::ops::control::{ForOp, IfOp};
use crate::ops::debug::{ASSERT, AssertOp};
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
    let branch = IfOp::new(module, op);
    let Some(condition) = int_value(module, branch.condition()) else { return false };
    match if condition != 0 { Some(branch.then_block()) } else { branch.else_block() } {
        Some(block) => inline_block(module, op, block, &[]),
        None => module.erase(op),
    }
    true
}

/// Lower bound, upper bound, step, where they are constants.
fn bounds(of: ForOp<'_>) -> Option<[i64; 3]> {
    let number = |value| int_value(of.module, value);
    Some([number(of.lower())?, number(of.upper())?, number(of.step())?])
}

/// A loop that does not run is its initial values.
pub(crate) fn skip_empty_loop(module: &mut Module, op: Op) -> bool {
    let of = ForOp::new(module, op);
    let empty = bounds(of).is_some_and(|[lower, upper, step]| step > 0 && lower >= upper);
    if !empty {
        return false;
    }
    let ends: Vec<_> = of.results().iter().copied().zip(of.inits().iter().copied()).collect();
    for (result, init) in ends {
        module.replace_uses(result, init);
    }
    module.erase(op);
    true
}

/// A loop that runs once is its body.
pub(crate) fn inline_single_iteration(module: &mut Module, op: Op) -> bool {
    let of = ForOp::new(module, op);
    let once = bounds(of).is_some_and(|[lower, upper, step]| {
        step > 0 && lower < upper && i128::from(lower) + i128::from(step) >= i128::from(upper)
    });
    if !once {
        return false;
    }
    let block = of.body();
    let mut args = vec![of.lower()];
    args.extend(of.inits());
    inline_block(module, op, block, &args);
    true
}

/// What held further up in a block holds.
pub(crate) fn drop_repeated_assert(module: &mut Module, op: Op) -> bool {
    let block = module.block_of(op);
    let condition = AssertOp::new(module, op).condition();
    let same = |user: Op| user != op && module.is(user, &ASSERT) && module.block_of(user) == block;
    let others: Vec<Op> =
        module.uses(condition).iter().map(|&(user, _)| user).filter(|&user| same(user)).collect();
    let Some(block) = block.filter(|_| !others.is_empty()) else { return false };
    let is_repeated = module.ops(block).take_while(|&inner| inner != op).any(|inner| others.contains(&inner));
    if is_repeated {
        module.erase(op);
    }
    is_repeated
}

/// A carried value that each iteration yields unchanged is its initial value, inside and after the loop.
pub(crate) fn forward_invariant_values(module: &mut Module, op: Op) -> bool {
    let terminator = ForOp::new(module, op).terminator();
    let mut changed = false;
    for index in 0..module.results(op).len() {
        let of = ForOp::new(module, op);
        let (init, param, yielded) = (of.inits()[index], of.carried()[index], of.yielded()[index]);
        let result = of.results()[index];
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
fn unneeded(of: ForOp<'_>) -> Vec<bool> {
    let (module, terminator) = (of.module, of.terminator());
    let each = of.carried().iter().zip(of.results()).enumerate();
    each.map(|(index, (&param, &result))| {
        let only_handed_on = module.uses(param).iter().all(|&use_| use_ == (terminator, index as u32));
        only_handed_on && module.is_unused(result)
    })
    .collect()
}

/// A loop stops carrying values that nobody needs.
pub(crate) fn drop_unneeded_values(module: &mut Module, op: Op) -> bool {
    let of = ForOp::new(module, op);
    let (block, terminator) = (of.body(), of.terminator());
    let unneeded = unneeded(of);
    if !unneeded.contains(&true) {
        return false;
    }
    let keep = |values: &[Value]| -> Vec<Value> {
        values.iter().zip(&unneeded).filter(|(_, unneeded)| !**unneeded).map(|(&value, _)| value).collect()
    };
    let (yielded, results) = (keep(of.yielded()), keep(of.results()));
    let mut operands = vec![of.lower(), of.upper(), of.step()];
    operands.extend(keep(of.inits()));
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
