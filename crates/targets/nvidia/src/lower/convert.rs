//! Conversions of floats by instructions, chiefly of 8 bits.

use super::instruction::Instruction;
use elementwise::{Byte, Rounding};
use ir::FloatKind::{self, BF16, F8E4M3FN, F8E5M2, F16, F32, F64};
use llir::{FunctionBuilder, Op, Type, Value, Values};

/// The first capability with conversions of 8-bit floats.
const WITH_SMALL_FLOATS: u32 = 89;

/// PTX's word for an 8-bit format.
fn word(kind: FloatKind) -> Option<&'static str> {
    match kind {
        F8E4M3FN => Some("e4m3x2"),
        F8E5M2 => Some("e5m2x2"),
        _ => None,
    }
}

/// One conversion, where there is an instruction for it; narrowing saturates, as the hardware does.
pub(super) fn one(
    b: &mut FunctionBuilder<'_>,
    capability: u32,
    (from, to): (FloatKind, FloatKind),
    rounding: Rounding,
    value: Value,
) -> Option<Value> {
    if (from, to, rounding) == (F64, F16, Rounding::NearestEven) {
        return Some(b.cast(Op::FPTRUNC, value, Type::F16));
    }
    if from == F8E5M2 && to.bits() > 8 {
        return wide_from_half(b, to, |b| upper_byte(b, value));
    }
    if capability < WITH_SMALL_FLOATS {
        return None;
    }
    if let Some(from) = word(from) {
        return wide_from_half(b, to, |b| half_of(b, from, value));
    }
    let to = word(to).filter(|_| rounding == Rounding::NearestEven)?;
    let small = match from {
        F32 => {
            let zero = b.zero(Type::F32);
            let convert = Instruction::new(format!("cvt.rn.satfinite.{to}.f32")).results(Type::I16, 1);
            convert.register(zero).register(value).pure(b)
        }
        F16 => {
            let zero = b.zero(Type::F16);
            let pair = b.vector(&[value, zero]);
            let convert = Instruction::new(format!("cvt.rn.satfinite.{to}.f16x2")).results(Type::I16, 1);
            convert.register(pair).pure(b)
        }
        _ => return None,
    };
    Some(b.resize_unsigned(small, Type::I8))
}

/// E5M2 is the upper byte of binary16.
fn upper_byte(b: &mut FunctionBuilder<'_>, value: Value) -> Value {
    let wide = b.resize_unsigned(value, Type::I16);
    let eight = b.int(Type::I16, 8);
    let bits = b.shl(wide, eight);
    b.bitcast(bits, Type::F16)
}

fn half_of(b: &mut FunctionBuilder<'_>, word: &str, value: Value) -> Value {
    let wide = b.resize_unsigned(value, Type::I16);
    let convert = Instruction::new(format!("cvt.rn.f16x2.{word}")).results(Type::F16.vector(2), 1);
    let pair = convert.register(wide).pure(b);
    b.extract(pair, 0)
}

/// Every 8-bit number is one of binary16, and so of the wider formats.
fn wide_from_half(
    b: &mut FunctionBuilder<'_>,
    to: FloatKind,
    half: impl FnOnce(&mut FunctionBuilder<'_>) -> Value,
) -> Option<Value> {
    match to {
        F16 => Some(half(b)),
        F32 => {
            let half = half(b);
            Some(b.cast(Op::FPEXT, half, Type::F32))
        }
        BF16 => {
            let half = half(b);
            let wide = b.cast(Op::FPEXT, half, Type::F32);
            Some(b.cast(Op::FPTRUNC, wide, Type::BF16))
        }
        _ => None,
    }
}

/// Whether [`bytes`] converts these, four or two at a time.
pub(super) fn has_bytes(capability: u32, from: Byte, to: FloatKind) -> bool {
    let has_pairs = capability >= 80 || to != BF16;
    let is_wider = matches!(to, F16 | BF16 | F32);
    match from {
        Byte::Signed | Byte::Unsigned => is_wider && has_pairs,
        Byte::Float(F8E5M2) => is_wider,
        Byte::Float(kind) => is_wider && capability >= WITH_SMALL_FLOATS && word(kind).is_some(),
    }
}

/// So many bytes of a word as floats. An instruction that converts one integer of 8 bits runs at an eighth of the
/// speed of those here: integers become the last bits of a power of two, which is then subtracted, exactly.
pub(super) fn bytes(
    b: &mut FunctionBuilder<'_>,
    (from, to): (Byte, FloatKind),
    word: Value,
    count: usize,
) -> Values {
    let halves = (0..count as i64).step_by(2);
    match (from, to) {
        (Byte::Float(kind), _) => {
            let pairs: Values = halves.map(|first| half_pair(b, kind, word, first)).collect();
            let each = pairs.into_iter().flat_map(|pair| [(pair, 0), (pair, 1)]);
            each.map(|(pair, lane)| {
                let half = b.extract(pair, lane);
                wide_from_half(b, to, |_| half).expect("the target converts these")
            })
            .collect()
        }
        // The sign and the other seven bits, each below 2^7: 2^7 + 100 for 100 and 2^7 + 2^7 for -28 = 100 - 2^7.
        (Byte::Signed, BF16) => {
            let pair = Type::BF16.vector(2);
            let parts = |b: &mut FunctionBuilder<'_>, first| {
                let above = word_of(b, 0x4343_4343);
                let both = permute(b, word, above, 0x4140 + 0x0202 * (first / 2));
                let [rest, sign] = [0xff7f_ff7f, 0xff80_ff80].map(|mask| {
                    let mask = word_of(b, mask);
                    let part = b.and(both, mask);
                    b.bitcast(part, pair)
                });
                b.fsub(rest, sign)
            };
            halves.flat_map(|first| lanes(b, first, parts)).collect()
        }
        (_, F16) => {
            let (word, offset) = unsigned(b, from, word, 1024.0);
            let parts = |b: &mut FunctionBuilder<'_>, first| {
                let above = word_of(b, 0x6464_6464);
                let both = permute(b, word, above, 0x4140 + 0x0202 * (first / 2));
                let both = b.bitcast(both, Type::F16.vector(2));
                let offset = b.float(Type::F16.vector(2), offset);
                b.fsub(both, offset)
            };
            halves.flat_map(|first| lanes(b, first, parts)).collect()
        }
        _ => {
            let (word, offset) = unsigned(b, from, word, f64::from(1 << 23));
            let offset = b.float(Type::F32, offset);
            let above = word_of(b, 0x4b00_0000);
            let each = (0..count as i64).map(|index| {
                let number = permute(b, word, above, 0x7440 + index);
                let number = b.bitcast(number, Type::F32);
                let number = b.fsub(number, offset);
                if to == F32 { number } else { b.cast(Op::FPTRUNC, number, Type::BF16) }
            });
            each.collect()
        }
    }
}

/// Integers without a sign, and what stands for zero among them when `power` is added.
fn unsigned(b: &mut FunctionBuilder<'_>, from: Byte, word: Value, power: f64) -> (Value, f64) {
    if from == Byte::Unsigned {
        return (word, power);
    }
    let signs = word_of(b, 0x8080_8080);
    (b.xor(word, signs), power + 128.0)
}

fn word_of(b: &mut FunctionBuilder<'_>, bits: u32) -> Value {
    b.int(Type::I32, i64::from(bits))
}

/// The two lanes of a pair that begins at a byte.
fn lanes(
    b: &mut FunctionBuilder<'_>,
    first: i64,
    pair: impl FnOnce(&mut FunctionBuilder<'_>, i64) -> Value,
) -> [Value; 2] {
    let pair = pair(b, first);
    [0, 1].map(|lane| b.extract(pair, lane))
}

/// Four bytes of eight, those of `low` first; each digit of `which` names one, the last digit the lowest.
fn permute(b: &mut FunctionBuilder<'_>, low: Value, high: Value, which: i64) -> Value {
    let permute = Instruction::new("prmt.b32").results(Type::I32, 1);
    permute.register(low).register(high).constant(which).pure(b)
}

/// Two neighbours of a word, from a byte on, as binary16.
fn half_pair(b: &mut FunctionBuilder<'_>, kind: FloatKind, bytes: Value, first: i64) -> Value {
    let pair = Type::F16.vector(2);
    match word(kind) {
        // E5M2 is the upper byte of binary16.
        _ if kind == F8E5M2 => {
            let zero = b.zero(Type::I32);
            let both = permute(b, bytes, zero, 0x1404 + 0x2020 * (first / 2));
            b.bitcast(both, pair)
        }
        Some(word) => {
            let both = b.bitcast(bytes, Type::I16.vector(2));
            let both = b.extract(both, first as u32 / 2);
            Instruction::new(format!("cvt.rn.f16x2.{word}")).results(pair, 1).register(both).pure(b)
        }
        None => unreachable!("a format with instructions"),
    }
}
