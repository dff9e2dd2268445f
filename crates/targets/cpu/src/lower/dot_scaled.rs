//! Dots of operands that share scales: unpacked and scaled into binary32 tiles, then multiplied as any other. Operands
//! are matrices, or stacks of matrices along dimension 0.

use super::chunk::Chunks;
use super::dot::Starts;
use super::element::Zeros;
use super::emitter::Emitter;
use super::error::Result;
use super::scratch::Buffer;
use super::types;
use super::value::Index;
use crate::dot::Operands;
use elementwise::small_float::widen_tiny;
use ir::{FloatKind, Op, Value as IrValue};
use llir::{IntCompare, Type, Value};
use ttir::ops::dot::{DotScaledOp, ScaleType};

/// How one operand is written.
struct Operand {
    value: IrValue,
    format: ScaleType,
    scale: Option<IrValue>,
    /// Whether the two numbers in a byte are neighbours along k.
    k_pack: bool,
    /// The dimension along k: the last one for a, the one in front of it for b.
    k_dim: usize,
    /// The other dimension of a matrix.
    line_dim: usize,
    /// Whether it is rounded to binary16 behind its scale.
    half: bool,
}

impl Emitter<'_> {
    /// `tt.dot_scaled`.
    pub(crate) fn dot_scaled(&mut self, op: Op) -> Result<()> {
        let module = self.module;
        let dot = DotScaledOp::new(module, op);
        let c = dot.c();
        let sizes = types::shape(module.ty(c)).to_vec();
        let [stack @ .., m, n] = sizes.as_slice() else {
            return self.unsupported(op, "scaled operands that are no matrices");
        };
        let [first, last] = [stack.len(), stack.len() + 1];
        let (a, b) = (dot.a(), dot.b());
        let (a_pack, b_pack) = (dot.lhs_k_pack(), dot.rhs_k_pack());
        let half = dot.is_half(module);
        let a = Operand {
            value: a,
            format: dot.a_format(),
            scale: dot.a_scale(),
            k_pack: a_pack,
            k_dim: last,
            line_dim: first,
            half,
        };
        let b = Operand {
            value: b,
            format: dot.b_format(),
            scale: dot.b_scale(),
            k_pack: b_pack,
            k_dim: first,
            line_dim: last,
            half,
        };
        let packing = if a.format == ScaleType::E2m1 && a.k_pack { 2 } else { 1 };
        let k = types::shape(module.ty(a.value))[last] * packing;
        let shape = |matrix: [i64; 2]| [stack, &matrix].concat();
        let (a_shape, b_shape) = (shape([*m, k]), shape([k, *n]));
        let tiles = [self.scaled_tile(&a, &a_shape)?, self.scaled_tile(&b, &b_shape)?];
        let result = dot.d();
        let elem = types::dot_operand(ttir::types::elem(module.ty(result)));
        let sum = self.accumulator(op, c, elem)?;
        let used = [*m, *n, k].map(|size| size as u32);
        self.multiply((Operands::F32, Starts::Sums), &tiles, &sum, ([&a_shape, &b_shape], used))?;
        self.buffers.insert(result, sum);
        Ok(())
    }

    fn scaled_tile(&mut self, operand: &Operand, shape: &[i64]) -> Result<Buffer> {
        let buffer = self.arena.block(shape, ir::Type::float(FloatKind::F32));
        let lanes = self.machine.lanes();
        let k = shape[operand.k_dim];
        self.each_chunk(shape, lanes, |cx, at| {
            let bits = cx.packed_bits(operand, &at.dims)?;
            let mut number = cx.unpacked(operand, bits);
            if let Some(scale) = operand.scale {
                let factor = cx.scale(operand, scale, &at.dims, k)?;
                number = cx.b.fmul(number, factor);
                if operand.half {
                    let rounded = cx.narrow(FloatKind::F16, number);
                    number = cx.widen(FloatKind::F16, rounded);
                }
            }
            cx.write(&buffer, number, at);
            Ok(())
        })?;
        Ok(buffer)
    }
}

impl Chunks<'_, '_> {
    /// The bits of the elements at positions of the unpacked matrix.
    fn packed_bits(&mut self, operand: &Operand, dims: &[Index]) -> Result<Value> {
        if operand.format != ScaleType::E2m1 {
            let at = self.at(dims.to_vec());
            return self.eval_vector(operand.value, &at);
        }
        let packed = if operand.k_pack { operand.k_dim } else { operand.line_dim };
        let (quotient, rest) = self.divide(dims[packed].clone(), 2)?;
        let mut own = dims.to_vec();
        own[packed] = quotient;
        let at = self.at(own);
        let byte = self.eval_vector(operand.value, &at)?;
        let half = self.index_vector(&rest);
        let ty = self.b.ty(byte);
        let half = self.b.resize_signed(half, ty);
        let two = self.int_like(byte, 2);
        let shift = self.b.shl(half, two);
        let nibble = self.b.lshr(byte, shift);
        let mask = self.int_like(byte, 15);
        Ok(self.b.and(nibble, mask))
    }

    fn unpacked(&mut self, operand: &Operand, bits: Value) -> Value {
        match operand.format {
            ScaleType::E4m3 => self.widen(FloatKind::F8E4M3FN, bits),
            ScaleType::E5m2 => self.widen(FloatKind::F8E5M2, bits),
            ScaleType::Bf16 => self.widen(FloatKind::BF16, bits),
            ScaleType::Fp16 => self.widen(FloatKind::F16, bits),
            ScaleType::E2m3 => self.element(Zeros::Signed, |ctx| widen_tiny(ctx, 2, 3, bits)),
            ScaleType::E3m2 => self.element(Zeros::Signed, |ctx| widen_tiny(ctx, 3, 2, bits)),
            ScaleType::E2m1 => self.element(Zeros::Signed, |ctx| widen_tiny(ctx, 2, 1, bits)),
        }
    }

    /// The scales at positions of the unpacked matrix: powers of two with a bias of 127, of which 255 is NaN, or
    /// floats.
    fn scale(&mut self, operand: &Operand, scale: IrValue, dims: &[Index], k: i64) -> Result<Value> {
        let ty = self.module.ty(scale);
        let stack = &dims[..dims.len() - 2];
        let groups = types::shape(ty)[stack.len() + 1];
        let (group, _) = self.divide(dims[operand.k_dim].clone(), k / groups)?;
        let at = self.at([stack, &[dims[operand.line_dim].clone(), group]].concat());
        let bits = self.eval_vector(scale, &at)?;
        if let Some(kind) = types::small_float(ttir::types::elem(ty)) {
            return Ok(self.widen(kind, bits));
        }
        let int = self.b.ty(bits).with_scalar(Type::I32);
        let float = int.with_scalar(Type::F32);
        let wide = self.b.resize_unsigned(bits, int);
        let [by, zero, top] = [23, 0, 255].map(|value| self.b.int(int, value));
        let placed = self.b.shl(wide, by);
        let power = self.b.bitcast(placed, float);
        let (smallest, nan) = (self.b.float(float, 2f64.powi(-127)), self.b.float(float, f64::NAN));
        let is_zero = self.b.icmp(IntCompare::Eq, wide, zero);
        let is_nan = self.b.icmp(IntCompare::Eq, wide, top);
        let power = self.b.select(is_zero, smallest, power);
        Ok(self.b.select(is_nan, nan, power))
    }
}
