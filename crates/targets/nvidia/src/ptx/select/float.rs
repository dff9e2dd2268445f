//! Float arithmetic: sums, products (fused where the flags allow it), quotients, signs.

use super::cast::float_word;
use super::{Handler, Outcome, Part, Selector};
use crate::ptx::machine::{Class, Operand, Reg};
use llir::{Flags, InstData, Op, Scalar, Type};

pub(super) const HANDLERS: &[(Op, Handler)] = &[
    (Op::FADD, Handler::Packed(sum, packs)),
    (Op::FSUB, Handler::Packed(sum, packs)),
    (Op::FMUL, Handler::Packed(product, packs)),
    (Op::FDIV, Handler::Lanes(quotient)),
    (Op::FREM, Handler::Lanes(rest)),
    (Op::FNEG, Handler::Packed(negate, packs)),
];

/// Whether lanes of this result are packed and have instructions that work on pairs.
pub(super) fn packs(_: &Selector<'_>, data: &InstData) -> bool {
    data.ty.is_vector() && data.ty.lane_bits() == 16 && data.ty.lanes().is_multiple_of(2)
}

/// The word for the type that an instruction on this part works on.
pub(super) fn type_word(ty: Type, part: Part) -> &'static str {
    match (part, ty.kind()) {
        (Part::Word(_), Scalar::Half) => "f16x2",
        (Part::Word(_), Scalar::BFloat) => "bf16x2",
        (_, kind) => float_word(kind),
    }
}

/// The class of the register of this part.
pub(super) fn part_class(ty: Type, part: Part) -> Class {
    match (part, ty.lane_bits()) {
        (Part::Word(_), 16) | (_, 32) => Class::B32,
        (_, 64) => Class::B64,
        _ => Class::B16,
    }
}

impl Selector<'_> {
    /// Whether bfloat sums and products have instructions of their own; before that they are fused ones.
    fn has_bfloat_arithmetic(&self) -> bool {
        self.arch.number >= 90
    }

    /// A bfloat constant (or two) in a register.
    fn bfloat(&mut self, part: Part, bits: u64) -> Operand {
        let both = matches!(part, Part::Word(_));
        let class = if both { Class::B32 } else { Class::B16 };
        Operand::Reg(self.pooled(class, if both { bits << 16 | bits } else { bits }))
    }
}

/// `.rn` keeps the assembler from fusing what may not be fused.
fn rounding(data: &InstData) -> &'static str {
    if data.flags.contains(Flags::CONTRACT) { "" } else { ".rn" }
}

/// The product that a sum can be fused with.
fn fusable<'a>(s: &Selector<'a>, data: &InstData, index: usize) -> Option<&'a InstData> {
    let value = data.operands[index];
    let mul = s.only_use(value)?;
    let allowed = data.flags.contains(Flags::CONTRACT) && mul.flags.contains(Flags::CONTRACT);
    (mul.op == Op::FMUL && allowed).then_some(mul)
}

fn sum(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg) -> Outcome {
    let word = type_word(data.ty, part);
    let class = part_class(data.ty, part);
    let is_difference = data.op == Op::FSUB;
    for (index, other) in [(0, 1), (1, 0)] {
        let Some(mul) = fusable(s, data, index) else { continue };
        let (a, b) = (s.arg(mul, 0, part), s.arg(mul, 1, part));
        let c = s.arg(data, other, part);
        let negate =
            |s: &mut Selector<'_>, operand: Operand| s.temp(["neg.", word].concat(), class, &[operand]);
        let (a, c) = match (is_difference, index) {
            (true, 0) => (a, negate(s, c)),
            (true, _) => (negate(s, a), c),
            (false, _) => (a, c),
        };
        s.push(["fma.rn.", word].concat(), &[to], &[a, b, c]);
        return Ok(());
    }
    let (a, b) = (s.arg(data, 0, part), s.arg(data, 1, part));
    if data.ty.kind() == Scalar::BFloat && !s.has_bfloat_arithmetic() {
        let factor = s.bfloat(part, if is_difference { 0xbf80 } else { 0x3f80 });
        s.push(["fma.rn.", word].concat(), &[to], &[b, factor, a]);
        return Ok(());
    }
    let name = if is_difference { "sub" } else { "add" };
    s.push([name, rounding(data), ".", word].concat(), &[to], &[a, b]);
    Ok(())
}

fn product(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg) -> Outcome {
    let word = type_word(data.ty, part);
    let (a, b) = (s.arg(data, 0, part), s.arg(data, 1, part));
    if data.ty.kind() == Scalar::BFloat && !s.has_bfloat_arithmetic() {
        let zero = s.bfloat(part, 0x8000);
        s.push(["fma.rn.", word].concat(), &[to], &[a, b, zero]);
        return Ok(());
    }
    s.push(["mul", rounding(data), ".", word].concat(), &[to], &[a, b]);
    Ok(())
}

/// 16-bit quotients are made in 32 bits, where one rounding more does not change them.
fn quotient(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg) -> Outcome {
    let kind = data.ty.kind();
    let (a, b) = (s.arg(data, 0, part), s.arg(data, 1, part));
    let how = match kind {
        Scalar::Double => "div.rn.f64",
        _ if data.flags.contains(Flags::AFN) => "div.full.f32",
        _ => "div.rn.f32",
    };
    s.in_float(kind, to, &[a, b], |s, to, wide| {
        s.push(how, &[to], wide);
        Ok(())
    })
}

impl Selector<'_> {
    /// Works on 32-bit floats in place of 16-bit ones; wider ones stay.
    pub(super) fn in_float(
        &mut self,
        kind: Scalar,
        to: Reg,
        operands: &[Operand],
        emit: impl FnOnce(&mut Self, Reg, &[Operand]) -> Outcome,
    ) -> Outcome {
        if matches!(kind, Scalar::Float | Scalar::Double) {
            return emit(self, to, operands);
        }
        let wide: Vec<Operand> =
            operands.iter().map(|operand| self.as_float(kind, operand.clone()).1).collect();
        let result = self.fresh(Class::B32);
        emit(self, result, &wide)?;
        self.push(format!("cvt.rn.{}.f32", float_word(kind)), &[to], &[Operand::Reg(result)]);
        Ok(())
    }
}

/// `a - trunc(a / b) * b`, and `a` itself where `b` is infinite.
fn rest(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg) -> Outcome {
    let kind = data.ty.kind();
    let (a, b) = (s.arg(data, 0, part), s.arg(data, 1, part));
    s.in_float(kind, to, &[a, b], |s, to, wide| {
        let [a, b] = wide else { return Err("a rest of other than two operands".into()) };
        let double = kind == Scalar::Double;
        let (word, class) = if double { ("f64", Class::B64) } else { ("f32", Class::B32) };
        let quotient = s.temp(format!("div.rn.{word}"), class, &[a.clone(), b.clone()]);
        let whole = s.temp(format!("cvt.rzi.{word}.{word}"), class, &[quotient]);
        let negative = s.temp(["neg.", word].concat(), class, &[whole]);
        let rest = s.temp(["fma.rn.", word].concat(), class, &[negative, b.clone(), a.clone()]);
        let size = s.temp(format!("abs.{word}"), class, std::slice::from_ref(b));
        let infinity = if double { Operand::F64(0x7ff << 52) } else { Operand::F32(0x7f80_0000) };
        let infinite = s.temp(format!("setp.eq.{word}"), Class::Pred, &[size, infinity]);
        s.push(format!("selp.{word}"), &[to], &[a.clone(), rest, infinite]);
        Ok(())
    })
}

fn negate(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg) -> Outcome {
    let a = s.arg(data, 0, part);
    s.push(format!("neg.{}", type_word(data.ty, part)), &[to], &[a]);
    Ok(())
}
