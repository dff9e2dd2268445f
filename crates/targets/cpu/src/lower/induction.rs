//! Blocks of addresses or indices that a loop carries and moves by the same amount in every lane.
//!
//! Input:  `scf.for … iter_args(%p = %start) { …; %q = tt.addptr %p, splat(%s); scf.yield %q }`
//! Output: `scf.for … iter_args(%o = 0 : i64) { %p = tt.addptr %start, splat(%o); …; %n = %o + %s; scf.yield %n }`
//!
//! What is left is a scalar, so that addresses keep their form and no block lives in memory.

use ir::{Builder, Module, Op, Type, Value};
use rustc_hash::FxHashMap;
use ttir::ops::forms::{BinaryOp, UnaryOp};
use ttir::ops::shape::SplatOp;
use ttir::ops::{arith_cast, arith_int, constant, control, memory, shape};
use ttir::types;

/// By how many elements addresses move from one iteration of a loop to the next, by the scalar that the loop carries.
pub(crate) type Moves = FxHashMap<Value, Amount>;

/// One amount by which a carried block moves each time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Amount {
    /// A scalar.
    Scalar(Value),
    /// A constant.
    Constant(i64),
}

/// Rewrites every loop of a kernel.
pub(crate) fn simplify(module: &mut Module, kernel: Op) -> Moves {
    let mut found = Moves::default();
    let loops: Vec<Op> = module.walk(kernel).into_iter().filter(|&op| module.is(op, &control::FOR)).collect();
    for op in loops {
        let block = module.entry_of(op);
        for index in 1..module.args(block).len() {
            if let Some((carried, amount)) = rewrite(module, op, index) {
                found.insert(carried, amount);
            }
        }
    }
    found
}

/// Rewrites one carried value; `index` counts the arguments of the body, of which the first is the counter.
fn rewrite(module: &mut Module, op: Op, index: usize) -> Option<(Value, Amount)> {
    let block = module.entry_of(op);
    let last = module.last_op(block)?;
    let carried = module.args(block)[index];
    let ty = module.ty(carried);
    if !types::is_tensor(ty) || types::elem(ty).as_float().is_some() || types::elem(ty).as_int() == Some(1) {
        return None;
    }
    let amounts = moves(module, carried, module.operand(last, index - 1))?;
    let scalar = match types::pointee(ty) {
        Some(_) => Type::int(64),
        None => types::elem(ty),
    };
    let start = module.operand(op, index + 2);
    let result = module.result(op, index - 1);

    let mut builder = Builder::before(module, op);
    let zero = constant::int(&mut builder, scalar, 0);
    module.set_operand(op, index + 2, zero);
    module.set_ty(carried, scalar);
    module.set_ty(result, scalar);

    let first = module.first_op(block)?;
    let moved = displaced(&mut Builder::before(module, first), start, carried, ty);
    replace_others(module, carried, moved);

    let mut builder = Builder::before(module, last);
    let mut sum = carried;
    let only = if let [only] = amounts[..] { Some(only) } else { None };
    for amount in amounts {
        let by = match amount {
            Amount::Constant(value) => constant::int(&mut builder, scalar, value),
            Amount::Scalar(value) => widened(&mut builder, value, scalar),
        };
        sum = builder.build(&arith_int::ADDI, &[sum, by], &[]);
    }
    module.set_operand(last, index - 1, sum);

    if let Some(next) = module.next(op) {
        let after = displaced(&mut Builder::before(module, next), start, result, ty);
        replace_others(module, result, after);
    }
    only.filter(|_| types::pointee(ty).is_some()).map(|amount| (carried, amount))
}

/// `start` moved by a scalar in every lane.
fn displaced(builder: &mut Builder<'_>, start: Value, by: Value, ty: Type) -> Value {
    let scalar = builder.module.ty(by);
    let row = if types::pointee(ty).is_some() { &memory::ADDPTR } else { &arith_int::ADDI };
    let block = builder.build_as(&shape::SPLAT, &[by], &[], types::with_elem(ty, scalar));
    builder.build(row, &[start, block], &[])
}

fn widened(builder: &mut Builder<'_>, value: Value, ty: Type) -> Value {
    if builder.module.ty(value) == ty {
        return value;
    }
    builder.build_as(&arith_cast::EXTSI, &[value], &[], ty)
}

/// Makes every user of `from` use `to`, but for what `to` is made of.
fn replace_others(module: &mut Module, from: Value, to: Value) {
    module.replace_uses_if(from, to, |module, op, _| {
        let is_own = module.is(op, &shape::SPLAT)
            && module.uses(module.result(op, 0)).iter().any(|(user, _)| module.results(*user).contains(&to));
        !is_own
    });
}

/// The amounts that lead from a carried value to what is yielded for it.
fn moves(module: &Module, carried: Value, yielded: Value) -> Option<Vec<Amount>> {
    let mut amounts = Vec::new();
    let mut value = yielded;
    while value != carried {
        let op = module.def_op(value)?;
        let is_sum = module.is(op, &arith_int::ADDI);
        if !is_sum && !module.is(op, &memory::ADDPTR) {
            return None;
        }
        let two = BinaryOp::new(module, op);
        let (a, b) = (two.lhs(), two.rhs());
        value = match (uniform(module, b), is_sum.then(|| uniform(module, a)).flatten()) {
            (Some(amount), _) => {
                amounts.push(amount);
                a
            }
            (None, Some(amount)) => {
                amounts.push(amount);
                b
            }
            (None, None) => return None,
        };
    }
    (!amounts.is_empty()).then_some(amounts)
}

/// The scalar that a block is filled with.
fn uniform(module: &Module, value: Value) -> Option<Amount> {
    if let Some(attr) = module.constant(value) {
        let bits = constant::splat_bits(attr)?;
        let width = types::elem(module.ty(value)).as_int()?;
        return Some(Amount::Constant(ir::scalar::sign_extend(width, bits)));
    }
    let op = module.def_op(value)?;
    if let Some(splat) = SplatOp::of(module, op) {
        return Some(Amount::Scalar(splat.src()));
    }
    if module.is(op, &shape::BROADCAST) || module.is(op, &shape::EXPAND_DIMS) {
        return uniform(module, UnaryOp::new(module, op).src());
    }
    None
}
