//! Blocks that a loop combines element by element, of which only the reduction is used behind it.
//!
//! Input:  `%t = scf.for … iter_args(%a = splat 0) { %b = %a + %v; yield %b };  %s = tt.reduce(+) %t`
//! Output: `%s = scf.for … iter_args(%a = 0) { %w = tt.reduce(+) %v;  %b = %a + %w;  yield %b }`
//!
//! A GPU keeps such a block in registers; here it would be read from memory and written back in every iteration. Legal
//! as the order of a reduction is open. Done for blocks of one dimension that are long enough to pay for the reduction
//! in each iteration.

use ir::{Builder, Module, Op, Traits, Type, Value};
use rustc_hash::FxHashMap;
use ttir::ops::constant;
use ttir::ops::control::{self, ForOp};
use ttir::ops::forms::BinaryOp;
use ttir::ops::reduce::CombineOp;
use ttir::types;

/// The shortest block that is reduced in each iteration.
const LEAST: i64 = 256;

/// Rewrites every loop of a kernel.
pub(crate) fn shrink(module: &mut Module, kernel: Op) {
    let loops: Vec<Op> = module.walk(kernel).into_iter().filter(|&op| module.is(op, &control::FOR)).collect();
    for op in loops {
        for index in 0..module.results(op).len() {
            if let Some(found) = find(module, op, index) {
                rewrite(module, op, index, found);
            }
        }
    }
}

/// A carried block that can be reduced in the loop.
struct Found {
    /// What combines it with a value in the body.
    combine: Op,
    /// That value.
    value: Value,
    /// The reduction behind the loop.
    reduction: Op,
    /// What each element begins with.
    bits: u64,
    /// The type of an element.
    elem: Type,
}

fn find(module: &Module, op: Op, index: usize) -> Option<Found> {
    let of = ForOp::new(module, op);
    let (carried, yielded, result) = (of.carried()[index], of.yielded()[index], module.result(op, index));
    let ty = module.ty(carried);
    let &[size] = types::shape(ty) else { return None };
    let (&[(combine, _)], &[_], &[(reduction, _)]) =
        (module.uses(carried), module.uses(yielded), module.uses(result))
    else {
        return None;
    };
    let row = module.row(combine);
    let elem = types::elem(ty);
    // Choices may begin anywhere: combining a value with itself changes nothing. Sums must begin at zero.
    let chooses = row.traits.has(Traits::CHOOSES);
    let adds = row.neutral.and_then(|of| of(elem)).is_some_and(|bits| is_zero(elem, bits));
    if size < LEAST || !(adds || chooses) || module.result(combine, 0) != yielded {
        return None;
    }
    let bits = module.constant(of.inits()[index]).and_then(constant::splat_bits)?;
    if !chooses && !is_zero(elem, bits) {
        return None;
    }
    let two = BinaryOp::new(module, combine);
    let value = if two.lhs() == carried { two.rhs() } else { two.lhs() };
    let reduce = CombineOp::reduction(module, reduction)?;
    let is_alike = reduce.srcs() == [result] && module.is(reduce.single()?, row);
    is_alike.then_some(Found { combine, value, reduction, bits, elem })
}

/// Zero, of either sign for floats.
pub(crate) fn is_zero(elem: Type, bits: u64) -> bool {
    match elem.as_float() {
        Some(kind) => bits & !(1 << (kind.bits() - 1)) == 0,
        None => bits == 0,
    }
}

fn rewrite(module: &mut Module, op: Op, index: usize, found: Found) {
    let Found { combine, value, reduction, bits, elem } = found;
    let of = ForOp::new(module, op);
    let (carried, result, last) = (of.carried()[index], module.result(op, index), of.terminator());
    let row = module.row(combine);
    let mut builder = Builder::before(module, op);
    let start = constant::build(&mut builder, elem, bits);
    module.set_operand(op, ForOp::NUM_BOUNDS + index, start);

    let mut map = FxHashMap::from_iter([(result, value)]);
    let inner = module.clone_op(reduction, &mut map);
    module.insert_before(combine, inner);
    let reduced = module.result(inner, 0);
    let attrs = module.attrs(combine).to_vec();
    module.set_ty(carried, elem);
    let sum = Builder::before(module, combine).build(row, &[carried, reduced], &attrs);
    module.set_operand(last, index, sum);
    module.erase(combine);

    module.replace_uses(module.result(reduction, 0), result);
    module.erase(reduction);
    module.set_ty(result, elem);
}
