//! Bessel functions of orders from two on, for one lane: through the functions of neighbouring orders.

use llir::{FloatCompare, FunctionBuilder, Type, Value, intrinsics};

fn float(b: &mut FunctionBuilder<'_>, value: f64) -> Value {
    b.float(Type::F64, value)
}

fn product(b: &mut FunctionBuilder<'_>, x: Value, y: Value, z: Value) -> Value {
    let inner = b.fmul(x, y);
    b.fmul(inner, z)
}

/// From the functions of orders 0 and 1 upwards, `F(k+1) = 2k/x F(k) - F(k-1)`. Good where the functions do not fall.
pub(super) fn upwards(
    b: &mut FunctionBuilder<'_>,
    order: Value,
    x: Value,
    (zeroth, first): (Value, Value),
) -> Value {
    let (one, two) = (float(b, 1.0), float(b, 2.0));
    let factor = b.fdiv(two, x);
    let walk = b.begin_while(&[one, zeroth, first]);
    let (k, before, now) = (walk.carried[0], walk.carried[1], walk.carried[2]);
    let more = b.fcmp(FloatCompare::Olt, k, order);
    // An infinity stays.
    let infinity = float(b, f64::INFINITY);
    let size = b.intrinsic(&intrinsics::FABS, Type::F64, &[now]);
    let finite = b.fcmp(FloatCompare::Olt, size, infinity);
    let more = b.and(more, finite);
    b.do_while(&walk, more, &[now]);
    let rise = product(b, k, factor, now);
    let next = b.fsub(rise, before);
    let after = b.fadd(k, one);
    b.end_while(walk, &[after, now, next])[0]
}

/// From an order far above downwards, made so that the functions of even orders add up to one (Miller). For `x` up to
/// the order.
fn downwards(b: &mut FunctionBuilder<'_>, order: Value, x: Value) -> Value {
    let (zero, one, two, many) = (float(b, 0.0), float(b, 1.0), float(b, 2.0), float(b, 160.0));
    // What is smaller than this gives zero as well.
    let least = float(b, 1e-280);
    let tiny = b.fcmp(FloatCompare::Olt, x, least);
    let x = b.select(tiny, least, x);
    let factor = b.fdiv(two, x);
    let margin = b.fmul(order, many);
    let margin = b.intrinsic(&intrinsics::SQRT, Type::F64, &[margin]);
    let start = b.fadd(order, margin);
    let half = float(b, 0.5);
    let start = b.fmul(start, half);
    // Adding and taking away leaves a whole number.
    let magic = float(b, 6_755_399_441_055_744.0);
    let start = b.fadd(start, magic);
    let start = b.fsub(start, magic);
    let start = b.fadd(start, start);

    // The order, the functions above and at it, the one that is wanted, the sum of even ones, whether this one is even.
    let walk = b.begin_while(&[start, zero, one, zero, zero, zero]);
    let [k, above, now, wanted, sum, counts] = [0, 1, 2, 3, 4, 5].map(|index| walk.carried[index]);
    let more = b.fcmp(FloatCompare::Ogt, k, zero);
    b.do_while(&walk, more, &[now, wanted, sum]);
    let rise = product(b, k, factor, now);
    let below = b.fsub(rise, above);
    let is_wanted = b.fcmp(FloatCompare::Oeq, k, order);
    let wanted = b.select(is_wanted, now, wanted);
    let part = b.fmul(counts, below);
    let sum = b.fadd(sum, part);
    let counts = b.fsub(one, counts);
    // Kept small.
    let size = b.intrinsic(&intrinsics::FABS, Type::F64, &[below]);
    let limit = float(b, 1e10);
    let large = b.fcmp(FloatCompare::Ogt, size, limit);
    let inverse = b.fdiv(one, size);
    let scale = b.select(large, inverse, one);
    let [below, now, wanted, sum] = [below, now, wanted, sum].map(|value| b.fmul(value, scale));
    let next = b.fsub(k, one);
    let after = b.end_while(walk, &[next, now, below, wanted, sum, counts]);
    let (last, wanted, sum) = (after[0], after[1], after[2]);
    let twice = b.fadd(sum, sum);
    let whole = b.fsub(twice, last);
    b.fdiv(wanted, whole)
}

/// The function of the first kind.
pub(super) fn first_kind(
    b: &mut FunctionBuilder<'_>,
    order: Value,
    x: Value,
    (zeroth, first): (Value, Value),
) -> Value {
    let rises = b.fcmp(FloatCompare::Ogt, x, order);
    let mut branch = b.begin_if(rises);
    let up = upwards(b, order, x, (zeroth, first));
    b.begin_else(&mut branch, &[up]);
    let down = downwards(b, order, x);
    b.end_if(branch, &[down])[0]
}
