//! Intrinsics: a row each with the instruction it becomes. Those of the target itself are [`crate::intrinsics`].

use super::cast::float_word;
use super::float::{packs, type_word};
use super::{Outcome, Part, Selector};
use crate::intrinsics::{Form, Row};
use crate::ptx::machine::{Class, Operand, Reg};
use llir::{Callee, Flags, Inst, InstData, Intrinsic, Scalar, intrinsics};

/// How an intrinsic becomes PTX.
#[derive(Clone, Copy)]
pub(super) enum Rule {
    /// The mnemonic and the float type, for any float type that has the instruction, pairs too.
    Float(&'static str),
    /// The mnemonic and a float type of 32 or 64 bits; 16-bit ones through 32.
    WideFloat(&'static str),
    /// The mnemonic twice over: `cvt.rmi.f32.f32`.
    Round(&'static str),
    /// The mnemonic and an approximation for 32 bits only; 16-bit types through 32.
    Approximate(&'static str),
    /// The mnemonic and the letter of an integer type with its width.
    Integer(&'static str, &'static str),
    /// An intrinsic of these GPUs.
    Target(Form),
    /// A mnemonic as it is; every operand in order, constants as they are.
    Plain(&'static str),
    /// Nothing at all.
    Nothing,
    /// The greater or the lesser, and whether a NaN wins.
    Extremum(&'static str),
    /// A function of its own.
    Own(fn(&mut Selector<'_>, &InstData, Part, Reg) -> Outcome),
}

/// One line per intrinsic.
static RULES: &[(&Intrinsic, Rule)] = &[
    (&intrinsics::ABS, Rule::Integer("abs", "s")),
    (&intrinsics::ASSUME, Rule::Nothing),
    (&intrinsics::BITREVERSE, Rule::Integer("brev", "b")),
    (&intrinsics::BSWAP, Rule::Own(swap_bytes)),
    (&intrinsics::CEIL, Rule::Round("cvt.rpi")),
    (&intrinsics::COPYSIGN, Rule::Own(copy_sign)),
    (&intrinsics::COS, Rule::Approximate("cos.approx")),
    (&intrinsics::CTLZ, Rule::Own(leading_zeros)),
    (&intrinsics::CTPOP, Rule::Own(count_ones)),
    (&intrinsics::CTTZ, Rule::Own(trailing_zeros)),
    (&intrinsics::EXP2, Rule::Approximate("ex2.approx")),
    (&intrinsics::FABS, Rule::Float("abs")),
    (&intrinsics::FLOOR, Rule::Round("cvt.rmi")),
    (&intrinsics::FMA, Rule::Float("fma.rn")),
    (&intrinsics::FMULADD, Rule::Float("fma.rn")),
    (&intrinsics::FSHL, Rule::Own(funnel_left)),
    (&intrinsics::FSHR, Rule::Own(funnel_right)),
    (&intrinsics::LOG2, Rule::Approximate("lg2.approx")),
    (&intrinsics::MAXIMUM, Rule::Extremum("max.NaN")),
    (&intrinsics::MAXNUM, Rule::Extremum("max")),
    (&intrinsics::MINIMUM, Rule::Extremum("min.NaN")),
    (&intrinsics::MINNUM, Rule::Extremum("min")),
    (&intrinsics::NEARBYINT, Rule::Round("cvt.rni")),
    (&intrinsics::RINT, Rule::Round("cvt.rni")),
    (&intrinsics::ROUNDEVEN, Rule::Round("cvt.rni")),
    (&intrinsics::SIN, Rule::Approximate("sin.approx")),
    (&intrinsics::SMAX, Rule::Integer("max", "s")),
    (&intrinsics::SMIN, Rule::Integer("min", "s")),
    (&intrinsics::SQRT, Rule::WideFloat("sqrt.rn")),
    (&intrinsics::TRAP, Rule::Plain("trap")),
    (&intrinsics::TRUNC, Rule::Round("cvt.rzi")),
    (&intrinsics::UMAX, Rule::Integer("max", "u")),
    (&intrinsics::UMIN, Rule::Integer("min", "u")),
];

/// The rule of an intrinsic.
pub(super) fn rule(callee: &Callee) -> Option<Rule> {
    if let Some(own) = Row::of(callee) {
        return Some(Rule::Target(own.form));
    }
    let intrinsic = callee.intrinsic?;
    RULES.iter().find(|(own, _)| *own == intrinsic).map(|(_, rule)| *rule)
}

pub(super) fn emit(s: &mut Selector<'_>, inst: Inst, data: &InstData, rule: Rule) -> Outcome {
    let Some(value) = s.func.result(inst) else { return without_result(s, data, rule) };
    let packed = packs(s, data) && s.packs_intrinsic(data, rule);
    if packed {
        for (word, reg) in s.wanted_words(value) {
            one(s, data, Part::Word(word), reg, rule)?;
        }
        return Ok(());
    }
    if !data.ty.is_vector() {
        let reg = s.word(value, 0);
        return one(s, data, Part::Scalar, reg, rule);
    }
    let shape = s.shape(data.ty)?;
    for (word, reg) in s.wanted_words(value) {
        if shape.per_word == 1 {
            one(s, data, Part::Lane(word), reg, rule)?;
            continue;
        }
        let mut lanes = Vec::new();
        for lane in 0..shape.per_word {
            let reg = s.fresh(Class::B16);
            one(s, data, Part::Lane(word * shape.per_word + lane), reg, rule)?;
            lanes.push(Operand::Reg(reg));
        }
        s.pack(reg, &lanes, data.ty.lane_bits());
    }
    Ok(())
}

impl Selector<'_> {
    fn packs_intrinsic(&self, data: &InstData, rule: Rule) -> bool {
        let has_pairs = data.ty.kind() == Scalar::Half || self.arch.number >= 80;
        has_pairs && matches!(rule, Rule::Float(_) | Rule::Extremum(_))
    }
}

fn without_result(s: &mut Selector<'_>, data: &InstData, rule: Rule) -> Outcome {
    let (Rule::Plain(name) | Rule::Target(Form::Plain(name))) = rule else {
        return match rule {
            Rule::Nothing => Ok(()),
            _ => Err("an intrinsic with a result is used as one without".into()),
        };
    };
    let operands: Vec<Operand> = data.operands.iter().map(|value| s.scalar(*value)).collect();
    s.push(name, &[], &operands);
    Ok(())
}

fn one(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg, rule: Rule) -> Outcome {
    match rule {
        Rule::Nothing => Ok(()),
        Rule::Own(emit) => emit(s, data, part, to),
        Rule::Extremum(name) => extremum(s, data, part, to, name),
        Rule::Target(Form::Ordered(name, order)) => ordered(s, data, to, name, order),
        Rule::Target(Form::Special(register)) => {
            let name = if data.ty.lane_bits() == 64 { "mov.b64" } else { "mov.b32" };
            s.push(name, &[to], &[Operand::Name(register.into())]);
            Ok(())
        }
        Rule::Plain(name) | Rule::Target(Form::Plain(name)) => {
            let operands = args(s, data, part);
            s.push(name, &[to], &operands);
            Ok(())
        }
        Rule::Float(name) => {
            let operands = args(s, data, part);
            s.push([name, ".", type_word(data.ty, part)].concat(), &[to], &operands);
            Ok(())
        }
        Rule::Integer(name, letter) => {
            let bits = data.ty.lane_bits();
            let count = if name == "abs" || name == "brev" { 1 } else { data.operands.len() };
            let mut operands = args(s, data, part);
            operands.truncate(count);
            integer(s, name, letter, bits, to, operands)
        }
        Rule::WideFloat(name) => {
            let name = if data.flags.contains(Flags::AFN) && data.ty.kind() != Scalar::Double {
                "sqrt.approx"
            } else {
                name
            };
            wide(s, data, part, to, |word| [name, ".", word].concat())
        }
        Rule::Round(name) => {
            if data.ty.kind() == Scalar::Half {
                let operands = args(s, data, part);
                s.push(format!("{name}.f16.f16"), &[to], &operands);
                return Ok(());
            }
            wide(s, data, part, to, |word| format!("{name}.{word}.{word}"))
        }
        Rule::Approximate(name) => {
            if data.ty.kind() == Scalar::Double {
                return Err(format!("`{name}` has no 64-bit form"));
            }
            wide(s, data, part, to, |word| [name, ".", word].concat())
        }
    }
}

fn args(s: &mut Selector<'_>, data: &InstData, part: Part) -> Vec<Operand> {
    data.operands.iter().map(|value| s.part(*value, part)).collect()
}

/// An instruction for floats of 32 and 64 bits, 16-bit ones through 32.
fn wide(
    s: &mut Selector<'_>,
    data: &InstData,
    part: Part,
    to: Reg,
    name: impl FnOnce(&str) -> String,
) -> Outcome {
    let operands = args(s, data, part);
    let kind = data.ty.kind();
    let word = if kind == Scalar::Double { "f64" } else { "f32" };
    let name = name(word);
    s.in_float(kind, to, &operands, |s, to, operands| {
        s.push(name, &[to], operands);
        Ok(())
    })
}

/// An instruction on integers; bytes are widened first, and bits reversed come out at the other end.
fn integer(
    s: &mut Selector<'_>,
    name: &'static str,
    letter: &'static str,
    bits: u32,
    to: Reg,
    operands: Vec<Operand>,
) -> Outcome {
    if name != "brev" {
        let operands: Vec<Operand> =
            operands.into_iter().map(|operand| s.widen_byte(bits, operand, letter == "s")).collect();
        s.push(format!("{name}.{letter}{}", bits.max(16)), &[to], &operands);
        return Ok(());
    }
    if bits >= 32 {
        s.push(format!("brev.b{bits}"), &[to], &operands);
        return Ok(());
    }
    let class = Class::B16;
    let operand = operands.into_iter().next().ok_or("nothing to reverse")?;
    let operand = Operand::Reg(s.in_register(class, operand));
    let wide = s.temp("cvt.u32.u16", Class::B32, &[operand]);
    let reversed = s.temp("brev.b32", Class::B32, &[wide]);
    let shifted = s.temp("shr.u32", Class::B32, &[reversed, Operand::Int(i64::from(32 - bits))]);
    s.push("cvt.u16.u32", &[to], &[shifted]);
    Ok(())
}

/// The greater or lesser float: of a NaN and a number the number, or NaN where the name says so.
fn extremum(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg, name: &'static str) -> Outcome {
    let operands = args(s, data, part);
    let kind = data.ty.kind();
    let (base, wins) = name.strip_suffix(".NaN").map_or((name, false), |base| (base, true));
    if kind != Scalar::Double || !wins {
        if kind == Scalar::Half && s.arch.number < 80 {
            return wide(s, data, part, to, |word| [name, ".", word].concat());
        }
        s.push([name, ".", type_word(data.ty, part)].concat(), &[to], &operands);
        return Ok(());
    }
    let [a, b] = &operands[..] else { return Err("an extremum of other than two".into()) };
    let number = s.temp(format!("{base}.f64"), Class::B64, &operands);
    let is_nan = s.temp("setp.nan.f64", Class::Pred, &[a.clone(), b.clone()]);
    s.push("selp.f64", &[to], &[Operand::F64(0x7ff8 << 48), number, is_nan]);
    Ok(())
}

fn copy_sign(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg) -> Outcome {
    let operands = args(s, data, part);
    let [size, sign] = &operands[..] else { return Err("a sign of other than two".into()) };
    let bits = data.ty.lane_bits();
    if bits >= 32 {
        // PTX has the operands the other way round.
        s.push(format!("copysign.{}", float_word(data.ty.kind())), &[to], &[sign.clone(), size.clone()]);
        return Ok(());
    }
    let sign = s.temp("and.b16", Class::B16, &[sign.clone(), Operand::Int(-0x8000)]);
    let size = s.temp("and.b16", Class::B16, &[size.clone(), Operand::Int(0x7fff)]);
    s.push("or.b16", &[to], &[sign, size]);
    Ok(())
}

fn swap_bytes(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg) -> Outcome {
    let a = s.arg(data, 0, part);
    match data.ty.lane_bits() {
        16 => {
            let low = s.temp("shr.u16", Class::B16, &[a.clone(), Operand::Int(8)]);
            let high = s.temp("shl.b16", Class::B16, &[a, Operand::Int(8)]);
            s.push("or.b16", &[to], &[low, high]);
        }
        32 => s.push("prmt.b32", &[to], &[a, Operand::Int(0), Operand::Int(0x0123)]),
        64 => {
            let (low, high) = s.halves(a);
            let swap = |s: &mut Selector<'_>, half: Operand| {
                s.temp("prmt.b32", Class::B32, &[half, Operand::Int(0), Operand::Int(0x0123)])
            };
            let (low, high) = (swap(s, low), swap(s, high));
            s.push("mov.b64", &[to], &[Operand::list([high, low])]);
        }
        bits => return Err(format!("the bytes of {bits} bits cannot be swapped")),
    }
    Ok(())
}

impl Selector<'_> {
    /// The low and the high half of 64 bits.
    fn halves(&mut self, operand: Operand) -> (Operand, Operand) {
        let (low, high) = (self.fresh(Class::B32), self.fresh(Class::B32));
        let whole = Operand::Reg(self.in_register(Class::B64, operand));
        let operands = [Operand::list([Operand::Reg(low), Operand::Reg(high)]), whole].into_iter().collect();
        self.push_operands("mov.b64", 1, operands);
        (Operand::Reg(low), Operand::Reg(high))
    }

    /// An integer of any width in 32 bits or 64, zeros above.
    fn zero_extended(&mut self, bits: u32, operand: Operand) -> (u32, Operand) {
        match bits {
            8 | 16 => {
                let operand = Operand::Reg(self.in_register(Class::B16, operand));
                let name = if bits == 8 { "cvt.u32.u8" } else { "cvt.u32.u16" };
                (32, self.temp(name, Class::B32, &[operand]))
            }
            bits => (bits, operand),
        }
    }

    /// Writes a 32-bit number to a register of the width of an integer type.
    fn put_count(&mut self, bits: u32, to: Reg, count: Operand) {
        match bits {
            8 | 16 => self.push("cvt.u16.u32", &[to], &[count]),
            64 => self.push("cvt.u64.u32", &[to], &[count]),
            _ => self.copy(to, count),
        }
    }
}

fn count_ones(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg) -> Outcome {
    let bits = data.ty.lane_bits();
    let a = s.arg(data, 0, part);
    let (wide, a) = s.zero_extended(bits, a);
    let count = s.temp(format!("popc.b{wide}"), Class::B32, &[a]);
    s.put_count(bits, to, count);
    Ok(())
}

fn leading_zeros(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg) -> Outcome {
    let bits = data.ty.lane_bits();
    let a = s.arg(data, 0, part);
    let (wide, a) = s.zero_extended(bits, a);
    let mut count = s.temp(format!("clz.b{wide}"), Class::B32, &[a]);
    if wide != bits {
        count = s.temp("sub.s32", Class::B32, &[count, Operand::Int(i64::from(wide - bits))]);
    }
    s.put_count(bits, to, count);
    Ok(())
}

fn trailing_zeros(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg) -> Outcome {
    let bits = data.ty.lane_bits();
    let a = s.arg(data, 0, part);
    let (wide, mut a) = s.zero_extended(bits, a);
    if wide != bits {
        // A bit above the value stops the count.
        a = s.temp("or.b32", Class::B32, &[a, Operand::Int(1 << bits)]);
    }
    let class = if wide == 64 { Class::B64 } else { Class::B32 };
    let reversed = s.temp(format!("brev.b{wide}"), class, &[a]);
    let count = s.temp(format!("clz.b{wide}"), Class::B32, &[reversed]);
    s.put_count(bits, to, count);
    Ok(())
}

fn funnel_left(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg) -> Outcome {
    funnel(s, data, part, to, true)
}

fn funnel_right(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg) -> Outcome {
    funnel(s, data, part, to, false)
}

/// Two integers side by side, shifted: 32 bits in one instruction, 64 by shifts.
fn funnel(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg, left: bool) -> Outcome {
    let operands = args(s, data, part);
    let [high, low, by] = &operands[..] else { return Err("a funnel shift of other than three".into()) };
    match data.ty.lane_bits() {
        32 => {
            let name = if left { "shf.l.wrap.b32" } else { "shf.r.wrap.b32" };
            s.push(name, &[to], &[low.clone(), high.clone(), by.clone()]);
        }
        64 => {
            let count = s.shift_count(data.operands[2], part);
            let count = s.temp("and.b32", Class::B32, &[count, Operand::Int(63)]);
            let other = s.temp("sub.s32", Class::B32, &[Operand::Int(64), count.clone()]);
            let (up, down) = if left { (count, other) } else { (other, count) };
            // A shift by 64 gives 0 in PTX, which is what is wanted.
            let a = s.temp("shl.b64", Class::B64, &[high.clone(), up]);
            let b = s.temp("shr.u64", Class::B64, &[low.clone(), down]);
            s.push("or.b64", &[to], &[a, b]);
        }
        bits => return Err(format!("a funnel shift of {bits} bits has no PTX here")),
    }
    Ok(())
}

/// Instructions that have the operands in another order than LLVM; what they exchange is in a register.
fn ordered(s: &mut Selector<'_>, data: &InstData, to: Reg, name: &'static str, order: &[usize]) -> Outcome {
    let [first, others @ ..] = order else { return Err(format!("`{name}` takes nothing")) };
    let value =
        |at: &usize| data.operands.get(*at).copied().ok_or_else(|| format!("`{name}` lacks operands"));
    let mut operands = vec![Operand::Reg(s.reg(value(first)?, Part::Scalar))];
    for at in others {
        operands.push(s.scalar(value(at)?));
    }
    s.push(name, &[to], &operands);
    Ok(())
}
