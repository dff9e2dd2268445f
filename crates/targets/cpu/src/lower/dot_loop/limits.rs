//! Rows and columns of a sum that nobody sees: those that the masks of all stores leave out.
//!
//! Tiles at the edge of a matrix hang over it. What hangs over is loaded as zeros and multiplied like the rest, but no
//! store writes it, so that the kernel may stop before it. Which rows and columns these are follows from the masks
//! alone and is known in front of the loop.

use super::super::chunk::{Assumed, Chunks, Memo};
use super::super::emitter::Emitter;
use super::super::value::{Index, Lanes, Linear, Val};
use ir::{Module, Op, Traits, Value as IrValue};
use llir::{Type, Value, intrinsics};
use ttir::ops::access::AccessOp;
use ttir::ops::arith_int;
use ttir::ops::forms::BinaryOp;
use ttir::ops::shape::BroadcastOp;

/// For rows and columns, a mask that holds for all that is seen of a block; a column or a row itself.
pub(super) fn find(module: &Module, block: IrValue) -> [Option<IrValue>; 2] {
    let Some(stores) = stores_of(module, block) else { return [None; 2] };
    let masks: Vec<Vec<IrValue>> = stores.iter().map(|&store| parts_of_mask(module, store)).collect();
    let Some((first, others)) = masks.split_first() else { return [None; 2] };
    [0, 1].map(|dim| {
        let is_limit = |mask: &&IrValue| {
            let shape = ttir::types::shape(module.ty(**mask));
            shape.len() == 2 && shape[1 - dim] == 1 && shape[dim] > 1
        };
        first.iter().filter(is_limit).find(|mask| others.iter().all(|more| more.contains(mask))).copied()
    })
}

/// The stores that a block ends in, element by element; `None` where anybody else sees it.
fn stores_of(module: &Module, block: IrValue) -> Option<Vec<Op>> {
    let (mut open, mut stores) = (vec![block], Vec::new());
    while let Some(value) = open.pop() {
        for &(op, _) in module.uses(value) {
            let is_stored =
                |store: &AccessOp<'_>| store.value() == Some(value) && store.mask() != Some(value);
            if AccessOp::store(module, op).filter(is_stored).is_some() {
                stores.push(op);
            } else if module.row(op).traits.has(Traits::ELEMENTWISE) {
                open.extend(module.results(op).iter().copied());
            } else {
                return None;
            }
        }
    }
    Some(stores)
}

/// The masks that all hold where a store writes.
fn parts_of_mask(module: &Module, store: Op) -> Vec<IrValue> {
    let mut open: Vec<IrValue> = AccessOp::new(module, store).mask().into_iter().collect();
    let mut parts = Vec::new();
    while let Some(mask) = open.pop() {
        match module.def_op(mask) {
            Some(op) if module.is(op, &arith_int::ANDI) => {
                let both = BinaryOp::new(module, op);
                open.extend([both.lhs(), both.rhs()]);
            }
            Some(op) => match BroadcastOp::of(module, op) {
                Some(broadcast) => open.push(broadcast.src()),
                None => parts.push(mask),
            },
            None => parts.push(mask),
        }
    }
    parts
}

impl Emitter<'_> {
    /// How many of so many rows or columns are seen, if the form of their mask tells: at least one.
    pub(super) fn seen(&mut self, mask: IrValue, size: u32) -> Option<Value> {
        let shape = ttir::types::shape(self.module.ty(mask));
        let dims = shape
            .iter()
            .map(|&extent| {
                let lanes =
                    if extent == 1 { Lanes::uniform(size) } else { Lanes((0..i64::from(size)).collect()) };
                Index::Known(Linear::default(), lanes)
            })
            .collect();
        let at = self.at(dims);
        let (mut memo, assumed) = (Memo::default(), Assumed::default());
        let mut chunks = Chunks::new(self, &mut memo, &assumed, size);
        let mut forms = chunks.forms();
        let count = forms.scoped(|forms| match forms.eval(mask, &at) {
            Ok(Val::Window(window)) if window.linear == Linear::default() => window.count,
            Ok(_) | Err(_) => None,
        });
        let count = count.filter(|_| !forms.is_open)?;
        let [one, all] = [1, i64::from(size)].map(|number| self.b.i64(number));
        let count = self.b.intrinsic(&intrinsics::SMIN, Type::I64, &[count, all]);
        Some(self.b.intrinsic(&intrinsics::SMAX, Type::I64, &[count, one]))
    }
}
