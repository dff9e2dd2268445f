//! How the blocks of a cluster must share what is loaded: as the dot does that it becomes an operand of.
//!
//! Blocks that load what they multiply never trade it. Addresses are carried by loops together with the layout of their
//! load, so that this is decided before the search, which changes one decision at a time.

use super::layouts::Layouts;
use super::pins::Pins;
use crate::ops::shared::AllocOp;
use crate::{BasisList, Encoding, SharedEncoding};
use ir::{Module, Op, Traits, Value};
use rustc_hash::FxHashSet;
use ttir::ops::access::AccessOp;
use ttir::ops::shape::{TRANS, TransOp};
use ttir::types::{is_tensor, shape};

/// Operations that are looked at for one load.
const LIMIT: usize = 64;

/// How the blocks of a cluster must share the result of a load; `None` where no dot asks for it.
pub(super) fn split_of(module: &Module, op: Op, pins: &Pins, layouts: &Layouts) -> Option<BasisList> {
    if layouts.blocks == 1 || AccessOp::load(module, op).is_none() {
        return None;
    }
    let mut seen = FxHashSet::default();
    let mut open = vec![module.result(op, 0)];
    while let Some(value) = open.pop() {
        for &(user, slot) in module.uses(value) {
            if let Some(cga) = asked(module, (user, slot), pins, layouts) {
                return Some(cga);
            }
            if module.is(user, &TRANS) {
                return turned(module, user, pins, layouts);
            }
            if keeps_places(module, user, value) && seen.len() < LIMIT && seen.insert(user) {
                open.extend(module.results(user));
            }
        }
    }
    None
}

/// The dimension along which lanes must have runs of what is loaded, because an instruction takes them so; `None` where
/// none does, or where it takes them from shared memory in any order.
pub(super) fn runs_along(module: &Module, op: Op, pins: &Pins, layouts: &Layouts) -> Option<(usize, u32)> {
    runs_of(module, AccessOp::load(module, op)?.result()?, pins, layouts)
}

fn runs_of(module: &Module, value: Value, pins: &Pins, layouts: &Layouts) -> Option<(usize, u32)> {
    let mut seen = FxHashSet::default();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        for &(user, slot) in module.uses(value) {
            let pinned = pins.operands.get(&(user, slot)).map(|&layout| layouts.encoding(layout));
            if let Some(Encoding::DotOp { op_idx, parent, k_width }) = pinned
                && let Encoding::Fragments(fragments) = &**parent
            {
                let rank = fragments.rank();
                return Some((if *op_idx == 0 { rank - 1 } else { rank - 2 }, *k_width));
            }
            if let Some(trans) = TransOp::of(module, user) {
                let after = runs_of(module, trans.result(), pins, layouts)?;
                return Some((trans.order()[after.0] as usize, after.1));
            }
            if keeps_places(module, user, value) && seen.len() < LIMIT && seen.insert(user) {
                open.extend(module.results(user));
            }
        }
    }
    None
}

/// What an operand slot asks for by itself.
fn asked(module: &Module, slot: (Op, u32), pins: &Pins, layouts: &Layouts) -> Option<BasisList> {
    if AllocOp::is(module, slot.0) {
        return Some(SharedEncoding::of(module.ty(module.result(slot.0, 0)))?.cga());
    }
    Some(layouts.encoding(*pins.operands.get(&slot)?).cga())
}

/// What users of a transposed value ask for, seen from before.
fn turned(module: &Module, trans: Op, pins: &Pins, layouts: &Layouts) -> Option<BasisList> {
    let trans = TransOp::new(module, trans);
    let (order, uses) = (trans.order(), module.uses(trans.result()).iter());
    let after = uses.copied().find_map(|slot| asked(module, slot, pins, layouts))?;
    let back = |basis: &Vec<u32>| {
        let mut before = vec![0; basis.len()];
        basis.iter().zip(order).for_each(|(at, from)| before[*from as usize] = *at);
        before
    };
    Some(after.iter().map(back).collect())
}

/// Whether an operation gives each element of a value to the element at the same place of its results.
fn keeps_places(module: &Module, op: Op, value: Value) -> bool {
    let sizes = shape(module.ty(value));
    let alike = |&result: &Value| is_tensor(module.ty(result)) && shape(module.ty(result)) == sizes;
    module.has(op, Traits::PURE) && module.regions(op).is_empty() && module.results(op).iter().all(alike)
}
