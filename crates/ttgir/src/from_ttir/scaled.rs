//! Dots of scaled blocks become dots of widened ones, where the machine has no instruction for them; where it
//! has one they become `ttg.scaled_dot`.
//!
//! ```text
//! %d = tt.dot_scaled %a, %b, %c, %sa, %sb    =>    %x = (the numbers of %a) · (%sa, repeated along k)
//!                                                  %y = (the numbers of %b) · (%sb, repeated along k)
//!                                                  %d = tt.dot %x, %y, %c
//! ```
//!
//! Operands are widened to a format that holds each of their products with a scale exactly: bfloat16 where that is
//! enough, binary16 beside an operand of that format, else binary32, of which `tf32` keeps all digits there are or, for
//! scales that are floats of 8 bits, `ieee` does; beside scales of 16 bits products are rounded to `tf32`. What leaves
//! the range of the format becomes zero, a subnormal number or infinity.

use crate::Machine;
use crate::ops::scaled_dot::{GROUP, SCALED_DOT, ScaledDotOp, elements_of_a_byte};
use crate::passes::{Context, fits_scaled};
use ir::pass::PassRow;
use ir::scalar::float_bits;
use ir::{Builder, Diagnostic, FloatKind, Module, Op, OpRow, Type, Value};
use ttir::ops::arith_cast::{EXTF, EXTUI, FP_TO_FP, TRUNCF, TT_BITCAST};
use ttir::ops::arith_float::MULF;
use ttir::ops::arith_int::{ANDI, ORI, SHLI, SHRUI};
use ttir::ops::compare::{CMPI, CmpIOp, CmpIPredicate, SELECT};
use ttir::ops::constant;
use ttir::ops::dot::{DOT, DOT_SCALED, DotOp, DotScaledOp, InputPrecision, ScaleType};
use ttir::ops::shape::{BROADCAST, EXPAND_DIMS, ExpandDimsOp, JOIN, RESHAPE, TRANS, TransOp};
use ttir::types::{elem, shape, tensor, with_elem};

/// Writes dots of scaled blocks as dots of widened ones.
pub(crate) static EXPAND_SCALED: PassRow =
    PassRow { name: "expand-scaled", doc: "Writes dots of scaled blocks as dots of widened operands.", run };

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    let context = Context::of(module)?;
    for op in module.walk(module.top()) {
        if module.is(op, &DOT_SCALED) {
            if keep(module, op, context.machine).is_some() {
                continue;
            }
            expand(module, op)
                .map_err(|message| Diagnostic::new(message).at(module.locs.describe(module.loc(op))))?;
        }
    }
    Ok(())
}

/// A format of operands.
struct Format {
    name: ScaleType,
    /// The type that its elements have; a format without one is held by integers.
    float: Option<FloatKind>,
    exponent_bits: u32,
    mantissa_bits: u32,
}

const fn format(name: ScaleType, float: Option<FloatKind>, bits: [u32; 2]) -> Format {
    Format { name, float, exponent_bits: bits[0], mantissa_bits: bits[1] }
}

static FORMATS: &[Format] = &[
    format(ScaleType::E4m3, Some(FloatKind::F8E4M3FN), [4, 3]),
    format(ScaleType::E5m2, Some(FloatKind::F8E5M2), [5, 2]),
    format(ScaleType::E2m3, None, [2, 3]),
    format(ScaleType::E3m2, None, [3, 2]),
    format(ScaleType::E2m1, None, [2, 1]),
    format(ScaleType::Bf16, Some(FloatKind::BF16), [8, 7]),
    format(ScaleType::Fp16, Some(FloatKind::F16), [5, 10]),
];

impl Format {
    fn of(name: ScaleType) -> &'static Format {
        FORMATS.iter().find(|format| format.name == name).expect("every format is listed")
    }

    /// Whether two of its elements share a byte.
    fn is_packed(&self) -> bool {
        1 + self.exponent_bits + self.mantissa_bits == 4
    }
}

/// Hands a dot to the machine's instruction for scaled operands; `None`, and nothing is changed, where it has none
/// for it.
fn keep(module: &mut Module, op: Op, machine: &Machine) -> Option<()> {
    let dot = DotScaledOp::new(module, op);
    let packed_along_k = |format: ScaleType, along_k: bool| {
        matches!(format, ScaleType::E4m3 | ScaleType::E5m2) || format == ScaleType::E2m1 && along_k
    };
    let (a_format, b_format) = (dot.a_format(), dot.b_format());
    let &[m, n] = shape(module.ty(dot.d())) else { return None };
    let k = shape(module.ty(dot.a()))[1] * i64::from(elements_of_a_byte(a_format));
    let groups = k / i64::from(GROUP);
    let of_exponents = |scale: Option<Value>, lines: i64| {
        scale.is_none_or(|scale| {
            let ty = module.ty(scale);
            elem(ty) == Type::int(8) && shape(ty) == [lines, groups]
        })
    };
    let fits = packed_along_k(a_format, dot.lhs_k_pack())
        && packed_along_k(b_format, dot.rhs_k_pack())
        && fits_scaled(machine, [m, n, k])
        && of_exponents(dot.a_scale(), m)
        && of_exponents(dot.b_scale(), n);
    if !fits {
        return None;
    }
    let (a, b, c, result) = (dot.a(), dot.b(), dot.c(), dot.d());
    let scales = [(dot.a_scale(), m), (dot.b_scale(), n)];
    let ty = module.ty(result);
    let mut builder = Builder::before(module, op);
    let scales = scales.map(|(scale, lines)| {
        let one =
            |builder: &mut Builder<'_>| constant::build(builder, tensor(&[lines, groups], Type::int(8)), ONE);
        scale.unwrap_or_else(|| one(&mut builder))
    });
    let is_narrow = elem(ty).scalar_bits().is_some_and(|bits| bits < 32);
    let wide = with_elem(ty, Type::float(FloatKind::F32));
    let sum = if is_narrow { builder.build_as(&EXTF, &[c], &[], wide) } else { c };
    let attrs = ScaledDotOp::attrs(a_format, b_format, InputPrecision::Ieee);
    let mut dot = builder.build(&SCALED_DOT, &[a, b, sum, scales[0], scales[1]], &attrs);
    if is_narrow {
        dot = builder.build_as(&TRUNCF, &[dot], &[None], ty);
    }
    module.replace_uses(result, dot);
    module.erase(op);
    Some(())
}

/// The exponent of a scale of 1.
const ONE: u64 = 127;

/// What numbers are multiplied in.
#[derive(Clone, Copy)]
struct Number {
    kind: FloatKind,
    precision: InputPrecision,
}

impl Number {
    /// The least that holds the elements of both operands exactly.
    fn for_operands(operands: [&Operand; 2], module: &Module, dot: DotScaledOp<'_>) -> Number {
        let digits = operands.map(|operand| operand.digits(module));
        match digits[0].max(digits[1]) {
            ..=8 => Number { kind: FloatKind::BF16, precision: InputPrecision::Ieee },
            _ if dot.is_half(module) => Number { kind: FloatKind::F16, precision: InputPrecision::Ieee },
            9..=11 => Number { kind: FloatKind::F32, precision: InputPrecision::Tf32 },
            _ => Number { kind: FloatKind::F32, precision: InputPrecision::Ieee },
        }
    }

    /// Bits of the mantissa that are stored.
    fn mantissa_bits(self) -> u32 {
        match self.kind {
            FloatKind::F16 => 10,
            FloatKind::BF16 => 7,
            _ => 23,
        }
    }

    /// What exponents are stored with.
    fn bias(self) -> i32 {
        if self.kind == FloatKind::F16 { 15 } else { 127 }
    }

    /// Integers of this width.
    fn int(self) -> Type {
        Type::int(self.kind.bits())
    }
}

/// One operand.
struct Operand {
    value: Value,
    format: &'static Format,
    scale: Option<Value>,
    /// The dimension along which two elements share a byte.
    packed_dim: usize,
    /// The dimension that is summed over.
    k_dim: usize,
}

impl Operand {
    /// Binary digits of an element times its scale.
    fn digits(&self, module: &Module) -> u32 {
        let scale = self.scale.and_then(|scale| elem(module.ty(scale)).as_float());
        let of_scale = match scale {
            None => 0,
            Some(FloatKind::F8E5M2 | FloatKind::F8E5M2FNUZ) => 3,
            Some(kind) if kind.bits() == 8 => 4,
            // As many as `tf32` keeps: the reference multiplies in bfloat16, which keeps fewer.
            Some(FloatKind::BF16 | FloatKind::F16) => return 11,
            Some(_) => 24,
        };
        1 + self.format.mantissa_bits + of_scale
    }
}

fn operands(module: &Module, op: Op) -> Result<[Operand; 2], String> {
    let dot = DotScaledOp::new(module, op);
    let rank = shape(module.ty(dot.d())).len();
    if rank < 2 {
        return Err("a dot has at least two dimensions".into());
    }
    let packed_dim = |k_dim: usize, along_k: bool| if along_k { k_dim } else { 2 * rank - 3 - k_dim };
    let a = Operand {
        value: dot.a(),
        format: Format::of(dot.a_format()),
        scale: dot.a_scale(),
        packed_dim: packed_dim(rank - 1, dot.lhs_k_pack()),
        k_dim: rank - 1,
    };
    let b = Operand {
        value: dot.b(),
        format: Format::of(dot.b_format()),
        scale: dot.b_scale(),
        packed_dim: packed_dim(rank - 2, dot.rhs_k_pack()),
        k_dim: rank - 2,
    };
    Ok([a, b])
}

fn expand(module: &mut Module, op: Op) -> Result<(), String> {
    let [a, b] = operands(module, op)?;
    let dot = DotScaledOp::new(module, op);
    let number = Number::for_operands([&a, &b], module, dot);
    let (sees_nan, c, result) = (!dot.fast_math(), dot.c(), dot.d());
    let ty = module.ty(result);
    let mut builder = Builder::before(module, op);
    let mut widen = Widen { builder: &mut builder, number, sees_nan };
    let (x, y) = (widen.operand(&a)?, widen.operand(&b)?);
    // Sums are in binary32, as everywhere.
    let is_narrow = elem(ty).scalar_bits().is_some_and(|bits| bits < 32);
    let sum =
        if is_narrow { widen.build_as(&EXTF, &[c], with_elem(ty, Type::float(FloatKind::F32))) } else { c };
    let attrs = DotOp::attrs(number.precision, 0);
    let mut dot = widen.builder.build(&DOT, &[x, y, sum], &attrs);
    if is_narrow {
        dot = widen.build_as(&TRUNCF, &[dot], ty);
    }
    module.replace_uses(result, dot);
    module.erase(op);
    Ok(())
}

/// Widens operands at a place.
struct Widen<'b, 'm> {
    builder: &'b mut Builder<'m>,
    number: Number,
    /// Whether a scale may be NaN.
    sees_nan: bool,
}

impl Widen<'_, '_> {
    fn ty(&self, value: Value) -> Type {
        self.builder.module.ty(value)
    }

    fn build(&mut self, row: &'static OpRow, operands: &[Value]) -> Value {
        self.builder.build(row, operands, &[])
    }

    fn build_as(&mut self, row: &'static OpRow, operands: &[Value], ty: Type) -> Value {
        let attrs = vec![None; row.attrs.len()];
        self.builder.build_as(row, operands, &attrs, ty)
    }

    /// The same block of integers and a number.
    fn with_bits(&mut self, row: &'static OpRow, value: Value, bits: u64) -> Value {
        let ty = self.ty(value);
        let number = constant::build(self.builder, ty, bits);
        self.build(row, &[value, number])
    }

    fn reshape(&mut self, value: Value, dims: &[i64]) -> Value {
        let ty = tensor(dims, elem(self.ty(value)));
        self.build_as(&RESHAPE, &[value], ty)
    }

    fn transpose(&mut self, value: Value, order: Vec<i64>) -> Value {
        self.builder.build(&TRANS, &[value], &TransOp::attrs(&order))
    }

    /// The numbers of an operand times their scales, rounded once.
    fn operand(&mut self, operand: &Operand) -> Result<Value, String> {
        let number = self.number;
        if operand.scale.is_none() || number.kind != FloatKind::F16 {
            return self.scaled(operand);
        }
        // A scale may leave the range of binary16 where the product does not.
        self.number = Number { kind: FloatKind::F32, ..number };
        let product = self.scaled(operand)?;
        self.number = number;
        let half = with_elem(self.ty(product), Type::float(FloatKind::F16));
        Ok(self.build_as(&TRUNCF, &[product], half))
    }

    fn scaled(&mut self, operand: &Operand) -> Result<Value, String> {
        let numbers = match operand.format.float {
            Some(kind) => self.floats(operand.value, kind),
            None => {
                let bits = if operand.format.is_packed() {
                    self.unpacked(operand.value, operand.packed_dim)
                } else {
                    operand.value
                };
                self.tiny_floats(bits, operand.format)
            }
        };
        let Some(scale) = operand.scale else { return Ok(numbers) };
        let factors = self.factors(scale);
        let factors = self.repeated(factors, numbers, operand.k_dim)?;
        Ok(self.build(&MULF, &[numbers, factors]))
    }

    /// Floats, or their bits in integers, as the numbers that are multiplied.
    fn floats(&mut self, value: Value, kind: FloatKind) -> Value {
        let ty = with_elem(self.ty(value), Type::float(kind));
        let value = if self.ty(value) == ty { value } else { self.build_as(&TT_BITCAST, &[value], ty) };
        let wanted = with_elem(ty, Type::float(self.number.kind));
        match kind {
            kind if kind == self.number.kind => value,
            FloatKind::F16 | FloatKind::BF16 => self.build_as(&EXTF, &[value], wanted),
            _ => self.build_as(&FP_TO_FP, &[value], wanted),
        }
    }

    /// The two halves of every byte, the low one first, neighbours along a dimension.
    fn unpacked(&mut self, bytes: Value, dim: usize) -> Value {
        let mut dims = shape(self.ty(bytes)).to_vec();
        let rank = dims.len();
        let (low, high) = (self.with_bits(&ANDI, bytes, 15), self.with_bits(&SHRUI, bytes, 4));
        let mut pairs = self.build(&JOIN, &[low, high]);
        if dim + 1 != rank {
            let mut order: Vec<i64> = (0..rank as i64).collect();
            order.insert(dim + 1, rank as i64);
            pairs = self.transpose(pairs, order);
        }
        dims[dim] *= 2;
        self.reshape(pairs, &dims)
    }

    /// The numbers of a format without infinities and NaN, from its bits in bytes: exponent and mantissa are moved into
    /// place, and a power of two puts the exponent right, that of subnormal numbers included.
    fn tiny_floats(&mut self, bits: Value, format: &Format) -> Value {
        let (number, magnitude_bits) = (self.number, format.exponent_bits + format.mantissa_bits);
        let ints = with_elem(self.ty(bits), number.int());
        let floats = with_elem(ints, Type::float(number.kind));
        let wide = self.build_as(&EXTUI, &[bits], ints);
        let magnitude = self.with_bits(&ANDI, wide, (1 << magnitude_bits) - 1);
        let up = number.mantissa_bits() - format.mantissa_bits;
        let magnitude = self.with_bits(&SHLI, magnitude, u64::from(up));
        let sign = self.with_bits(&ANDI, wide, 1 << magnitude_bits);
        let up = number.kind.bits() - 1 - magnitude_bits;
        let sign = self.with_bits(&SHLI, sign, u64::from(up));
        let bits = self.build(&ORI, &[magnitude, sign]);
        let placed = self.build_as(&TT_BITCAST, &[bits], floats);
        let bias = (1 << (format.exponent_bits - 1)) - 1;
        let power = float_bits(number.kind, 2f64.powi(number.bias() - bias));
        self.with_bits(&MULF, placed, power)
    }

    /// Scales as numbers: floats, or the exponents of powers of two with a bias of 127, of which 255 is NaN.
    fn factors(&mut self, scale: Value) -> Value {
        let number = self.number;
        if let Some(kind) = elem(self.ty(scale)).as_float() {
            return self.floats(scale, kind);
        }
        let ints = with_elem(self.ty(scale), number.int());
        let exponents = self.build_as(&EXTUI, &[scale], ints);
        let mut bits = self.with_bits(&SHLI, exponents, u64::from(number.mantissa_bits()));
        // The least power is a subnormal number.
        let specials =
            [(0, float_bits(number.kind, 2f64.powi(-127))), (255, float_bits(number.kind, f64::NAN))];
        for (exponent, special) in specials.into_iter().take(if self.sees_nan { 2 } else { 1 }) {
            bits = self.where_equal(exponents, exponent, special, bits);
        }
        self.build_as(&TT_BITCAST, &[bits], with_elem(ints, Type::float(number.kind)))
    }

    /// `then` where the integers are `number`.
    fn where_equal(&mut self, ints: Value, number: u64, then: u64, otherwise: Value) -> Value {
        let ty = self.ty(ints);
        let (number, then) =
            (constant::build(self.builder, ty, number), constant::build(self.builder, ty, then));
        let equal = CmpIOp::attrs(CmpIPredicate::Eq);
        let is_equal = self.builder.build(&CMPI, &[ints, number], &equal);
        self.build(&SELECT, &[is_equal, then, otherwise])
    }

    /// Factors of groups, of shape lines × groups, for every number of an operand.
    fn repeated(&mut self, factors: Value, numbers: Value, k_dim: usize) -> Result<Value, String> {
        let dims = shape(self.ty(numbers)).to_vec();
        let (mut grouped, rank) = (shape(self.ty(factors)).to_vec(), dims.len());
        let k = dims[k_dim];
        let groups = grouped.last().copied().unwrap_or(0);
        let mut lines = dims.clone();
        lines.remove(k_dim);
        if grouped.len() != rank || grouped[..rank - 1] != lines || groups == 0 || k % groups != 0 {
            return Err(format!("scales of shape {grouped:?} do not fit an operand of shape {dims:?}"));
        }
        let mut all = factors;
        if groups != k {
            all = self.builder.build(&EXPAND_DIMS, &[all], &ExpandDimsOp::attrs(rank));
            grouped.push(k / groups);
            all = self.build_as(&BROADCAST, &[all], tensor(&grouped, elem(self.ty(all))));
            lines.push(k);
            all = self.reshape(all, &lines);
        }
        if k_dim + 1 != rank {
            let mut order: Vec<i64> = (0..rank as i64).collect();
            order.swap(rank - 2, rank - 1);
            all = self.transpose(all, order);
        }
        Ok(all)
    }
}
