//! Dominance: which block comes before which on every way (Cooper, Harvey and Kennedy's iteration).

use crate::function::{Block, Function};
use cranelift_entity::SecondaryMap;

/// The tree of dominators of a function.
#[derive(Clone, Debug)]
pub(crate) struct Dominators {
    /// The blocks that can be reached, each before those it dominates.
    order: Vec<Block>,
    reached: SecondaryMap<Block, bool>,
    dominator: SecondaryMap<Block, Option<Block>>,
    number: SecondaryMap<Block, u32>,
    predecessors: SecondaryMap<Block, Vec<Block>>,
}

impl Dominators {
    /// Computes it.
    pub(crate) fn new(function: &Function) -> Dominators {
        let postorder = postorder(function);
        let mut tree = Dominators {
            order: postorder.iter().rev().copied().collect(),
            reached: SecondaryMap::new(),
            dominator: SecondaryMap::new(),
            number: SecondaryMap::new(),
            predecessors: SecondaryMap::new(),
        };
        for (index, block) in postorder.iter().enumerate() {
            tree.reached[*block] = true;
            tree.number[*block] = index as u32;
            for call in function.targets(*block) {
                tree.predecessors[call.block].push(*block);
            }
        }
        let Some(entry) = postorder.last().copied() else { return tree };
        tree.dominator[entry] = Some(entry);
        let mut changed = true;
        while changed {
            changed = false;
            for block in postorder.iter().rev().skip(1) {
                let known = tree.predecessors[*block].iter().filter(|pred| tree.dominator[**pred].is_some());
                let meet = known.copied().reduce(|a, b| tree.meet(a, b));
                if meet != tree.dominator[*block] {
                    tree.dominator[*block] = meet;
                    changed = true;
                }
            }
        }
        tree
    }

    /// The nearest block that dominates both.
    fn meet(&self, mut a: Block, mut b: Block) -> Block {
        while a != b {
            let lower = if self.number[a] < self.number[b] { &mut a } else { &mut b };
            match self.dominator[*lower] {
                Some(above) => *lower = above,
                None => return a,
            }
        }
        a
    }

    /// The blocks that can be reached, each before those it dominates.
    pub(crate) fn order(&self) -> &[Block] {
        &self.order
    }

    /// Where a block that can be reached is in [`Dominators::order`].
    pub(crate) fn place(&self, block: Block) -> usize {
        self.order.len() - 1 - self.number[block] as usize
    }

    /// Whether a block can be reached.
    pub(crate) fn is_reached(&self, block: Block) -> bool {
        self.reached[block]
    }

    /// The blocks that go to a block; one that goes there twice is named twice.
    pub(crate) fn predecessors(&self, block: Block) -> &[Block] {
        &self.predecessors[block]
    }

    /// Whether every way to `other` leads through `block`.
    pub(crate) fn dominates(&self, block: Block, other: Block) -> bool {
        if !self.reached[block] {
            return false;
        }
        let mut walk = other;
        while self.number[walk] < self.number[block] {
            match self.dominator[walk] {
                Some(above) => walk = above,
                None => return false,
            }
        }
        walk == block
    }
}

/// The blocks that can be reached, each after those it goes to first.
pub fn postorder(function: &Function) -> Vec<Block> {
    let mut seen: SecondaryMap<Block, bool> = SecondaryMap::new();
    let mut order = Vec::new();
    let mut work: Vec<(Block, usize)> = Vec::new();
    if let Some(entry) = function.layout.first() {
        seen[*entry] = true;
        work.push((*entry, 0));
    }
    while let Some((block, next)) = work.pop() {
        match function.targets(block).get(next) {
            Some(call) => {
                work.push((block, next + 1));
                if !std::mem::replace(&mut seen[call.block], true) {
                    work.push((call.block, 0));
                }
            }
            None => order.push(block),
        }
    }
    order
}
