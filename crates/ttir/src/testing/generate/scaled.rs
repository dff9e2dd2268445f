//! Dots of operands whose groups share a scale, in every format.
//!
//! Elements and scales are such that all sums are exact: numbers of one binade, or of all 4 bits, times a few powers of
//! two.

use super::Maker;
use crate::ops::dot::{self, DotScaledOp, ScaleType};
use crate::ops::{arith_cast, arith_int, constant, shape as ops};
use crate::types::{elem, tensor};
use ir::{FloatKind, OpInit, Type, Value};

const FORMATS: [ScaleType; 5] =
    [ScaleType::E2m1, ScaleType::E4m3, ScaleType::E5m2, ScaleType::Bf16, ScaleType::Fp16];

impl Maker {
    /// `a · b + c` with a scale for each 32 elements along k of `a`, of `b` or of both.
    pub(super) fn scaled_dot(&mut self) {
        let [rows, columns] = [0, 1].map(|_| self.random.of(&[16, 16, 32]));
        let depth = self.random.of(&[32, 64]);
        let (a_format, b_format) = (self.random.of(&FORMATS), self.random.of(&FORMATS));
        // Which side two elements of a byte are neighbours along: k, or the other dimension.
        let (lhs_k_pack, rhs_k_pack) = (!self.random.one_in(4), !self.random.one_in(4));
        let a_packed = packed([rows, depth], a_format, usize::from(lhs_k_pack));
        let b_packed = packed([depth, columns], b_format, usize::from(!rhs_k_pack));
        let (a, b) = (self.scaled_operand(a_packed, a_format), self.scaled_operand(b_packed, b_format));
        let ty = tensor(&[rows, columns], Type::float(FloatKind::F32));
        let start = match self.pick_of(ty) {
            Some(start) => self.small_integers(start),
            None => constant::build(&mut self.builder(), ty, 0),
        };
        let given = self.random.below(3) as u32 + 1;
        let mut operands = vec![a, b, start];
        for (bit, lines) in [(1, rows), (2, columns)] {
            if given & bit != 0 {
                let scale = self.mixed_bits(&[lines, depth / 32], 3, 126);
                operands.push(scale);
            }
        }
        let is_fast = self.random.one_in(2);
        let init = OpInit {
            operands: operands.into(),
            results: [ty].into_iter().collect(),
            attrs: DotScaledOp::attrs(a_format, b_format, is_fast, lhs_k_pack, rhs_k_pack, given)
                .into_iter()
                .collect(),
            regions: 0,
        };
        let op = self.builder().insert(&dot::DOT_SCALED, init);
        self.learn_results(op);
    }

    fn scaled_operand(&mut self, dims: [i64; 2], format: ScaleType) -> Value {
        let kind = match format {
            ScaleType::E4m3 => FloatKind::F8E4M3FN,
            ScaleType::E5m2 => FloatKind::F8E5M2,
            ScaleType::Bf16 | ScaleType::Fp16 => {
                let small = self.mixed_bits(&dims, 7, 0);
                let kind = if format == ScaleType::Fp16 { FloatKind::F16 } else { FloatKind::BF16 };
                return self.build_as(&arith_cast::SITOFP, &[small], &[], tensor(&dims, Type::float(kind)));
            }
            _ => return self.mixed_bits(&dims, 255, 0),
        };
        let bits = self.mixed_bits(&dims, 0x87, 0x38);
        self.build_as(&arith_cast::BITCAST, &[bits], &[], tensor(&dims, Type::float(kind)))
    }

    /// Bytes of which some bits differ from element to element, and from run to run; the others are those of `least`.
    fn mixed_bits(&mut self, dims: &[i64], mask: i64, least: i64) -> Value {
        let range = self.range(dims.iter().product());
        let ty = self.ty(range);
        let factor = self.random.of(&[197, 331, 53, 71]);
        let factor = self.constant(ty, factor);
        let mut value = self.build(&arith_int::MULI, &[range, factor], &[]);
        if let Some(scalar) = self.pick_of(elem(ty)) {
            let scalars = self.build_as(&ops::SPLAT, &[scalar], &[], ty);
            value = self.build(&arith_int::ADDI, &[value, scalars], &[]);
        }
        let three = self.constant(ty, 3);
        let shifted = self.build(&arith_int::SHRUI, &[value, three], &[]);
        let (mask, least) = (self.constant(ty, mask), self.constant(ty, least));
        let masked = self.build(&arith_int::ANDI, &[shifted, mask], &[]);
        let sum = self.build(&arith_int::ADDI, &[masked, least], &[]);
        let block = self.build_as(&ops::RESHAPE, &[sum], &[], tensor(dims, Type::int(32)));
        self.build_as(&arith_cast::TRUNCI, &[block], &[], tensor(dims, Type::int(8)))
    }
}

/// The sizes of an operand in memory: two elements of 4 bits are a byte.
fn packed(mut dims: [i64; 2], format: ScaleType, along: usize) -> [i64; 2] {
    if matches!(format, ScaleType::E2m1) {
        dims[along] /= 2;
    }
    dims
}
