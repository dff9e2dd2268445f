//! Dots of 32-bit floats whose right operand lies along its columns are computed transposed.
//!
//! Warp groups multiply 32-bit floats only where k is the fastest dimension of what they read from shared memory.
//! A right operand that was loaded as it lies in a row-major matrix is not of that kind, and to turn it costs more than
//! the dot. Its transpose may be the left operand, which comes from registers, and lanes load it from shared memory in
//! any order:
//!
//! ```text
//! scf.for … iter_args(%s = %c) {                    scf.for … iter_args(%s = trans %c) {
//!   %d = tt.dot %a, %b, %s                     =>     %d = tt.dot (trans %b), (trans %a), %s
//!   scf.yield %d                                      scf.yield %d
//! }                                                 } ; trans of the result
//! ```
//!
//! Left as they are: sums that anything else in the loop reads, which would have to be turned in every iteration.

use super::operands::{behind_conversions, convert, is_as_loaded, natural_order};
use super::{operand_encoding, same_dot, select};
use crate::infer;
use crate::passes::context::Context;
use crate::{Encoding, replace_encoding};
use ir::{Builder, Def, Module, Op, Value};
use ttir::ops::control::{FOR, ForOp};
use ttir::ops::dot::MatmulOp;
use ttir::ops::shape::{TRANS, TransOp};
use ttir::types::{elem, shape, tensor};

/// Computes those of some dots transposed for which that is better.
pub(super) fn transpose_all(module: &mut Module, dots: &[Op], context: &Context) {
    for &op in dots {
        if let Some(sum) = Sum::of(module, op).filter(|_| is_better(module, op, context)) {
            transpose(module, op, &sum);
        }
    }
}

/// A value that a loop carries for nothing but a dot that adds to it.
struct Sum {
    around: Op,
    index: usize,
}

impl Sum {
    fn of(module: &Module, op: Op) -> Option<Sum> {
        let dot = MatmulOp::new(module, op);
        let (c, result) = (dot.c(), dot.d());
        let Def::Arg(block, number) = module.def(behind_conversions(module, c)) else { return None };
        let around = module.parent_op(op).filter(|&around| module.is(around, &FOR))?;
        let index = (number as usize).checked_sub(1)?;
        let arg = module.args(block)[number as usize];
        let last = module.last_op(block)?;
        let is_alone =
            arg == c && module.uses(arg).len() == 1 && module.uses(result) == [(last, index as u32)];
        (is_alone && module.block_of(op) == Some(block)).then_some(Sum { around, index })
    }
}

/// Whether an instruction of warp groups could not read the right operand as it lies, and makes the transposed dot
/// with both as they lie.
fn is_better(module: &Module, op: Op, context: &Context) -> bool {
    let dot = MatmulOp::new(module, op);
    let (a, b) = (dot.a(), dot.b());
    let k_is_fastest = |value: Value, k: u32| natural_order(module, value)[0] == k;
    select::wants_k_fastest(module, op, context)
        && is_as_loaded(module, op, b)
        && !k_is_fastest(b, 0)
        && k_is_fastest(a, 1)
}

fn transpose(module: &mut Module, op: Op, sum: &Sum) {
    let Sum { around, index } = *sum;
    let init = ForOp::new(module, around).inits()[index];
    let first = turned(&mut Builder::before(module, around), init);
    let ty = module.ty(first);
    let result = module.result(around, index);
    let body = ForOp::new(module, around).body();
    let arg = module.args(body)[index + 1];
    module.set_operand(around, ForOp::NUM_BOUNDS + index, first);
    module.set_ty(arg, ty);
    module.set_ty(result, ty);
    let last = module.terminator(body);

    let dot = MatmulOp::new(module, op);
    let (a, b, old) = (dot.a(), dot.b(), dot.d());
    let name = module.name(old).map(str::to_owned);
    let mut builder = Builder::before(module, op);
    let parent = Encoding::of(ty).expect("every block of ttgir has an encoding").clone();
    let [left, right] = [(0, b), (1, a)].map(|(op_idx, value)| {
        let value = behind_conversions(builder.module, value);
        let value = turned(&mut builder, value);
        convert(&mut builder, value, &operand_encoding(op_idx, &parent, 0))
    });
    let transposed = same_dot(&mut builder, op, [left, right, arg], ty);
    if let Some(name) = name {
        module.set_name(transposed, &name);
    }
    module.set_operand(last, index, transposed);
    module.erase(op);

    let next = module.next(around).expect("a loop is followed by a terminator");
    let back = turned(&mut Builder::before(module, next), result);
    let trans = module.def_op(back);
    module.replace_uses_if(result, back, |_, user, _| Some(user) != trans);
}

/// A matrix with rows and columns exchanged.
fn turned(builder: &mut Builder<'_>, value: Value) -> Value {
    const ORDER: [i64; 2] = [1, 0];
    let ty = builder.module.ty(value);
    let dims = shape(ty);
    let encoding = Encoding::of(ty).expect("every block of ttgir has an encoding");
    let encoding = infer::trans(encoding, &ORDER, dims).expect("the order names each of two dimensions");
    let to = replace_encoding(tensor(&[dims[1], dims[0]], elem(ty)), &encoding);
    builder.build_as(&TRANS, &[value], &TransOp::attrs(&ORDER), to)
}
