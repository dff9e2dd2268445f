//! The parts of functions that few inputs need, in integers.

use crate::cx::Cx;
use llir::{FloatCompare, IntCompare, Op, Type, Value, Values};
use maths::Rare;

/// Branches around a rare part. `x` is the condition, the inputs, then what the outputs are where it does not hold.
pub(super) fn branch(cx: &mut Cx<'_>, kind: Rare, x: &[Value], outputs: usize) -> Values {
    let (inputs, defaults) = x[1..].split_at(x.len() - 1 - outputs);
    let mut branch = cx.b.begin_if(x[0]);
    let made = match kind {
        Rare::ReduceAngle => reduce_angle(cx, inputs[0], outputs > 2),
        Rare::Remainder => Values::from_slice(&[remainder(cx, inputs[0], inputs[1])]),
    };
    cx.b.begin_else(&mut branch, &made);
    cx.b.end_if(branch, defaults)
}

fn int(cx: &mut Cx<'_>, value: i64) -> Value {
    cx.b.i64(value)
}

/// Bits `shift` further up of two words, the first the higher one; `shift` is less than 64.
fn funnel(cx: &mut Cx<'_>, high: Value, low: Value, shift: Value) -> Value {
    let (one, mask) = (int(cx, 1), int(cx, 63));
    let up = cx.b.shl(high, shift);
    let half = cx.b.lshr(low, one);
    let down = cx.b.xor(shift, mask);
    let rest = cx.b.lshr(half, down);
    cx.b.or(up, rest)
}

/// A sum and whether it overflowed, as 0 or 1.
fn add_carry(cx: &mut Cx<'_>, x: Value, y: Value) -> (Value, Value) {
    let sum = cx.b.add(x, y);
    let wrapped = cx.b.icmp(IntCompare::Ult, sum, x);
    (sum, cx.b.cast(Op::ZEXT, wrapped, Type::I64))
}

/// `x = m * 2^k` with a 53-bit `m`. Bits of weight 2^1 and below of `2^k * 2/pi` are taken as 192 bits; their product with
/// `m`, modulo 2^192, has the quadrant in its top two bits and the fraction of a quarter turn below.
fn reduce_angle(cx: &mut Cx<'_>, x: Value, both: bool) -> Values {
    let narrow = cx.b.ty(x) == Type::F32;
    let wide = if narrow { cx.b.cast(Op::FPEXT, x, Type::F64) } else { x };
    let (quadrant, high, low) = quarter_turns(cx, wide);
    let infinity = cx.b.float(Type::F64, f64::INFINITY);
    let nan = cx.b.float(Type::F64, f64::NAN);
    let finite = cx.b.fcmp(FloatCompare::Olt, wide, infinity);
    let [high, low] = [high, low].map(|part| cx.b.select(finite, part, nan));
    let mut outputs = Values::new();
    if narrow {
        let near = cx.b.cast(Op::FPTRUNC, high, Type::F32);
        let back = cx.b.cast(Op::FPEXT, near, Type::F64);
        let lost = cx.b.fsub(high, back);
        let lost = cx.b.fadd(lost, low);
        outputs.extend([near, cx.b.resize_unsigned(quadrant, Type::I32)]);
        if both {
            outputs.push(cx.b.cast(Op::FPTRUNC, lost, Type::F32));
        }
    } else {
        outputs.extend([high, quadrant]);
        if both {
            outputs.push(low);
        }
    }
    outputs
}

/// The three words of `m · (2^k · 2/pi)` modulo 2^192, the highest first.
fn product_with_two_over_pi(cx: &mut Cx<'_>, x: Value) -> [Value; 3] {
    let bits = cx.b.bitcast(x, Type::I64);
    let [width, fraction, hidden, offset, six, mask] =
        [52, (1 << 52) - 1, 1 << 52, 1013, 6, 63].map(|value| int(cx, value));
    let exponent = cx.b.lshr(bits, width);
    let fraction = cx.b.and(bits, fraction);
    let m = cx.b.or(fraction, hidden);
    let position = cx.b.sub(exponent, offset);
    let word = cx.b.lshr(position, six);
    let shift = cx.b.and(position, mask);
    let elements = maths::TWO_OVER_PI.iter().map(|word| u128::from(*word)).collect();
    let table = cx.b.module().add_table("two_over_pi", Type::I64, elements, 8);
    let table = cx.b.symbol(&table);
    let first = cx.b.gep(Type::I64, table, word);
    let words: Vec<Value> = (0..4)
        .map(|index| {
            let by = int(cx, 8 * index);
            let pointer = cx.b.offset(first, by);
            cx.b.load(Type::I64, pointer, 8)
        })
        .collect();
    let [w2, w1, w0] = [0, 1, 2].map(|index| funnel(cx, words[index], words[index + 1], shift));
    let r0 = cx.b.mul(m, w0);
    let carry = cx.target.mul_high(&mut cx.b, false, m, w0);
    let middle = cx.b.mul(m, w1);
    let middle_high = cx.target.mul_high(&mut cx.b, false, m, w1);
    let (r1, over) = add_carry(cx, middle, carry);
    let top = cx.b.mul(m, w2);
    let top = cx.b.add(top, middle_high);
    [cx.b.add(top, over), r1, r0]
}

/// The quadrant of an angle, and the rest of a quarter turn times pi/2 as a sum of two.
fn quarter_turns(cx: &mut Cx<'_>, x: Value) -> (Value, Value, Value) {
    let [r2, r1, r0] = product_with_two_over_pi(cx, x);
    let [zero, half, two, sixty_two] = [0, 1 << 61, 2, 62].map(|value| int(cx, value));
    let rounded = cx.b.add(r2, half);
    let quadrant = cx.b.lshr(rounded, sixty_two);
    // What is below the quadrant, as a signed fraction of 128 bits.
    let (f1, f0) = (funnel(cx, r2, r1, two), funnel(cx, r1, r0, two));
    let negative = cx.b.icmp(IntCompare::Slt, f1, zero);
    let low_negated = cx.b.neg(f0);
    let borrows = cx.b.icmp(IntCompare::Ne, f0, zero);
    let borrow = cx.b.cast(Op::ZEXT, borrows, Type::I64);
    let high_negated = cx.b.neg(f1);
    let high_negated = cx.b.sub(high_negated, borrow);
    let high = cx.b.select(negative, high_negated, f1);
    let low = cx.b.select(negative, low_negated, f0);
    let (normal, zeros) = normalised(cx, high, low);
    let (sum, rest) = times_half_pi(cx, normal, zeros);
    let [minus_sum, minus_rest] = [sum, rest].map(|part| cx.b.fneg(part));
    (quadrant, cx.b.select(negative, minus_sum, sum), cx.b.select(negative, minus_rest, rest))
}

fn leading_zeros(cx: &mut Cx<'_>, x: Value) -> Value {
    let defined = cx.b.bool(false);
    cx.b.intrinsic("llvm.ctlz", Type::I64, &[x, defined])
}

/// The top 64 bits of 128 shifted up until the highest is set, and by how many; at most 127.
fn normalised(cx: &mut Cx<'_>, high: Value, low: Value) -> (Value, Value) {
    let [zero, word, mask] = [0, 64, 63].map(|value| int(cx, value));
    let empty = cx.b.icmp(IntCompare::Eq, high, zero);
    let first = cx.b.select(empty, low, high);
    let second = cx.b.select(empty, zero, low);
    let zeros = leading_zeros(cx, first);
    let shift = cx.b.and(zeros, mask);
    let normal = funnel(cx, first, second, shift);
    let more = cx.b.add(shift, word);
    (normal, cx.b.select(empty, more, shift))
}

/// `normal · 2^-(64 + zeros) · pi/2`, as a sum of two.
fn times_half_pi(cx: &mut Cx<'_>, normal: Value, zeros: Value) -> (Value, Value) {
    // pi/2 · 2^63.
    let half_pi = cx.b.bits(Type::I64, 14_488_038_916_154_245_685);
    let low = cx.b.mul(normal, half_pi);
    let high = cx.target.mul_high(&mut cx.b, false, normal, half_pi);
    let [eleven, mask, high_bias, low_bias, width] =
        [11, (1 << 53) - 1, 971, 918, 52].map(|value| int(cx, value));
    // Bits 75 to 127 of the product, then bits 22 to 74.
    let high_bits = cx.b.lshr(high, eleven);
    let by = int(cx, 42);
    let low_bits = funnel(cx, high, low, by);
    let low_bits = cx.b.and(low_bits, mask);
    let scaled = |cx: &mut Cx<'_>, bits: Value, bias: Value| {
        let float = cx.b.cast(Op::SITOFP, bits, Type::F64);
        let exponent = cx.b.sub(bias, zeros);
        let exponent = cx.b.shl(exponent, width);
        let scale = cx.b.bitcast(exponent, Type::F64);
        cx.b.fmul(float, scale)
    };
    let high = scaled(cx, high_bits, high_bias);
    let low = scaled(cx, low_bits, low_bias);
    let sum = cx.b.fadd(high, low);
    let lost = cx.b.fsub(high, sum);
    (sum, cx.b.fadd(lost, low))
}

/// Mantissa and exponent of a positive number; subnormal ones are normalised, with exponents below one.
fn parts(cx: &mut Cx<'_>, x: Value) -> (Value, Value) {
    let bits = cx.b.bitcast(x, Type::I64);
    let [width, fraction, hidden, zero, one, eleven, mask] =
        [52, (1 << 52) - 1, 1 << 52, 0, 1, 11, 63].map(|value| int(cx, value));
    let field = cx.b.lshr(bits, width);
    let fraction = cx.b.and(bits, fraction);
    let tiny = cx.b.icmp(IntCompare::Eq, field, zero);
    let full = cx.b.or(fraction, hidden);
    let zeros = leading_zeros(cx, fraction);
    let lift = cx.b.sub(zeros, eleven);
    let lift = cx.b.and(lift, mask);
    let lifted = cx.b.shl(fraction, lift);
    let low = cx.b.sub(one, lift);
    (cx.b.select(tiny, lifted, full), cx.b.select(tiny, low, field))
}

/// Long division bit by bit, for finite `x >= y > 0`.
fn remainder(cx: &mut Cx<'_>, x: Value, y: Value) -> Value {
    let (m, e) = parts(cx, x);
    let (m_y, e_y) = parts(cx, y);
    let one = int(cx, 1);
    let division = cx.b.begin_while(&[m, e]);
    let (m, e) = (division.carried[0], division.carried[1]);
    let fits = cx.b.icmp(IntCompare::Uge, m, m_y);
    let less = cx.b.sub(m, m_y);
    let rest = cx.b.select(fits, less, m);
    let more = cx.b.icmp(IntCompare::Sgt, e, e_y);
    cx.b.do_while(&division, more, &[rest]);
    let next = cx.b.shl(rest, one);
    let exponent = cx.b.sub(e, one);
    let rest = cx.b.end_while(division, &[next, exponent])[0];
    assemble(cx, rest, e_y)
}

/// The number of a mantissa, not normalised, and an exponent.
fn assemble(cx: &mut Cx<'_>, rest: Value, exponent: Value) -> Value {
    let [zero, one, eleven, mask, hidden, width] = [0, 1, 11, 63, 1 << 52, 52].map(|value| int(cx, value));
    let is_zero = cx.b.icmp(IntCompare::Eq, rest, zero);
    let zeros = leading_zeros(cx, rest);
    let lift = cx.b.sub(zeros, eleven);
    let lift = cx.b.and(lift, mask);
    let lifted = cx.b.shl(rest, lift);
    let exponent = cx.b.sub(exponent, lift);
    let normal = cx.b.icmp(IntCompare::Sgt, exponent, zero);
    let fraction = cx.b.sub(lifted, hidden);
    let field = cx.b.shl(exponent, width);
    let bits_normal = cx.b.add(fraction, field);
    let down = cx.b.sub(one, exponent);
    let down = cx.b.and(down, mask);
    let bits_tiny = cx.b.lshr(lifted, down);
    let bits = cx.b.select(normal, bits_normal, bits_tiny);
    let bits = cx.b.select(is_zero, zero, bits);
    cx.b.bitcast(bits, Type::F64)
}
