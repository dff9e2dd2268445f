//! Branches that make blocks of few steps are both computed, element by element.
//!
//! Input:  `%r = scf.if %c { yield %a } else { %b = …; yield %b }`
//! Output: `%b = …;  %r = arith.select %c, %a, %b`
//!
//! A block that a branch yields goes through memory, as do those that it uses and that are made by loops of their own;
//! chosen, it is one more operation where it is used. Done where one branch makes its blocks of next to nothing, as the
//! first iteration of a mean and a variance does, and the other of few steps without elementary functions.

use super::rows;
use ir::{Block, Builder, Module, Op, Traits};
use ttir::ops::compare::SELECT;
use ttir::ops::control::{self, IF, IfOp};
use ttir::types;

/// Operations on blocks of the shorter branch, and of the longer one, at most.
const MOST: [usize; 2] = [2, 16];
/// Other operations of a branch, at most.
const MOST_OTHERS: usize = 16;

/// Rewrites every branch of a kernel, the inner ones first.
pub(crate) fn choose(module: &mut Module, kernel: Op) {
    let branches = module.walk(kernel).into_iter().filter(|&op| module.is(op, &IF)).collect::<Vec<_>>();
    for op in branches.into_iter().rev() {
        if serves(module, op) {
            rewrite(module, op);
        }
    }
}

fn serves(module: &Module, op: Op) -> bool {
    let of = IfOp::new(module, op);
    let (then, Some(otherwise)) = (of.then_block(), of.else_block()) else { return false };
    let [Some(one), Some(other)] = [then, otherwise].map(|block| steps(module, block)) else { return false };
    let makes_blocks = of.results().iter().any(|&value| types::is_tensor(module.ty(value)));
    // Where an address comes from is known of branches.
    let makes_addresses =
        of.results().iter().any(|&value| types::pointee(types::elem(module.ty(value))).is_some());
    makes_blocks && !makes_addresses && one.min(other) <= MOST[0] && one.max(other) <= MOST[1]
}

/// How many operations on blocks a branch is; none where it is long otherwise, or may not run unasked.
fn steps(module: &Module, block: Block) -> Option<usize> {
    let (mut steps, mut others) = (0, 0);
    for op in module.ops(block).filter(|&op| !module.has(op, Traits::TERMINATOR)) {
        let traits = module.row(op).traits;
        let is_made_in_place = traits.has_any(Traits::ELEMENTWISE.and(Traits::SOURCE).and(Traits::VIEW));
        let is_free = traits.has(Traits::PURE) && !traits.has(Traits::NO_SPECULATION);
        let is_scalar = module.results(op).iter().all(|&value| !types::is_tensor(module.ty(value)));
        if !is_free
            || rows::is_long(module, op)
            || !module.regions(op).is_empty()
            || !(is_made_in_place || is_scalar)
        {
            return None;
        }
        let is_step = traits.has(Traits::ELEMENTWISE) && !is_scalar;
        steps += usize::from(is_step);
        others += usize::from(!is_step);
    }
    (others <= MOST_OTHERS).then_some(steps)
}

fn rewrite(module: &mut Module, op: Op) {
    let of = IfOp::new(module, op);
    let condition = of.condition();
    let blocks: Vec<Block> = of.blocks().collect();
    let yields: Vec<_> = blocks.iter().map(|&block| control::yielded(module, block).to_vec()).collect();
    for &block in &blocks {
        let inner: Vec<Op> = module.ops(block).filter(|&op| !module.has(op, Traits::TERMINATOR)).collect();
        inner.into_iter().for_each(|inner| module.move_before(op, inner));
    }
    let [first, second] = &yields[..] else { return };
    let results = module.results(op).to_vec();
    for ((&one, &other), result) in first.iter().zip(second).zip(results) {
        let chosen = Builder::before(module, op).build(&SELECT, &[condition, one, other], &[]);
        module.replace_uses(result, chosen);
    }
    module.erase(op);
}
