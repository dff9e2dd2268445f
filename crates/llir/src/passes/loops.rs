//! The loops of a function: the blocks from which a jump leads back to a block that dominates them.
//!
//! Left out: loops that are entered from several blocks.

use crate::dominators::Dominators;
use crate::function::Block;
use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

/// A loop: where it begins, what is in it, and the one block before it.
pub(super) struct Loop {
    /// The block that every iteration begins with.
    pub(super) head: Block,
    /// The blocks that jump back to it.
    pub(super) tails: SmallVec<[Block; 2]>,
    /// All blocks, each before those it dominates.
    pub(super) blocks: Vec<Block>,
    /// The block that the loop is entered from.
    pub(super) before: Block,
}

/// The loops, inner ones first.
pub(super) fn loops(dominators: &Dominators) -> Vec<Loop> {
    let mut loops = Vec::new();
    for head in dominators.order() {
        let back = |pred: &&Block| dominators.dominates(*head, **pred);
        let tails: SmallVec<[Block; 2]> =
            dominators.predecessors(*head).iter().filter(back).copied().collect();
        if !tails.is_empty() {
            loops.extend(body(dominators, *head, tails));
        }
    }
    loops.sort_by_key(|found| found.blocks.len());
    loops
}

fn body(dominators: &Dominators, head: Block, tails: SmallVec<[Block; 2]>) -> Option<Loop> {
    let mut inside: SecondaryMap<Block, bool> = SecondaryMap::new();
    inside[head] = true;
    let mut blocks = vec![head];
    let mut work = tails.to_vec();
    while let Some(block) = work.pop() {
        if !std::mem::replace(&mut inside[block], true) {
            blocks.push(block);
            work.extend(dominators.predecessors(block));
        }
    }
    let mut outside = dominators.predecessors(head).iter().filter(|pred| !inside[**pred]);
    let before = *outside.next()?;
    let alone = outside.all(|other| *other == before);
    blocks.sort_unstable_by_key(|block| dominators.place(*block));
    alone.then_some(Loop { head, tails, blocks, before })
}
