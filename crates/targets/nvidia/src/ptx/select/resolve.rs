//! Finds where the bits of a value come from: through lanes put in and taken out, casts that keep the bits, constants.

use super::Selector;
use crate::ptx::machine::{Class, MInst, Operand, Reg, Text};
use crate::ptx::shape::{Shape, part_offset, shape};
use llir::{Constant, ConstantKind, InstData, Op, Payload, Scalar, Type, Value, ValueDef};
use smallvec::SmallVec;

/// A part of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// A scalar.
    Scalar,
    /// One lane of a vector.
    Lane(u32),
    /// One register of a vector or a structure.
    Word(u32),
}

/// Where bits come from.
enum Source {
    Bits(u128),
    /// A symbol and the space it is in.
    Symbol(Box<str>, u8),
    Anything,
    Reg(Reg),
}

impl Selector<'_> {
    /// A part of an operand, as an immediate where it is constant and PTX has immediates for it. Scalars among the
    /// operands of a vector instruction stand for every lane.
    pub(super) fn arg(&mut self, data: &InstData, index: usize, part: Part) -> Operand {
        self.part(data.operands[index], part)
    }

    /// The same for any value.
    pub(super) fn part(&mut self, value: Value, part: Part) -> Operand {
        let ty = self.ty(value);
        let part = if ty.is_vector() || ty.is_structure() { part } else { Part::Scalar };
        let word = match (part, shape(ty)) {
            (Part::Word(_), Some(shape)) => (shape.per_word > 1).then_some(shape.class),
            _ => None,
        };
        let constant = |s: &mut Self, bits: u128| match (word, ty.kind()) {
            // As of one of them, PTX has no immediate of two floats.
            (Some(class), Scalar::Half | Scalar::BFloat) => Operand::Reg(s.pooled(class, bits as u64)),
            (Some(class), _) => s.immediate(Scalar::Int(class.bits() as u16), bits),
            (None, kind) => s.immediate(kind, bits),
        };
        match self.resolve(value, part) {
            Source::Bits(bits) => constant(self, bits),
            Source::Anything => constant(self, 0),
            Source::Symbol(name, space) => Operand::Reg(self.symbol_reg(&name, space)),
            Source::Reg(reg) => Operand::Reg(reg),
        }
    }

    /// A scalar.
    pub(super) fn scalar(&mut self, value: Value) -> Operand {
        self.part(value, Part::Scalar)
    }

    /// A part of an operand in a register, constants too.
    pub(super) fn reg(&mut self, value: Value, part: Part) -> Reg {
        let class = match (part, shape(self.ty(value))) {
            (Part::Lane(_), Some(_)) => crate::ptx::shape::lane_class(self.ty(value)),
            (_, Some(shape)) => Some(shape.class),
            _ => None,
        };
        let Some(class) = class else {
            self.fail(format!("PTX has no register for {}", self.ty(value)));
            return self.fresh(Class::B32);
        };
        let operand = self.part(value, part);
        self.in_register(class, operand)
    }

    /// An operand in a register, constants from the pool.
    pub(super) fn in_register(&mut self, class: Class, operand: Operand) -> Reg {
        let bits = match operand {
            Operand::Reg(reg) => return reg,
            Operand::Int(value) => value as u64,
            Operand::F32(bits) => u64::from(bits),
            Operand::F64(bits) => bits,
            other => unreachable!("values are registers or numbers, not {other:?}"),
        };
        self.pooled(class, bits)
    }

    /// A register with a constant, filled at the beginning of the function.
    pub(super) fn pooled(&mut self, class: Class, bits: u64) -> Reg {
        let width = class.bits();
        let bits = if width == 64 { bits } else { bits & ((1 << width) - 1) };
        if let Some(reg) = self.pool.get(&(class, bits)) {
            return *reg;
        }
        let reg = self.fresh(class);
        self.pool.insert((class, bits), reg);
        let value = if class == Class::Pred { -(bits as i64) } else { signed(u128::from(bits), width) };
        self.prologue_mov(class.mov(), reg, Operand::Int(value));
        reg
    }

    fn prologue_mov(&mut self, mnemonic: &'static str, reg: Reg, from: Operand) {
        let operands = SmallVec::from_iter([Operand::Reg(reg), from]);
        self.prologue.push(MInst { text: Text::Plain(mnemonic.into()), defs: 1, operands, location: None });
    }

    /// A register with the address of a symbol.
    pub(super) fn symbol_reg(&mut self, name: &str, space: u8) -> Reg {
        let key = (name.to_owned(), space);
        if let Some(reg) = self.symbols.get(&key) {
            return *reg;
        }
        let class = if matches!(space, 3 | 5 | 7) { Class::B32 } else { Class::B64 };
        let reg = self.fresh(class);
        self.symbols.insert(key, reg);
        let symbol = Operand::Name(crate::ptx::text::symbol(name).into());
        if space != 0 {
            self.prologue_mov(class.mov(), reg, symbol);
            return reg;
        }
        let plain = self.fresh(class);
        self.prologue_mov(class.mov(), plain, symbol);
        self.prologue_mov("cvta.global.u64", reg, Operand::Reg(plain));
        reg
    }

    /// A constant of a type: an immediate where PTX has one.
    fn immediate(&mut self, kind: Scalar, bits: u128) -> Operand {
        match kind {
            Scalar::Int(1) => Operand::Reg(self.pooled(Class::Pred, bits as u64 & 1)),
            Scalar::Int(width) => Operand::Int(signed(bits, u32::from(width))),
            Scalar::Half | Scalar::BFloat => Operand::Reg(self.pooled(Class::B16, bits as u64)),
            Scalar::Float => Operand::F32(bits as u32),
            Scalar::Double => Operand::F64(bits as u64),
            Scalar::Ptr(_) | Scalar::Void => Operand::Int(bits as i64),
        }
    }

    fn resolve(&mut self, mut value: Value, mut part: Part) -> Source {
        loop {
            match &self.func.value(value).def {
                ValueDef::Constant(constant) => return constant_part(constant, part),
                ValueDef::Inst(inst) => match self.step(value, self.func.inst(*inst), part) {
                    Some(Next::To(next, next_part)) => (value, part) = (next, next_part),
                    Some(Next::Anything) => return Source::Anything,
                    None => break,
                },
                ValueDef::Param(_) | ValueDef::BlockParam(..) => break,
            }
        }
        Source::Reg(self.native(value, part))
    }

    /// The register that the instruction of a value fills for this part.
    fn native(&mut self, value: Value, part: Part) -> Reg {
        match part {
            Part::Scalar => self.word(value, 0),
            Part::Word(index) => self.word(value, index),
            Part::Lane(lane) => {
                if shape(self.ty(value)).is_none_or(|shape| shape.per_word == 1) {
                    return self.word(value, lane);
                }
                if let Some((_, reg)) = self.lanes[value].iter().find(|(index, _)| *index == lane) {
                    return *reg;
                }
                let reg = self.fresh(Class::B16);
                self.lanes[value].push((lane, reg));
                reg
            }
        }
    }

    /// One step towards where bits come from; `None` where the instruction makes them.
    fn step(&self, value: Value, data: &InstData, part: Part) -> Option<Next> {
        let ty = self.ty(value);
        let part = match (part, shape(ty)) {
            (Part::Word(index), Some(shape)) if shape.per_word == 1 && ty.is_vector() => Part::Lane(index),
            (part, _) => part,
        };
        match data.op {
            Op::FREEZE => Some(Next::To(data.operands[0], part)),
            Op::BITCAST => self.through_bitcast(ty, data.operands[0], part),
            Op::PTRTOINT | Op::INTTOPTR => {
                let same = ty.lane_bits() == self.ty(data.operands[0]).lane_bits();
                same.then(|| Next::To(data.operands[0], part))
            }
            Op::TRUNC if !ty.is_vector() => {
                let from = self.ty(data.operands[0]);
                let same = (from.lane_bits(), ty.lane_bits()) == (16, 8);
                same.then(|| Next::To(data.operands[0], part))
            }
            Op::EXTRACT => {
                let lane = super::as_int(self.func, data.operands[1])?;
                Some(Next::To(data.operands[0], Part::Lane(u32::try_from(lane).ok()?)))
            }
            Op::EXTRACT_VALUE => self.through_structure(ty, data, part),
            Op::INSERT => self.through_insert(data, part, ty),
            Op::SHUFFLE => self.through_shuffle(data, part, ty),
            _ => None,
        }
    }

    fn through_bitcast(&self, ty: Type, from: Value, part: Part) -> Option<Next> {
        let source = self.ty(from);
        let (to, of) = (shape(ty)?, shape(source)?);
        match part {
            Part::Lane(lane) if source.is_vector() && source.lane_bits() == ty.lane_bits() => {
                Some(Next::To(from, Part::Lane(lane)))
            }
            Part::Lane(_) if to.per_word > 1 || to.class != of.class || to.words != of.words => None,
            Part::Lane(index) | Part::Word(index) if to.class == of.class && to.words == of.words => {
                Some(Next::To(from, if source.is_vector() { Part::Word(index) } else { Part::Scalar }))
            }
            Part::Scalar if to.class == of.class && of.words == 1 => {
                Some(Next::To(from, if source.is_vector() { Part::Word(0) } else { Part::Scalar }))
            }
            _ => None,
        }
    }

    fn through_structure(&self, ty: Type, data: &InstData, part: Part) -> Option<Next> {
        let Payload::Index(index) = data.payload else { return None };
        let offset = part_offset(self.ty(data.operands[0]), index)?;
        let per_word = shape(ty)?.per_word;
        match part {
            Part::Scalar => Some(Next::To(data.operands[0], Part::Word(offset))),
            Part::Word(index) => Some(Next::To(data.operands[0], Part::Word(offset + index))),
            Part::Lane(lane) if per_word == 1 => Some(Next::To(data.operands[0], Part::Word(offset + lane))),
            Part::Lane(_) => None,
        }
    }

    fn through_insert(&self, data: &InstData, part: Part, ty: Type) -> Option<Next> {
        match part {
            Part::Lane(lane) => {
                let index = super::as_int(self.func, data.operands[2])?;
                if index == i64::from(lane) {
                    return Some(Next::To(data.operands[1], Part::Scalar));
                }
                Some(Next::To(data.operands[0], Part::Lane(lane)))
            }
            Part::Word(word) => self.whole_word(data, ty, word),
            Part::Scalar => None,
        }
    }

    fn through_shuffle(&self, data: &InstData, part: Part, ty: Type) -> Option<Next> {
        match part {
            Part::Lane(lane) => {
                let Payload::Mask(mask) = &data.payload else { return None };
                let from = *mask.get(lane as usize)?;
                let lanes = self.ty(data.operands[0]).lanes() as i32;
                Some(match from {
                    ..0 => Next::Anything,
                    from if from < lanes => Next::To(data.operands[0], Part::Lane(from as u32)),
                    from => Next::To(data.operands[1], Part::Lane((from - lanes) as u32)),
                })
            }
            Part::Word(word) => self.whole_word(data, ty, word),
            Part::Scalar => None,
        }
    }

    /// A packed register whose lanes are the lanes of one register of another value.
    fn whole_word(&self, data: &InstData, ty: Type, word: u32) -> Option<Next> {
        let Shape { per_word, class, .. } = shape(ty)?;
        let mut found: Option<(Value, u32)> = None;
        for lane in 0..per_word {
            let (value, from) = self.trace_first(data, word * per_word + lane)?;
            let start = from.checked_sub(lane)?;
            if found.is_some_and(|found| found != (value, start)) {
                return None;
            }
            found = Some((value, start));
        }
        let (value, start) = found?;
        let of = shape(self.ty(value))?;
        let aligned = of.per_word == per_word && of.class == class && start % per_word == 0;
        aligned.then(|| Next::To(value, Part::Word(start / per_word)))
    }

    /// Follows one lane of an insertion or a shuffle to the vector it was in first.
    fn trace_first(&self, data: &InstData, lane: u32) -> Option<(Value, u32)> {
        let step = |data: &InstData, part: Part, ty: Type| match data.op {
            Op::INSERT => self.through_insert(data, part, ty),
            Op::SHUFFLE => self.through_shuffle(data, part, ty),
            Op::EXTRACT => {
                let lane = super::as_int(self.func, data.operands[1])?;
                Some(Next::To(data.operands[0], Part::Lane(u32::try_from(lane).ok()?)))
            }
            _ => None,
        };
        let mut data = data;
        let mut part = Part::Lane(lane);
        let mut last: Option<(Value, u32)> = None;
        while let Some(Next::To(value, next)) = step(data, part, data.ty) {
            part = next;
            if let Part::Lane(lane) = part {
                last = Some((value, lane));
            }
            match self.func.defining(value) {
                Some(found) => data = found,
                None => break,
            }
        }
        // A scalar that is no lane of anything has no register to share.
        matches!(part, Part::Lane(_)).then_some(last).flatten()
    }
}

/// Where to look further.
enum Next {
    To(Value, Part),
    Anything,
}

fn constant_part(constant: &Constant, part: Part) -> Source {
    if let ConstantKind::Symbol(name) = &constant.kind {
        // The space is that of the symbol: its address may be wanted as a number.
        let space = if let Scalar::Ptr(space) = constant.ty.kind() { space } else { 0 };
        return Source::Symbol(name.clone(), space);
    }
    let bits = match (part, shape(constant.ty)) {
        (Part::Scalar, _) => constant.splat_bits(),
        (Part::Word(word), Some(shape)) if shape.per_word > 1 => {
            let width = constant.ty.lane_bits();
            let lane = |lane: u32| Some(constant.lane_bits(word * shape.per_word + lane)? << (lane * width));
            (0..shape.per_word).map(lane).sum()
        }
        (Part::Lane(index) | Part::Word(index), _) => constant.lane_bits(index),
    };
    bits.map_or(Source::Anything, Source::Bits)
}

/// The low `width` bits as a signed number.
fn signed(bits: u128, width: u32) -> i64 {
    match width {
        0 | 64.. => bits as i64,
        width => ((bits as u64) << (64 - width)) as i64 >> (64 - width),
    }
}
