//! Sums of products of a vector and a matrix, as dots of one row.
//!
//! Input:  `for k iter_args(%acc) { %p = broadcast(%x) * %b; %s = tt.reduce(+) %p; yield %acc + %s }`
//! Output: `for k iter_args(%acc: 1×n) { yield %x · %b + %acc }`
//!
//! A loop that only adds dots reads their right operands once, as they come (`dot_loop/in_place.rs`), where a reduction
//! goes back and forth over each tile. Legal as the order of a reduction is open, and of sums in a dot as well. Done
//! where nothing else happens in the loop.

use super::dot_loop;
use super::operands;
use super::subtarget::Subtarget;
use ir::{Builder, FloatKind, Module, Op, Type, Value};
use ttir::ops::control::{self, ForOp};
use ttir::ops::forms::BinaryOp;
use ttir::ops::reduce::CombineOp;
use ttir::ops::shape::{BroadcastOp, ExpandDimsOp, TransOp};
use ttir::ops::{arith_float, shape};
use ttir::types;

/// Rewrites every loop of a kernel.
pub(crate) fn to_dots(module: &mut Module, machine: &Subtarget, kernel: Op) {
    let loops: Vec<Op> = module.walk(kernel).into_iter().filter(|&op| module.is(op, &control::FOR)).collect();
    for op in loops {
        if let Some(found) = find(module, machine, op) {
            rewrite(module, op, &found);
        }
    }
}

/// A carried block that sums of products are added to.
struct Found {
    /// Which of the carried values.
    index: usize,
    /// What adds a sum to it.
    sum: Op,
    reduction: Op,
    product: Op,
    vector: Value,
    matrix: Value,
    /// Which dimension of the matrix the sums go along.
    axis: usize,
}

fn find(module: &Module, machine: &Subtarget, op: Op) -> Option<Found> {
    let of = ForOp::new(module, op);
    let carried = of.carried();
    let mut blocks = (0..carried.len()).filter(|&index| types::is_tensor(module.ty(carried[index])));
    let (index, None) = (blocks.next()?, blocks.next()) else { return None };
    let (acc, yielded) = (carried[index], of.yielded()[index]);
    let (&[(sum, _)], &[_]) = (module.uses(acc), module.uses(yielded)) else { return None };
    if !module.is(sum, &arith_float::ADDF) || module.result(sum, 0) != yielded || !is_vector(module, acc) {
        return None;
    }
    let two = BinaryOp::new(module, sum);
    let added = if two.lhs() == acc { two.rhs() } else { two.lhs() };
    let reduction = alone(module, added)?;
    let reduce = CombineOp::reduction(module, reduction)?;
    let (&[source], axis) = (reduce.srcs(), reduce.axis()) else { return None };
    let product = alone(module, source)?;
    if !module.is(reduce.single()?, &arith_float::ADDF) || !module.is(product, &arith_float::MULF) {
        return None;
    }
    let two = BinaryOp::new(module, product);
    let sides = [(two.lhs(), two.rhs()), (two.rhs(), two.lhs())];
    let (vector, matrix) =
        sides.into_iter().find_map(|(vector, matrix)| Some((vector_of(module, vector, axis)?, matrix)))?;
    let body = of.body();
    let inner = |&inner: &Op| inner != of.terminator() && inner != reduction;
    let is_here = [reduction, product].iter().all(|&own| module.block_of(own) == Some(body));
    let is_plain = module.ops(body).filter(inner).all(|inner| dot_loop::is_harmless(module, inner));
    let fits = is_here && is_plain && dot_loop::is_read_in_place(module, machine, (matrix, axis == 1));
    fits.then_some(Found { index, sum, reduction, product, vector, matrix, axis })
}

/// Whether a block is a vector of binary32.
fn is_vector(module: &Module, value: Value) -> bool {
    let ty = module.ty(value);
    types::shape(ty).len() == 1 && types::elem(ty).as_float() == Some(FloatKind::F32)
}

/// What makes a value that is used once.
fn alone(module: &Module, value: Value) -> Option<Op> {
    module.def_op(value).filter(|_| module.uses(value).len() == 1)
}

/// The vector along a dimension that a matrix repeats along the other one.
fn vector_of(module: &Module, value: Value, axis: usize) -> Option<Value> {
    let row = BroadcastOp::of(module, module.def_op(value)?)?.src();
    let expand = ExpandDimsOp::of(module, module.def_op(row)?)?;
    (expand.axis() == 1 - axis && is_vector(module, expand.src())).then(|| expand.src())
}

fn rewrite(module: &mut Module, op: Op, found: &Found) {
    let &Found { index, sum, reduction, product, vector, matrix, axis } = found;
    let of = ForOp::new(module, op);
    let (acc, result, init, last) =
        (of.carried()[index], module.result(op, index), of.inits()[index], of.terminator());
    let flat = module.ty(acc);
    let row = |ty: Type| types::tensor(&[1, types::shape(ty)[0]], types::elem(ty));
    let first = ExpandDimsOp::attrs(0);

    let wide = row(flat);
    let start = Builder::before(module, op).build(&shape::EXPAND_DIMS, &[init], &first);
    module.set_operand(op, ForOp::NUM_BOUNDS + index, start);
    module.set_ty(acc, wide);

    let a = Builder::before(module, sum).build(&shape::EXPAND_DIMS, &[vector], &first);
    let b = match axis {
        0 => matrix,
        _ => Builder::before(module, sum).build(&shape::TRANS, &[matrix], &TransOp::attrs(&[1, 0])),
    };
    let made = operands::build_dot(&mut Builder::before(module, sum), [a, b, acc]);
    module.set_operand(last, index, made);
    for old in [sum, reduction, product] {
        module.erase(old);
    }

    let users = module.uses(result).to_vec();
    module.set_ty(result, wide);
    let block = module.block_of(op).expect("a loop is in a block");
    let next =
        module.ops(block).skip_while(|&other| other != op).nth(1).expect("a block ends in a terminator");
    let back = Builder::before(module, next).build_as(&shape::RESHAPE, &[result], &[], flat);
    for (user, operand) in users {
        module.set_operand(user, operand as usize, back);
    }
}
