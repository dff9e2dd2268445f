//! Conditions that are known, steps that both branches end in, assertions that are repeated, loops that run not at all
//! or once, values that a loop carries but never changes.
//!
//! ```text
//! scf.if true { A } else { B }                          =>  A
//! scf.if %c { scf.yield extf %a } else { scf.yield extf %b }
//!                                                      =>  %x = scf.if %c { scf.yield %a } else { scf.yield %b }; extf %x
//! scf.if %c { scf.yield %a, %b } …, its second result unused
//!                                                      =>  scf.if %c { scf.yield %a } …
//! scf.for %i = 5 to 5 step 1 iter_args(%x = %a) { … }   =>  %a
//! scf.for %i = 0 to 4 step 8 iter_args(%x = %a) { A }   =>  A with 0 for %i and %a for %x
//! tt.assert %c, "m" … tt.assert %c, "n"                 =>  tt.assert %c, "m"
//! scf.for … iter_args(%x = %a) { … scf.yield %x }       =>  uses of %x and of the result become %a, and it is not carried
//! ```

use crate::ops::arith_int::int_value;
use crate::ops::control::{ForOp, IfOp};
use crate::ops::debug::{ASSERT, AssertOp};
use crate::types::{elem_bits, is_scalar, is_tensor, numel};
use ir::{Block, Module, Op, OpInit, Traits, Type, Value};

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

/// What both branches yield alike is used as it is, and what they make alike last is made behind them: once, and with
/// fewer registers in use where they meet.
pub(crate) fn sink_from_branches(module: &mut Module, op: Op) -> bool {
    let branch = IfOp::new(module, op);
    let Some(other) = branch.else_block() else { return false };
    let ends = [branch.then_block(), other].map(|block| module.terminator(block));
    let mut changed = false;
    for (index, result) in module.results(op).to_vec().into_iter().enumerate() {
        let yielded = ends.map(|end| module.operands(end)[index]);
        if module.is_unused(result) {
            continue;
        }
        if yielded[0] == yielded[1] {
            module.replace_uses(result, yielded[0]);
            changed = true;
        } else if let Some(steps) = alike(module, op, yielded) {
            sink(module, op, index, steps);
            changed = true;
        }
    }
    changed
}

/// The same step at the end of both branches, and which of its operands they have of their own, if any.
struct Alike {
    steps: [Op; 2],
    own: Option<usize>,
}

/// Finds the step by which both branches of `op` make what they yield, if nothing else uses what it makes, it only
/// computes, and the branches differ in one operand at most, which has no more bits than the result.
fn alike(module: &Module, op: Op, yielded: [Value; 2]) -> Option<Alike> {
    let steps = [module.def_op(yielded[0])?, module.def_op(yielded[1])?];
    let [first, second] = steps;
    let is_own = |step: Op| module.is_inside(step, op) && module.only_user(module.result(step, 0)).is_some();
    let is_same = module.is(second, module.row(first))
        && module.results(first).len() == 1
        && module.attrs(first) == module.attrs(second)
        && module.extra(first) == module.extra(second)
        && module.operands(first).len() == module.operands(second).len();
    let only_computes = module.has(first, Traits::PURE) && module.regions(first).is_empty();
    if !(is_same && only_computes && steps.into_iter().all(is_own)) {
        return None;
    }
    let pairs = module.operands(first).iter().zip(module.operands(second)).enumerate();
    let mut others = pairs.filter(|(_, (one, other))| one != other);
    let Some((own, (&one, &other))) = others.next() else { return Some(Alike { steps, own: None }) };
    let fits = module.ty(one) == module.ty(other) && bits(module.ty(one))? <= bits(module.ty(yielded[0]))?;
    (fits && others.next().is_none()).then_some(Alike { steps, own: Some(own) })
}

/// Bits of a number, a pointer or a block of them.
fn bits(ty: Type) -> Option<i64> {
    (is_tensor(ty) || is_scalar(ty)).then(|| numel(ty) * i64::from(elem_bits(ty)))
}

/// Puts the step of the first branch behind `op`, which yields the operand that the branches differ in.
fn sink(module: &mut Module, op: Op, index: usize, Alike { steps, own }: Alike) {
    let [first, second] = steps;
    let (result, made) = (module.result(op, index), module.result(first, 0));
    let ends: Vec<Op> = IfOp::new(module, op).blocks().map(|block| module.terminator(block)).collect();
    rename(module, result, made);
    let Some(own) = own else {
        // Made of values from outside alone.
        module.move_before(op, first);
        ends.into_iter().for_each(|end| module.set_operand(end, index, made));
        module.erase(second);
        return;
    };
    module.detach(first);
    module.insert_after(op, first);
    for (end, step) in ends.into_iter().zip(steps) {
        let source = module.operands(step)[own];
        module.set_operand(end, index, source);
        module.set_ty(result, module.ty(source));
    }
    module.set_operand(first, own, result);
    module.erase(second);
}

/// Branches stop yielding what nobody uses.
pub(crate) fn drop_unused_results(module: &mut Module, op: Op) -> bool {
    let results = module.results(op).to_vec();
    let used: Vec<bool> = results.iter().map(|&result| !module.is_unused(result)).collect();
    let branch = IfOp::new(module, op);
    if branch.else_block().is_none() || !used.contains(&false) {
        return false;
    }
    let keep = |values: &[Value]| -> Vec<Value> {
        values.iter().zip(&used).filter(|(_, used)| **used).map(|(&value, _)| value).collect()
    };
    let (kept, blocks) = (keep(&results), branch.blocks().collect::<Vec<_>>());
    let slim = narrower(module, op, vec![branch.condition()], &kept);
    for (index, block) in blocks.into_iter().enumerate() {
        let end = module.terminator(block);
        let yielded = keep(module.operands(end));
        module.set_operands(end, &yielded);
        let entry = module.add_block(module.region(slim, index));
        module.splice_block(block, entry);
    }
    replace_by(module, op, slim, &kept);
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
    let slim = narrower(module, op, operands, &results);
    module.set_operands(terminator, &yielded);
    move_body(module, block, slim, &unneeded);
    replace_by(module, op, slim, &results);
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

/// An operation in front of `op` that is like it, with empty regions, these operands and results like `kept`.
fn narrower(module: &mut Module, op: Op, operands: Vec<Value>, kept: &[Value]) -> Op {
    let init = OpInit {
        operands: operands.into(),
        results: kept.iter().map(|&value| module.ty(value)).collect(),
        regions: module.regions(op).len(),
        ..OpInit::default()
    };
    let narrow = module.create(module.row(op), init, module.loc(op));
    module.insert_before(op, narrow);
    for (key, attr) in module.extra(op).to_vec() {
        module.set_extra(narrow, key, Some(attr));
    }
    narrow
}

/// Results of `narrow` take the place of those of `op` that are `kept`, and `op` goes.
fn replace_by(module: &mut Module, op: Op, narrow: Op, kept: &[Value]) {
    for (index, &old) in kept.iter().enumerate() {
        let new = module.result(narrow, index);
        rename(module, old, new);
    }
    module.erase(op);
}

fn rename(module: &mut Module, old: Value, new: Value) {
    if let Some(name) = module.name(old).map(str::to_owned) {
        module.set_name(new, &name);
    }
    module.replace_uses(old, new);
}
