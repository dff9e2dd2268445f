//! Operands of later dots of a loop go to shared memory at its beginning, where no earlier dot has made anything yet.
//!
//! ```text
//! %s = tt.dot %a, %b, …                        %v = tt.load %p
//! %v = tt.load %p                              %m = ttg.local_alloc %v
//! %w = ttg.convert_layout %v            =>     %s = tt.dot %a, %b, …
//! %d = tt.dot %x, %w, …                        %w = ttg.local_load %m
//!                                              %d = tt.dot %x, %w, …
//! ```
//!
//! The addresses move along. Left out: loads behind anything that writes or that a dot decides about.

use super::{only_reads, writes};
use crate::Machine;
use crate::ops::convert::ConvertLayoutOp;
use crate::ops::shared::{allocate_with, load_from};
use crate::passes::pipeline_loops::{is_dot, memory_between};
use crate::types::memdesc_type;
use ir::{Block, Builder, Module, Op, Traits, Value};
use rustc_hash::FxHashSet;
use ttir::ops::access::AccessOp;
use ttir::ops::control::ForOp;
use ttir::types::{elem, shape};

/// Moves operands of the dots of a body behind the first one.
pub(super) fn store_early(module: &mut Module, op: Op, machine: &Machine) {
    let body = ForOp::new(module, op).body();
    let dots: Vec<Op> = module.ops(body).filter(|&op| is_dot(module, op)).collect();
    for &dot in dots.iter().skip(1) {
        for slot in 0..2 {
            if let Some(found) = Found::of(module, body, module.operand(dot, slot)) {
                found.store(module, body, (dot, slot), machine);
            }
        }
    }
}

/// An operand that is loaded, and what its load needs of the body, in order.
struct Found {
    value: Value,
    moves: Vec<Op>,
}

impl Found {
    fn of(module: &Module, body: Block, operand: Value) -> Option<Found> {
        let conversion = ConvertLayoutOp::def(module, operand)?;
        let value = conversion.src();
        let load = module.def_op(value)?;
        let alone = |value| module.uses(value).len() == 1;
        AccessOp::load(module, load)?;
        if module.block_of(load) != Some(body)
            || !alone(value)
            || !alone(operand)
            || !only_reads(module, load)
        {
            return None;
        }
        let mut needed: FxHashSet<Op> = [load].into_iter().collect();
        let above: Vec<Op> = module.ops(body).take_while(|&op| op != load).collect();
        let mut moves = vec![load];
        for &op in above.iter().rev() {
            if writes(module, op) {
                return None;
            }
            let feeds = module.results(op).iter().flat_map(|&value| module.uses(value));
            if feeds.map(|(user, _)| *user).any(|user| needed.contains(&user)) {
                let simple = module.has(op, Traits::PURE) && !is_dot(module, op);
                if !simple || !module.regions(op).is_empty() {
                    return None;
                }
                needed.insert(op);
                moves.push(op);
            }
        }
        moves.reverse();
        Some(Found { value, moves })
    }

    /// Moves the load to the front of the body, and what it gives to shared memory, from where the dot takes it.
    fn store(self, module: &mut Module, body: Block, user: (Op, usize), machine: &Machine) {
        let old = module.operand(user.0, user.1);
        let (from, to) = (module.ty(self.value), module.ty(old));
        let first = module.ops(body).find(|op| !self.moves.contains(op));
        let (Some(encoding), Some(first)) = (memory_between(from, to, machine), first) else { return };
        let memory = memdesc_type(shape(to), elem(to), &encoding, false);
        for &op in &self.moves {
            module.move_before(first, op);
        }
        let memory = allocate_with(&mut Builder::before(module, first), self.value, memory);
        let loaded = load_from(&mut Builder::before(module, user.0), memory, None, to);
        let conversion = module.def_op(old);
        module.replace_uses(old, loaded);
        if let Some(conversion) = conversion {
            module.erase(conversion);
        }
    }
}
