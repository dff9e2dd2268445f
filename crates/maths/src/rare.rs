//! The parts of functions that few inputs need, for one lane, in integers.

use crate::{MathMachine, rare_bessel};
use llir::{FloatCompare, FunctionBuilder, IntCompare, Op, Type, Value, Values, intrinsics};

/// A part of a function that few inputs need: it gives outputs new values, made of its inputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rare {
    /// The reduction of a large angle. Input: the angle, not negative. Outputs: the remainder, the quadrant as an
    /// integer, and, where there is a third one, what rounding the remainder lost.
    ReduceAngle,
    /// The same of a large single plus so many eighths of a turn, an odd number of them, by half turns. Input: the
    /// single, not negative. Outputs: the remainder, and an integer that is odd where the number of half turns is.
    ReducePhase { eighths: i8 },
    /// The remainder of a division with a long quotient, for finite numbers x >= y > 0. Inputs: x, y.
    Remainder,
    /// The Bessel function of the first kind. Inputs: the order, a whole number from two on, the argument, not
    /// negative, and the functions of orders 0 and 1.
    BesselFirst,
    /// The Bessel function of the second kind; inputs likewise.
    BesselSecond,
}

impl Rare {
    /// Its name, as part of a symbol.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Rare::ReduceAngle => "reduce_angle",
            Rare::ReducePhase { eighths: ..0 } => "reduce_phase_behind",
            Rare::ReducePhase { .. } => "reduce_phase_ahead",
            Rare::Remainder => "remainder",
            Rare::BesselFirst => "bessel_first",
            Rare::BesselSecond => "bessel_second",
        }
    }

    /// The instructions for one lane.
    pub(crate) fn build(
        self,
        b: &mut FunctionBuilder<'_>,
        machine: &dyn MathMachine,
        inputs: &[Value],
        outputs: usize,
    ) -> Values {
        match self {
            Rare::ReduceAngle => reduce_angle(b, machine, inputs[0], outputs > 2),
            Rare::ReducePhase { eighths } => reduce_phase(b, inputs[0], eighths),
            Rare::Remainder => {
                let ty = b.ty(inputs[0]);
                let [x, y] = [inputs[0], inputs[1]].map(|input| match ty == Type::F64 {
                    true => input,
                    false => b.cast(Op::FPEXT, input, Type::F64),
                });
                let rest = remainder(b, x, y);
                // It has no more bits than the divisor.
                Values::from_slice(&[if ty == Type::F64 { rest } else { b.cast(Op::FPTRUNC, rest, ty) }])
            }
            Rare::BesselFirst => {
                let near = (inputs[2], inputs[3]);
                Values::from_slice(&[rare_bessel::first_kind(b, inputs[0], inputs[1], near)])
            }
            Rare::BesselSecond => {
                let near = (inputs[2], inputs[3]);
                Values::from_slice(&[rare_bessel::upwards(b, inputs[0], inputs[1], near)])
            }
        }
    }
}

/// The bits of 2/pi after one word of zeros; word and bit order is big-endian.
const TWO_OVER_PI: [u64; 20] = [
    0,
    0xA2F9_836E_4E44_1529,
    0xFC27_57D1_F534_DDC0,
    0xDB62_9599_3C43_9041,
    0xFE51_63AB_DEBB_C561,
    0xB724_6E3A_424D_D2E0,
    0x0649_2EEA_09D1_921C,
    0xFE1D_EB1C_B129_A73E,
    0xE882_35F5_2EBB_4484,
    0xE99C_7026_B45F_7E41,
    0x3991_D639_8353_39F4,
    0x9C84_5F8B_BDF9_283B,
    0x1FF8_97FF_DE05_980F,
    0xEF2F_118B_5A0A_6D1F,
    0x6D36_7ECF_27CB_09B7,
    0x4F46_3F66_9E5F_EA2D,
    0x7527_BAC7_EBE5_F17B,
    0x3D07_39F7_8A52_92EA,
    0x6BFB_5FB1_1F8D_5D08,
    0x5603_3046_FC7B_6BAB,
];

fn int(b: &mut FunctionBuilder<'_>, value: i64) -> Value {
    b.i64(value)
}

/// Bits `shift` further up of two words, the first the higher one; `shift` is less than 64.
fn funnel(b: &mut FunctionBuilder<'_>, high: Value, low: Value, shift: Value) -> Value {
    let (one, mask) = (int(b, 1), int(b, 63));
    let up = b.shl(high, shift);
    let half = b.lshr(low, one);
    let down = b.xor(shift, mask);
    let rest = b.lshr(half, down);
    b.or(up, rest)
}

/// A sum and whether it overflowed, as 0 or 1.
fn add_carry(b: &mut FunctionBuilder<'_>, x: Value, y: Value) -> (Value, Value) {
    let sum = b.add(x, y);
    let wrapped = b.icmp(IntCompare::Ult, sum, x);
    (sum, b.cast(Op::ZEXT, wrapped, Type::I64))
}

/// The remainder of a large angle by quarter turns, their number, and what rounding the remainder lost.
fn reduce_angle(b: &mut FunctionBuilder<'_>, machine: &dyn MathMachine, x: Value, both: bool) -> Values {
    if b.ty(x) == Type::F32 {
        return reduce_single(b, x, both);
    }
    let (quadrant, high, low) = quarter_turns(b, machine, x);
    let [high, low] = [high, low].map(|part| unless_infinite(b, x, part));
    let mut outputs = Values::from_slice(&[high, quadrant]);
    outputs.extend(both.then_some(low));
    outputs
}

/// A double of a finite number, or NaN.
fn unless_infinite(b: &mut FunctionBuilder<'_>, x: Value, double: Value) -> Value {
    let infinity = b.float(b.ty(x), f64::INFINITY);
    let nan = b.float(Type::F64, f64::NAN);
    let finite = b.fcmp(FloatCompare::Olt, x, infinity);
    b.select(finite, double, nan)
}

/// The remainder of a large single by quarter turns, their number, and what rounding the remainder lost. A single is
/// no closer to a multiple of pi/2 than half of the bits of the fraction tell.
fn reduce_single(b: &mut FunctionBuilder<'_>, x: Value, both: bool) -> Values {
    let turns = turns_of_single(b, x);
    let [two, half, top] = [2, 1 << 61, 62].map(|value| int(b, value));
    let rounded = b.add(turns, half);
    let quadrant = b.lshr(rounded, top);
    let quadrant = b.resize_unsigned(quadrant, Type::I32);
    let fraction = b.shl(turns, two);
    let angle = part_of(b, fraction, std::f64::consts::FRAC_PI_2);
    let angle = unless_infinite(b, x, angle);
    let near = b.cast(Op::FPTRUNC, angle, Type::F32);
    let mut outputs = Values::from_slice(&[near, quadrant]);
    if both {
        let back = b.cast(Op::FPEXT, near, Type::F64);
        let lost = b.fsub(angle, back);
        outputs.push(b.cast(Op::FPTRUNC, lost, Type::F32));
    }
    outputs
}

/// The remainder of a large single and so many eighths of a turn by half turns, and the number of those. Of an
/// infinity it is some number.
fn reduce_phase(b: &mut FunctionBuilder<'_>, x: Value, eighths: i8) -> Values {
    let turns = turns_of_single(b, x);
    let eighth = 1i64 << 61;
    let shift = i64::from(eighths).wrapping_mul(eighth);
    let [shift, shift_and_half, one, top] =
        [shift, shift.wrapping_add(2 * eighth), 1, 63].map(|value| int(b, value));
    let rounded = b.add(turns, shift_and_half);
    let number = b.lshr(rounded, top);
    let number = b.resize_unsigned(number, Type::I32);
    let shifted = b.add(turns, shift);
    let fraction = b.shl(shifted, one);
    let angle = part_of(b, fraction, std::f64::consts::PI);
    Values::from_slice(&[b.cast(Op::FPTRUNC, angle, Type::F32), number])
}

/// A signed fraction of 64 bits times a number, as a double.
fn part_of(b: &mut FunctionBuilder<'_>, fraction: Value, whole: f64) -> Value {
    let fraction = b.cast(Op::SITOFP, fraction, Type::F64);
    let unit = b.float(Type::F64, whole * 2f64.powi(-64));
    b.fmul(fraction, unit)
}

/// `x = m * 2^k` with a 24-bit `m`. Bits of weight 2^1 and below of `2^k * 2/pi` are taken as three words; the upper 64
/// bits of their product with `m`, modulo 2^96, have the quadrant in their top two and the fraction of a quarter turn
/// below.
fn turns_of_single(b: &mut FunctionBuilder<'_>, x: Value) -> Value {
    let (m, [u2, u1, u0]) = single_and_two_over_pi(b, x);
    let word = int(b, 32);
    let [first, second, third] = [u2, u1, u0].map(|part| b.mul(m, part));
    let first = b.shl(first, word);
    let third = b.lshr(third, word);
    let sum = b.add(first, second);
    b.add(sum, third)
}

/// The mantissa of a single from 2^17 on as an integer, and three words to multiply it with, each in 64 bits.
fn single_and_two_over_pi(b: &mut FunctionBuilder<'_>, x: Value) -> (Value, [Value; 3]) {
    let bits = b.bitcast(x, Type::I32);
    let [width, fraction, hidden, offset, five, mask] =
        [23, (1 << 23) - 1, 1 << 23, 120, 5, 31].map(|value| b.i32(value));
    let exponent = b.lshr(bits, width);
    let m = b.and(bits, fraction);
    let m = b.or(m, hidden);
    let position = b.sub(exponent, offset);
    let word = b.lshr(position, five);
    let shift = b.and(position, mask);
    let elements = TWO_OVER_PI[..5].iter().flat_map(|word| [word >> 32, word & 0xffff_ffff]);
    // The first word of the other table is twice as long.
    let elements = elements.skip(1).map(u128::from).collect();
    let table = b.module().add_table("two_over_pi_words", Type::I32, elements, 4);
    let table = b.symbol(&table);
    let word = b.resize_unsigned(word, Type::I64);
    let first = b.gep(Type::I32, table, word);
    let words: Vec<Value> = (0..4)
        .map(|index| {
            let by = int(b, 4 * index);
            let pointer = b.offset(first, by);
            b.load(Type::I32, pointer, 4)
        })
        .collect();
    let parts = [0, 1, 2].map(|index| {
        let moved = b.intrinsic(&llir::intrinsics::FSHL, Type::I32, &[words[index], words[index + 1], shift]);
        b.resize_unsigned(moved, Type::I64)
    });
    let m = b.resize_unsigned(m, Type::I64);
    (m, parts)
}

/// The three words of `m · (2^k · 2/pi)` modulo 2^192, the highest first, for `x = m · 2^k` with a 53-bit `m`. Bits of
/// weight 2^1 and below are taken: the quadrant is in the top two bits, the fraction of a quarter turn below.
fn product_with_two_over_pi(b: &mut FunctionBuilder<'_>, machine: &dyn MathMachine, x: Value) -> [Value; 3] {
    let bits = b.bitcast(x, Type::I64);
    let [width, fraction, hidden, offset, six, mask] =
        [52, (1 << 52) - 1, 1 << 52, 1013, 6, 63].map(|value| int(b, value));
    let exponent = b.lshr(bits, width);
    let fraction = b.and(bits, fraction);
    let m = b.or(fraction, hidden);
    let position = b.sub(exponent, offset);
    let word = b.lshr(position, six);
    let shift = b.and(position, mask);
    let elements = TWO_OVER_PI.iter().map(|word| u128::from(*word)).collect();
    let table = b.module().add_table("two_over_pi", Type::I64, elements, 8);
    let table = b.symbol(&table);
    let first = b.gep(Type::I64, table, word);
    let words: Vec<Value> = (0..4)
        .map(|index| {
            let by = int(b, 8 * index);
            let pointer = b.offset(first, by);
            b.load(Type::I64, pointer, 8)
        })
        .collect();
    let [w2, w1, w0] = [0, 1, 2].map(|index| funnel(b, words[index], words[index + 1], shift));
    let r0 = b.mul(m, w0);
    let carry = machine.mul_high(b, m, w0);
    let middle = b.mul(m, w1);
    let middle_high = machine.mul_high(b, m, w1);
    let (r1, over) = add_carry(b, middle, carry);
    let top = b.mul(m, w2);
    let top = b.add(top, middle_high);
    [b.add(top, over), r1, r0]
}

/// The quadrant of an angle, and the rest of a quarter turn times pi/2 as a sum of two.
fn quarter_turns(b: &mut FunctionBuilder<'_>, machine: &dyn MathMachine, x: Value) -> (Value, Value, Value) {
    let [r2, r1, r0] = product_with_two_over_pi(b, machine, x);
    let [zero, half, two, sixty_two] = [0, 1 << 61, 2, 62].map(|value| int(b, value));
    let rounded = b.add(r2, half);
    let quadrant = b.lshr(rounded, sixty_two);
    // What is below the quadrant, as a signed fraction of 128 bits.
    let (f1, f0) = (funnel(b, r2, r1, two), funnel(b, r1, r0, two));
    let negative = b.icmp(IntCompare::Slt, f1, zero);
    let low_negated = b.neg(f0);
    let borrows = b.icmp(IntCompare::Ne, f0, zero);
    let borrow = b.cast(Op::ZEXT, borrows, Type::I64);
    let high_negated = b.neg(f1);
    let high_negated = b.sub(high_negated, borrow);
    let high = b.select(negative, high_negated, f1);
    let low = b.select(negative, low_negated, f0);
    let (normal, zeros) = normalised(b, high, low);
    let (sum, rest) = times_half_pi(b, machine, normal, zeros);
    let [minus_sum, minus_rest] = [sum, rest].map(|part| b.fneg(part));
    (quadrant, b.select(negative, minus_sum, sum), b.select(negative, minus_rest, rest))
}

fn leading_zeros(b: &mut FunctionBuilder<'_>, x: Value) -> Value {
    let defined = b.bool(false);
    b.intrinsic(&intrinsics::CTLZ, Type::I64, &[x, defined])
}

/// The top 64 bits of 128 shifted up until the highest is set, and by how many; at most 127.
fn normalised(b: &mut FunctionBuilder<'_>, high: Value, low: Value) -> (Value, Value) {
    let [zero, word, mask] = [0, 64, 63].map(|value| int(b, value));
    let empty = b.icmp(IntCompare::Eq, high, zero);
    let first = b.select(empty, low, high);
    let second = b.select(empty, zero, low);
    let zeros = leading_zeros(b, first);
    let shift = b.and(zeros, mask);
    let normal = funnel(b, first, second, shift);
    let more = b.add(shift, word);
    (normal, b.select(empty, more, shift))
}

/// `normal · 2^-(64 + zeros) · pi/2`, as a sum of two.
fn times_half_pi(
    b: &mut FunctionBuilder<'_>,
    machine: &dyn MathMachine,
    normal: Value,
    zeros: Value,
) -> (Value, Value) {
    // pi/2 · 2^63.
    let half_pi = b.bits(Type::I64, 14_488_038_916_154_245_685);
    let low = b.mul(normal, half_pi);
    let high = machine.mul_high(b, normal, half_pi);
    let [eleven, mask, high_bias, low_bias, width] =
        [11, (1 << 53) - 1, 971, 918, 52].map(|value| int(b, value));
    // Bits 75 to 127 of the product, then bits 22 to 74.
    let high_bits = b.lshr(high, eleven);
    let by = int(b, 42);
    let low_bits = funnel(b, high, low, by);
    let low_bits = b.and(low_bits, mask);
    let scaled = |b: &mut FunctionBuilder<'_>, bits: Value, bias: Value| {
        let float = b.cast(Op::SITOFP, bits, Type::F64);
        let exponent = b.sub(bias, zeros);
        let exponent = b.shl(exponent, width);
        let scale = b.bitcast(exponent, Type::F64);
        b.fmul(float, scale)
    };
    let high = scaled(b, high_bits, high_bias);
    let low = scaled(b, low_bits, low_bias);
    let sum = b.fadd(high, low);
    let lost = b.fsub(high, sum);
    (sum, b.fadd(lost, low))
}

/// Mantissa and exponent of a positive number; subnormal ones are normalised, with exponents below one.
fn parts(b: &mut FunctionBuilder<'_>, x: Value) -> (Value, Value) {
    let bits = b.bitcast(x, Type::I64);
    let [width, fraction, hidden, zero, one, eleven, mask] =
        [52, (1 << 52) - 1, 1 << 52, 0, 1, 11, 63].map(|value| int(b, value));
    let field = b.lshr(bits, width);
    let fraction = b.and(bits, fraction);
    let tiny = b.icmp(IntCompare::Eq, field, zero);
    let full = b.or(fraction, hidden);
    let zeros = leading_zeros(b, fraction);
    let lift = b.sub(zeros, eleven);
    let lift = b.and(lift, mask);
    let lifted = b.shl(fraction, lift);
    let low = b.sub(one, lift);
    (b.select(tiny, lifted, full), b.select(tiny, low, field))
}

/// Long division bit by bit, for finite `x >= y > 0`.
fn remainder(b: &mut FunctionBuilder<'_>, x: Value, y: Value) -> Value {
    let (m, e) = parts(b, x);
    let (m_y, e_y) = parts(b, y);
    let one = int(b, 1);
    let division = b.begin_while(&[m, e]);
    let (m, e) = (division.carried[0], division.carried[1]);
    let fits = b.icmp(IntCompare::Uge, m, m_y);
    let less = b.sub(m, m_y);
    let rest = b.select(fits, less, m);
    let more = b.icmp(IntCompare::Sgt, e, e_y);
    b.do_while(&division, more, &[rest]);
    let next = b.shl(rest, one);
    let exponent = b.sub(e, one);
    let rest = b.end_while(division, &[next, exponent])[0];
    assemble(b, rest, e_y)
}

/// The number of a mantissa, not normalised, and an exponent.
fn assemble(b: &mut FunctionBuilder<'_>, rest: Value, exponent: Value) -> Value {
    let [zero, one, eleven, mask, hidden, width] = [0, 1, 11, 63, 1 << 52, 52].map(|value| int(b, value));
    let is_zero = b.icmp(IntCompare::Eq, rest, zero);
    let zeros = leading_zeros(b, rest);
    let lift = b.sub(zeros, eleven);
    let lift = b.and(lift, mask);
    let lifted = b.shl(rest, lift);
    let exponent = b.sub(exponent, lift);
    let normal = b.icmp(IntCompare::Sgt, exponent, zero);
    let fraction = b.sub(lifted, hidden);
    let field = b.shl(exponent, width);
    let bits_normal = b.add(fraction, field);
    let down = b.sub(one, exponent);
    let down = b.and(down, mask);
    let bits_tiny = b.lshr(lifted, down);
    let bits = b.select(normal, bits_normal, bits_tiny);
    let bits = b.select(is_zero, zero, bits);
    b.bitcast(bits, Type::F64)
}
