//! Whether what a loop stores can be what one of its next iterations loads: a question that the program answers itself.
//!
//! ```text
//! load   %x + (%i + range)            the addresses of a store and of a load some iterations later differ by
//! store  %y + (%i + range)            %y - %x - (between `low` and `high` elements)
//! ```
//!
//! Two buffers that lie apart, and one buffer that is changed in place, give different addresses; buffers that overlap
//! do not. Both addresses must be the same sums of the counter, ranges and values that are the same in all iterations.

use super::copies::{compare, integer};
use ir::{Builder, Module, Op, Type, Value};
use ttir::ops::access::AccessOp;
use ttir::ops::arith_cast::PTR_TO_INT;
use ttir::ops::arith_int::{ADDI, SUBI};
use ttir::ops::compare::CmpIPredicate;
use ttir::ops::constant::splat_bits;
use ttir::ops::control::ForOp;
use ttir::ops::memory::AddPtrOp;
use ttir::ops::shape::{MakeRangeOp, SplatOp};
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
    /// What must hold so that the loads of so many iterations can stand in front of them all; `None` if that is not
    /// known.
    pub(super) fn of(
        module: &Module,
        op: Op,
        loads: &[Op],
        stores: &[Op],
        step: i64,
        copies: u64,
    ) -> Option<Vec<Apart>> {
        let body = ForOp::new(module, op).body();
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
        let pointers = pair.map(|access| AccessOp::new(module, access).ptr());
        let [loaded, stored] = pointers.map(|pointer| Address::of(module, op, pointer));
        let (loaded, stored) = (loaded?, stored?);
        let [size, other] = pointers.map(|pointer| pointee(elem(module.ty(pointer))).map(elem_bytes));
        if loaded.terms != stored.terms || size != other {
            return None;
        }
        let size = i64::try_from(size?).ok()?;
        let counter = ForOp::new(module, op).counter();
        let (mut counters, mut spread) = (0, 0);
        for &term in &loaded.terms {
            if module.is_outside(term, op) && is_same_everywhere(module, term) {
                continue;
            }
            if let Some(range) = MakeRangeOp::def(module, term) {
                spread += i64::from(range.end()) - i64::from(range.start()) - 1;
            } else if SplatOp::def(module, term)?.src() == counter {
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
        compare(builder, CmpIPredicate::Ugt, distance, width)
    }
}

impl Address {
    fn of(module: &Module, op: Op, pointer: Value) -> Option<Address> {
        let mut terms = Vec::new();
        let mut pointer = pointer;
        loop {
            if let Some(splat) = SplatOp::def(module, pointer) {
                let base = splat.src();
                terms.sort_unstable();
                return module.is_outside(base, op).then_some(Address { base, terms });
            }
            let sum = AddPtrOp::def(module, pointer)?;
            add_terms(module, sum.offset(), &mut terms);
            pointer = sum.ptr();
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

/// Whether all elements of a block are the same.
fn is_same_everywhere(module: &Module, value: Value) -> bool {
    SplatOp::def(module, value).is_some() || module.constant(value).and_then(splat_bits).is_some()
}
