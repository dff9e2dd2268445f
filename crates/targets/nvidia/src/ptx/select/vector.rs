//! Vectors: packing lanes into registers and taking them out again.

use super::{Handler, Outcome, Part, Selector, as_int};
use crate::ptx::machine::{Class, Operand, Reg};
use crate::ptx::shape::shape;
use llir::{Function, Inst, InstData, Op, Type, Value};

pub(super) const HANDLERS: &[(Op, Handler)] = &[
    (Op::INSERT, Handler::Whole(gather_lanes)),
    (Op::SHUFFLE, Handler::Whole(gather_lanes)),
    (Op::BITCAST, Handler::Whole(bitcast)),
    (Op::EXTRACT, Handler::Whole(extract)),
    (Op::EXTRACT_VALUE, Handler::Whole(nothing)),
    (Op::FREEZE, Handler::Whole(nothing)),
];

/// What is asked for is a register of an operand.
fn nothing(_: &mut Selector<'_>, _: Inst, _: &InstData) -> Outcome {
    Ok(())
}

/// Registers of an insertion or a shuffle that no other value has.
fn gather_lanes(s: &mut Selector<'_>, inst: Inst, data: &InstData) -> Outcome {
    let value = s.func.result(inst).ok_or("a vector without a result")?;
    let shape = s.shape(data.ty)?;
    if data.op == Op::INSERT && as_int(s.func, data.operands[2]).is_none() {
        return insert_at(s, value, data);
    }
    for (word, reg) in s.wanted_words(value) {
        if shape.per_word == 1 {
            continue;
        }
        if pack_halves(s, value, word, reg) {
            continue;
        }
        let lanes: Vec<Operand> =
            (0..shape.per_word).map(|lane| s.part(value, Part::Lane(word * shape.per_word + lane))).collect();
        s.pack(reg, &lanes, data.ty.lane_bits());
    }
    Ok(())
}

/// An insertion at a lane that is known at run time only: each lane is chosen.
fn insert_at(s: &mut Selector<'_>, value: Value, data: &InstData) -> Outcome {
    let shape = s.shape(data.ty)?;
    if shape.per_word > 1 || shape.class == Class::Pred {
        return Err(format!("a lane of {} cannot be replaced at a place known at run time only", data.ty));
    }
    let index = s.scalar(data.operands[2]);
    let bits = s.ty(data.operands[2]).lane_bits();
    let scalar = s.scalar(data.operands[1]);
    for (lane, reg) in s.wanted_words(value) {
        let at = Operand::Int(i64::from(lane));
        let here = s.temp(format!("setp.eq.b{bits}"), Class::Pred, &[index.clone(), at]);
        let old = s.part(data.operands[0], Part::Lane(lane));
        s.push(format!("selp.b{}", shape.class.bits()), &[reg], &[scalar.clone(), old, here]);
    }
    Ok(())
}

/// Two floats that are rounded to 16 bits and packed: one instruction does both.
fn pack_halves(s: &mut Selector<'_>, value: Value, word: u32, to: Reg) -> bool {
    let mut sources = [None; 2];
    for (lane, source) in (2 * word..).zip(&mut sources) {
        let scalar = inserted(s.func, value, lane);
        let Some(data) = scalar.and_then(|scalar| s.func.defining(scalar)) else { return false };
        if data.op != Op::FPTRUNC || s.ty(data.operands[0]) != Type::F32 || s.ty(value).lane_bits() != 16 {
            return false;
        }
        *source = Some((data.operands[0], data.ty.kind()));
    }
    let [Some((low, kind)), Some((high, other))] = sources else { return false };
    if kind != other {
        return false;
    }
    let (low, high) = (s.scalar(low), s.scalar(high));
    s.push(format!("cvt.rn.{}x2.f32", super::cast::float_word(kind)), &[to], &[high, low]);
    true
}

/// The scalar that was put in at a lane.
fn inserted(func: &Function, mut value: Value, lane: u32) -> Option<Value> {
    loop {
        let data = func.defining(value).filter(|data| data.op == Op::INSERT)?;
        if as_int(func, data.operands[2])? == i64::from(lane) {
            return Some(data.operands[1]);
        }
        value = data.operands[0];
    }
}

/// A lane that is known at run time only.
fn extract(s: &mut Selector<'_>, inst: Inst, data: &InstData) -> Outcome {
    let value = s.func.result(inst).ok_or("a lane without a result")?;
    if as_int(s.func, data.operands[1]).is_some() {
        return Ok(());
    }
    let class = s.shape(data.ty)?.class;
    if class == Class::Pred {
        return Err("a truth value cannot be taken out of a vector at a place known at run time only".into());
    }
    let index = s.scalar(data.operands[1]);
    let bits = s.ty(data.operands[1]).lane_bits();
    let reg = s.word(value, 0);
    let mut chosen = s.part(data.operands[0], Part::Lane(0));
    for lane in 1..s.ty(data.operands[0]).lanes() {
        let here =
            s.temp(format!("setp.eq.b{bits}"), Class::Pred, &[index.clone(), Operand::Int(i64::from(lane))]);
        let this = s.part(data.operands[0], Part::Lane(lane));
        chosen = s.temp(format!("selp.b{}", class.bits()), class, &[this, chosen, here]);
    }
    s.copy(reg, chosen);
    Ok(())
}

/// Bits regrouped into registers of another width.
fn bitcast(s: &mut Selector<'_>, inst: Inst, data: &InstData) -> Outcome {
    let value = s.func.result(inst).ok_or("a cast without a result")?;
    let from = data.operands[0];
    let (source, of) = (s.ty(from), s.shape(s.ty(from))?);
    let to = s.shape(data.ty)?;
    if to.class == of.class && to.words == of.words {
        return Ok(());
    }
    let part = |index: u32| if source.is_vector() { Part::Word(index) } else { Part::Scalar };
    let (wide, narrow) = (to.class.bits(), of.class.bits());
    if to.class == Class::Pred || of.class == Class::Pred {
        return bits_of_mask(s, value, data);
    }
    // Lanes of 8 bits that have 16-bit registers are brought together first.
    let lane_bits = |ty: llir::Type, shape: crate::ptx::shape::Shape| {
        if shape.per_word == 1 { ty.lane_bits() } else { shape.class.bits() }
    };
    if lane_bits(source, of) != narrow || lane_bits(data.ty, to) != wide {
        return Err(format!("the bits of {source} cannot be taken as {}", data.ty));
    }
    if wide > narrow {
        let count = wide / narrow;
        for (word, reg) in s.wanted_words(value) {
            let parts: Vec<Operand> =
                (0..count).map(|index| s.part(from, part(word * count + index))).collect();
            s.push(format!("mov.b{wide}"), &[reg], &[Operand::list(parts)]);
        }
        return Ok(());
    }
    let count = narrow / wide;
    let wanted = s.wanted_words(value);
    for source_word in 0..of.words {
        let pieces: Vec<Operand> = (0..count)
            .map(|index| {
                let wanted = wanted.iter().find(|(word, _)| *word == source_word * count + index);
                wanted.map_or(Operand::Sink, |(_, reg)| Operand::Reg(*reg))
            })
            .collect();
        if pieces.iter().any(|piece| *piece != Operand::Sink) {
            let whole = s.part(from, part(source_word));
            unpack(s, narrow, pieces, whole, of.class);
        }
    }
    Ok(())
}

fn unpack(s: &mut Selector<'_>, bits: u32, pieces: Vec<Operand>, whole: Operand, class: Class) {
    let whole = Operand::Reg(s.in_register(class, whole));
    let operands = [Operand::list(pieces), whole].into_iter().collect();
    s.push_operands(format!("mov.b{bits}"), 1, operands);
}

/// A mask of up to 32 lanes as an integer.
fn bits_of_mask(s: &mut Selector<'_>, value: Value, data: &InstData) -> Outcome {
    let source = s.ty(data.operands[0]);
    let lanes = source.lanes();
    if data.ty.is_vector() || lanes > 32 || !source.is_vector() {
        return Err(format!("the bits of {source} cannot be taken as {}", data.ty));
    }
    let mut sum = Operand::Int(0);
    for lane in 0..lanes {
        let bit = s.part(data.operands[0], Part::Lane(lane));
        let bit = s.temp("selp.b32", Class::B32, &[Operand::Int(1 << lane), Operand::Int(0), bit]);
        sum = if lane == 0 { bit } else { s.temp("or.b32", Class::B32, &[sum, bit]) };
    }
    let reg = s.word(value, 0);
    match s.shape(data.ty)?.class {
        Class::B32 => s.copy(reg, sum),
        _ => s.push("cvt.u16.u32", &[reg], &[sum]),
    }
    Ok(())
}

impl Selector<'_> {
    /// Brings lanes together in one register.
    pub(super) fn pack(&mut self, to: Reg, lanes: &[Operand], lane_bits: u32) {
        match (lane_bits, lanes) {
            (16, [_, _]) => self.push("mov.b32", &[to], &[Operand::list(lanes.iter().cloned())]),
            (8, [low, high]) => {
                let low = self.temp("and.b16", Class::B16, &[low.clone(), Operand::Int(255)]);
                let high = self.temp("shl.b16", Class::B16, &[high.clone(), Operand::Int(8)]);
                self.push("or.b16", &[to], &[low, high]);
            }
            (_, [a, b, c, d]) => {
                let wide: Vec<Operand> =
                    [a, b, c, d].into_iter().map(|lane| self.widened(lane.clone())).collect();
                let bytes = Operand::Int(0x3340);
                let low =
                    self.temp("prmt.b32", Class::B32, &[wide[0].clone(), wide[1].clone(), bytes.clone()]);
                let high = self.temp("prmt.b32", Class::B32, &[wide[2].clone(), wide[3].clone(), bytes]);
                self.push("prmt.b32", &[to], &[low, high, Operand::Int(0x5410)]);
            }
            _ => self.fail(format!("{} lanes of {lane_bits} bits do not fit a register", lanes.len())),
        }
    }

    /// 16 bits in 32, the upper ones zero.
    fn widened(&mut self, operand: Operand) -> Operand {
        match operand {
            Operand::Int(value) => Operand::Int(value & 0xffff),
            operand => self.temp("cvt.u32.u16", Class::B32, &[operand]),
        }
    }

    /// Takes lanes out of packed registers, those that were asked for.
    pub(super) fn unpack_lanes(&mut self, value: Value) {
        if self.lanes[value].is_empty() {
            return;
        }
        let lanes = std::mem::take(&mut self.lanes[value]);
        let ty = self.ty(value);
        let Some(shape) = shape(ty) else { return };
        for word in 0..shape.words {
            let of_word = |index: u32| {
                let lane = word * shape.per_word + index;
                lanes.iter().find(|(wanted, _)| *wanted == lane).map(|(_, reg)| *reg)
            };
            let wanted: Vec<Option<Reg>> = (0..shape.per_word).map(of_word).collect();
            if wanted.iter().any(Option::is_some) {
                let whole = self.part(value, Part::Word(word));
                self.take_apart(ty.lane_bits(), shape.class, &wanted, whole);
            }
        }
    }

    fn take_apart(&mut self, lane_bits: u32, class: Class, wanted: &[Option<Reg>], whole: Operand) {
        if lane_bits == 16 {
            let pieces = wanted.iter().map(|reg| reg.map_or(Operand::Sink, Operand::Reg)).collect();
            return unpack(self, 32, pieces, whole, class);
        }
        let whole = Operand::Reg(self.in_register(class, whole));
        for (index, reg) in wanted.iter().enumerate() {
            let Some(reg) = *reg else { continue };
            let by = Operand::Int(8 * index as i64);
            match (class, index) {
                (Class::B32, 0) => self.push("cvt.u16.u32", &[reg], std::slice::from_ref(&whole)),
                (Class::B32, _) => {
                    let shifted = self.temp("shr.u32", Class::B32, &[whole.clone(), by]);
                    self.push("cvt.u16.u32", &[reg], &[shifted]);
                }
                (_, 0) => self.copy(reg, whole.clone()),
                _ => self.push("shr.u16", &[reg], &[whole.clone(), by]),
            }
        }
    }
}
