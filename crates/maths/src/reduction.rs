//! Reduction of an angle to `x = q * pi/2 + r` with |r| <= pi/4, exact enough for every finite argument.
//!
//! Moderate arguments subtract multiples of a pi/2 that is cut in parts. If any lane is larger, one
//! branch leaves the vector code and reduces those lanes one by one with a 192-bit product
//! of the mantissa and the matching bits of 2/pi (Payne and Hanek). The slow function takes memory, not vectors, so that
//! it does not depend on how vectors are passed.

use super::Elem;
use super::exponential::{Rounded, round_product};
use super::record::Rare;
use super::text::{Kind, TextBuilder, Value};

/// A reduced angle: the argument is `quadrant * pi/2 + high + low`.
pub(super) struct Reduced {
    /// The rounded remainder.
    pub(super) high: Value,
    /// What rounding lost; for F32 only if it was asked for.
    pub(super) low: Option<Value>,
    /// An integer whose two lowest bits are the quadrant.
    pub(super) quadrant: Value,
}

/// pi/2 as three singles.
const PI_2_F32: [f64; 3] = [1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15];
/// pi/2 as three parts of 33 bits and a rest.
const PI_2_F64: [f64; 4] =
    [1.5707963267341256, 6.077100506303966e-11, 2.0222662487111665e-21, 8.4784276603689e-32];

/// Arguments above this take the slow path.
const LIMIT_F32: f64 = 131_072.0;
const LIMIT_F64: f64 = 1_048_576.0;

/// The bits of 2/pi after one word of zeros; word and bit order is big-endian.
pub const TWO_OVER_PI: [u64; 20] = [
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

/// How much of a remainder of singles is wanted; doubles always give both parts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Parts {
    High,
    Both,
}

/// Reduces `x`, which must not be negative.
pub(super) fn reduce(b: &mut TextBuilder, x: Value, parts: Parts) -> Reduced {
    let n = round_product(b, x, std::f64::consts::FRAC_2_PI);
    let quadrant = b.to_bits(n.carrier);
    let fast = match b.elem() {
        Elem::F32 if b.config().has_fma => reduce_f32_fused(b, x, &n, quadrant, parts),
        Elem::F32 => reduce_f32_widened(b, x, &n, quadrant, parts),
        Elem::F64 => reduce_f64(b, x, &n, quadrant),
    };
    large_lanes(b, x, fast)
}

fn reduce_f32_fused(b: &mut TextBuilder, x: Value, n: &Rounded, quadrant: Value, parts: Parts) -> Reduced {
    let [first, second, third] = PI_2_F32.map(|part| b.float(part));
    let start = b.neg_mul_add(first, n.float, x);
    if parts == Parts::High {
        let high = b.neg_mul_add(second, n.float, start);
        return Reduced { high: b.neg_mul_add(third, n.float, high), low: None, quadrant };
    }
    // Every rounding error is kept: of the product, of the difference.
    let product = b.fmul(second, n.float);
    let negated = b.fneg(product);
    let product_lost = b.mul_add(second, n.float, negated);
    let high = b.fsub(start, product);
    let moved = b.fsub(high, start);
    let origin = b.fsub(high, moved);
    let start_lost = b.fsub(start, origin);
    let moved_lost = b.fadd(product, moved);
    let lost = b.fsub(start_lost, moved_lost);
    let lost = b.fsub(lost, product_lost);
    let low = b.neg_mul_add(third, n.float, lost);
    Reduced { high, low: Some(low), quadrant }
}

/// Without a fused operation singles lose too much: two steps in doubles instead.
fn reduce_f32_widened(b: &mut TextBuilder, x: Value, n: &Rounded, quadrant: Value, parts: Parts) -> Reduced {
    let wide_n = b.widen(n.float);
    let mut r = b.widen(x);
    // Taken from the parts of doubles: the difference is exact.
    let rest = (std::f64::consts::FRAC_PI_2 - PI_2_F64[0]) + 6.123_233_995_736_766e-17;
    for part in [PI_2_F64[0], rest] {
        let part = b.float_of(Kind::F64, part);
        let product = b.fmul(part, wide_n);
        r = b.fsub(r, product);
    }
    let high = b.narrow(r);
    let low = (parts == Parts::Both).then(|| {
        let kept = b.widen(high);
        let lost = b.fsub(r, kept);
        b.narrow(lost)
    });
    Reduced { high, low, quadrant }
}

fn reduce_f64(b: &mut TextBuilder, x: Value, n: &Rounded, quadrant: Value) -> Reduced {
    let parts = PI_2_F64.map(|part| b.float(part));
    // The products with the three parts are exact, and so is the first difference.
    let product = b.fmul(n.float, parts[0]);
    let first = b.fsub(x, product);
    let product = b.fmul(n.float, parts[1]);
    let second = b.fsub(first, product);
    let lost = b.fsub(first, second);
    let lost_second = b.fsub(lost, product);
    let product = b.fmul(n.float, parts[2]);
    let third = b.fsub(second, product);
    let lost = b.fsub(second, third);
    let lost_third = b.fsub(lost, product);
    let product = b.fmul(n.float, parts[3]);
    let low = b.fadd(lost_second, lost_third);
    let low = b.fsub(low, product);
    let high = b.fadd(third, low);
    let rest = b.fsub(third, high);
    let low = b.fadd(rest, low);
    Reduced { high, low: Some(low), quadrant }
}

/// Branches to the slow function if any lane is beyond the limit.
fn large_lanes(b: &mut TextBuilder, x: Value, fast: Reduced) -> Reduced {
    let limit = b.float(if b.elem() == Elem::F32 { LIMIT_F32 } else { LIMIT_F64 });
    let large = b.fcmp("ogt", x, limit);
    let mut outputs = vec![fast.high, fast.quadrant];
    outputs.extend(fast.low);
    let symbol = declare_lanes(b, if fast.low.is_some() { Parts::Both } else { Parts::High });
    let joined = b.call_if_any(large, (Rare::ReduceAngle, &symbol), &[x], &outputs);
    Reduced { high: joined[0], quadrant: joined[1], low: joined.get(2).copied() }
}

/// The conversions of the loop over large lanes.
struct LaneText {
    limit: f64,
    widen: &'static str,
    narrow: &'static str,
    low: &'static str,
    quadrant: &'static str,
}

const LANE_F32: LaneText = LaneText {
    limit: LIMIT_F32,
    widen: "  %wide = fpext float %x to double\n",
    narrow: "  %high = fptrunc double %y0 to float\n",
    low: "  %kept = fpext float %high to double
  %lost = fsub double %y0, %kept
  %lost.all = fadd double %lost, %y1
  %rest = fptrunc double %lost.all to float
  %pl = getelementptr inbounds float, ptr %low, i64 %i
  store float %rest, ptr %pl
",
    quadrant: "  %quadrant = trunc i64 %q to i32\n",
};

const LANE_F64: LaneText = LaneText {
    limit: LIMIT_F64,
    widen: "  %wide = fadd double %x, 0.0\n",
    narrow: "  %high = fadd double %y0, 0.0\n",
    low: "  %pl = getelementptr inbounds double, ptr %low, i64 %i\n  store double %y1, ptr %pl\n",
    quadrant: "  %quadrant = add i64 %q, 0\n",
};

/// The loop that reduces the large lanes of a vector in memory.
fn declare_lanes(b: &mut TextBuilder, parts: Parts) -> String {
    declare_scalar(b);
    let lanes = b.lanes();
    let elem = b.elem();
    let (float, int) = (elem.float_kind().name(), elem.int_kind().name());
    let text = if elem == Elem::F32 { LANE_F32 } else { LANE_F64 };
    let LaneText { widen, narrow, quadrant, .. } = text;
    let (low_name, low_parameter, low) = match parts {
        Parts::High => ("", "", ""),
        Parts::Both => (".both", ", ptr %low", text.low),
    };
    let symbol = format!("dn.math.reduce_large.{}.{lanes}{low_name}", elem.suffix());
    let limit = text.limit.to_bits();
    let text = format!(
        "define internal void @{symbol}(ptr %from, ptr %to, ptr %quadrants{low_parameter}) noinline cold nounwind {{
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %tail ]
  %px = getelementptr inbounds {float}, ptr %from, i64 %i
  %x = load {float}, ptr %px
  %large = fcmp ogt {float} %x, 0x{limit:016X}
  br i1 %large, label %work, label %tail
work:
{widen}  %r = call {{ double, double, i64 }} @dn.math.reduce_large(double %wide)
  %y0 = extractvalue {{ double, double, i64 }} %r, 0
  %y1 = extractvalue {{ double, double, i64 }} %r, 1
  %q = extractvalue {{ double, double, i64 }} %r, 2
{narrow}{quadrant}  %ph = getelementptr inbounds {float}, ptr %to, i64 %i
  store {float} %high, ptr %ph
  %pq = getelementptr inbounds {int}, ptr %quadrants, i64 %i
  store {int} %quadrant, ptr %pq
{low}  br label %tail
tail:
  %next = add i64 %i, 1
  %done = icmp eq i64 %next, {lanes}
  br i1 %done, label %exit, label %head
exit:
  ret void
}}
"
    );
    b.declare(&symbol, text);
    symbol
}

/// The reduction of one large double, and the bits of 2/pi.
fn declare_scalar(b: &mut TextBuilder) {
    let words: Vec<String> = TWO_OVER_PI.iter().map(|word| format!("i64 {}", word.cast_signed())).collect();
    b.declare(
        "dn.math.two_over_pi",
        format!(
            "@dn.math.two_over_pi = private unnamed_addr constant [{} x i64] [{}]\n",
            words.len(),
            words.join(", ")
        ),
    );
    b.declare("llvm.fshl.i64", "declare i64 @llvm.fshl.i64(i64, i64, i64)\n".to_owned());
    b.declare("llvm.ctlz.i128", "declare i128 @llvm.ctlz.i128(i128, i1)\n".to_owned());
    b.declare("dn.math.reduce_large", REDUCE_LARGE.to_owned());
}

/// `x = m * 2^k` with a 53-bit `m`. Bits of weight 2^1 and below of `2^k * 2/pi` are taken as 192 bits; their product with
/// `m`, modulo 2^192, has the quadrant in its top two bits and the fraction of a quarter turn below.
/// The fraction, normalised to 64 bits, times pi/2 gives the remainder to 2^-63.
const REDUCE_LARGE: &str = "\
define internal { double, double, i64 } @dn.math.reduce_large(double %x) noinline cold nounwind {
  %bits = bitcast double %x to i64
  %exponent = lshr i64 %bits, 52
  %fraction.x = and i64 %bits, 4503599627370495
  %m = or i64 %fraction.x, 4503599627370496
  %position = sub i64 %exponent, 1013
  %word = lshr i64 %position, 6
  %shift = and i64 %position, 63
  %p0 = getelementptr inbounds i64, ptr @dn.math.two_over_pi, i64 %word
  %p1 = getelementptr inbounds i64, ptr %p0, i64 1
  %p2 = getelementptr inbounds i64, ptr %p0, i64 2
  %p3 = getelementptr inbounds i64, ptr %p0, i64 3
  %t0 = load i64, ptr %p0
  %t1 = load i64, ptr %p1
  %t2 = load i64, ptr %p2
  %t3 = load i64, ptr %p3
  %w2 = call i64 @llvm.fshl.i64(i64 %t0, i64 %t1, i64 %shift)
  %w1 = call i64 @llvm.fshl.i64(i64 %t1, i64 %t2, i64 %shift)
  %w0 = call i64 @llvm.fshl.i64(i64 %t2, i64 %t3, i64 %shift)
  %m.wide = zext i64 %m to i128
  %w0.wide = zext i64 %w0 to i128
  %w1.wide = zext i64 %w1 to i128
  %m0 = mul i128 %m.wide, %w0.wide
  %m1 = mul i128 %m.wide, %w1.wide
  %m2 = mul i64 %m, %w2
  %r0 = trunc i128 %m0 to i64
  %carry = lshr i128 %m0, 64
  %middle = add i128 %m1, %carry
  %r1 = trunc i128 %middle to i64
  %middle.high = lshr i128 %middle, 64
  %middle.top = trunc i128 %middle.high to i64
  %r2 = add i64 %m2, %middle.top
  %rounded = add i64 %r2, 2305843009213693952
  %q = lshr i64 %rounded, 62
  %f1 = call i64 @llvm.fshl.i64(i64 %r2, i64 %r1, i64 2)
  %f0 = call i64 @llvm.fshl.i64(i64 %r1, i64 %r0, i64 2)
  %f1.wide = zext i64 %f1 to i128
  %f0.wide = zext i64 %f0 to i128
  %f1.high = shl i128 %f1.wide, 64
  %f = or i128 %f1.high, %f0.wide
  %negative = icmp slt i128 %f, 0
  %f.negated = sub i128 0, %f
  %magnitude = select i1 %negative, i128 %f.negated, i128 %f
  %zeros.wide = call i128 @llvm.ctlz.i128(i128 %magnitude, i1 false)
  %zeros.all = trunc i128 %zeros.wide to i64
  %zeros = and i64 %zeros.all, 127
  %zeros.count = zext i64 %zeros to i128
  %normal = shl i128 %magnitude, %zeros.count
  %normal.high = lshr i128 %normal, 64
  %product = mul i128 %normal.high, 14488038916154245685
  %high.wide = lshr i128 %product, 75
  %high.bits = trunc i128 %high.wide to i64
  %low.wide = lshr i128 %product, 22
  %low.trunc = trunc i128 %low.wide to i64
  %low.bits = and i64 %low.trunc, 9007199254740991
  %high.int = sitofp i64 %high.bits to double
  %low.int = sitofp i64 %low.bits to double
  %high.exponent = sub i64 971, %zeros
  %low.exponent = sub i64 918, %zeros
  %high.scale.bits = shl i64 %high.exponent, 52
  %low.scale.bits = shl i64 %low.exponent, 52
  %high.scale = bitcast i64 %high.scale.bits to double
  %low.scale = bitcast i64 %low.scale.bits to double
  %high.abs = fmul double %high.int, %high.scale
  %low.abs = fmul double %low.int, %low.scale
  %sum.abs = fadd double %high.abs, %low.abs
  %lost = fsub double %high.abs, %sum.abs
  %rest.abs = fadd double %lost, %low.abs
  %sum.negated = fneg double %sum.abs
  %rest.negated = fneg double %rest.abs
  %sum = select i1 %negative, double %sum.negated, double %sum.abs
  %rest = select i1 %negative, double %rest.negated, double %rest.abs
  %finite = fcmp olt double %x, 0x7FF0000000000000
  %y0 = select i1 %finite, double %sum, double 0x7FF8000000000000
  %y1 = select i1 %finite, double %rest, double 0x7FF8000000000000
  %a = insertvalue { double, double, i64 } undef, double %y0, 0
  %b = insertvalue { double, double, i64 } %a, double %y1, 1
  %c = insertvalue { double, double, i64 } %b, i64 %q, 2
  ret { double, double, i64 } %c
}
";
