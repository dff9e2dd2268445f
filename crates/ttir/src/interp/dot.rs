//! Matrix products. The order of accumulation is described in the interpreter's own documentation.

use super::data::{Data, Undefined, WordSide};
use super::interpreter::{Entry, Interpreter, Outcome, merge_undefined};
use super::multiply::{Sizes, add_products};
use crate::ops;
use crate::ops::dot::{DotScaledOp, ScaleType};
use crate::types::{elem, numel, shape};
use half::f16;
use half::slice::HalfFloatSliceExt;
use ir::scalar::{float_bits, float_value, sign_extend, truncate};
use ir::{FloatKind, Op, Type};
use std::sync::Arc;

/// Rows of this file.
pub(super) const TABLE: &[Entry] = &[(&ops::dot::DOT, dot), (&ops::dot::DOT_SCALED, dot_scaled)];

impl Sizes {
    fn new(c: &[i64], k: usize) -> Sizes {
        let rank = c.len();
        let batch = c[..rank - 2].iter().product::<i64>() as usize;
        Sizes { batch, m: c[rank - 2] as usize, n: c[rank - 1] as usize, k }
    }

    /// Runs `sum` for each element of the result: the positions in a and b of the pairs, and its own.
    fn each(self, mut sum: impl FnMut(&mut dyn Iterator<Item = (usize, usize)>, usize) -> u64) -> Vec<u64> {
        let Sizes { batch, m, n, k } = self;
        let mut results = Vec::with_capacity(batch * m * n);
        for position in 0..batch * m * n {
            let (stack, row, column) = (position / (m * n), position / n % m, position % n);
            let mut pairs = (0..k).map(|at| ((stack * m + row) * k + at, (stack * k + at) * n + column));
            results.push(sum(&mut pairs, position));
        }
        results
    }
}

/// Sums products in a binary32 accumulator.
fn sum_singles(kind: FloatKind, sizes: Sizes, lhs: &[f32], rhs: &[f32], mut sums: Vec<f32>) -> Data {
    add_products(sizes, lhs, rhs, &mut sums);
    // The bits of NaN are one pattern.
    let nan = float_bits(FloatKind::F32, f64::NAN) as u32;
    let single = |sum: f32| if sum.is_nan() { nan } else { sum.to_bits() };
    Data::words(match kind {
        FloatKind::F32 => sums.into_iter().map(single).collect(),
        _ => sums.into_iter().map(|sum| float_bits(kind, f64::from(sum)) as u32).collect(),
    })
}

/// Sums binary64 products from `start` on, in the accumulator of a format: binary64 or binary32.
fn sum_floats(kind: FloatKind, start: f64, products: impl Iterator<Item = (f64, f64)>) -> u64 {
    if kind == FloatKind::F64 {
        return products.fold(start, |sum, (a, b)| a.mul_add(b, sum)).to_bits();
    }
    let sum = products.fold(start as f32, |sum, (a, b)| (f64::from(sum) + a * b) as f32);
    float_bits(kind, f64::from(sum))
}

/// The values of all elements, of a format whose numbers are numbers of binary32.
fn singles(data: &Data, ty: Type) -> Vec<f32> {
    let (kind, count) =
        (elem(ty).as_float().expect("verified: floats are added up as floats"), numel(ty) as usize);
    fn each<T: Clone>(data: &Data, count: usize, convert: impl Fn(u32) -> T) -> Vec<T> {
        match data.word_side() {
            WordSide::Uniform(word) => vec![convert(word); count],
            WordSide::Each(words) => words.iter().map(|&word| convert(word)).collect(),
        }
    }
    match kind {
        FloatKind::F32 => each(data, count, f32::from_bits),
        FloatKind::BF16 => each(data, count, |word| f32::from_bits(word << 16)),
        FloatKind::F16 => {
            let halves: Vec<f16> = each(data, count, |word| f16::from_bits(word as u16));
            let mut values = vec![0.0; count];
            halves.convert_to_f32_slice(&mut values);
            values
        }
        _ => each(data, count, |word| float_value(kind, word.into()) as f32),
    }
}

/// The values of all elements.
fn values(data: &Data, ty: Type) -> Vec<f64> {
    let kind = elem(ty).as_float().expect("verified: floats are added up as floats");
    (0..numel(ty) as usize).map(|index| float_value(kind, data.at(index))).collect()
}

pub(crate) fn dot(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let [a_ty, b_ty, c_ty] = [0, 1, 2].map(|index| interpreter.operand_ty(op, index));
    let [a, b, c] = [0, 1, 2].map(|index| interpreter.operand(op, index));
    let sizes = Sizes::new(shape(c_ty), shape(a_ty).last().map_or(1, |&k| k as usize));
    let results = match elem(c_ty).as_float() {
        Some(kind) => {
            if kind == FloatKind::F64
                || [a_ty, b_ty].iter().any(|&ty| elem(ty).as_float() == Some(FloatKind::F64))
            {
                let (lhs, rhs, start) = (values(a, a_ty), values(b, b_ty), values(c, c_ty));
                let sum = |pairs: &mut dyn Iterator<Item = (usize, usize)>, at: usize| {
                    sum_floats(kind, start[at], pairs.map(|(i, j)| (lhs[i], rhs[j])))
                };
                Data::each(sizes.each(sum))
            } else {
                sum_singles(kind, sizes, &singles(a, a_ty), &singles(b, b_ty), singles(c, c_ty))
            }
        }
        None => {
            let width = |ty: Type| elem(ty).as_int().expect("verified: integers are added up as integers");
            let product = |i: usize, j: usize| {
                sign_extend(width(a_ty), a.at(i)).wrapping_mul(sign_extend(width(b_ty), b.at(j)))
            };
            Data::each(sizes.each(|pairs, at| {
                let sum = pairs.fold(c.at(at), |sum, (i, j)| sum.wrapping_add(product(i, j) as u64));
                truncate(width(c_ty), sum)
            }))
        }
    };
    let undefined = spread(interpreter, op, &[a, b, c]);
    interpreter.set_result(op, results.with_undefined(undefined));
    Ok(())
}

/// A product with an undefined element anywhere is undefined everywhere; finer would not help anyone.
fn spread(interpreter: &Interpreter<'_>, op: Op, operands: &[&Data]) -> Option<Arc<Undefined>> {
    let single: Vec<Data> = operands
        .iter()
        .filter_map(|data| data.undefined().filter(|undefined| undefined.flags.contains(&true)))
        .map(|undefined| Data::uniform(0).with_undefined(Some(undefined.with_flags(Arc::from([true])))))
        .collect();
    merge_undefined(interpreter.module, op, &single.iter().collect::<Vec<_>>(), &[])
}

/// How operands of a scaled product are written: bits of an element, and its value.
fn scaled_value(format: ScaleType, bits: u64) -> f64 {
    match format {
        ScaleType::E4m3 => float_value(FloatKind::F8E4M3FN, bits),
        ScaleType::E5m2 => float_value(FloatKind::F8E5M2, bits),
        ScaleType::Bf16 => float_value(FloatKind::BF16, bits),
        ScaleType::Fp16 => float_value(FloatKind::F16, bits),
        ScaleType::E2m3 => tiny_float(2, 3, bits),
        ScaleType::E3m2 => tiny_float(3, 2, bits),
        ScaleType::E2m1 => tiny_float(2, 1, bits),
    }
}

/// A float without infinities and NaN, of so many exponent and mantissa bits (OCP MX formats).
fn tiny_float(exponent_bits: u32, mantissa_bits: u32, bits: u64) -> f64 {
    let sign = if bits >> (exponent_bits + mantissa_bits) & 1 != 0 { -1.0 } else { 1.0 };
    let exponent = (bits >> mantissa_bits & ((1 << exponent_bits) - 1)) as i32;
    let fraction = (bits & ((1 << mantissa_bits) - 1)) as f64 / f64::from(1 << mantissa_bits);
    let bias = (1 << (exponent_bits - 1)) - 1;
    let (lead, power) = if exponent == 0 { (0.0, 1 - bias) } else { (1.0, exponent - bias) };
    sign * (lead + fraction) * 2f64.powi(power)
}

/// One operand of a scaled product, unpacked and scaled: lines along k.
struct Scaled<'a> {
    data: &'a Data,
    ty: Type,
    format: ScaleType,
    scale: Option<(&'a Data, Type)>,
    /// Whether two 4-bit elements of a byte are neighbours along k, not along the other dimension.
    k_pack: bool,
    /// Whether k is the last dimension (of a), not the one before (of b).
    k_last: bool,
}

impl Scaled<'_> {
    /// The values as a stack of `lines × k` matrices.
    fn lines(&self, batch: usize, lines: usize, k: usize) -> Vec<f64> {
        let columns = shape(self.ty).last().map_or(1, |&columns| columns as usize);
        let plane = numel(self.ty) as usize / batch.max(1);
        let mut values = Vec::with_capacity(batch * lines * k);
        for stacked_line in 0..batch * lines {
            let (stack, line) = (stacked_line / lines, stacked_line % lines);
            for along in 0..k {
                let packed = self.format == ScaleType::E2m1;
                let (mut at_line, mut at_k, mut half) = (line, along, 0);
                if packed && self.k_pack {
                    (at_k, half) = (along / 2, along % 2);
                } else if packed {
                    (at_line, half) = (line / 2, line % 2);
                }
                let position = if self.k_last { at_line * columns + at_k } else { at_k * columns + at_line };
                let bits = self.data.at(stack * plane + position);
                let bits = if packed { bits >> (4 * half) & 0xf } else { bits };
                values.push(scaled_value(self.format, bits) * self.scale_of(stacked_line, along, k));
            }
        }
        values
    }

    /// Scales are powers of two with a bias of 127 (E8M0), 255 is NaN; or floats of 8 bits.
    fn scale_of(&self, line: usize, along: usize, k: usize) -> f64 {
        let Some((data, ty)) = self.scale else { return 1.0 };
        let groups = shape(ty).last().map_or(1, |&groups| groups as usize);
        let bits = data.at(line * groups + along * groups / k);
        match elem(ty).as_float() {
            Some(kind) => float_value(kind, bits),
            None if bits == 255 => f64::NAN,
            None => 2f64.powi(bits as i32 - 127),
        }
    }
}

/// Unpacks, scales, multiplies. Which of the optional scales are given stands in the attribute `scales`.
pub(crate) fn dot_scaled(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let module = interpreter.module;
    let dot = DotScaledOp::new(module, op);
    let known = |value| (interpreter.get(value), module.ty(value));
    let ((a, a_ty), (b, b_ty), (c, c_ty)) = (known(dot.a()), known(dot.b()), known(dot.c()));
    let lhs = Scaled {
        data: a,
        ty: a_ty,
        format: dot.a_format(),
        scale: dot.a_scale().map(known),
        k_pack: dot.lhs_k_pack(),
        k_last: true,
    };
    let rhs = Scaled {
        data: b,
        ty: b_ty,
        format: dot.b_format(),
        scale: dot.b_scale().map(known),
        k_pack: dot.rhs_k_pack(),
        k_last: false,
    };
    let packing = if lhs.format == ScaleType::E2m1 && lhs.k_pack { 2 } else { 1 };
    let k = shape(a_ty).last().map_or(1, |&k| k as usize) * packing;
    let sizes = Sizes::new(shape(c_ty), k);
    let (mut lhs, mut rhs) = (lhs.lines(sizes.batch, sizes.m, k), rhs.lines(sizes.batch, sizes.n, k));
    if dot.is_half(module) {
        for value in lhs.iter_mut().chain(&mut rhs) {
            *value = float_value(FloatKind::F16, float_bits(FloatKind::F16, *value));
        }
    }
    let kind = elem(c_ty).as_float().expect("verified: a scaled dot adds floats");
    let start = values(c, c_ty);
    let results = sizes.each(|pairs, at| {
        // `rhs` lies with k along its lines.
        let stack = at / (sizes.m * sizes.n);
        let column = |j: usize| stack * sizes.n * k + j % sizes.n * k + j / sizes.n % k;
        let products = pairs.map(|(i, j)| (lhs[i], rhs[column(j)]));
        sum_floats(kind, start[at], products)
    });
    let undefined = spread(interpreter, op, &interpreter.operands(op).iter().collect::<Vec<_>>());
    interpreter.set_result(op, Data::each(results).with_undefined(undefined));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::tiny_float;

    #[test]
    fn four_bit_floats_have_the_values_of_the_standard() {
        let values: Vec<f64> = (0..16).map(|bits| tiny_float(2, 1, bits)).collect();
        assert_eq!(values[..8], [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]);
        assert_eq!(values[9], -0.5);
        assert_eq!(tiny_float(2, 3, 0b011111), 7.5);
        assert_eq!(tiny_float(3, 2, 0b011111), 28.0);
    }
}
