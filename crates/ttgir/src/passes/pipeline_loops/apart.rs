//! Whether what a loop stores can be what one of its next iterations loads: a question that the program answers itself.
//!
//! ```text
//! load   %x + (%i + range)            the addresses of a store and of a load some iterations later differ by
//! store  %y + (%i + range)            %y - %x - (between `low` and `high` elements)
//! ```
//!
//! Two buffers that lie apart, and one buffer that is changed in place, give different addresses; buffers that overlap do
//! not. Both addresses must be the same sums of the counter, ranges and values that are the same in all iterations.

use super::expand::{compare, integer};
use ir::{Attr, Builder, Def, Module, Op, Type, Value};
use ttir::ops::arith_cast::PTR_TO_INT;
use ttir::ops::arith_int::{ADDI, SUBI};
use ttir::ops::constant::splat_bits;
use ttir::ops::memory::ADDPTR;
use ttir::ops::shape::{MAKE_RANGE, SPLAT};
use ttir::types::{elem, elem_bytes, pointee};

/// Pairs of a load and a store, at most.
const MOST_PAIRS: usize = 4;

/// Two pointers, and how far the second must not be behind the first in bytes.
pub(super) struct Apart {
    loaded: Value,
    stored: Value,
    low: i64,
    high: i64,
}

/// An address: a pointer that is the same in all iterations, and what is added to it.
struct Address {
    base: Value,
    terms: Vec<Value>,
}

impl Apart {
    /// What must hold so that the loads of so many iterations can stand in front of them all; `None` if that is not known.
    pub(super) fn of(
        module: &Module,
        op: Op,
        loads: &[Op],
        stores: &[Op],
        step: i64,
        copies: u64,
    ) -> Option<Vec<Apart>> {
        let body = module.entry(module.region(op, 0));
        let order: Vec<Op> =
            module.ops(body).filter(|inner| loads.contains(inner) || stores.contains(inner)).collect();
        let loads_first =
            order.iter().skip_while(|inner| loads.contains(inner)).all(|inner| stores.contains(inner));
        if !loads_first || loads.len() * stores.len() > MOST_PAIRS {
            return None;
        }
        let pairs = loads.iter().flat_map(|&load| stores.iter().map(move |&store| (load, store)));
        pairs.map(|(load, store)| Apart::between(module, op, [load, store], step, copies)).collect()
    }

    fn between(module: &Module, op: Op, pair: [Op; 2], step: i64, copies: u64) -> Option<Apart> {
        let pointers = pair.map(|access| module.operand(access, 0));
        let [loaded, stored] = pointers.map(|pointer| Address::of(module, op, pointer));
        let (loaded, stored) = (loaded?, stored?);
        let [size, other] = pointers.map(|pointer| pointee(elem(module.ty(pointer))).map(elem_bytes));
        if loaded.terms != stored.terms || size != other {
            return None;
        }
        let size = i64::try_from(size?).ok()?;
        let body = module.entry(module.region(op, 0));
        let (mut counters, mut spread) = (0, 0);
        for &term in &loaded.terms {
            if is_outside(module, term, op) && is_same_everywhere(module, term) {
                continue;
            }
            let def = module.def_op(term)?;
            if module.is(def, &MAKE_RANGE) {
                let bound = |slot: usize| module.attr(def, slot).and_then(Attr::as_int);
                let (one, other) = (bound(0)?, bound(1)?);
                spread += (one - other).abs() - 1;
            } else if module.is(def, &SPLAT) && module.operand(def, 0) == module.args(body)[0] {
                counters += 1;
            } else {
                return None;
            }
        }
        let least = counters * step - spread;
        let most = counters * step * (copies as i64 - 1) + spread;
        let (low, high) = (least * size - (size - 1), most * size + (size - 1));
        Some(Apart { loaded: loaded.base, stored: stored.base, low, high })
    }

    /// Whether the two pointers are not so far from each other.
    pub(super) fn ask(&self, builder: &mut Builder<'_>) -> Value {
        let ty = Type::int(64);
        let [loaded, stored] =
            [self.loaded, self.stored].map(|pointer| builder.build_as(&PTR_TO_INT, &[pointer], &[], ty));
        let distance = builder.build(&SUBI, &[stored, loaded], &[]);
        let low = integer(builder, ty, self.low);
        let width = integer(builder, ty, self.high - self.low);
        let distance = builder.build(&SUBI, &[distance, low], &[]);
        compare(builder, "ugt", distance, width)
    }
}

impl Address {
    fn of(module: &Module, op: Op, pointer: Value) -> Option<Address> {
        let mut terms = Vec::new();
        let mut pointer = pointer;
        loop {
            let def = module.def_op(pointer)?;
            if module.is(def, &SPLAT) {
                let base = module.operand(def, 0);
                terms.sort_unstable();
                return is_outside(module, base, op).then_some(Address { base, terms });
            }
            if !module.is(def, &ADDPTR) {
                return None;
            }
            add_terms(module, module.operand(def, 1), &mut terms);
            pointer = module.operand(def, 0);
        }
    }
}

/// What a sum is made of.
fn add_terms(module: &Module, value: Value, terms: &mut Vec<Value>) {
    match module.def_op(value).filter(|&def| module.is(def, &ADDI)) {
        Some(def) => {
            for &value in module.operands(def) {
                add_terms(module, value, terms);
            }
        }
        None => terms.push(value),
    }
}

fn is_outside(module: &Module, value: Value, around: Op) -> bool {
    let owner = match module.def(value) {
        Def::Result(def, _) => Some(def),
        Def::Arg(block, _) => module.region_parent(module.block_region(block)),
    };
    owner.is_none_or(|owner| owner != around && !module.is_inside(owner, around))
}

/// Whether all elements of a block are the same.
fn is_same_everywhere(module: &Module, value: Value) -> bool {
    let Some(def) = module.def_op(value) else { return false };
    let splat = || module.constant(value).and_then(splat_bits).is_some();
    module.is(def, &SPLAT) || splat()
}
