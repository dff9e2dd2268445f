//! Casts between widths, between integers and floats, between address spaces.

use super::{Handler, Outcome, Part, Selector, as_int};
use crate::ptx::machine::{Class, Operand, Reg};
use llir::{Inst, InstData, Op, Scalar, Type};

pub(super) const HANDLERS: &[(Op, Handler)] = &[
    (Op::TRUNC, Handler::Lanes(trunc)),
    (Op::ZEXT, Handler::Lanes(zext)),
    (Op::SEXT, Handler::Lanes(sext)),
    (Op::FPTRUNC, Handler::Packed(fptrunc, packs_fptrunc)),
    (Op::FPEXT, Handler::Lanes(fpext)),
    (Op::FPTOSI, Handler::Lanes(to_int)),
    (Op::FPTOUI, Handler::Lanes(to_int)),
    (Op::SITOFP, Handler::Lanes(from_int)),
    (Op::UITOFP, Handler::Lanes(from_int)),
    (Op::PTRTOINT, Handler::Lanes(address)),
    (Op::INTTOPTR, Handler::Lanes(address)),
    (Op::ADDRSPACECAST, Handler::Whole(space)),
];

/// The instruction that widens an integer.
pub(super) fn widening(from: u32, to: u32, is_signed: bool) -> Result<&'static str, String> {
    const ROWS: &[(u32, u32, &str, &str)] = &[
        (8, 16, "cvt.u16.u8", "cvt.s16.s8"),
        (8, 32, "cvt.u32.u8", "cvt.s32.s8"),
        (8, 64, "cvt.u64.u8", "cvt.s64.s8"),
        (16, 32, "cvt.u32.u16", "cvt.s32.s16"),
        (16, 64, "cvt.u64.u16", "cvt.s64.s16"),
        (32, 64, "cvt.u64.u32", "cvt.s64.s32"),
    ];
    let row = ROWS.iter().find(|row| (row.0, row.1) == (from, to));
    row.map(|row| if is_signed { row.3 } else { row.2 })
        .ok_or_else(|| format!("{from} bits cannot be widened to {to} in PTX"))
}

fn bits(s: &Selector<'_>, data: &InstData) -> (u32, u32) {
    (s.ty(data.operands[0]).lane_bits(), data.ty.lane_bits())
}

fn trunc(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg) -> Outcome {
    let from = s.ty(data.operands[0]).lane_bits();
    let a = s.arg(data, 0, part);
    match (from, data.ty.lane_bits()) {
        (64, 32) => s.push("cvt.u32.u64", &[to], &[a]),
        (64, 8 | 16) => s.push("cvt.u16.u64", &[to], &[a]),
        (32, 8 | 16) => s.push("cvt.u16.u32", &[to], &[a]),
        (16, 8) => s.copy(to, a),
        (from, 1) => {
            let width = from.max(16);
            let class = [Class::B16, Class::B32, Class::B64][super::width_index(width)?];
            let bit = s.temp(format!("and.b{width}"), class, &[a, Operand::Int(1)]);
            s.push(format!("setp.ne.b{width}"), &[to], &[bit, Operand::Int(0)]);
        }
        (from, to) => return Err(format!("{from} bits cannot be cut to {to} in PTX")),
    }
    Ok(())
}

fn zext(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg) -> Outcome {
    extend(s, data, part, to, false)
}

fn sext(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg) -> Outcome {
    extend(s, data, part, to, true)
}

fn extend(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg, is_signed: bool) -> Outcome {
    let (from, wide) = bits(s, data);
    let a = s.arg(data, 0, part);
    if from == 1 {
        let ones = if is_signed { -1 } else { 1 };
        s.push(format!("selp.b{}", wide.max(16)), &[to], &[Operand::Int(ones), Operand::Int(0), a]);
        return Ok(());
    }
    s.push(widening(from, wide, is_signed)?, &[to], &[a]);
    Ok(())
}

/// The word for a float type in mnemonics.
pub(super) fn float_word(kind: Scalar) -> &'static str {
    match kind {
        Scalar::Half => "f16",
        Scalar::BFloat => "bf16",
        Scalar::Double => "f64",
        _ => "f32",
    }
}

fn packs_fptrunc(s: &Selector<'_>, data: &InstData) -> bool {
    s.ty(data.operands[0]).kind() == Scalar::Float && data.ty.lanes().is_multiple_of(2)
}

fn fptrunc(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg) -> Outcome {
    let from = s.ty(data.operands[0]).kind();
    let word = float_word(data.ty.kind());
    if let Part::Word(index) = part {
        let (low, high) = (s.arg(data, 0, Part::Lane(2 * index)), s.arg(data, 0, Part::Lane(2 * index + 1)));
        s.push(format!("cvt.rn.{word}x2.f32"), &[to], &[high, low]);
        return Ok(());
    }
    let a = s.arg(data, 0, part);
    if data.ty.kind() == Scalar::BFloat && from == Scalar::Double {
        // Through float by rounding to odd, so that the second rounding is the only one that counts.
        let narrow = odd_float(s, a);
        s.push("cvt.rn.bf16.f32", &[to], &[narrow]);
        return Ok(());
    }
    s.push(format!("cvt.rn.{word}.{}", float_word(from)), &[to], &[a]);
    Ok(())
}

/// A double as a float whose last bit is set when it is not exact.
fn odd_float(s: &mut Selector<'_>, a: Operand) -> Operand {
    let toward_zero = s.temp("cvt.rz.f32.f64", Class::B32, std::slice::from_ref(&a));
    let back = s.temp("cvt.f64.f32", Class::B64, std::slice::from_ref(&toward_zero));
    let inexact = s.temp("setp.ne.f64", Class::Pred, &[back, a]);
    let odd = s.temp("or.b32", Class::B32, &[toward_zero.clone(), Operand::Int(1)]);
    s.temp("selp.b32", Class::B32, &[odd, toward_zero, inexact])
}

fn fpext(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg) -> Outcome {
    let from = s.ty(data.operands[0]).kind();
    let a = s.arg(data, 0, part);
    match (from, data.ty.kind()) {
        (Scalar::BFloat, Scalar::Float) => s.push("mov.b32", &[to], &[Operand::list([Operand::Int(0), a])]),
        (Scalar::BFloat, _) => {
            let wide = s.temp("mov.b32", Class::B32, &[Operand::list([Operand::Int(0), a])]);
            s.push("cvt.f64.f32", &[to], &[wide]);
        }
        (from, kind) => s.push(format!("cvt.{}.{}", float_word(kind), float_word(from)), &[to], &[a]),
    }
    Ok(())
}

impl Selector<'_> {
    /// A float as a 32-bit one; 64-bit ones stay.
    pub(super) fn as_float(&mut self, kind: Scalar, operand: Operand) -> (Scalar, Operand) {
        match kind {
            Scalar::Half => (Scalar::Float, self.temp("cvt.f32.f16", Class::B32, &[operand])),
            Scalar::BFloat => {
                let list = Operand::list([Operand::Int(0), operand]);
                (Scalar::Float, self.temp("mov.b32", Class::B32, &[list]))
            }
            kind => (kind, operand),
        }
    }
}

fn to_int(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg) -> Outcome {
    let letter = if data.op == Op::FPTOSI { "s" } else { "u" };
    let kind = s.ty(data.operands[0]).kind();
    let a = s.arg(data, 0, part);
    let (kind, a) = if kind == Scalar::BFloat { s.as_float(kind, a) } else { (kind, a) };
    let word = float_word(kind);
    match data.ty.lane_bits() {
        1 => {
            let number = s.temp(format!("cvt.rzi.s32.{word}"), Class::B32, &[a]);
            s.push("setp.ne.b32", &[to], &[number, Operand::Int(0)]);
        }
        // A byte is cut from 16 bits, which hold all its values.
        8 => s.push(format!("cvt.rzi.s16.{word}"), &[to], &[a]),
        bits => s.push(format!("cvt.rzi.{letter}{bits}.{word}"), &[to], &[a]),
    }
    Ok(())
}

fn from_int(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg) -> Outcome {
    let is_signed = data.op == Op::SITOFP;
    let letter = if is_signed { "s" } else { "u" };
    let bits = s.ty(data.operands[0]).lane_bits();
    let a = s.arg(data, 0, part);
    let (bits, a) = match (bits, a) {
        (1, a) => {
            let one = Operand::Int(if is_signed { -1 } else { 1 });
            (32, s.temp("selp.b32", Class::B32, &[one, Operand::Int(0), a]))
        }
        (8, a) => (16, s.widen_byte(8, a, is_signed)),
        (bits, a) => (bits, s.widen_byte(bits, a, is_signed)),
    };
    let class = [Class::B16, Class::B32, Class::B64][super::width_index(bits)?];
    let a = Operand::Reg(s.in_register(class, a));
    match data.ty.kind() {
        Scalar::BFloat => {
            // Integers of more than 24 bits are brought to a float by rounding to odd first.
            let wide = exact_float(s, a, bits, letter);
            s.push("cvt.rn.bf16.f32", &[to], &[wide]);
        }
        kind => s.push(format!("cvt.rn.{}.{letter}{bits}", float_word(kind)), &[to], &[a]),
    }
    Ok(())
}

/// An integer as a float that rounds on to bfloat as the integer itself would.
fn exact_float(s: &mut Selector<'_>, a: Operand, bits: u32, letter: &str) -> Operand {
    match bits {
        16 => s.temp(format!("cvt.rn.f32.{letter}16"), Class::B32, &[a]),
        32 => {
            let double = s.temp(format!("cvt.rn.f64.{letter}32"), Class::B64, &[a]);
            odd_float(s, double)
        }
        _ => {
            // Toward zero, and the last bit set where that lost something.
            let cut = s.temp(format!("cvt.rz.f32.{letter}64"), Class::B32, std::slice::from_ref(&a));
            let back = s.temp(format!("cvt.rzi.{letter}64.f32"), Class::B64, std::slice::from_ref(&cut));
            let inexact = s.temp("setp.ne.b64", Class::Pred, &[back, a]);
            let odd = s.temp("or.b32", Class::B32, &[cut.clone(), Operand::Int(1)]);
            s.temp("selp.b32", Class::B32, &[odd, cut, inexact])
        }
    }
}

fn address(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg) -> Outcome {
    let (from, wide) = bits(s, data);
    let a = s.arg(data, 0, part);
    match (from, wide) {
        (from, to_bits) if from == to_bits => s.copy(to, a),
        (64, 32) => s.push("cvt.u32.u64", &[to], &[a]),
        (64, _) | (32, 8 | 16) => s.push(format!("cvt.u16.u{from}"), &[to], &[a]),
        (from, wide) => s.push(widening(from, wide, false)?, &[to], &[a]),
    }
    Ok(())
}

/// The address of a space as a generic one, or the other way round.
fn space(s: &mut Selector<'_>, inst: Inst, data: &InstData) -> Outcome {
    const SPACES: &[(u8, &str)] = &[(1, "global"), (3, "shared"), (4, "const"), (5, "local")];
    let value = s.func.result(inst).ok_or("a cast without a result")?;
    let word = |ty: Type| match ty.kind() {
        Scalar::Ptr(space) => SPACES.iter().find(|row| row.0 == space).map(|row| row.1),
        _ => None,
    };
    let (from, to) = (s.ty(data.operands[0]), data.ty);
    for (index, reg) in s.wanted_words(value) {
        let part = if data.ty.is_vector() { Part::Lane(index) } else { Part::Scalar };
        if as_int(s.func, data.operands[0]) == Some(0) {
            s.copy(reg, Operand::Int(0));
            continue;
        }
        let a = s.reg(data.operands[0], part);
        match (word(from), word(to)) {
            (Some(space), None) if from.lane_bits() == 32 => {
                let wide = s.temp("cvt.u64.u32", Class::B64, &[Operand::Reg(a)]);
                s.push(format!("cvta.{space}.u64"), &[reg], &[wide]);
            }
            (Some(space), None) => s.push(format!("cvta.{space}.u64"), &[reg], &[Operand::Reg(a)]),
            (None, Some(space)) if to.lane_bits() == 32 => {
                let wide = s.temp(format!("cvta.to.{space}.u64"), Class::B64, &[Operand::Reg(a)]);
                s.push("cvt.u32.u64", &[reg], &[wide]);
            }
            (None, Some(space)) => s.push(format!("cvta.to.{space}.u64"), &[reg], &[Operand::Reg(a)]),
            (None, None) => s.copy(reg, Operand::Reg(a)),
            (Some(a), Some(b)) => return Err(format!("an address in {a} memory is none in {b} memory")),
        }
    }
    Ok(())
}
