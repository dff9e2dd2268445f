//! Elementwise operations and casts, taken from the table of rows.

use super::{Maker, Random};
use crate::ops::{arith_cast, arith_float, arith_int, compare, math, memory};
use crate::testing::value::Tolerance;
use crate::types::{elem, elem_bits, is_scalar, pointee, shape, with_elem};
use ir::{Attr, AttrKind, Infer, OpRow, Traits, Type, TypeConstraint, Value};

/// A random element type.
pub(super) fn random_elem(random: &mut Random) -> Type {
    use ir::FloatKind::{BF16, F8E4M3FN, F8E5M2, F16, F32, F64};
    match random.below(14) {
        12 => Type::float(random.of(&[F8E4M3FN, F8E5M2])),
        13 => Type::int(64),
        0 => Type::int(1),
        1 => Type::int(8),
        2 => Type::int(16),
        3 | 4 => Type::int(32),
        5 => Type::int(64),
        6 => Type::float(F16),
        7 => Type::float(BF16),
        8 => Type::float(F64),
        _ => Type::float(F32),
    }
}

/// Makes an operand harmless.
type Guard = fn(&mut Maker, Value) -> Value;
/// Whether a cast goes from one element type to another.
type Fits = fn(Type, Type) -> bool;

/// Operations whose right operand must be made harmless first, and how.
static GUARDED: &[(&OpRow, Guard)] = &[
    (&arith_int::DIVSI, Maker::divisor),
    (&arith_int::DIVUI, Maker::divisor),
    (&arith_int::REMSI, Maker::divisor),
    (&arith_int::REMUI, Maker::divisor),
    (&arith_int::SHLI, Maker::below_width),
    (&arith_int::SHRSI, Maker::below_width),
    (&arith_int::SHRUI, Maker::below_width),
];

/// Whether engines may round an operation differently, by its row. Single quotients are rounded correctly by all of
/// them.
fn is_approximate(row: &OpRow) -> bool {
    row.accuracy.is_some() && !row.is(&arith_float::DIVF)
}

/// Whether many quotients may have one divisor: GPUs then multiply by its reciprocal, within the accuracy of the row. A
/// block as it was loaded has divisors that differ.
fn may_share_divisor(module: &ir::Module, divisor: Value) -> bool {
    let is_loaded = module.def_op(divisor).is_some_and(|op| module.is(op, &memory::LOAD));
    crate::types::is_tensor(module.ty(divisor)) && !is_loaded
}

/// What an operation can be used on.
struct Restriction {
    row: &'static OpRow,
    fits: fn(Type) -> bool,
}

/// Operations that are not defined for, or not comparable on, all types that their constraints allow.
static RESTRICTED: &[Restriction] = &[
    Restriction { row: &arith_int::MULHIUI, fits: |elem| matches!(elem.as_int(), Some(32 | 64)) },
    // Rounding twice is not fused.
    Restriction { row: &math::FMA, fits: |elem| elem.scalar_bits() >= Some(32) },
    Restriction { row: &arith_float::PRECISE_DIVF, fits: |elem| elem.scalar_bits() == Some(32) },
    Restriction { row: &math::PRECISE_SQRT, fits: |elem| elem.scalar_bits() == Some(32) },
    Restriction { row: &math::ABSI, fits: |elem| elem.as_int() != Some(1) },
];

/// Casts: from and to which element types. Small steps only where a conversion through another format would round
/// twice.
static CASTS: &[(&OpRow, Fits)] = &[
    (&arith_cast::EXTSI, |from, to| from.as_int() < to.as_int() && from.as_int().is_some()),
    (&arith_cast::EXTUI, |from, to| from.as_int() < to.as_int() && from.as_int().is_some()),
    (&arith_cast::TRUNCI, |from, to| to.as_int() < from.as_int() && to.as_int().is_some()),
    (&arith_cast::SITOFP, int_to_float),
    (&arith_cast::UITOFP, int_to_float),
    (&arith_cast::EXTF, |from, to| is_float(from) && is_float(to) && from.scalar_bits() < to.scalar_bits()),
    (&arith_cast::TRUNCF, |from, to| is_float(from) && is_float(to) && to.scalar_bits() < from.scalar_bits()),
    // The other way round shows the bits of NaN.
    (&arith_cast::BITCAST, |from, to| {
        from.as_int() == to.scalar_bits() && from.as_int().is_some() && is_float(to)
    }),
];

fn is_float(elem: Type) -> bool {
    elem.as_float().is_some()
}

fn int_to_float(from: Type, to: Type) -> bool {
    from.as_int().is_some_and(|bits| bits <= 16 || to.scalar_bits() >= Some(32)) && is_float(to)
}

fn fits(row: &'static OpRow, ty: Type) -> bool {
    // The language has functions that are not exact of two formats only.
    let has_format = row.accuracy.is_none() || elem(ty).scalar_bits() >= Some(32);
    let has_format = has_format && super::is_computed(elem(ty));
    let mut own = RESTRICTED.iter().filter(|restriction| restriction.row.is(row));
    has_format && own.all(|restriction| (restriction.fits)(elem(ty)))
}

/// Rows that take operands of one type and whose result type follows.
fn candidates(approximate: bool) -> Vec<&'static OpRow> {
    crate::registry()
        .ops()
        .into_iter()
        .filter(|row| row.traits.has(Traits::ELEMENTWISE) && row.eval.is_some())
        .filter(|row| !matches!(row.infer, Infer::Explicit))
        .filter(|row| row.name != "tt.addptr" && !row.is(&compare::SELECT))
        .filter(|row| approximate || !is_approximate(row))
        .collect()
}

impl Maker {
    /// A number that is not zero: the operand with its lowest bit set, or, as in most kernels, the length of a row.
    fn divisor(&mut self, value: Value) -> Value {
        if elem_bits(self.ty(value)) > 1 && self.random.below(2) == 0 {
            let length = if self.random.one_in(3) {
                self.random.of(&[
                    -1,
                    -2,
                    -3,
                    -16,
                    -100,
                    7,
                    10,
                    11,
                    25,
                    100,
                    127,
                    641,
                    1000,
                    0xffff,
                    0x7fff_ffff,
                ])
            } else {
                self.random.of(&[1, 2, 3, 4, 5, 8, 12, 16, 48, 64])
            };
            return self.constant(self.ty(value), length);
        }
        let one = self.constant(self.ty(value), 1);
        self.build(&arith_int::ORI, &[value, one], &[])
    }

    /// The operand without the bits that would make a shift too far.
    fn below_width(&mut self, value: Value) -> Value {
        let width = elem_bits(self.ty(value));
        let mask = self.constant(self.ty(value), i64::from(width) - 1);
        self.build(&arith_int::ANDI, &[value, mask], &[])
    }

    fn random_enum(&mut self, row: &'static OpRow) -> Vec<Option<Attr>> {
        row.attrs
            .iter()
            .map(|spec| match spec.kind {
                AttrKind::Enum(row) => Some(Attr::Enum { row, value: self.random.of(row.cases).1 }),
                _ => None,
            })
            .collect()
    }

    /// An operand that fits the type, or a constant of it.
    pub(super) fn operand(&mut self, ty: Type) -> Value {
        if let Some(value) = self.pick_of(ty) {
            return value;
        }
        let bits = super::input::values(&mut self.random, elem(ty), 1)[0];
        crate::ops::constant::build(&mut self.builder(), ty, bits)
    }

    pub(super) fn random_elementwise(&mut self) {
        if self.random.one_in(8) {
            return self.random_select();
        }
        if self.random.one_in(12) {
            return self.random_float_to_int();
        }
        let rows = candidates(self.profile.approximate);
        let row = self.random.of(&rows);
        let constraint: &TypeConstraint = row.operands[0].constraint;
        let Some(first) = self.pick(|ty| (constraint.check)(ty) && pointee(ty).is_none() && fits(row, ty))
        else {
            return;
        };
        let ty = self.ty(first);
        let mut operands = vec![first];
        for _ in 1..row.operands.len() {
            operands.push(self.operand(ty));
        }
        if let Some((_, guard)) = GUARDED.iter().find(|(own, _)| own.is(row)) {
            operands[1] = guard(self, operands[1]);
        }
        if row.is(&arith_float::CLAMPF) {
            self.order_bounds(&mut operands);
        }
        let attrs = self.random_enum(row);
        let result = self.build(row, &operands, &attrs);
        let is_shared = row.is(&arith_float::DIVF) && may_share_divisor(&self.module, operands[1]);
        if is_approximate(row) || is_shared {
            // Far from zero a sine loses what its argument lost.
            self.learn_approximate(result, Tolerance { ulp: 4, absolute: 0.0 });
        } else {
            self.learn(result);
        }
    }

    /// Bounds of a clamp must be numbers in order.
    fn order_bounds(&mut self, operands: &mut [Value]) {
        let ty = self.ty(operands[0]);
        operands[1] = crate::ops::constant::float(&mut self.builder(), ty, -1.5);
        operands[2] = crate::ops::constant::float(&mut self.builder(), ty, 20.0);
    }

    /// Floats as integers so small that their sums, and the sums of their products, are exact in any order.
    pub(super) fn small_integers(&mut self, value: Value) -> Value {
        let ty = self.ty(value);
        let bound = if elem(ty).scalar_bits() < Some(32) { 1.0 } else { 8.0 };
        let low = crate::ops::constant::float(&mut self.builder(), ty, -bound);
        let high = crate::ops::constant::float(&mut self.builder(), ty, bound);
        let none = Attr::Enum { row: &arith_float::PROPAGATE_NAN, value: 0 };
        let clamped = self.build(&arith_float::CLAMPF, &[value, low, high], &[Some(none)]);
        self.build(&math::FLOOR, &[clamped], &[])
    }

    /// The same floats, with zeros of one sign.
    pub(super) fn positive_zeros(&mut self, value: Value) -> Value {
        let ty = self.ty(value);
        let zero = crate::ops::constant::float(&mut self.builder(), ty, 0.0);
        self.build(&arith_float::ADDF, &[value, zero], &[])
    }

    fn random_select(&mut self) {
        let Some(yes) = self.pick(|ty| pointee(ty).is_none()) else { return };
        let ty = self.ty(yes);
        let no = self.operand(ty);
        let scalar = self.random.one_in(3);
        let condition = self.operand(if scalar { Type::int(1) } else { with_elem(ty, Type::int(1)) });
        let value = self.build(&compare::SELECT, &[condition, yes, no], &[]);
        self.learn(value);
    }

    /// A clamped float as an integer; 8 bits hold what is left.
    fn random_float_to_int(&mut self) {
        let Some(float) = self.pick(|ty| is_float(elem(ty)) && super::is_computed(elem(ty))) else { return };
        let mut operands = [float; 3];
        self.order_bounds(&mut operands);
        let low = operands[1];
        let zero = self.constant(self.ty(float), 0);
        let unsigned = self.random.one_in(2);
        let none = Attr::Enum { row: &arith_float::PROPAGATE_NAN, value: 0 };
        let bounds = [float, if unsigned { zero } else { low }, operands[2]];
        let clamped = self.build(&arith_float::CLAMPF, &bounds, &[Some(none)]);
        let row = if unsigned { &arith_cast::FPTOUI } else { &arith_cast::FPTOSI };
        let width = self.random.of(&[8, 16, 32, 64]);
        let ty = with_elem(self.ty(float), Type::int(width));
        let value = self.build_as(row, &[clamped], &[], ty);
        self.learn(value);
    }

    /// There and back through a format of 8 bits; nothing else is computed in those.
    fn through_8_bits(&mut self) {
        use ir::FloatKind::{BF16, F8E4M3FN, F8E5M2, F16, F32};
        let Some(value) =
            self.pick(|ty| matches!(elem(ty).as_float(), Some(F32 | F16 | BF16 | F8E4M3FN | F8E5M2)))
        else {
            return;
        };
        let ty = self.ty(value);
        let small = with_elem(ty, Type::float(self.random.of(&[F8E4M3FN, F8E5M2])));
        let nearest = Attr::Enum { row: &arith_cast::ROUNDING, value: 1 };
        let narrow = if super::is_computed(elem(ty)) {
            self.build_as(&arith_cast::FP_TO_FP, &[value], &[Some(nearest)], small)
        } else {
            value
        };
        self.learn(narrow);
        let target = self.random.of(&[F32, F16, BF16]);
        let wide =
            self.build_as(&arith_cast::FP_TO_FP, &[narrow], &[None], with_elem(ty, Type::float(target)));
        self.learn(wide);
    }

    /// A narrowing that rounds toward zero.
    fn toward_zero(&mut self) {
        use ir::FloatKind::{BF16, F16, F32};
        let Some(value) = self.pick(|ty| elem(ty).as_float() == Some(F32)) else { return };
        let target = with_elem(self.ty(value), Type::float(self.random.of(&[F16, BF16])));
        let mode = Attr::Enum { row: &arith_cast::ROUNDING, value: 0 };
        let narrow = self.build_as(&arith_cast::FP_TO_FP, &[value], &[Some(mode)], target);
        self.learn(narrow);
    }

    pub(super) fn random_cast(&mut self) {
        match self.random.below(10) {
            0 => return self.through_8_bits(),
            1 => return self.toward_zero(),
            _ => {}
        }
        let (row, fits) = self.random.of(CASTS);
        let target = random_elem(&mut self.random);
        if !super::is_computed(target) {
            return;
        }
        let Some(value) =
            self.pick(|ty| is_scalar(elem(ty)) && super::is_computed(elem(ty)) && fits(elem(ty), target))
        else {
            return;
        };
        let ty = with_elem(self.ty(value), target);
        let cast = self.build_as(row, &[value], &[], ty);
        debug_assert_eq!(shape(self.ty(cast)), shape(self.ty(value)));
        self.learn(cast);
    }
}
