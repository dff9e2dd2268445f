//! Arithmetic, comparisons, selections and casts.

use super::FunctionBuilder;
use crate::flags::Flags;
use crate::function::{FloatCompare, InstData, IntCompare, Payload, Value};
use crate::rows::Op;
use crate::types::Type;

/// A method per instruction of two operands.
macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident $op:ident $flags:expr;)*) => {
        impl FunctionBuilder<'_> {
            $($(#[$doc])*
            pub fn $name(&mut self, a: Value, b: Value) -> Value {
                self.binary_with(Op::$op, $flags, a, b)
            })*
        }
    };
}

binary! {
    /// Integer sum.
    add ADD Flags::NONE;
    /// Integer sum that does not overflow when signed.
    add_nsw ADD Flags::NSW;
    /// Integer difference.
    sub SUB Flags::NONE;
    /// Integer difference that does not overflow when signed.
    sub_nsw SUB Flags::NSW;
    /// Integer product.
    mul MUL Flags::NONE;
    /// Integer product that does not overflow when signed.
    mul_nsw MUL Flags::NSW;
    /// Signed quotient, rounded to zero.
    sdiv SDIV Flags::NONE;
    /// Unsigned quotient.
    udiv UDIV Flags::NONE;
    /// Signed rest, with the sign of `a`.
    srem SREM Flags::NONE;
    /// Unsigned rest.
    urem UREM Flags::NONE;
    /// Left shift.
    shl SHL Flags::NONE;
    /// Right shift with zeros.
    lshr LSHR Flags::NONE;
    /// Right shift with the sign.
    ashr ASHR Flags::NONE;
    /// Bitwise and.
    and AND Flags::NONE;
    /// Bitwise or.
    or OR Flags::NONE;
    /// Bitwise exclusive or.
    xor XOR Flags::NONE;
    /// Float sum.
    fadd FADD Flags::NONE;
    /// Float difference.
    fsub FSUB Flags::NONE;
    /// Float product.
    fmul FMUL Flags::NONE;
    /// Float quotient.
    fdiv FDIV Flags::NONE;
    /// Float rest, with the sign of `a`.
    frem FREM Flags::NONE;
}

impl FunctionBuilder<'_> {
    /// An instruction of two operands of one type.
    pub fn binary(&mut self, op: Op, a: Value, b: Value) -> Value {
        self.binary_with(op, Flags::NONE, a, b)
    }

    /// An instruction of two operands with flags, those of [`FunctionBuilder::set_float_flags`] added.
    pub fn binary_with(&mut self, op: Op, flags: Flags, a: Value, b: Value) -> Value {
        let flags = (flags | self.float_flags).and(op.row().flags);
        self.emit(InstData::new(op, self.ty(a), &[a, b]).flagged(flags))
    }

    /// The float with the sign turned.
    pub fn fneg(&mut self, a: Value) -> Value {
        let flags = self.float_flags;
        self.emit(InstData::new(Op::FNEG, self.ty(a), &[a]).flagged(flags))
    }

    /// A value that is the same at each look even when `a` is poison.
    pub fn freeze(&mut self, a: Value) -> Value {
        self.emit(InstData::new(Op::FREEZE, self.ty(a), &[a]))
    }

    /// All bits turned.
    pub fn not(&mut self, a: Value) -> Value {
        let ones = self.int(self.ty(a), -1);
        self.xor(a, ones)
    }

    /// Zero minus `a`.
    pub fn neg(&mut self, a: Value) -> Value {
        let zero = self.zero(self.ty(a));
        self.sub(zero, a)
    }

    /// Compares integers or addresses.
    pub fn icmp(&mut self, compare: IntCompare, a: Value, b: Value) -> Value {
        let data = InstData::new(Op::ICMP, self.ty(a).as_mask(), &[a, b]);
        self.emit(data.with(Payload::IntCompare(compare)))
    }

    /// Compares floats.
    pub fn fcmp(&mut self, compare: FloatCompare, a: Value, b: Value) -> Value {
        let data = InstData::new(Op::FCMP, self.ty(a).as_mask(), &[a, b]).flagged(self.float_flags);
        self.emit(data.with(Payload::FloatCompare(compare)))
    }

    /// `a` where the condition holds, else `b`; one `i1` may choose between whole vectors.
    pub fn select(&mut self, condition: Value, a: Value, b: Value) -> Value {
        let ty = self.ty(a);
        let flags = if ty.is_float() { self.float_flags } else { Flags::NONE };
        self.emit(InstData::new(Op::SELECT, ty, &[condition, a, b]).flagged(flags))
    }

    /// A cast; nothing happens when the type is already right.
    pub fn cast(&mut self, op: Op, a: Value, ty: Type) -> Value {
        if self.ty(a) == ty { a } else { self.emit(InstData::new(op, ty, &[a])) }
    }

    /// The same bits under another type.
    pub fn bitcast(&mut self, a: Value, ty: Type) -> Value {
        self.cast(Op::BITCAST, a, ty)
    }

    /// The same address in another address space.
    pub fn space_cast(&mut self, a: Value, space: u8) -> Value {
        self.cast(Op::ADDRSPACECAST, a, self.ty(a).with_scalar(Type::pointer(space)))
    }

    /// Another integer width, the sign kept.
    pub fn resize_signed(&mut self, a: Value, ty: Type) -> Value {
        let op = if ty.lane_bits() < self.ty(a).lane_bits() { Op::TRUNC } else { Op::SEXT };
        self.cast(op, a, ty)
    }

    /// Another integer width, filled with zeros.
    pub fn resize_unsigned(&mut self, a: Value, ty: Type) -> Value {
        let op = if ty.lane_bits() < self.ty(a).lane_bits() { Op::TRUNC } else { Op::ZEXT };
        self.cast(op, a, ty)
    }

    /// Another float type; `half` and `bfloat` convert through `float`.
    pub fn resize_float(&mut self, a: Value, ty: Type) -> Value {
        let (from, to) = (self.ty(a).lane_bits(), ty.lane_bits());
        if self.ty(a) != ty && from == to {
            let wide = self.cast(Op::FPEXT, a, ty.with_scalar(Type::F32));
            return self.cast(Op::FPTRUNC, wide, ty);
        }
        self.cast(if to < from { Op::FPTRUNC } else { Op::FPEXT }, a, ty)
    }
}
