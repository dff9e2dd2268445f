//! Quotients of a block by one number.
//!
//! With `r = 1/d`, rounded, `q = x * r`, and the remainder `e = x - q * d`, which is exact, `q + e * r` is the rounded
//! quotient (Markstein): three multiplications for a division, which takes the widest vectors three to five times as
//! long.
//!
//! It holds where nothing overflows and no remainder is denormal. Divisors from 1 to 2^[`MOST`] are taken, of which any
//! `q` and `r` are as good as `x`; for all others the group is there a second time, with divisions. Infinities, NaN,
//! and zeros with their sign are `q` itself: there `e` is NaN or zero. Where `x` is so small that `e` is denormal
//! (below 2^-102 in binary32) the last place may differ by one.
//!
//! Where the dividend is known to be neither infinite nor a zero with a sign, as the powers that a softmax divides by
//! their sum, nothing but these three multiplications is needed.

use super::element;
use super::emitter::Emitter;
use super::error::Result;
use super::plan::{Group, Root};
use ir::{Op, Value as IrValue};
use llir::{Flags, FloatCompare, Type, Value, intrinsics};
use rustc_hash::FxHashMap;
use ttir::ops::arith_float::DIVF;
use ttir::ops::forms::BinaryOp;
use ttir::ops::shape::SplatOp;

/// The fewest vectors for which the inverse pays.
const LEAST: i64 = 8;

/// The exponents of the largest divisors of binary32 and binary64.
const MOST: (f64, f64) = (100.0, 900.0);

impl Emitter<'_> {
    /// The condition under which the divisors of a group serve by their inverses, and those; `None` where there are
    /// none.
    pub(crate) fn inverses(&mut self, group: &Group) -> Result<Option<(Value, FxHashMap<IrValue, Value>)>> {
        let divisors = self.shared_divisors(group);
        if divisors.is_empty() {
            return Ok(None);
        }
        let mut all = self.b.bool(true);
        let mut inverses = FxHashMap::default();
        for &divisor in &divisors {
            let scalar = self.scalar(SplatOp::def(self.module, divisor).expect("found as one").src())?;
            let serves = self.serves(scalar);
            all = self.b.and(all, serves);
            let one = self.b.float(self.b.ty(scalar), 1.0);
            let inverse = self.b.fdiv(one, scalar);
            inverses.insert(divisor, inverse);
        }
        Ok(Some((all, inverses)))
    }

    /// What the quotients of a group are divided by, where that is one number for all elements and its inverse is
    /// better: where divisions of the widest vectors are slow, or three multiplications are all, and not beside
    /// elementary functions, which take the multipliers while a divider works beside them.
    fn shared_divisors(&self, group: &Group) -> Vec<IrValue> {
        let module = self.module;
        let is_plain = |root: &Root| matches!(root, Root::Store(_) | Root::Keep(..));
        let elements: i64 = group.shape.iter().product();
        if !self.machine.has_fma
            || elements < LEAST * i64::from(self.machine.lanes())
            || !group.roots.iter().all(is_plain)
            || group.long_members(module) > 0
        {
            return Vec::new();
        }
        let quotients = group.members.iter().filter(|&&op| module.is(op, &DIVF));
        let quotients: Vec<BinaryOp<'_>> = quotients.map(|&op| BinaryOp::new(module, op)).collect();
        let pays = |divisor: IrValue| {
            let mut dividends = quotients.iter().filter(|quotient| quotient.rhs() == divisor);
            self.machine.has_avx512 || dividends.all(|quotient| self.is_fraction(quotient.lhs()))
        };
        let mut divisors: Vec<IrValue> =
            quotients.iter().map(|quotient| quotient.rhs()).filter(|&divisor| pays(divisor)).collect();
        let is_wide = |value: &IrValue| {
            ttir::types::elem(module.ty(*value)).as_float().is_some_and(|kind| kind.bits() >= 32)
        };
        divisors.retain(|value| SplatOp::def(module, *value).is_some() && is_wide(value));
        divisors.dedup();
        divisors
    }

    /// Whether every element of a block is known to be zero, without a sign, or not above one by more than rounding
    /// errors, or NaN.
    fn is_fraction(&self, value: IrValue) -> bool {
        let power = self.module.def_op(value).and_then(|op| element::exp_of_nonpositive(self.module, op));
        power.is_some()
    }

    /// Whether the inverse of a divisor serves.
    fn serves(&mut self, divisor: Value) -> Value {
        let ty = self.b.ty(divisor);
        let most = if ty == Type::F32 { MOST.0 } else { MOST.1 };
        let magnitude = self.b.intrinsic(&intrinsics::FABS, ty, &[divisor]);
        let [least, most] = [1.0, most.exp2()].map(|bound| self.b.float(ty, bound));
        let is_enough = self.b.fcmp(FloatCompare::Oge, magnitude, least);
        let is_bounded = self.b.fcmp(FloatCompare::Ole, magnitude, most);
        self.b.and(is_enough, is_bounded)
    }

    /// A quotient by its divisor's inverse, put right by the remainder: `of` is the operation, given its operands.
    pub(crate) fn corrected(&mut self, of: Op, [dividend, divisor]: [Value; 2], inverse: Value) -> Value {
        let ty = self.b.ty(dividend);
        let is_fraction = self.is_fraction(BinaryOp::new(self.module, of).lhs());
        let flags = self.b.set_float_flags(Flags::NONE);
        let inverse = self.b.splat(inverse, ty.lanes());
        let product = self.b.fmul(dividend, inverse);
        let negated = self.b.fneg(product);
        let remainder = self.b.intrinsic(&intrinsics::FMA, ty, &[negated, divisor, dividend]);
        let better = self.b.intrinsic(&intrinsics::FMA, ty, &[remainder, inverse, product]);
        let result = if is_fraction {
            better
        } else {
            let zero = self.b.zero(ty);
            let differs = self.b.fcmp(FloatCompare::One, remainder, zero);
            self.b.select(differs, better, product)
        };
        self.b.set_float_flags(flags);
        result
    }
}
