//! What a machine does in its own way.

use crate::Byte;
use ir::{FloatKind, Type};
use llir::{FunctionBuilder, Value, Values};
use maths::MathMachine;
use ttir::interval::Interval;

/// An elementary function that a machine may have instructions for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Math {
    /// `e^x`.
    Exp,
    /// `2^x`.
    Exp2,
    /// Natural logarithm.
    Log,
    /// Logarithm of base 2.
    Log2,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Square root, of the accuracy of the language.
    Sqrt,
    /// Square root, correctly rounded.
    PreciseSqrt,
    /// One over the square root.
    Rsqrt,
    /// Hyperbolic tangent.
    Tanh,
    /// Quotient of the accuracy of the language.
    Divide,
    /// The same where many elements have one divisor: what only that decides should be instructions of its own, which
    /// are made once.
    DivideByShared,
    /// Quotient, correctly rounded.
    PreciseDivide,
}

/// How a narrowing conversion rounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rounding {
    /// To nearest, ties to even.
    NearestEven,
    /// Toward zero.
    TowardZero,
}

/// What minimum and maximum of a float type are, of which a NaN is ignored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MinMax {
    /// Instructions, for which -0 is below +0.
    Ordered,
    /// Instructions that may give either zero.
    OpenZeros,
    /// To be made of comparisons.
    Compared,
}

/// The narrowest integers, in bits, that a machine has instructions for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Widths {
    /// Comparisons.
    pub compare: u32,
    /// Minimum and maximum.
    pub minmax: u32,
    /// Sums.
    pub add: u32,
    /// Division, and conversion to floats.
    pub divide: u32,
}

/// What becomes of a division by zero, and of the least integer by -1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Division {
    /// It stops the process.
    Traps,
    /// It gives some value, which for the least integer by -1 is that integer.
    Wraps,
    /// The code generator takes it that it never happens.
    Undefined,
}

/// What a machine can do, whatever the types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Abilities {
    /// The narrowest integers.
    pub widths: Widths,
    /// What becomes of a division by zero, and of one that overflows.
    pub division: Division,
    /// Whether integers are converted to binary16 by an instruction that rounds once.
    pub halves_from_int: bool,
    /// Whether functions of the maths are written out where they are used; else they are functions of the module.
    pub writes_functions_out: bool,
}

/// What a machine does in its own way.
///
/// Values may be vectors where the caller hands in vectors.
pub trait ElementTarget {
    /// The type that an element has in a register. Floats of fewer than 32 bits may be kept as integers of their bits.
    fn register(&self, ty: Type) -> llir::Type;

    /// What it can do, whatever the types.
    fn abilities(&self) -> Abilities;

    /// Whether sums, products and fused products of this format are instructions. Of 32 and 64 bits they always are.
    fn has_arithmetic(&self, kind: FloatKind) -> bool;

    /// Whether a 16-bit format is converted from and to binary32 by instructions.
    fn converts(&self, kind: FloatKind) -> bool;

    /// What minimum and maximum of a type are.
    fn minmax(&self, ty: llir::Type) -> MinMax;

    /// Whether nobody looks at the sign of a zero, as in a reduction, whose order is open.
    fn zeros_are_free(&self) -> bool {
        false
    }

    /// The minimum or maximum that is NaN where an operand is, if it is an instruction.
    fn minmax_nan(&self, _b: &mut FunctionBuilder<'_>, _max: bool, _x: &[Value]) -> Option<Value> {
        None
    }

    /// An elementary function of the accuracy that the language promises, if the machine has it.
    fn math(&self, b: &mut FunctionBuilder<'_>, function: Math, x: &[Value]) -> Option<Value>;

    /// A faster form of a library's function with less accuracy, if the machine has it: `sin`, ….
    fn fast_math(&self, _b: &mut FunctionBuilder<'_>, _name: &str, _x: &[Value]) -> Option<Value> {
        None
    }

    /// The same machine, as the maths see it.
    fn maths(&self) -> &dyn MathMachine;

    /// The high half of the product of two integers of 32 or 64 bits.
    fn mul_high(&self, b: &mut FunctionBuilder<'_>, signed: bool, x: Value, y: Value) -> Value {
        mul_high_by_widening(b, signed, x, y)
    }

    /// A float of 32 or 64 bits as an integer, toward zero, held at the ends of its type.
    fn to_int(&self, b: &mut FunctionBuilder<'_>, signed: bool, value: Value, ty: llir::Type) -> Value {
        b.cast(if signed { llir::Op::FPTOSI } else { llir::Op::FPTOUI }, value, ty)
    }

    /// The width of the integer that a float becomes on the way to one of `bits` bits, and whether it has a sign.
    /// Programs rely on what is left of numbers that do not fit (`x.to(tl.int8)` of 128 and more).
    fn way_to_int(&self, signed: bool, bits: u32) -> (u32, bool) {
        (bits.max(16), signed)
    }

    /// Whether vectors of integers of up to 32 bits are divided faster as floats of twice the width than one by one.
    fn divides_by_floats(&self) -> bool {
        false
    }

    /// A conversion between float formats that the machine has an instruction for. Values of 8 bits are integers.
    fn convert(
        &self,
        _b: &mut FunctionBuilder<'_>,
        _formats: (FloatKind, FloatKind),
        _rounding: Rounding,
        _value: Value,
    ) -> Option<Value> {
        None
    }

    /// How neighbours of 8 bits become floats together, if that is faster than one by one.
    fn bytes_converter(&self, _from: Byte, _to: FloatKind) -> Option<ConvertBytes> {
        None
    }
}

/// Makes floats of so many neighbours of 8 bits, the first in the lowest bits of a 32-bit integer: four, or two below
/// zeros.
pub type ConvertBytes = fn(&mut FunctionBuilder<'_>, (Byte, FloatKind), Value, usize) -> Values;

/// Integer sums, products and addresses. Who lowers many registers that differ by constants keeps these apart.
pub trait Sums {
    /// The sum.
    fn add(&mut self, b: &mut FunctionBuilder<'_>, x: Value, y: Value) -> Value {
        b.add(x, y)
    }

    /// The difference.
    fn sub(&mut self, b: &mut FunctionBuilder<'_>, x: Value, y: Value) -> Value {
        b.sub(x, y)
    }

    /// The product, which does not overflow as a signed number if it `fits`.
    fn mul(&mut self, b: &mut FunctionBuilder<'_>, (x, y): (Value, Value), fits: bool) -> Value {
        if fits { b.mul_nsw(x, y) } else { b.mul(x, y) }
    }

    /// The left shift by a constant that is smaller than the width; `amount` is the same as a value.
    fn shl(&mut self, b: &mut FunctionBuilder<'_>, x: Value, (_, amount): (u32, Value)) -> Value {
        b.shl(x, amount)
    }

    /// The sign extension to a wider type, of a number between these bounds where they are known.
    fn extend(
        &mut self,
        b: &mut FunctionBuilder<'_>,
        x: Value,
        ty: llir::Type,
        _: Option<Interval>,
    ) -> Value {
        b.resize_signed(x, ty)
    }

    /// A pointer moved by a number of elements of a type in memory.
    fn add_pointer(
        &mut self,
        b: &mut FunctionBuilder<'_>,
        pointer: Value,
        index: Value,
        element: llir::Type,
    ) -> Value {
        b.gep(element, pointer, index)
    }
}

/// Sums as they are written.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlainSums;

impl Sums for PlainSums {}

/// The high half of the product of two integers, which have twice the bits meanwhile.
pub fn mul_high_by_widening(b: &mut FunctionBuilder<'_>, signed: bool, x: Value, y: Value) -> Value {
    let ty = b.ty(x);
    let bits = ty.lane_bits();
    let wide = ty.with_scalar(llir::Type::int(2 * bits as u16));
    let [x, y] = [x, y].map(|value| match signed {
        true => b.resize_signed(value, wide),
        false => b.resize_unsigned(value, wide),
    });
    let product = b.mul(x, y);
    let by = b.int(wide, i64::from(bits));
    let high = b.lshr(product, by);
    b.resize_unsigned(high, ty)
}
