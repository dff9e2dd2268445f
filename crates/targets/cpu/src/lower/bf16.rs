//! Vectors of binary32 as bits of bf16 by the instructions of AVX-512 BF16, to nearest even.
//!
//! The instructions take a subnormal number for zero. Such a number is lifted: with the lowest bit of its exponent set
//! it is 2^-126 more, a normal number whose last place in bf16 is that of subnormal ones, so that it is rounded as they
//! are; the bit is taken off again behind that.

use llir::{FunctionBuilder, IntCompare, Purity, Type, Value};

/// The lanes of a register of binary32.
const LANES: u32 = 16;

/// The instruction that makes bf16 of two whole registers of binary32.
const TWO: &str = "llvm.x86.avx512bf16.cvtne2ps2bf16.512";

/// The number of bits that bf16 drops.
const DROPPED: u32 = 16;

/// The exponent of binary32, and its lowest bit.
const EXPONENT: i64 = 0x7f80_0000;
const LOWEST: i64 = 0x0080_0000;

/// All numbers; `None` where these are not whole registers of binary32.
pub(crate) fn round(b: &mut FunctionBuilder<'_>, value: Value) -> Option<Value> {
    if !is_whole(b, value) {
        return None;
    }
    let (float, int) = (b.ty(value), b.ty(value).as_int());
    let bits = b.bitcast(value, int);
    let [exponent, lowest, zero] = [EXPONENT, LOWEST, 0].map(|bits| b.int(int, bits));
    let own = b.and(bits, exponent);
    let is_small = b.icmp(IntCompare::Eq, own, zero);
    let with = b.or(bits, lowest);
    let lifted = b.select(is_small, with, bits);
    let lifted = b.bitcast(lifted, float);
    let rounded = round_normal(b, lifted)?;
    let lowest = b.int(b.ty(rounded), LOWEST >> DROPPED);
    let without = b.sub(rounded, lowest);
    Some(b.select(is_small, without, rounded))
}

/// The same where subnormal numbers may become zero.
pub(crate) fn round_normal(b: &mut FunctionBuilder<'_>, value: Value) -> Option<Value> {
    if !is_whole(b, value) {
        return None;
    }
    let registers: Vec<Value> =
        (0..b.ty(value).lanes()).step_by(LANES as usize).map(|first| b.slice(value, first, LANES)).collect();
    let mut parts: Vec<Value> = registers
        .chunks(2)
        .map(|two| {
            // The first operand is the upper half; where there is none it is left out again.
            let args = [two.get(1).copied().unwrap_or(two[0]), two[0]];
            let made = b.call_symbol(TWO, Type::BF16.vector(2 * LANES), &args, Purity::Pure);
            let made = made.expect("the intrinsic has a result");
            let bits = b.bitcast(made, Type::I16.vector(2 * LANES));
            if two.len() == 2 { bits } else { b.slice(bits, 0, LANES) }
        })
        .collect();
    while parts.len() > 1 {
        parts = parts.chunks(2).map(|two| b.concat(two[0], two[1])).collect();
    }
    parts.pop()
}

fn is_whole(b: &FunctionBuilder<'_>, value: Value) -> bool {
    let ty = b.ty(value);
    ty.lane() == Type::F32 && ty.lanes().is_power_of_two() && ty.lanes().is_multiple_of(LANES)
}
