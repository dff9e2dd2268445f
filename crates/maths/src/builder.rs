//! What the functions are written with: an [`llir`] builder that knows one element type and one number of lanes.
//!
//! Nothing here sets fast-math flags: compensated steps rely on every rounding, and a fused multiply-add is asked for
//! by name ([`Builder::mul_add`]). Branches are made only around what few inputs need ([`Builder::rarely`]).

use crate::rare::Rare;
use crate::{Approximation, Elem, MathMachine, outline};
use llir::{FloatCompare, FunctionBuilder, IntCompare, Intrinsic, Op, Type, Value, intrinsics};

/// Where what few inputs need is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// Behind a branch of this function, which has one lane.
    Here,
    /// In a function of its own, which does one lane after the other.
    Outside,
}

/// `n = round(x)`: as a float, and the sum that carries it in its low bits.
pub(crate) struct Rounded {
    pub(crate) float: Value,
    pub(crate) carrier: Value,
}

/// Builds one function; see the file's documentation.
pub(crate) struct Builder<'c, 'm> {
    pub(crate) b: &'c mut FunctionBuilder<'m>,
    pub(crate) machine: &'c dyn MathMachine,
    elem: Elem,
    lanes: u32,
    place: Place,
    /// How precise doubles are.
    doubles: Doubles,
}

/// How precise doubles are that a function computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Doubles {
    /// As results: to the last bits.
    Full,
    /// So that singles are made of them.
    Short,
    /// So that they are multiplied by the exponents of singles before.
    Exponents,
}

impl<'c, 'm> Builder<'c, 'm> {
    /// For so many lanes of an element type.
    pub(crate) fn new(
        b: &'c mut FunctionBuilder<'m>,
        machine: &'c dyn MathMachine,
        (elem, lanes): (Elem, u32),
        place: Place,
    ) -> Builder<'c, 'm> {
        Builder { b, machine, elem, lanes, place, doubles: Doubles::Full }
    }

    /// The same for values of so many lanes.
    pub(crate) fn with_lanes(&mut self, lanes: u32) -> Builder<'_, 'm> {
        let Builder { machine, elem, place, doubles, .. } = *self;
        Builder { b: self.b, machine, elem, lanes, place, doubles }
    }

    /// Rounds `x * factor` by adding a constant whose last bit is worth what it rounds to, and taking it away.
    pub(crate) fn round_by(&mut self, x: Value, factor: f64, magic: f64) -> Rounded {
        let magic = self.float(magic);
        let carrier = if factor == 1.0 {
            self.fadd(x, magic)
        } else {
            let factor = self.float(factor);
            self.mul_add(x, factor, magic)
        };
        Rounded { float: self.fsub(carrier, magic), carrier }
    }

    /// Computes a function with at least so many lanes: every number of lanes gives the same bits.
    pub(crate) fn in_lanes(
        &mut self,
        least: u32,
        x: Value,
        compute: impl FnOnce(&mut Builder<'_, '_>, Value) -> Value,
    ) -> Value {
        let lanes = self.b.ty(x).lanes().max(1);
        if lanes >= least {
            return compute(self, x);
        }
        let wide = match lanes {
            1 => self.b.splat(x, least),
            _ => self.b.permute(x, &(0..least).map(|lane| (lane % lanes) as i32).collect::<Vec<_>>()),
        };
        let result = compute(&mut self.with_lanes(least), wide);
        if lanes == 1 { self.b.extract(result, 0) } else { self.b.slice(result, 0, lanes) }
    }

    /// The element type of the function.
    pub(crate) fn elem(&self) -> Elem {
        self.elem
    }

    /// The lanes of the function.
    pub(crate) fn lanes(&self) -> u32 {
        self.lanes
    }

    /// So many lanes of a type as the function has.
    pub(crate) fn all(&self, lane: Type) -> Type {
        lane.with_lanes(self.lanes)
    }

    /// A float constant of the function's element type.
    pub(crate) fn float(&mut self, value: f64) -> Value {
        self.float_of(self.elem.float(), value)
    }

    /// A float constant of a given lane type.
    pub(crate) fn float_of(&mut self, lane: Type, value: f64) -> Value {
        let ty = self.all(lane);
        self.b.float(ty, value)
    }

    /// A float constant of the type of a value.
    pub(crate) fn float_like(&mut self, like: Value, value: f64) -> Value {
        let ty = self.b.ty(like);
        self.b.float(ty, value)
    }

    /// An integer constant as wide as the function's element type.
    pub(crate) fn int(&mut self, value: i64) -> Value {
        self.int_of(self.elem.int(), value)
    }

    /// An integer constant of a given lane type.
    pub(crate) fn int_of(&mut self, lane: Type, value: i64) -> Value {
        let ty = self.all(lane);
        self.b.int(ty, value)
    }

    fn cast(&mut self, op: Op, a: Value, lane: Type) -> Value {
        let ty = self.all(lane);
        self.b.cast(op, a, ty)
    }

    /// Calls an overloaded intrinsic on operands of one type.
    pub(crate) fn intrinsic(&mut self, intrinsic: &'static Intrinsic, operands: &[Value]) -> Value {
        let ty = self.b.ty(operands[0]);
        self.b.intrinsic(intrinsic, ty, operands)
    }

    /// `a + b` on floats.
    pub(crate) fn fadd(&mut self, a: Value, b: Value) -> Value {
        self.b.fadd(a, b)
    }

    /// `a - b` on floats.
    pub(crate) fn fsub(&mut self, a: Value, b: Value) -> Value {
        self.b.fsub(a, b)
    }

    /// `a * b` on floats.
    pub(crate) fn fmul(&mut self, a: Value, b: Value) -> Value {
        self.b.fmul(a, b)
    }

    /// `a / b` on floats.
    pub(crate) fn fdiv(&mut self, a: Value, b: Value) -> Value {
        self.b.fdiv(a, b)
    }

    /// `-a` on floats.
    pub(crate) fn fneg(&mut self, a: Value) -> Value {
        self.b.fneg(a)
    }

    /// Whether the machine rounds a product and a sum once.
    pub(crate) fn has_fma(&self) -> bool {
        self.machine.has_fma()
    }

    /// `a * b + c`, fused where the machine can, else rounded twice.
    pub(crate) fn mul_add(&mut self, a: Value, b: Value, c: Value) -> Value {
        if self.machine.has_fma() {
            return self.intrinsic(&intrinsics::FMA, &[a, b, c]);
        }
        let product = self.fmul(a, b);
        self.fadd(product, c)
    }

    /// `c - a * b`, fused where the machine can, else rounded twice.
    pub(crate) fn neg_mul_add(&mut self, a: Value, b: Value, c: Value) -> Value {
        if self.machine.has_fma() {
            let negated = self.negated(a);
            return self.intrinsic(&intrinsics::FMA, &[negated, b, c]);
        }
        let product = self.fmul(a, b);
        self.fsub(c, product)
    }

    /// A float with the other sign; of a constant another constant.
    fn negated(&mut self, a: Value) -> Value {
        let ty = self.b.ty(a);
        match self.b.func().constant(a).and_then(llir::Constant::splat_bits) {
            Some(bits) => self.b.bits(ty, bits ^ 1 << (ty.lane_bits() - 1)),
            None => self.fneg(a),
        }
    }

    /// A polynomial by Horner's rule; coefficients from the highest power to the lowest.
    pub(crate) fn polynomial(&mut self, x: Value, coefficients: &[f64]) -> Value {
        let ty = self.b.ty(x);
        let mut sum = self.b.float(ty, coefficients[0]);
        for &coefficient in &coefficients[1..] {
            let constant = self.b.float(ty, coefficient);
            sum = self.mul_add(sum, x, constant);
        }
        sum
    }

    /// A polynomial of which neighbouring terms are paired, so that half as many steps wait for each other; for where
    /// the square is needed anyway.
    pub(crate) fn polynomial_in_pairs(&mut self, (x, square): (Value, Value), coefficients: &[f64]) -> Value {
        let ty = self.b.ty(x);
        let mut sum: Option<Value> = None;
        let odd = coefficients.len() % 2;
        for pair in coefficients[..odd].chunks(1).chain(coefficients[odd..].chunks(2)) {
            let constant = self.b.float(ty, pair[pair.len() - 1]);
            let term = match pair {
                [slope, _] => {
                    let slope = self.b.float(ty, *slope);
                    self.mul_add(slope, x, constant)
                }
                _ => constant,
            };
            sum = Some(sum.map_or(term, |sum| self.mul_add(sum, square, term)));
        }
        sum.expect("a polynomial has coefficients")
    }

    /// The square root.
    pub(crate) fn sqrt(&mut self, a: Value) -> Value {
        self.intrinsic(&intrinsics::SQRT, &[a])
    }

    /// A float comparison.
    pub(crate) fn fcmp(&mut self, compare: FloatCompare, a: Value, b: Value) -> Value {
        self.b.fcmp(compare, a, b)
    }

    /// An integer comparison.
    pub(crate) fn icmp(&mut self, compare: IntCompare, a: Value, b: Value) -> Value {
        self.b.icmp(compare, a, b)
    }

    /// `condition ? a : b`, lane by lane.
    pub(crate) fn select(&mut self, condition: Value, a: Value, b: Value) -> Value {
        self.b.select(condition, a, b)
    }

    /// The smaller of `x` and a bound; a NaN in `x` stays.
    pub(crate) fn at_most(&mut self, x: Value, bound: f64) -> Value {
        let bound = self.b.float(self.b.ty(x), bound);
        let below = self.fcmp(FloatCompare::Olt, bound, x);
        self.select(below, bound, x)
    }

    /// The larger of `x` and a bound; a NaN in `x` stays.
    pub(crate) fn at_least(&mut self, x: Value, bound: f64) -> Value {
        let bound = self.b.float(self.b.ty(x), bound);
        let above = self.fcmp(FloatCompare::Ogt, bound, x);
        self.select(above, bound, x)
    }

    /// `a + b` on integers.
    pub(crate) fn iadd(&mut self, a: Value, b: Value) -> Value {
        self.b.add(a, b)
    }

    /// `a - b` on integers.
    pub(crate) fn isub(&mut self, a: Value, b: Value) -> Value {
        self.b.sub(a, b)
    }

    /// Bitwise and.
    pub(crate) fn iand(&mut self, a: Value, b: Value) -> Value {
        self.b.and(a, b)
    }

    /// Bitwise or.
    pub(crate) fn ior(&mut self, a: Value, b: Value) -> Value {
        self.b.or(a, b)
    }

    /// Bitwise exclusive or.
    pub(crate) fn ixor(&mut self, a: Value, b: Value) -> Value {
        self.b.xor(a, b)
    }

    /// Shift left by a constant.
    pub(crate) fn shl(&mut self, a: Value, count: i64) -> Value {
        let count = self.b.int(self.b.ty(a), count);
        self.b.shl(a, count)
    }

    /// Logical shift right by a constant.
    pub(crate) fn lshr(&mut self, a: Value, count: i64) -> Value {
        let count = self.b.int(self.b.ty(a), count);
        self.b.lshr(a, count)
    }

    /// The bits of a float.
    pub(crate) fn bits(&mut self, a: Value) -> Value {
        let ty = self.b.ty(a).as_int();
        self.b.bitcast(a, ty)
    }

    /// The float with these bits.
    pub(crate) fn with_bits(&mut self, a: Value) -> Value {
        let float = if self.b.ty(a).lane_bits() == 32 { Type::F32 } else { Type::F64 };
        self.cast(Op::BITCAST, a, float)
    }

    /// Widens a single to a double.
    pub(crate) fn widen(&mut self, a: Value) -> Value {
        self.cast(Op::FPEXT, a, Type::F64)
    }

    /// Rounds a double to a single.
    pub(crate) fn narrow(&mut self, a: Value) -> Value {
        self.cast(Op::FPTRUNC, a, Type::F32)
    }

    /// Computes on doubles what was asked for on singles: widens, generates, rounds.
    pub(crate) fn in_doubles(
        &mut self,
        arguments: &[Value],
        generate: fn(&mut Builder<'_, '_>, &[Value]) -> Value,
    ) -> Value {
        let wide: Vec<Value> = arguments.iter().map(|&argument| self.widen(argument)).collect();
        let elem = std::mem::replace(&mut self.elem, Elem::F64);
        let result = generate(self, &wide);
        self.elem = elem;
        self.narrow(result)
    }

    /// The same by polynomials that are precise enough for singles: see [`Self::fitting`].
    pub(crate) fn in_short_doubles(
        &mut self,
        arguments: &[Value],
        generate: fn(&mut Builder<'_, '_>, &[Value]) -> Value,
    ) -> Value {
        self.doubles = Doubles::Short;
        let result = self.in_doubles(arguments, generate);
        self.doubles = Doubles::Full;
        result
    }

    /// Whether doubles are computed of which a single is made.
    pub(crate) fn is_rounded(&self) -> bool {
        self.doubles != Doubles::Full
    }

    /// How precise they are.
    pub(crate) fn doubles(&self) -> Doubles {
        self.doubles
    }

    /// The coefficients for doubles that are results, or those for doubles of which singles are made.
    pub(crate) fn fitting<'t>(&self, full: &'t [f64], short: &'t [f64]) -> &'t [f64] {
        if self.is_rounded() { short } else { full }
    }

    /// A part of a function that is precise enough to be an exponent.
    pub(crate) fn for_exponents(&mut self, compute: impl FnOnce(&mut Builder<'_, '_>) -> Value) -> Value {
        let lanes = self.lanes;
        let mut precise = self.with_lanes(lanes);
        precise.doubles = Doubles::Exponents;
        compute(&mut precise)
    }

    /// Whether reciprocals and roots of doubles begin with what the machine approximates for singles.
    fn begins_with_singles(&self) -> bool {
        self.is_rounded() && self.lanes == 1 && self.machine.approximates()
    }

    /// `1 / x` of a double from 2^-100 to 2^128; what it is of zeros and infinities is left open.
    pub(crate) fn inverse(&mut self, x: Value) -> Value {
        let one = self.float(1.0);
        if !self.begins_with_singles() {
            return self.fdiv(one, x);
        }
        // No reciprocal may be denormal.
        let scale = self.float(2f64.powi(-16));
        let scaled = self.fmul(x, scale);
        let narrow = self.narrow(scaled);
        let near = self.machine.approximate(self.b, Approximation::Reciprocal, narrow);
        let near = self.widen(near);
        let near = self.fmul(near, scale);
        let lacks = self.neg_mul_add(x, near, one);
        self.mul_add(lacks, near, near)
    }

    /// `x / y` for such a `y`.
    pub(crate) fn quotient(&mut self, x: Value, y: Value) -> Value {
        if !self.begins_with_singles() {
            return self.fdiv(x, y);
        }
        let inverse = self.inverse(y);
        self.fmul(x, inverse)
    }

    /// `√(factor / x)` of such a double, whose reciprocal is given.
    pub(crate) fn root_of_small(&mut self, (x, inverse): (Value, Value), factor: f64) -> Value {
        if !self.begins_with_singles() {
            let factor = self.float(factor);
            let inside = self.fmul(factor, inverse);
            return self.sqrt(inside);
        }
        let narrow = self.narrow(x);
        let near = self.machine.approximate(self.b, Approximation::ReciprocalRoot, narrow);
        let near = self.widen(near);
        let (one, half) = (self.float(1.0), self.float(0.5));
        let square = self.fmul(near, near);
        let lacks = self.neg_mul_add(x, square, one);
        let lacks = self.fmul(lacks, half);
        let root = self.mul_add(lacks, near, near);
        let factor = self.float(factor.sqrt());
        self.fmul(root, factor)
    }

    /// What needs to be computed only where a condition holds: of one lane behind a branch.
    pub(crate) fn only_where(
        &mut self,
        condition: Value,
        compute: impl FnOnce(&mut Builder<'_, '_>) -> Value,
        otherwise: Value,
    ) -> Value {
        if self.lanes > 1 {
            let value = compute(self);
            return self.select(condition, value, otherwise);
        }
        let mut branch = self.b.begin_if(condition);
        let value = compute(self);
        self.b.begin_else(&mut branch, &[value]);
        self.b.end_if(branch, &[otherwise])[0]
    }

    /// What few inputs need: where a condition holds, outputs get new values made of the inputs. Elsewhere it costs one
    /// branch.
    pub(crate) fn rarely(
        &mut self,
        condition: Value,
        rare: Rare,
        inputs: &[Value],
        outputs: &[Value],
    ) -> Vec<Value> {
        match self.place {
            Place::Here => {
                let mut branch = self.b.begin_if(condition);
                let made = rare.build(self.b, self.machine, inputs, outputs.len());
                self.b.begin_else(&mut branch, &made);
                self.b.end_if(branch, outputs).to_vec()
            }
            Place::Outside => {
                let call = outline::Call { rare, lanes: self.lanes, inputs, outputs };
                outline::call(self.b, self.machine, condition, &call)
            }
        }
    }

    /// A product and its rounding error.
    pub(crate) fn two_product(&mut self, a: Value, b: Value) -> (Value, Value) {
        let product = self.fmul(a, b);
        if self.machine.has_fma() {
            let negated = self.fneg(product);
            return (product, self.intrinsic(&intrinsics::FMA, &[a, b, negated]));
        }
        let (a_head, a_tail) = self.halves(a);
        let (b_head, b_tail) = self.halves(b);
        let first = self.fmul(a_head, b_head);
        let error = self.fsub(first, product);
        let second = self.fmul(a_head, b_tail);
        let error = self.fadd(error, second);
        let third = self.fmul(a_tail, b_head);
        let error = self.fadd(error, third);
        let fourth = self.fmul(a_tail, b_tail);
        (product, self.fadd(error, fourth))
    }

    /// A float as a sum of two with half as many bits.
    fn halves(&mut self, a: Value) -> (Value, Value) {
        let bits = self.bits(a);
        let ty = self.b.ty(bits);
        let mask = self.b.int(ty, if ty.lane_bits() == 32 { !0xFFF } else { !0x7FF_FFFF });
        let bits = self.iand(bits, mask);
        let head = self.with_bits(bits);
        (head, self.fsub(a, head))
    }

    /// A sum and its rounding error, for |a| >= |b|.
    pub(crate) fn fast_two_sum(&mut self, a: Value, b: Value) -> (Value, Value) {
        let sum = self.fadd(a, b);
        let kept = self.fsub(sum, a);
        (sum, self.fsub(b, kept))
    }

    /// Whether both conditions hold.
    pub(crate) fn both(&mut self, a: Value, b: Value) -> Value {
        self.iand(a, b)
    }

    /// The magnitude of a float.
    pub(crate) fn fabs(&mut self, a: Value) -> Value {
        self.intrinsic(&intrinsics::FABS, &[a])
    }

    /// The sign bit of a float, as an integer with only that bit.
    pub(crate) fn sign_bit(&mut self, a: Value) -> Value {
        let bits = self.bits(a);
        let ty = self.b.ty(bits);
        let mask = self.b.bits(ty, 1 << (ty.lane_bits() - 1));
        self.iand(bits, mask)
    }

    /// Flips the sign of `a` where `sign` (from [`Builder::sign_bit`]) has its bit set.
    pub(crate) fn flip_sign(&mut self, a: Value, sign: Value) -> Value {
        let bits = self.bits(a);
        let flipped = self.ixor(bits, sign);
        self.with_bits(flipped)
    }
}
