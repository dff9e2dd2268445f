//! Operations that take a few neighbouring elements at a time: it costs nothing where a lane holds these, and a
//! conversion there and back where it does not.

use super::layouts::{Layout, Layouts};
use ir::{Module, Op, Type, Value};
use ttir::ops::extern_call::InlineAsmOp;
use ttir::ops::reduce::MapElementwiseOp;
use ttir::types::{is_tensor, shape};

/// The neighbours, in the row-major order of the block, that an operation takes at a time; `None` for one.
fn pack(module: &Module, op: Op) -> Option<u64> {
    let asm = InlineAsmOp::of(module, op).map(|asm| asm.neighbours() as u64);
    let pack = asm.or_else(|| MapElementwiseOp::of(module, op).map(|map| map.pack() as u64))?;
    (pack > 1 && pack.is_power_of_two()).then_some(pack)
}

fn blocks(module: &Module, op: Op) -> impl Iterator<Item = Value> {
    module.operands(op).iter().chain(module.results(op)).copied().filter(|&value| is_tensor(module.ty(value)))
}

/// A layout in which a lane holds neighbours together.
fn together(layouts: &mut Layouts, ty: Type, pack: u64) -> Layout {
    let sizes = shape(ty);
    let mut per_lane = vec![1; sizes.len()];
    let mut rest = pack;
    for (own, &size) in per_lane.iter_mut().zip(sizes).rev() {
        let taken = rest.min(size as u64);
        *own = taken as u32;
        rest /= taken;
    }
    let order: Vec<u32> = (0..sizes.len() as u32).rev().collect();
    layouts.blocked(sizes, &per_lane, &order)
}

/// The layout that suits such an operation; `None` for others.
pub(crate) fn preferred(module: &Module, op: Op, layouts: &mut Layouts) -> Option<Layout> {
    let pack = pack(module, op)?;
    let ty = module.ty(blocks(module, op).next()?);
    Some(together(layouts, ty, pack))
}

/// What it costs in a layout that operands and results lie elsewhere than neighbours do.
pub(crate) fn cost(module: &Module, op: Op, layouts: &mut Layouts, own: Layout) -> f64 {
    let Some((pack, first)) = pack(module, op).zip(blocks(module, op).next()) else { return 0.0 };
    let bases = layouts.bases(own, module.ty(first));
    if (0..pack.ilog2()).all(|bit| bases.register.contains(&(1 << bit))) {
        return 0.0;
    }
    let inner = together(layouts, module.ty(first), pack);
    let is_made = |value: &Value| module.results(op).contains(value);
    blocks(module, op)
        .map(|value| match is_made(&value) {
            true => layouts.conversion(inner, own, module.ty(value)),
            false => layouts.conversion(own, inner, module.ty(value)),
        })
        .sum()
}
