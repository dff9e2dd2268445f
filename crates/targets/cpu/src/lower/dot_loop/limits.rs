//! Rows and columns of a sum that nobody sees, those that the masks of all stores leave out, and steps of k in which
//! both operands are zeros.
//!
//! Tiles at the edge of a matrix hang over it. What hangs over is loaded as zeros and multiplied like the rest, but no
//! store writes it, so that the kernel may stop before it. Which rows and columns these are follows from the masks
//! alone and is known in front of the loop. Along k the last iteration hangs over, of both operands: zeros times zeros
//! add nothing.

use super::super::chunk::{Assumed, Chunks, Memo};
use super::super::emitter::Emitter;
use super::super::error::Result;
use super::super::value::{Index, Lanes, Linear, Val};
use super::super::{operands, types};
use super::PanelDot;
use super::slice::Slice;
use ir::{Block, Module, Op, Traits, Value as IrValue};
use llir::{IntCompare, Type, Value, intrinsics};
use ttir::ops::access::AccessOp;
use ttir::ops::forms::BinaryOp;
use ttir::ops::shape::{BroadcastOp, ExpandDimsOp};
use ttir::ops::{arith_int, compare};

/// For rows and columns, a mask that holds for all that is seen of a block; a column or a row itself.
pub(super) fn find(module: &Module, block: IrValue) -> [Option<IrValue>; 2] {
    let Some(stores) = stores_of(module, block) else { return [None; 2] };
    let masks: Vec<Vec<IrValue>> = stores.iter().map(|&store| parts_of_mask(module, store)).collect();
    let Some((first, others)) = masks.split_first() else { return [None; 2] };
    [0, 1].map(|dim| {
        let is_limit = |mask: &&IrValue| is_along(module, **mask, dim);
        first.iter().filter(is_limit).find(|mask| others.iter().all(|more| more.contains(mask))).copied()
    })
}

/// Where operands are zeros along k.
#[derive(Debug)]
pub(super) struct Depth {
    /// For both operands, a mask that holds where they are not: a row or a column itself.
    masks: [IrValue; 2],
    /// The scalars of the body of the loop that these need, in order.
    scalars: Vec<Op>,
}

/// Where both operands of a dot in the body of a loop are zeros along k, if loads and the counter of the loop tell.
pub(super) fn find_depth(module: &Module, block: Block, [a, b]: [IrValue; 2]) -> Option<Depth> {
    let masks = [mask_along_k(module, a, 1)?, mask_along_k(module, b, 0)?];
    let mut scalars = Vec::new();
    for mask in masks {
        let slice = Slice::new(module, block, Some(mask), &[])?;
        let is_pure = |&op: &Op| module.row(op).traits.has(Traits::PURE) && module.regions(op).is_empty();
        if !slice.carried.is_empty() || !slice.ops.iter().all(is_pure) {
            return None;
        }
        scalars.extend(slice.ops);
    }
    let is_scalar = |op: Op| module.results(op).iter().all(|&it| !ttir::types::is_tensor(module.ty(it)));
    let scalars = module.ops(block).filter(|&op| scalars.contains(&op) && is_scalar(op)).collect();
    Some(Depth { masks, scalars })
}

/// The mask of a load along one dimension, behind which the block is zeros.
fn mask_along_k(module: &Module, operand: IrValue, dim: usize) -> Option<IrValue> {
    let (source, is_turned) = operands::source(module, operand);
    let dim = if is_turned { 1 - dim } else { dim };
    let load = AccessOp::load(module, module.def_op(source)?)?;
    if !load.other().is_none_or(|other| operands::is_zero(module, other)) {
        return None;
    }
    parts_of_mask(module, load.op).into_iter().find(|&mask| is_along(module, mask, dim))
}

/// What the indices of a mask are compared with, where it is a comparison: how many rows a matrix has.
pub(super) fn compared_with(module: &Module, mask: IrValue) -> Option<IrValue> {
    let op = module.def_op(mask)?;
    match ExpandDimsOp::of(module, op) {
        Some(expand) => compared_with(module, expand.src()),
        None => module.is(op, &compare::CMPI).then(|| BinaryOp::new(module, op).rhs()),
    }
}

/// Whether a mask is a row or a column along a dimension of a matrix.
pub(super) fn is_along(module: &Module, mask: IrValue, dim: usize) -> bool {
    let shape = ttir::types::shape(module.ty(mask));
    shape.len() == 2 && shape[1 - dim] == 1 && shape[dim] > 1
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

/// The masks that all hold where an access happens.
pub(super) fn parts_of_mask(module: &Module, access: Op) -> Vec<IrValue> {
    let mut open: Vec<IrValue> = AccessOp::new(module, access).mask().into_iter().collect();
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
    /// The steps of k of so many iterations, of which the last one has the given counter, up to where operands are
    /// zeros.
    pub(super) fn steps_of(
        &mut self,
        dot: &PanelDot,
        (block, last): (Block, Value),
        iterations: Value,
    ) -> Result<Value> {
        let step = self.b.i64(i64::from(dot.spec.step));
        let all = self.b.mul(iterations, step);
        let (Some(depth), Some(multiple)) = (&dot.depth, dot.plan.steps()) else { return Ok(all) };
        let module = self.module;
        self.in_region(self.here(), |cx| {
            let counter = module.args(block)[0];
            let counted = cx.b.resize_signed(last, types::register(module.ty(counter)));
            cx.scalars.insert(counter, counted);
            for &op in &depth.scalars {
                if !matches!(cx.scalar_op(op), Ok(true)) {
                    return Ok(all);
                }
            }
            let mut end = cx.b.i64(0);
            for mask in depth.masks {
                let Some(seen) = cx.seen(mask, dot.spec.step * dot.spec.operands.group()) else {
                    return Ok(all);
                };
                end = cx.b.intrinsic(&intrinsics::SMAX, Type::I64, &[end, seen]);
            }
            let multiple = i64::from(multiple) * dot.group();
            let [up, whole, group] = [multiple - 1, -multiple, dot.group()].map(|number| cx.b.i64(number));
            let end = cx.b.add(end, up);
            let end = cx.b.and(end, whole);
            let end = cx.b.sdiv(end, group);
            let before = cx.b.sub(all, step);
            Ok(cx.b.add(before, end))
        })
    }

    /// Whether a matrix has no more rows than a dot, as far as the comparison in the mask of its stores tells: this
    /// does not depend on what other programs did before.
    pub(super) fn is_only_block(&mut self, dot: &PanelDot) -> Value {
        let size = dot.spec.m;
        let rows = dot.limits[0].and_then(|mask| compared_with(self.module, mask));
        match rows.and_then(|rows| self.uniform(rows)) {
            Some(rows) => {
                let (rows, size) = (self.b.resize_signed(rows, Type::I64), self.b.i64(i64::from(size)));
                self.b.icmp(IntCompare::Sle, rows, size)
            }
            None => self.b.bool(false),
        }
    }

    /// The number that all elements of a block are, if its form tells.
    fn uniform(&mut self, block: IrValue) -> Option<Value> {
        let shape = types::shape(self.module.ty(block));
        let lanes = u32::try_from(shape.iter().copied().max()?).ok()?;
        let dims = shape.iter().map(|&extent| match extent {
            1 => Index::constant(0, lanes),
            _ => Index::Known(Linear::default(), Lanes((0..i64::from(lanes)).collect())),
        });
        let at = self.at(dims.collect());
        let (mut memo, assumed) = (Memo::default(), Assumed::default());
        let mut chunks = Chunks::new(self, &mut memo, &assumed, lanes);
        let mut forms = chunks.forms();
        let val = forms.scoped(|forms| forms.eval(block, &at)).ok().filter(|_| !forms.is_open)?;
        match val {
            Val::Uniform(number) => Some(number),
            _ => None,
        }
    }

    /// How many of so many rows or columns are seen, if the form of their mask tells: at least one.
    pub(super) fn seen(&mut self, mask: IrValue, size: u32) -> Option<Value> {
        let count = self.rows_left(mask, size)?;
        let [one, all] = [1, i64::from(size)].map(|number| self.b.i64(number));
        let count = self.b.intrinsic(&intrinsics::SMIN, Type::I64, &[count, all]);
        Some(self.b.intrinsic(&intrinsics::SMAX, Type::I64, &[count, one]))
    }

    /// The same, with all that lie behind these.
    pub(super) fn rows_left(&mut self, mask: IrValue, size: u32) -> Option<Value> {
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
        count.filter(|_| !forms.is_open)
    }
}
