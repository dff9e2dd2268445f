//! Integer arithmetic, logic, shifts, addresses.

use super::{Handler, Outcome, Part, Selector, as_int, is_op};
use crate::ptx::machine::{Class, Operand, Reg};
use llir::{InstData, IntCompare, Op, Payload, Value, intrinsics};

/// Mnemonics for 16, 32 and 64 bits, and what 8-bit operands are widened with.
struct Row {
    op: Op,
    names: [&'static str; 3],
    extend: Extend,
    /// The instruction for truth values.
    logic: Option<&'static str>,
}

/// How the upper bits of an 8-bit operand matter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extend {
    No,
    Signed,
    Unsigned,
}

const ROWS: &[Row] = &[
    Row {
        op: Op::ADD,
        names: ["add.s16", "add.s32", "add.s64"],
        extend: Extend::No,
        logic: Some("xor.pred"),
    },
    Row {
        op: Op::SUB,
        names: ["sub.s16", "sub.s32", "sub.s64"],
        extend: Extend::No,
        logic: Some("xor.pred"),
    },
    Row {
        op: Op::MUL,
        names: ["mul.lo.s16", "mul.lo.s32", "mul.lo.s64"],
        extend: Extend::No,
        logic: Some("and.pred"),
    },
    Row { op: Op::SDIV, names: ["div.s16", "div.s32", "div.s64"], extend: Extend::Signed, logic: None },
    Row { op: Op::UDIV, names: ["div.u16", "div.u32", "div.u64"], extend: Extend::Unsigned, logic: None },
    Row { op: Op::SREM, names: ["rem.s16", "rem.s32", "rem.s64"], extend: Extend::Signed, logic: None },
    Row { op: Op::UREM, names: ["rem.u16", "rem.u32", "rem.u64"], extend: Extend::Unsigned, logic: None },
    Row {
        op: Op::AND,
        names: ["and.b16", "and.b32", "and.b64"],
        extend: Extend::No,
        logic: Some("and.pred"),
    },
    Row { op: Op::OR, names: ["or.b16", "or.b32", "or.b64"], extend: Extend::No, logic: Some("or.pred") },
    Row {
        op: Op::XOR,
        names: ["xor.b16", "xor.b32", "xor.b64"],
        extend: Extend::No,
        logic: Some("xor.pred"),
    },
    Row { op: Op::SHL, names: ["shl.b16", "shl.b32", "shl.b64"], extend: Extend::No, logic: None },
    Row { op: Op::LSHR, names: ["shr.u16", "shr.u32", "shr.u64"], extend: Extend::Unsigned, logic: None },
    Row { op: Op::ASHR, names: ["shr.s16", "shr.s32", "shr.s64"], extend: Extend::Signed, logic: None },
];

pub(super) const HANDLERS: &[(Op, Handler)] = &[
    (Op::ADD, Handler::Lanes(add)),
    (Op::SUB, Handler::Lanes(sub)),
    (Op::MUL, Handler::Lanes(mul)),
    (Op::AND, Handler::Packed(logic, packs_logic)),
    (Op::OR, Handler::Packed(logic, packs_logic)),
    (Op::XOR, Handler::Packed(logic, packs_logic)),
    (Op::SHL, Handler::Lanes(shift)),
    (Op::LSHR, Handler::Lanes(shift)),
    (Op::ASHR, Handler::Lanes(shift)),
    (Op::GEP, Handler::Lanes(gep)),
];

fn row(op: Op) -> Result<&'static Row, String> {
    ROWS.iter().find(|row| row.op == op).ok_or_else(|| format!("`{}` has no PTX here", op.row().name))
}

/// The mnemonic of an instruction with two operands.
fn name(data: &InstData) -> Result<&'static str, String> {
    let row = row(data.op)?;
    match data.ty.lane_bits() {
        1 => row.logic.ok_or_else(|| format!("`{}` of truth values has no PTX", data.op.row().name)),
        bits => Ok(row.names[super::width_index(bits)?]),
    }
}

pub(super) fn plain(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg) -> Outcome {
    let extend = row(data.op)?.extend;
    let (a, b) = (extended(s, data, 0, part, extend), extended(s, data, 1, part, extend));
    s.push(name(data)?, &[to], &[a, b]);
    Ok(())
}

/// An operand, with its upper bits made right when it has 8 bits.
fn extended(s: &mut Selector<'_>, data: &InstData, index: usize, part: Part, extend: Extend) -> Operand {
    let operand = s.arg(data, index, part);
    match extend {
        Extend::No => operand,
        Extend::Signed => s.widen_byte(s.ty(data.operands[index]).lane_bits(), operand, true),
        Extend::Unsigned => s.widen_byte(s.ty(data.operands[index]).lane_bits(), operand, false),
    }
}

impl Selector<'_> {
    /// An operand whose upper bits hold its sign, or zeros: what instructions that look at them need of 8-bit values.
    pub(super) fn widen_byte(&mut self, bits: u32, operand: Operand, is_signed: bool) -> Operand {
        match operand {
            Operand::Int(value) if !is_signed && bits < 64 => Operand::Int(value & ((1 << bits) - 1)),
            Operand::Reg(_) if bits == 8 => {
                let name = if is_signed { "cvt.s16.s8" } else { "cvt.u16.u8" };
                self.temp(name, Class::B16, &[operand])
            }
            operand => operand,
        }
    }
}

fn add(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg) -> Outcome {
    for (product, other) in [(0, 1), (1, 0)] {
        let Some(mul) = s.only_use(data.operands[product]).filter(|mul| mul.op == Op::MUL) else { continue };
        let addend = data.operands[other];
        if data.ty.lane_bits() == 64
            && let Some((name, a, b)) = wide_factors(s, mul, part)
        {
            let c = s.part(addend, part);
            s.push(format!("mad{}", &name[3..]), &[to], &[a, b, c]);
            return Ok(());
        }
        if matches!(data.ty.lane_bits(), 32 | 64) {
            let name = ["", "mad.lo.s32", "mad.lo.s64"][super::width_index(data.ty.lane_bits())?];
            let (a, b, c) = (s.arg(mul, 0, part), s.arg(mul, 1, part), s.part(addend, part));
            s.push(name, &[to], &[a, b, c]);
            return Ok(());
        }
    }
    plain(s, data, part, to)
}

fn sub(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg) -> Outcome {
    let bits = data.ty.lane_bits();
    if bits > 1 && is_zero(s, data.operands[0]) {
        let b = s.arg(data, 1, part);
        s.push(["neg.s16", "neg.s32", "neg.s64"][super::width_index(bits)?], &[to], &[b]);
        return Ok(());
    }
    plain(s, data, part, to)
}

fn is_zero(s: &Selector<'_>, value: Value) -> bool {
    as_int(s.func, value) == Some(0)
}

fn mul(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg) -> Outcome {
    if data.ty.lane_bits() == 64
        && let Some((name, a, b)) = wide_factors(s, data, part)
    {
        s.push(name, &[to], &[a, b]);
        return Ok(());
    }
    plain(s, data, part, to)
}

/// The factors of a 64-bit product that both have 32 bits, and the instruction.
fn wide_factors(
    s: &mut Selector<'_>,
    mul: &InstData,
    part: Part,
) -> Option<(&'static str, Operand, Operand)> {
    let (a, b) = (mul.operands[0], mul.operands[1]);
    for (cast, name) in [(Op::SEXT, "mul.wide.s32"), (Op::ZEXT, "mul.wide.u32")] {
        let narrow = |value: Value| {
            let data = s.func.defining(value).filter(|data| data.op == cast)?;
            (s.ty(data.operands[0]).lane_bits() == 32).then(|| data.operands[0])
        };
        let Some(first) = narrow(a) else { continue };
        if let Some(second) = narrow(b) {
            return Some((name, s.part(first, part), s.part(second, part)));
        }
        let fits = |value: i64| match cast {
            Op::SEXT => i32::try_from(value).is_ok(),
            _ => u32::try_from(value).is_ok(),
        };
        if let Some(value) = as_int(s.func, b).filter(|value| fits(*value)) {
            return Some((name, s.part(first, part), Operand::Int(value)));
        }
    }
    None
}

fn packs_logic(s: &Selector<'_>, data: &InstData) -> bool {
    crate::ptx::shape::shape(s.ty(data.operands[0])).is_some_and(|shape| shape.per_word > 1)
}

fn logic(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg) -> Outcome {
    let bits = match part {
        Part::Word(_) => s.shape(data.ty)?.class.bits(),
        _ => data.ty.lane_bits(),
    };
    let is_ones = s.func.constant(data.operands[1]).and_then(llir::Constant::splat_bits)
        == Some(u128::MAX >> (128 - data.ty.lane_bits()));
    if data.op == Op::XOR && is_ones {
        let a = s.arg(data, 0, part);
        let name =
            if bits == 1 { "not.pred" } else { ["not.b16", "not.b32", "not.b64"][super::width_index(bits)?] };
        s.push(name, &[to], &[a]);
        return Ok(());
    }
    let row = row(data.op)?;
    let name = match bits {
        1 => row.logic.ok_or_else(|| format!("`{}` of truth values has no PTX", data.op.row().name))?,
        _ => row.names[super::width_index(bits)?],
    };
    let (a, b) = (s.arg(data, 0, part), s.arg(data, 1, part));
    s.push(name, &[to], &[a, b]);
    Ok(())
}

fn shift(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg) -> Outcome {
    let by = data.operands[1];
    let by = if data.op == Op::ASHR { unheld(s, by, data.ty.lane_bits()).unwrap_or(by) } else { by };
    let by = s.shift_count(by, part);
    shift_by(s, data, by, part, to)
}

/// Shifts count with 32 bits whatever they shift.
fn shift_by(s: &mut Selector<'_>, data: &InstData, by: Operand, part: Part, to: Reg) -> Outcome {
    let row = row(data.op)?;
    let a = extended(s, data, 0, part, row.extend);
    s.push(name(data)?, &[to], &[a, by]);
    Ok(())
}

/// The amount of which the lesser of itself and the width less one is taken, for shifts that repeat the sign.
fn unheld(s: &Selector<'_>, by: Value, bits: u32) -> Option<Value> {
    let data = s.func.defining(by).filter(|_| bits <= 32)?;
    let most = Some(i64::from(bits) - 1);
    match (data.op, &data.operands[..]) {
        (Op::CALL, [amount, limit]) => {
            let Payload::Callee(callee) = data.payload else { return None };
            let is_least = s.module.callee(callee).intrinsic == Some(&intrinsics::UMIN);
            (is_least && as_int(s.func, *limit) == most).then_some(*amount)
        }
        (Op::SELECT, [holds, amount, limit]) => {
            let is_below = s.is_compared(*holds, IntCompare::Ult, *amount, i64::from(bits) - 1);
            (is_below && as_int(s.func, *limit) == most).then_some(*amount)
        }
        _ => None,
    }
}

/// The shift in a choice that gives zero where the amount is the width or more, and the amount.
pub(super) fn guarded_shift<'a>(s: &Selector<'a>, choice: &InstData) -> Option<(&'a InstData, Value)> {
    let &[fits, shifted, zero] = &choice.operands[..] else { return None };
    let most = i64::from(choice.ty.lane_bits()) - 1;
    let shift = s.func.defining(shifted).filter(|shift| [Op::SHL, Op::LSHR].contains(&shift.op))?;
    let masked = s.func.defining(shift.operands[1]).filter(|masked| masked.op == Op::AND)?;
    let amount = masked.operands[0];
    let is_guard = s.is_compared(fits, IntCompare::Ule, amount, most)
        && as_int(s.func, masked.operands[1]) == Some(most)
        && is_zero(s, zero);
    is_guard.then_some((shift, amount))
}

/// A shift by any amount: instructions of PTX count amounts above the width as the width (PTX ISA, `shl` and `shr`).
pub(super) fn shift_by_any(
    s: &mut Selector<'_>,
    (shift, amount): (&InstData, Value),
    part: Part,
    to: Reg,
) -> Outcome {
    let by = match s.ty(amount).lane_bits() {
        64 => {
            let by = s.part(amount, part);
            let held = s.temp("min.u64", Class::B64, &[by, Operand::Int(64)]);
            s.temp("cvt.u32.u64", Class::B32, &[held])
        }
        _ => s.shift_count(amount, part),
    };
    shift_by(s, shift, by, part, to)
}

impl Selector<'_> {
    /// Whether a truth value is this comparison of a value with a number.
    fn is_compared(&self, holds: Value, how: IntCompare, value: Value, number: i64) -> bool {
        self.func.defining(holds).is_some_and(|data| {
            matches!(data.payload, Payload::IntCompare(compare) if compare == how)
                && data.operands[0] == value
                && as_int(self.func, data.operands[1]) == Some(number)
        })
    }

    /// The number of bits to shift by, in 32 bits.
    pub(super) fn shift_count(&mut self, value: Value, part: Part) -> Operand {
        let bits = self.ty(value).lane_bits();
        match self.part(value, part) {
            Operand::Int(count) => Operand::Int(count & 0xff),
            count if bits == 32 => count,
            count => {
                let name = match bits {
                    8 => "cvt.u32.u8",
                    16 => "cvt.u32.u16",
                    _ => "cvt.u32.u64",
                };
                self.temp(name, Class::B32, &[count])
            }
        }
    }
}

/// The address of an element.
fn gep(s: &mut Selector<'_>, data: &InstData, part: Part, to: Reg) -> Outcome {
    let Payload::Element(element, _) = data.payload else {
        return Err("an address without its element".into());
    };
    let size = i64::from(element.lane_bytes()) * i64::from(element.lanes());
    let base = s.arg(data, 0, part);
    let wide = data.ty.lane_bits() == 64;
    let index = data.operands[1];
    let (add, mad) = if wide { ("add.s64", "mad.lo.s64") } else { ("add.s32", "mad.lo.s32") };
    if let Some(constant) = as_int(s.func, index) {
        let by = constant.wrapping_mul(size);
        s.push(add, &[to], &[base, Operand::Int(if wide { by } else { i64::from(by as i32) })]);
        return Ok(());
    }
    if !wide {
        let by = narrow_index(s, index, part)?;
        scaled(s, (add, mad), to, base, by, size);
        return Ok(());
    }
    let (narrow, is_signed) = source_of_index(s, index);
    match s.ty(narrow).lane_bits() {
        64 => {
            let by = s.part(narrow, part);
            scaled(s, (add, mad), to, base, by, size);
        }
        32 if size > 1 && i32::try_from(size).is_ok() => {
            let by = s.part(narrow, part);
            let name = if is_signed { "mad.wide.s32" } else { "mad.wide.u32" };
            s.push(name, &[to], &[by, Operand::Int(size), base]);
        }
        bits => {
            let by = s.part(narrow, part);
            let name = super::cast::widening(bits, 64, is_signed)?;
            let by = s.temp(name, Class::B64, &[by]);
            scaled(s, (add, mad), to, base, by, size);
        }
    }
    Ok(())
}

/// An index and how it is widened; a cast that widens it is looked through.
fn source_of_index(s: &Selector<'_>, index: Value) -> (Value, bool) {
    for (op, is_signed) in [(Op::SEXT, true), (Op::ZEXT, false)] {
        if is_op(s.func, index, op)
            && let Some(data) = s.func.defining(index)
            && s.ty(data.operands[0]).lane_bits() == 32
        {
            return (data.operands[0], is_signed);
        }
    }
    (index, true)
}

/// An index in 32 bits, for addresses of that width.
fn narrow_index(s: &mut Selector<'_>, index: Value, part: Part) -> Result<Operand, String> {
    let (source, _) = source_of_index(s, index);
    let operand = s.part(source, part);
    match s.ty(source).lane_bits() {
        32 => Ok(operand),
        64 => Ok(s.temp("cvt.u32.u64", Class::B32, &[operand])),
        bits => {
            let name = super::cast::widening(bits, 32, true)?;
            Ok(s.temp(name, Class::B32, &[operand]))
        }
    }
}

/// `base + by * size`, with the names of the sum and of the fused product and sum.
fn scaled(
    s: &mut Selector<'_>,
    (add, mad): (&'static str, &'static str),
    to: Reg,
    base: Operand,
    by: Operand,
    size: i64,
) {
    match size {
        1 => s.push(add, &[to], &[base, by]),
        size => s.push(mad, &[to], &[by, Operand::Int(size), base]),
    }
}
