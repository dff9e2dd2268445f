//! Operations of a block move down to the first that uses their results, where that keeps fewer registers.
//!
//! ```text
//! %v = tt.load %p                             %w = arith.truncf %x
//! %b = ttg.convert_layout %v            =>    %a = ttg.convert_layout %w
//! %w = arith.truncf %x                        %v = tt.load %p
//! %a = ttg.convert_layout %w                  %b = ttg.convert_layout %v
//! tt.dot %a, %b, …                            tt.dot %a, %b, …
//! ```
//!
//! Loads move as well, also those from shared memory, where nothing in between writes. Last in front of a user
//! are its loads, as a conversion may be a wait between them. Operations with regions stay where they are.

use super::{only_reads, words, writes};
use ir::{Block, Module, Op, Traits, Value};
use rustc_hash::FxHashMap;

/// What moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Moved {
    /// All but what writes.
    All,
    /// What is computed of other values. What is loaded takes its time, so that it begins where it stands.
    Computed,
}

/// Moves down what the operations of a block make.
pub(in crate::passes) fn produce_late(module: &mut Module, block: Block) {
    move_down(module, block, Moved::All);
}

/// Moves down what the operations of a block compute, and leaves what they load.
pub(in crate::passes) fn compute_late(module: &mut Module, block: Block) {
    move_down(module, block, Moved::Computed);
}

fn move_down(module: &mut Module, block: Block, moved: Moved) {
    let ops: Vec<Op> = module.ops(block).collect();
    let mut order = Order { moved, placed: Vec::new(), number: FxHashMap::default() };
    // The last one is placed first, so that users stand where they will be.
    for &op in ops.iter().rev() {
        match order.user(module, op) {
            Some(user) => {
                let place = order.above_loads(module, op, user);
                module.move_before(order.placed[place], op);
                order.insert(module, place + 1, op);
            }
            None => order.insert(module, order.placed.len(), op),
        }
    }
}

/// The operations of a block that have their place, the last one first.
struct Order {
    moved: Moved,
    placed: Vec<Op>,
    /// Where they are in the list; for what stands in a region, the operation that has the region.
    number: FxHashMap<Op, usize>,
}

impl Order {
    /// The operation in front of which another one moves.
    fn user(&self, module: &Module, op: Op) -> Option<usize> {
        let reads = !module.has(op, Traits::PURE);
        let stays = reads && (self.moved == Moved::Computed || !only_reads(module, op));
        if stays || !module.regions(op).is_empty() {
            return None;
        }
        let uses = module.results(op).iter().flat_map(|&value| self.users(module, value));
        let first = uses.max().filter(|first| first + 1 < self.placed.len())?;
        let mut passed = self.placed[first + 1..].iter();
        if reads && passed.any(|&other| writes(module, other)) {
            return None;
        }
        let longer = self.only_above(module, op, first);
        let shorter: u64 = module.results(op).iter().map(|&value| words(module, value)).sum();
        (longer <= shorter).then_some(first)
    }

    /// The first of the loads that stand in front of a user for it alone; the user if the operation is a load itself.
    fn above_loads(&self, module: &Module, op: Op, user: usize) -> usize {
        let above = self.placed[user + 1..].iter().take_while(|&&other| {
            let mut uses = module.results(other).iter().flat_map(|&value| self.users(module, value));
            only_reads(module, other) && uses.all(|at| at == user)
        });
        if only_reads(module, op) { user } else { user + above.count() }
    }

    /// Registers of the operands that nothing from a place on uses otherwise.
    fn only_above(&self, module: &Module, op: Op, place: usize) -> u64 {
        let mut operands = module.operands(op).to_vec();
        operands.sort_unstable();
        operands.dedup();
        operands.retain(|&value| self.users(module, value).all(|at| at > place));
        operands.into_iter().map(|value| words(module, value)).sum()
    }

    /// Where users of a value are in the list.
    fn users(&self, module: &Module, value: Value) -> impl Iterator<Item = usize> {
        module.uses(value).iter().filter_map(|(user, _)| self.number.get(user).copied())
    }

    fn insert(&mut self, module: &Module, at: usize, op: Op) {
        self.placed.insert(at, op);
        for number in at..self.placed.len() {
            for inner in module.walk(self.placed[number]) {
                self.number.insert(inner, number);
            }
        }
    }
}
