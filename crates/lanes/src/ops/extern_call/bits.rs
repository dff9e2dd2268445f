//! Functions of maths libraries on integers and on the bits of floats.

use super::Make;
use crate::cx::Cx;
use crate::error::Result;
use crate::ops::Elems;
use crate::types;
use llir::{FloatCompare, IntCompare, Op, Type, Value};

/// Plain name and meaning.
const TABLE: &[(&str, Make)] = &[
    ("abs", |cx, _, x| Ok(Some(absolute(cx, x[0])))),
    ("llabs", |cx, _, x| Ok(Some(absolute(cx, x[0])))),
    ("brev", |cx, _, x| unary(cx, "llvm.bitreverse", x)),
    ("brevll", |cx, _, x| unary(cx, "llvm.bitreverse", x)),
    ("clz", |cx, _, x| Ok(Some(counted(cx, "llvm.ctlz", x[0])))),
    ("clzll", |cx, _, x| Ok(Some(counted(cx, "llvm.ctlz", x[0])))),
    ("popc", |cx, _, x| unary(cx, "llvm.ctpop", x)),
    ("popcll", |cx, _, x| unary(cx, "llvm.ctpop", x)),
    ("ffs", |cx, _, x| Ok(Some(first_set(cx, x[0])))),
    ("ffsll", |cx, _, x| Ok(Some(first_set(cx, x[0])))),
    ("byte_perm", |cx, _, x| Ok(Some(permute_bytes(cx, x)))),
    ("mulhi", |cx, _, x| Ok(Some(cx.target.mul_high(&mut cx.b, true, x[0], x[1])))),
    ("mul64hi", |cx, _, x| Ok(Some(cx.target.mul_high(&mut cx.b, true, x[0], x[1])))),
    ("umulhi", |cx, _, x| Ok(Some(cx.target.mul_high(&mut cx.b, false, x[0], x[1])))),
    ("umul64hi", |cx, _, x| Ok(Some(cx.target.mul_high(&mut cx.b, false, x[0], x[1])))),
    ("mul24", |cx, _, x| Ok(Some(product24(cx, true, x)))),
    ("umul24", |cx, _, x| Ok(Some(product24(cx, false, x)))),
    ("hadd", |cx, _, x| Ok(Some(average(cx, true, 0, x)))),
    ("rhadd", |cx, _, x| Ok(Some(average(cx, true, 1, x)))),
    ("uhadd", |cx, _, x| Ok(Some(average(cx, false, 0, x)))),
    ("urhadd", |cx, _, x| Ok(Some(average(cx, false, 1, x)))),
    ("sad", |cx, _, x| Ok(Some(difference_and_sum(cx, IntCompare::Sgt, x)))),
    ("usad", |cx, _, x| Ok(Some(difference_and_sum(cx, IntCompare::Ugt, x)))),
    ("float_as_int", same),
    ("float_as_uint", same),
    ("double_as_longlong", same),
    ("int_as_float", same),
    ("uint_as_float", same),
    ("longlong_as_double", same),
    ("double2hiint", |cx, _, x| Ok(Some(half(cx, 32, x[0])))),
    ("double2loint", |cx, _, x| Ok(Some(half(cx, 0, x[0])))),
    ("hiloint2double", |cx, _, x| Ok(Some(from_halves(cx, x)))),
    ("double2float_rn", |cx, _, x| Ok(Some(cx.b.cast(Op::FPTRUNC, x[0], Type::F32)))),
    ("signbit", |cx, _, x| Ok(Some(sign_bit(cx, x[0])))),
];

/// Conversions between integers and floats: the beginning of the name, what it makes of its operand.
const CONVERSIONS: &[(&str, Op)] = &[
    ("int2float_rn", Op::SITOFP),
    ("uint2float_rn", Op::UITOFP),
    ("ll2float_rn", Op::SITOFP),
    ("ull2float_rn", Op::UITOFP),
    ("int2double_rn", Op::SITOFP),
    ("uint2double_rn", Op::UITOFP),
    ("ll2double_rn", Op::SITOFP),
    ("ull2double_rn", Op::UITOFP),
];

/// Roundings, by the end of the name of a conversion to an integer.
const ROUNDINGS: &[(&str, &str)] =
    &[("_rn", "llvm.rint"), ("_rz", "llvm.trunc"), ("_rd", "llvm.floor"), ("_ru", "llvm.ceil")];

/// How a function is made.
pub(super) fn find(name: &str) -> Option<Make> {
    if let Some((_, make)) = TABLE.iter().find(|(own, _)| *own == name) {
        return Some(*make);
    }
    if let Some((_, op)) = CONVERSIONS.iter().find(|(own, _)| *own == name) {
        return Some(if *op == Op::SITOFP { from_signed } else { from_unsigned });
    }
    let to = name.strip_prefix("float2").or_else(|| name.strip_prefix("double2"))?;
    let (kind, rounding) = to.split_at(to.find('_')?);
    let signed = ["int", "ll"].contains(&kind);
    if !signed && !["uint", "ull"].contains(&kind) {
        return None;
    }
    let makes: [(Make, Make); 4] = [
        (|cx, e, x| to_int(cx, e, x, 0, true), |cx, e, x| to_int(cx, e, x, 0, false)),
        (|cx, e, x| to_int(cx, e, x, 1, true), |cx, e, x| to_int(cx, e, x, 1, false)),
        (|cx, e, x| to_int(cx, e, x, 2, true), |cx, e, x| to_int(cx, e, x, 2, false)),
        (|cx, e, x| to_int(cx, e, x, 3, true), |cx, e, x| to_int(cx, e, x, 3, false)),
    ];
    let index = ROUNDINGS.iter().position(|(suffix, _)| *suffix == rounding)?;
    Some(if signed { makes[index].0 } else { makes[index].1 })
}

fn to_int(
    cx: &mut Cx<'_>,
    elems: &Elems<'_>,
    x: &[Value],
    rounding: usize,
    signed: bool,
) -> Result<Option<Value>> {
    let ty = cx.b.ty(x[0]);
    let rounded = cx.b.intrinsic(ROUNDINGS[rounding].1, ty, &[x[0]]);
    let op = if signed { Op::FPTOSI } else { Op::FPTOUI };
    Ok(Some(cx.b.cast(op, rounded, types::register(elems.result))))
}

fn from_signed(cx: &mut Cx<'_>, elems: &Elems<'_>, x: &[Value]) -> Result<Option<Value>> {
    Ok(Some(cx.b.cast(Op::SITOFP, x[0], types::register(elems.result))))
}

fn from_unsigned(cx: &mut Cx<'_>, elems: &Elems<'_>, x: &[Value]) -> Result<Option<Value>> {
    Ok(Some(cx.b.cast(Op::UITOFP, x[0], types::register(elems.result))))
}

fn unary(cx: &mut Cx<'_>, intrinsic: &str, x: &[Value]) -> Result<Option<Value>> {
    let ty = cx.b.ty(x[0]);
    Ok(Some(cx.b.intrinsic(intrinsic, ty, &x[..1])))
}

/// The same bits; the caller gives them their type.
fn same(cx: &mut Cx<'_>, elems: &Elems<'_>, x: &[Value]) -> Result<Option<Value>> {
    Ok(Some(cx.b.bitcast(x[0], types::register(elems.result))))
}

fn absolute(cx: &mut Cx<'_>, x: Value) -> Value {
    let ty = cx.b.ty(x);
    let (zero, negative) = (cx.b.zero(ty), cx.b.neg(x));
    let is_negative = cx.b.icmp(IntCompare::Slt, x, zero);
    cx.b.select(is_negative, negative, x)
}

/// An intrinsic whose second operand says that no input is excluded.
fn counted(cx: &mut Cx<'_>, intrinsic: &str, x: Value) -> Value {
    let ty = cx.b.ty(x);
    let all_defined = cx.b.bool(false);
    cx.b.intrinsic(intrinsic, ty, &[x, all_defined])
}

/// The position of the lowest bit that is set, from one; zero without any.
fn first_set(cx: &mut Cx<'_>, x: Value) -> Value {
    let ty = cx.b.ty(x);
    let (zero, one) = (cx.b.zero(ty), cx.b.int(ty, 1));
    let below = counted(cx, "llvm.cttz", x);
    let position = cx.b.add(below, one);
    let is_zero = cx.b.icmp(IntCompare::Eq, x, zero);
    cx.b.select(is_zero, zero, position)
}

/// Each byte of the result is one of the eight of the operands, picked by a digit of the selector.
fn permute_bytes(cx: &mut Cx<'_>, x: &[Value]) -> Value {
    let [low, high] = [x[0], x[1]].map(|value| cx.b.resize_unsigned(value, Type::I64));
    let (word, seven, eight) = (cx.b.i64(32), cx.b.i32(7), cx.b.i32(8));
    let high = cx.b.shl(high, word);
    let bytes = cx.b.or(low, high);
    let mut result = cx.b.i32(0);
    for byte in 0..4 {
        let (digit_at, to, mask) = (cx.b.i32(4 * byte), cx.b.i32(8 * byte), cx.b.i32(0xff));
        let digit = cx.b.lshr(x[2], digit_at);
        let digit = cx.b.and(digit, seven);
        let from = cx.b.mul(digit, eight);
        let from = cx.b.resize_unsigned(from, Type::I64);
        let picked = cx.b.lshr(bytes, from);
        let picked = cx.b.resize_unsigned(picked, Type::I32);
        let picked = cx.b.and(picked, mask);
        let placed = cx.b.shl(picked, to);
        result = cx.b.or(result, placed);
    }
    result
}

/// The low half of the product of the low 24 bits.
fn product24(cx: &mut Cx<'_>, signed: bool, x: &[Value]) -> Value {
    let eight = cx.b.i32(8);
    let low = |cx: &mut Cx<'_>, value: Value| {
        let up = cx.b.shl(value, eight);
        if signed { cx.b.ashr(up, eight) } else { cx.b.lshr(up, eight) }
    };
    let (left, right) = (low(cx, x[0]), low(cx, x[1]));
    cx.b.mul(left, right)
}

/// Half of the sum (and one more), without overflow: 32 bits are added in 64.
fn average(cx: &mut Cx<'_>, signed: bool, more: i64, x: &[Value]) -> Value {
    let ty = cx.b.ty(x[0]);
    let [left, right] = [x[0], x[1]].map(|value| match signed {
        true => cx.b.resize_signed(value, Type::I64),
        false => cx.b.resize_unsigned(value, Type::I64),
    });
    let (more, one) = (cx.b.i64(more), cx.b.i64(1));
    let sum = cx.b.add(left, right);
    let sum = cx.b.add(sum, more);
    let half = cx.b.ashr(sum, one);
    cx.b.resize_unsigned(half, ty)
}

fn difference_and_sum(cx: &mut Cx<'_>, greater: IntCompare, x: &[Value]) -> Value {
    let holds = cx.b.icmp(greater, x[0], x[1]);
    let (forth, back) = (cx.b.sub(x[0], x[1]), cx.b.sub(x[1], x[0]));
    let difference = cx.b.select(holds, forth, back);
    cx.b.add(difference, x[2])
}

/// 32 bits of a double.
fn half(cx: &mut Cx<'_>, from: i64, x: Value) -> Value {
    let bits = cx.b.bitcast(x, Type::I64);
    let by = cx.b.i64(from);
    let moved = cx.b.lshr(bits, by);
    cx.b.resize_unsigned(moved, Type::I32)
}

fn from_halves(cx: &mut Cx<'_>, x: &[Value]) -> Value {
    let [high, low] = [x[0], x[1]].map(|value| cx.b.resize_unsigned(value, Type::I64));
    let by = cx.b.i64(32);
    let high = cx.b.shl(high, by);
    let bits = cx.b.or(high, low);
    cx.b.bitcast(bits, Type::F64)
}

fn sign_bit(cx: &mut Cx<'_>, x: Value) -> Value {
    let int = cx.b.ty(x).as_int();
    let bits = cx.b.bitcast(x, int);
    let zero = cx.b.zero(int);
    cx.b.icmp(IntCompare::Slt, bits, zero)
}

/// The facts about a float type: its integer, width of the mantissa, bias.
fn format(cx: &Cx<'_>, x: Value) -> (Type, i64, i64) {
    let ty = cx.b.ty(x);
    if ty == Type::F64 { (Type::I64, 52, 1023) } else { (Type::I32, 23, 127) }
}

/// `x · 2^n` in three factors, each a power of two that the format has. A factor that would lead below the normal numbers
/// is preceded by one that does not: then only the last product is rounded, or the result is zero in any case.
pub(super) fn scale(cx: &mut Cx<'_>, _: &Elems<'_>, x: &[Value]) -> Result<Option<Value>> {
    let (int, mantissa, bias) = format(cx, x[0]);
    let ty = cx.b.ty(x[0]);
    let n = cx.b.resize_signed(x[1], int);
    let limit = cx.b.int(int, 3 * bias - 3);
    let gentle = bias - 2 - mantissa;
    let least = cx.b.int(int, -3 * gentle);
    let over = cx.b.icmp(IntCompare::Sgt, n, limit);
    let n = cx.b.select(over, limit, n);
    let under = cx.b.icmp(IntCompare::Slt, n, least);
    let n = cx.b.select(under, least, n);
    let (most, fewest, gentle) = (cx.b.int(int, bias), cx.b.int(int, 1 - bias), cx.b.int(int, -gentle));
    let (bias, up) = (cx.b.int(int, bias), cx.b.int(int, mantissa));
    let (mut rest, mut value) = (n, x[0]);
    for _ in 0..3 {
        let over = cx.b.icmp(IntCompare::Sgt, rest, most);
        let step = cx.b.select(over, most, rest);
        let under = cx.b.icmp(IntCompare::Slt, step, fewest);
        let step = cx.b.select(under, gentle, step);
        let field = cx.b.add(step, bias);
        let bits = cx.b.shl(field, up);
        let factor = cx.b.bitcast(bits, ty);
        value = cx.b.fmul(value, factor);
        rest = cx.b.sub(rest, step);
    }
    Ok(Some(value))
}

/// The exponent of a finite number that is not zero, subnormal numbers included.
fn raw_exponent(cx: &mut Cx<'_>, x: Value) -> Value {
    let (int, mantissa, bias) = format(cx, x);
    let bits = cx.b.bitcast(x, int);
    let width = i64::from(int.lane_bits());
    let (one, up, zero) = (cx.b.int(int, 1), cx.b.int(int, mantissa), cx.b.zero(int));
    let magnitude = cx.b.shl(bits, one);
    let magnitude = cx.b.lshr(magnitude, one);
    let field = cx.b.lshr(magnitude, up);
    let zeros = counted(cx, "llvm.ctlz", magnitude);
    let lowest = cx.b.int(int, width - bias - mantissa);
    let tiny = cx.b.sub(lowest, zeros);
    let bias = cx.b.int(int, bias);
    let normal = cx.b.sub(field, bias);
    let is_tiny = cx.b.icmp(IntCompare::Eq, field, zero);
    cx.b.select(is_tiny, tiny, normal)
}

/// The exponent as an integer; the least integer for zero and NaN, the greatest for infinity.
pub(super) fn exponent(cx: &mut Cx<'_>, _: &Elems<'_>, x: &[Value]) -> Result<Option<Value>> {
    let ty = cx.b.ty(x[0]);
    let exponent = raw_exponent(cx, x[0]);
    let exponent = cx.b.resize_signed(exponent, Type::I32);
    let size = cx.b.intrinsic("llvm.fabs", ty, &[x[0]]);
    let (zero, infinity) = (cx.b.float(ty, 0.0), cx.b.float(ty, f64::INFINITY));
    let (least, most) = (cx.b.i32(i32::MIN), cx.b.i32(i32::MAX));
    let is_infinite = cx.b.fcmp(FloatCompare::Oeq, size, infinity);
    let result = cx.b.select(is_infinite, most, exponent);
    let is_nothing = cx.b.fcmp(FloatCompare::Ueq, size, zero);
    Ok(Some(cx.b.select(is_nothing, least, result)))
}

/// The exponent as a float: minus infinity for zero, infinity for infinity.
pub(super) fn exponent_as_float(cx: &mut Cx<'_>, _: &Elems<'_>, x: &[Value]) -> Result<Option<Value>> {
    let ty = cx.b.ty(x[0]);
    let exponent = raw_exponent(cx, x[0]);
    let exponent = cx.b.cast(Op::SITOFP, exponent, ty);
    let size = cx.b.intrinsic("llvm.fabs", ty, &[x[0]]);
    let (zero, infinity) = (cx.b.float(ty, 0.0), cx.b.float(ty, f64::INFINITY));
    let least = cx.b.float(ty, f64::NEG_INFINITY);
    let is_finite = cx.b.fcmp(FloatCompare::Olt, size, infinity);
    let result = cx.b.select(is_finite, exponent, size);
    let is_zero = cx.b.fcmp(FloatCompare::Oeq, size, zero);
    Ok(Some(cx.b.select(is_zero, least, result)))
}
