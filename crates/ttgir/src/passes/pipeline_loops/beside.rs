//! Blocks that loops with roles need from the start are loaded beside the first copies, not in front of them.
//!
//! ```text
//! %q = tt.descriptor_load %d[…]              ttg.warp_specialize … default {
//! ttg.warp_specialize … default {              %q = tt.descriptor_load %d[…]
//!   scf.for … { … %q … }               =>      scf.for … { … %q … }
//! } partition0 { … copies … }                } partition0 { … copies … }
//! ```
//!
//! Only what nothing but these loops uses, and where nothing is written in between.

use crate::ops::shared::LOCAL_ALLOC;
use crate::types::memdesc;
use ir::{Block, Module, Op, Traits};
use rustc_hash::FxHashSet;
use ttir::ops::descriptor;
use ttir::types::is_tensor;

/// Moves such loads, and what is made of their blocks, from in front of roles to the start of a region.
pub(super) fn load_beside(module: &mut Module, roles: Op, region: Block) {
    let first = module.first_op(region).expect("a region has a terminator");
    for load in in_front_of(module, roles) {
        if let Some(ops) = module.is(load, &descriptor::LOAD).then(|| needed(module, load, roles)).flatten() {
            for op in ops {
                module.detach(op);
                module.insert_before(first, op);
            }
        }
    }
}

/// What stands in front of an operation in its block.
fn in_front_of(module: &Module, op: Op) -> Vec<Op> {
    let block = module.block_of(op).expect("it stands in a block");
    module.ops(block).take_while(|&own| own != op).collect()
}

/// A load and what is made of it in front of roles, in order, if that can stand in them.
fn needed(module: &Module, load: Op, roles: Op) -> Option<Vec<Op>> {
    let behind: Vec<Op> = in_front_of(module, roles).into_iter().skip_while(|&op| op != load).collect();
    let mut taken = FxHashSet::from_iter([load]);
    for &op in &behind {
        if taken.contains(&op) {
            let users = module.results(op).iter().flat_map(|&value| module.uses(value));
            taken.extend(users.map(|&(user, _)| user).filter(|&user| !module.is_inside(user, roles)));
        } else if module.row(op).writes() && !module.is(op, &LOCAL_ALLOC) {
            return None;
        }
    }
    let is_block = |op: Op| {
        module
            .results(op)
            .iter()
            .all(|&value| is_tensor(module.ty(value)) || memdesc(module.ty(value)).is_some())
    };
    let may_move = |&op: &Op| {
        let is_made =
            module.is(op, &LOCAL_ALLOC) || module.has(op, Traits::PURE) && module.regions(op).is_empty();
        behind.contains(&op) && is_block(op) && (op == load || is_made)
    };
    let all = taken.iter().all(may_move);
    all.then(|| behind.into_iter().filter(|op| taken.contains(op)).collect())
}
