//! Loops whose loads go through registers into one buffer for each operand.
//!
//! ```text
//! %n = tt.load ; %m = tt.load                 %n = tt.load ; read slice 0
//! %x = ttg.local_load %p                      barrier ; tt.dot of slice 0 ; barrier
//! %y = ttg.local_load %q                      %m = tt.load ; read slice 1
//! %d = tt.dot %x, %y, %c               =>     barrier ; tt.dot of slice 1 ; barrier
//! ttg.local_store %n, %p                      read slices 2 and 3
//! ttg.local_store %m, %q                      barrier ; tt.dot of slice 2 ; barrier
//!                                             ttg.local_store %n, %p ; ttg.local_store %m, %q
//!                                             barrier ; tt.dot of slice 3 ; barrier
//! ```
//!
//! Between the last reads of a group and its stores are two barriers, and two between its stores and the first reads of
//! the next iteration; so the other group, one barrier behind, has read before this one stores, and stored before this
//! one reads. Dots half as large are made in two slices, both of which are read first.

use super::{Sliced, Weaver, fence, memory_of, only_computes};
use crate::ops::shared::{LOCAL_STORE, LocalStoreOp};
use crate::passes::is_dot;
use ir::{Module, Op, Value};
use ttir::ops::access::AccessOp;
use ttir::ops::control::ForOp;
use ttir::types::is_tensor;

/// Lets two groups run a loop apart, if it is such a loop; whether it is.
pub(super) fn weave(module: &mut Module, op: Op, least: u64) -> bool {
    let Some(parts) = Parts::of(module, op, least) else { return false };
    let mut weaver = Weaver::new(module, parts.dot);
    if parts.dot.slices == 4 {
        four(&mut weaver, &parts)
    } else {
        two(&mut weaver, &parts)
    }
    weaver.finish(op);
    true
}

/// What a loop consists of.
struct Parts {
    /// The loads of the next iteration.
    loads: [Op; 2],
    /// The stores of what was loaded.
    stores: [Op; 2],
    dot: Sliced,
}

impl Parts {
    fn of(module: &Module, op: Op, least: u64) -> Option<Parts> {
        let body = ForOp::new(module, op).body();
        let (mut loads, mut reads, mut dots, mut stores) = (vec![], vec![], vec![], vec![]);
        for inner in module.ops(body) {
            if memory_of(module, inner).is_some() {
                reads.push(inner);
            } else if module.is(inner, &LOCAL_STORE) {
                stores.push(inner);
            } else if is_dot(module, inner) {
                dots.push(inner);
            } else if is_load(module, inner) {
                loads.push(inner);
            } else if !only_computes(module, inner) {
                return None;
            }
        }
        let slices = |work: u64| match work / least {
            0 => None,
            1 => Some(2),
            _ => Some(4),
        };
        let dot = Sliced::of(module, &dots, &reads, slices)?;
        let parts = Parts { loads: loads.try_into().ok()?, stores: stores.try_into().ok()?, dot };
        parts.fits(module).then_some(parts)
    }

    /// Whether what is loaded is stored where the dot's operands were read from, and nobody else uses it.
    fn fits(&self, module: &Module) -> bool {
        let loaded = self.loads.map(|load| module.result(load, 0));
        let stores = self.stores.map(|store| LocalStoreOp::new(module, store));
        let same =
            |values: [Value; 2], others: [Value; 2]| values == others || values == [others[1], others[0]];
        same(loaded, stores.map(LocalStoreOp::src))
            && same(self.dot.memory(module), stores.map(LocalStoreOp::dst))
            && loaded.into_iter().all(|value| module.uses(value).len() == 1)
    }
}

fn is_load(module: &Module, op: Op) -> bool {
    let load = AccessOp::load(module, op).filter(|load| !load.volatile());
    load.and_then(AccessOp::result).is_some_and(|value| is_tensor(module.ty(value)))
}

fn four(weaver: &mut Weaver<'_>, parts: &Parts) {
    let first = weaver.read(0);
    weaver.multiply(first);
    weaver.put(parts.loads[1]);
    let second = weaver.read(1);
    weaver.multiply(second);
    let (third, fourth) = (weaver.read(2), weaver.read(3));
    weaver.multiply(third);
    parts.stores.iter().for_each(|&store| weaver.put(store));
    weaver.multiply_last(fourth);
}

fn two(weaver: &mut Weaver<'_>, parts: &Parts) {
    let first = weaver.read(0);
    for load in parts.loads {
        fence(&mut weaver.builder);
        weaver.put(load);
    }
    fence(&mut weaver.builder);
    let second = weaver.read(1);
    weaver.multiply(first);
    parts.stores.iter().for_each(|&store| weaver.put(store));
    weaver.multiply_last(second);
}
