//! What dots ask for: their operands and results lie as their instruction has them. And what functions that are called
//! take and give, which lies as every caller expects it.

use super::layouts::{Layout, Layouts};
use crate::Encoding;
use ir::{Module, Op, OpRow, Value};
use rustc_hash::FxHashMap;
use ttir::ops::dot::MatmulOp;
use ttir::ops::func::{CallOp, RETURN};
use ttir::types::{is_tensor, numel, shape};

/// Operations whose operands and results lie as an earlier pass has decided.
static PINNED: &[&OpRow] = &[&crate::ops::group_dot::WARP_GROUP_DOT];

/// What operations ask for that allow no choice.
#[derive(Default)]
pub(crate) struct Pins {
    /// The layouts of operands.
    pub(crate) operands: FxHashMap<(Op, u32), Layout>,
    /// The layouts of results.
    pub(crate) results: FxHashMap<Value, Layout>,
}

/// What the operations of a function ask for.
pub(crate) fn collect(module: &Module, function: Op, layouts: &mut Layouts) -> Pins {
    let mut pins = Pins::default();
    for op in module.walk(function) {
        if CallOp::of(module, op).is_some() || module.is(op, &RETURN) {
            pin_at_border(module, op, layouts, &mut pins);
        }
        let decided = |value: &Value| matches!(Encoding::of(module.ty(*value)), Some(Encoding::DotOp { .. }));
        if MatmulOp::of(module, op).is_none() {
            continue;
        }
        if PINNED.iter().any(|row| module.is(op, row)) || module.operands(op).iter().any(decided) {
            pin_as_is(module, op, layouts, &mut pins);
        } else {
            pin_plain(module, op, layouts, &mut pins);
        }
    }
    pins
}

/// Blocks go into functions and come back in the layout that their shape has.
fn pin_at_border(module: &Module, op: Op, layouts: &mut Layouts, pins: &mut Pins) {
    let mut layout =
        |value: Value| is_tensor(module.ty(value)).then(|| layouts.default_for(shape(module.ty(value))));
    for (slot, &value) in module.operands(op).iter().enumerate() {
        pins.operands.extend(layout(value).map(|layout| ((op, slot as u32), layout)));
    }
    for &value in module.results(op) {
        pins.results.extend(layout(value).map(|layout| (value, layout)));
    }
}

fn pin_as_is(module: &Module, op: Op, layouts: &mut Layouts, pins: &mut Pins) {
    for (slot, &value) in module.operands(op).iter().enumerate() {
        if let Some(encoding) = Encoding::of(module.ty(value)).filter(|_| is_tensor(module.ty(value))) {
            pins.operands.insert((op, slot as u32), layouts.number(encoding));
        }
    }
    for &value in module.results(op) {
        if let Some(encoding) = Encoding::of(module.ty(value)) {
            pins.results.insert(value, layouts.number(encoding));
        }
    }
}

/// A dot by multiply-and-add: each lane computes a small box of the result from rows and columns that it holds
/// whole.
fn pin_plain(module: &Module, op: Op, layouts: &mut Layouts, pins: &mut Pins) {
    let result = module.result(op, 0);
    let shape = shape(module.ty(result));
    let threads = i64::from(layouts.warps * layouts.lanes * layouts.blocks);
    let side = match numel(module.ty(result)) / threads {
        16.. => 4,
        4.. => 2,
        _ => 1,
    };
    let rank = shape.len();
    let mut per_lane = vec![1; rank];
    per_lane[rank - 2..].fill(side);
    let order: Vec<u32> = (0..rank as u32).rev().collect();
    let own = layouts.blocked(shape, &per_lane, &order);
    let parent = layouts.encoding(own).clone();
    for op_idx in 0..2 {
        let operand = Encoding::DotOp { op_idx, parent: Box::new(parent.clone()), k_width: 0 };
        pins.operands.insert((op, op_idx), layouts.number(&operand));
    }
    pins.operands.insert((op, 2), own);
    for (slot, &value) in module.operands(op).iter().enumerate().skip(3) {
        pins.operands.insert((op, slot as u32), layouts.default_for(ttir::types::shape(module.ty(value))));
    }
    pins.results.insert(result, own);
}
