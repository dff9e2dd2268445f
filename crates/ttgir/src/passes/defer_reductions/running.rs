//! A running maximum, minimum, sum, …: each lane has its own, and they are combined behind the loop.

use super::private::{Reduction, Split};
use super::{Carried, other, used};
use ir::{Builder, Module, Op, Value};
use rustc_hash::FxHashMap;
use ttir::ops::constant;
use ttir::types::elem;

/// A carried value that a reduction is combined into.
struct Running {
    reduction: Reduction,
    /// The operation that combines.
    combine: Op,
    split: Split,
    neutral: u64,
}

/// Makes a carried value private if it is a running reduction.
pub(super) fn defer(module: &mut Module, carried: Carried) -> bool {
    let Some(running) = find(module, carried) else { return false };
    let Running { reduction, combine, split, neutral } = running;
    let (init, ty) = (carried.init(module), module.ty(carried.init(module)));
    let result = carried.result(module);

    let mut builder = Builder::before(module, carried.around);
    let start = constant::build(&mut builder, split.reduced(elem(ty)), neutral);
    let mut builder = Builder::before(module, combine);
    let view = split.view(&mut builder, reduction.source);
    let private = split.reduce(&mut builder, reduction.op, view);
    let arg = carried.arg(module);
    carried.replace(module, start, private);
    let next = combined(module, combine, combine, [arg, private]);
    if let Some(last) = module.last_op(carried.body) {
        module.set_operand(last, carried.index, next);
    }
    behind(module, carried, |module, anchor| {
        let mut builder = Builder::before(module, anchor);
        let whole = split.finish(&mut builder, reduction.op, result, ty);
        combined(module, combine, anchor, [init, whole])
    });
    module.erase(combine);
    module.erase(reduction.op);
    true
}

fn find(module: &Module, carried: Carried) -> Option<Running> {
    let arg = carried.arg(module);
    let next = carried.next(module);
    if !used(module, arg, 1) || !used(module, next, 1) {
        return None;
    }
    let combine = module.def_op(next)?;
    let row = module.row(combine);
    let neutral = row.neutral?;
    carried.made_by(module, next, row)?;
    let reduced = other(module, combine, arg)?;
    let reduction =
        Reduction::of_value(module, carried, reduced).filter(|reduction| reduction.row.is(row))?;
    let split = Split::of(module.ty(reduction.source), reduction.axis)?;
    let neutral = neutral(elem(module.ty(arg)))?;
    Some(Running { reduction, combine, split, neutral })
}

/// A copy of an operation of two operands on others, in front of an operation.
pub(super) fn combined(module: &mut Module, like: Op, anchor: Op, operands: [Value; 2]) -> Value {
    let copy = module.clone_op(like, &mut FxHashMap::default());
    module.set_operands(copy, &operands);
    let (ty, result) = (module.ty(operands[1]), module.result(copy, 0));
    module.set_ty(result, ty);
    module.insert_before(anchor, copy);
    result
}

/// Builds what follows a loop: `build` gets the operation to build in front of and gives the value that stands for the
/// carried result from then on.
pub(super) fn behind(module: &mut Module, carried: Carried, build: impl FnOnce(&mut Module, Op) -> Value) {
    let result = carried.result(module);
    let users: Vec<(Op, u32)> = module.uses(result).to_vec();
    let Some(anchor) = module.next(carried.around) else { return };
    let last = build(module, anchor);
    for (user, index) in users {
        module.set_operand(user, index as usize, last);
    }
}
