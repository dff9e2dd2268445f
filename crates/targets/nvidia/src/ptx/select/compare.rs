//! Comparisons and choices.

use super::cast::float_word;
use super::{Handler, Outcome, Part, Selector, integer};
use crate::ptx::machine::{Class, Operand, Reg};
use crate::ptx::shape::shape;
use llir::{FloatCompare, InstData, IntCompare, Op, Payload, Scalar};

pub(super) const HANDLERS: &[(Op, Handler)] = &[
    (Op::ICMP, Handler::Lanes(icmp)),
    (Op::FCMP, Handler::Lanes(fcmp)),
    (Op::SELECT, Handler::Packed(select, packs_select)),
];

fn icmp(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg) -> Outcome {
    let Payload::IntCompare(compare) = data.payload else { return Err("a comparison of nothing".into()) };
    let ty = s.ty(data.operands[0]);
    let (a, b) = (s.arg(data, 0, part), s.arg(data, 1, part));
    if ty.lane_bits() == 1 {
        return compare_truth(s, compare, to, a, b);
    }
    let word = compare.word();
    let (letter, word) = match word.as_bytes()[0] {
        b's' => ("s", &word[1..]),
        b'u' => ("u", &word[1..]),
        _ => ("b", word),
    };
    let bits = ty.lane_bits();
    let (a, b) = (s.widen_byte(bits, a, letter == "s"), s.widen_byte(bits, b, letter == "s"));
    s.push(format!("setp.{word}.{letter}{}", bits.max(16)), &[to], &[a, b]);
    Ok(())
}

/// Truth values are compared by logic: signed, true is less than false.
fn compare_truth(s: &mut Selector<'_>, compare: IntCompare, to: Reg, a: Operand, b: Operand) -> Outcome {
    let mut not = |operand: &Operand| s.temp("not.pred", Class::Pred, std::slice::from_ref(operand));
    let (name, a, b) = match compare {
        IntCompare::Ne => ("xor.pred", a, b),
        IntCompare::Eq => ("xor.pred", not(&a), b),
        IntCompare::Ugt | IntCompare::Slt => ("and.pred", a, not(&b)),
        IntCompare::Ult | IntCompare::Sgt => ("and.pred", not(&a), b),
        IntCompare::Uge | IntCompare::Sle => ("or.pred", a, not(&b)),
        IntCompare::Ule | IntCompare::Sge => ("or.pred", not(&a), b),
    };
    s.push(name, &[to], &[a, b]);
    Ok(())
}

/// PTX's word for a float comparison.
pub(super) fn float_compare_word(compare: FloatCompare) -> String {
    match compare {
        FloatCompare::Ord => "num".into(),
        FloatCompare::Uno => "nan".into(),
        compare => match compare.word().split_at(1) {
            ("o", word) => word.into(),
            (_, word) => format!("{word}u"),
        },
    }
}

fn fcmp(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg) -> Outcome {
    let Payload::FloatCompare(compare) = data.payload else { return Err("a comparison of nothing".into()) };
    let kind = s.ty(data.operands[0]).kind();
    let (mut a, mut b) = (s.arg(data, 0, part), s.arg(data, 1, part));
    let mut word = float_word(kind);
    if kind == Scalar::BFloat && s.arch.number < 90 {
        (a, b) = (s.as_float(kind, a).1, s.as_float(kind, b).1);
        word = "f32";
    }
    s.push(format!("setp.{}.{word}", float_compare_word(compare)), &[to], &[a, b]);
    Ok(())
}

/// One condition for all lanes chooses whole registers.
fn packs_select(s: &Selector<'_>, data: &InstData) -> bool {
    let packed = shape(data.ty).is_some_and(|shape| shape.per_word > 1);
    packed && !s.ty(data.operands[0]).is_vector()
}

fn select(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg) -> Outcome {
    if let Some(shift) = integer::guarded_shift(s, data) {
        return integer::shift_by_any(s, shift, part, to);
    }
    let (mut first, mut second) = (1, 2);
    let condition = match s.inverted(data.operands[0]) {
        Some(inverted) => {
            (first, second) = (2, 1);
            s.part(inverted, part)
        }
        None => s.arg(data, 0, part),
    };
    let (a, b) = (s.arg(data, first, part), s.arg(data, second, part));
    if data.ty.lane_bits() == 1 {
        let on = s.temp("and.pred", Class::Pred, &[a, condition.clone()]);
        let not = s.temp("not.pred", Class::Pred, &[condition]);
        let off = s.temp("and.pred", Class::Pred, &[b, not]);
        s.push("or.pred", &[to], &[on, off]);
        return Ok(());
    }
    let bits = match part {
        Part::Word(_) => s.shape(data.ty)?.class.bits(),
        _ => data.ty.lane_bits().max(16),
    };
    let letter = if data.ty.is_float() && bits >= 32 && !matches!(part, Part::Word(_)) { "f" } else { "b" };
    s.push(format!("selp.{letter}{bits}"), &[to], &[a, b, condition]);
    Ok(())
}

impl Selector<'_> {
    /// The truth value that this one is the opposite of.
    pub(super) fn inverted(&self, value: llir::Value) -> Option<llir::Value> {
        let data = self.only_use(value).filter(|data| data.op == Op::XOR && data.ty.lane_bits() == 1)?;
        let other = self.func.constant(data.operands[1])?;
        (other.splat_bits() == Some(1)).then_some(data.operands[0])
    }
}
