//! Loads, stores, atomics, fences, memory on the stack.

use super::{Handler, Outcome, Part, Selector, as_int};
use crate::ptx::machine::{Base, Class, Operand, Reg};
use crate::ptx::shape::{Shape, lane_class};
use cranelift_entity::packed_option::PackedOption;
use llir::{ConstantKind, Flags, Inst, InstData, Memory, Op, Ordering, Payload, Rmw, Scalar, Type, Value};
use smallvec::SmallVec;

pub(super) const HANDLERS: &[(Op, Handler)] = &[
    (Op::LOAD, Handler::Whole(load)),
    (Op::STORE, Handler::Whole(store)),
    (Op::ATOMIC_RMW, Handler::Whole(atomic)),
    (Op::CMPXCHG, Handler::Whole(compare_exchange)),
    (Op::FENCE, Handler::Whole(fence)),
    (Op::ALLOCA, Handler::Whole(alloca)),
];

/// PTX's word for the space of an address, with its dot; empty for generic addresses.
pub(super) fn space_word(ty: Type) -> Result<&'static str, String> {
    const SPACES: &[(u8, &str)] =
        &[(0, ""), (1, ".global"), (3, ".shared"), (4, ".const"), (5, ".local"), (7, ".shared::cluster")];
    let Scalar::Ptr(space) = ty.kind() else { return Err(format!("{ty} is no address")) };
    let row = SPACES.iter().find(|row| row.0 == space);
    row.map(|row| row.1).ok_or_else(|| format!("address space {space} has no PTX"))
}

impl Selector<'_> {
    /// Where a pointer points, constant parts of the address as an offset.
    pub(super) fn address(&mut self, pointer: Value) -> (Base, i64) {
        let (mut value, mut offset) = (pointer, 0i64);
        while let Some(data) = self.func.defining(value).filter(|data| data.op == Op::GEP) {
            let Payload::Element(element, _) = data.payload else { break };
            let size = i64::from(element.lane_bytes()) * i64::from(element.lanes());
            let Some(index) = as_int(self.func, data.operands[1]) else { break };
            let Some(sum) = index.checked_mul(size).and_then(|by| offset.checked_add(by)) else { break };
            if i32::try_from(sum).is_err() {
                break;
            }
            (value, offset) = (data.operands[0], sum);
        }
        if let Some(constant) = self.func.constant(value)
            && let ConstantKind::Symbol(name) = &constant.kind
            && constant.ty != Type::PTR
        {
            return (Base::Name(crate::ptx::text::symbol(name).into()), offset);
        }
        match self.scalar(value) {
            Operand::Reg(reg) => (Base::Reg(reg), offset),
            Operand::Int(at) => (Base::Absolute, at.wrapping_add(offset)),
            _ => (Base::Absolute, offset),
        }
    }
}

/// The part of a mnemonic between `ld` or `st` and the space.
fn manner(memory: &Memory, flags: Flags, is_load: bool, arch: u16) -> Result<&'static str, String> {
    Ok(match memory.ordering {
        _ if flags.contains(Flags::VOLATILE) => ".volatile",
        None => "",
        Some(_) if arch < 70 => return Err(format!("atomic accesses need sm_70 (this is sm_{arch})")),
        Some(Ordering::Monotonic) => ".relaxed.sys",
        Some(Ordering::Acquire) if is_load => ".acquire.sys",
        Some(Ordering::Release) if !is_load => ".release.sys",
        Some(ordering) => return Err(format!("a load or store cannot be {}", ordering.word())),
    })
}

/// Registers of a value that lie next to each other in memory, split into what one instruction may touch.
struct Pieces {
    /// Bits of each register.
    bits: u32,
    /// How many registers each instruction touches.
    width: u32,
    /// How many there are.
    count: u32,
    /// Whether lanes are touched one by one, the alignment being less than that of their registers.
    by_lane: bool,
}

fn pieces(ty: Type, shape: Shape, align: u32) -> Result<Pieces, String> {
    let lane_bits = if ty.lane_bits() == 1 { 8 } else { ty.lane_bits() };
    let word_bits = if shape.per_word == 1 { lane_bits } else { shape.class.bits() };
    let by_lane = align * 8 < word_bits;
    let (bits, count) = if by_lane { (lane_bits, ty.lanes()) } else { (word_bits, shape.words) };
    if align * 8 < bits {
        return Err(format!("an access to {ty} with alignment {align}: PTX needs {}", bits / 8));
    }
    let widest = (align.min(16) * 8 / bits).min(4);
    let width = [4, 2, 1].into_iter().find(|width| *width <= widest && count % width == 0).unwrap_or(1);
    Ok(Pieces { bits, width, count, by_lane })
}

fn vector_word(width: u32) -> &'static str {
    match width {
        4 => ".v4",
        2 => ".v2",
        _ => "",
    }
}

fn memory_of(data: &InstData) -> Result<Memory, String> {
    match data.payload {
        Payload::Memory(memory) | Payload::Rmw(_, memory) => Ok(memory),
        _ => Err("a memory access without its alignment".into()),
    }
}

fn load(s: &mut Selector<'_>, inst: Inst, data: &InstData) -> Outcome {
    let value = s.func.result(inst).ok_or("a load without a result")?;
    let memory = memory_of(data)?;
    let shape = s.shape(data.ty)?;
    let pieces = pieces(data.ty, shape, memory.align)?;
    let how = manner(&memory, data.flags, true, s.arch.number)?;
    let space = space_word(s.ty(data.operands[0]))?;
    let nc = if memory.invariant && space == ".global" && how.is_empty() { ".nc" } else { "" };
    let (base, offset) = s.address(data.operands[0]);
    let is_mask = shape.class == Class::Pred;
    let class = if is_mask || pieces.by_lane { Class::B16 } else { shape.class };
    let regs: Vec<Reg> = (0..pieces.count)
        .map(|index| if is_mask || pieces.by_lane { s.fresh(class) } else { s.word(value, index) })
        .collect();
    for (index, regs) in regs.chunks(pieces.width as usize).enumerate() {
        let at = offset + index as i64 * i64::from(pieces.width * pieces.bits / 8);
        let name = format!("ld{how}{space}{nc}{}.b{}", vector_word(pieces.width), pieces.bits);
        let results = bracketed(regs.iter().map(|reg| Operand::Reg(*reg)).collect());
        s.push_operands(name, 1, SmallVec::from_iter([results, Operand::Address(base.clone(), at)]));
    }
    if is_mask {
        for (index, reg) in regs.iter().enumerate() {
            let bit = s.temp("and.b16", Class::B16, &[Operand::Reg(*reg), Operand::Int(1)]);
            let to = s.word(value, index as u32);
            s.push("setp.ne.b16", &[to], &[bit, Operand::Int(0)]);
        }
    } else if pieces.by_lane {
        for word in 0..shape.words {
            let lanes = regs.iter().skip((word * shape.per_word) as usize).take(shape.per_word as usize);
            let lanes: Vec<Operand> = lanes.map(|reg| Operand::Reg(*reg)).collect();
            let to = s.word(value, word);
            s.pack(to, &lanes, data.ty.lane_bits());
        }
    }
    Ok(())
}

/// One operand as it is, several in braces.
fn bracketed(mut operands: Vec<Operand>) -> Operand {
    match operands.len() {
        1 => operands.remove(0),
        _ => Operand::list(operands),
    }
}

fn store(s: &mut Selector<'_>, _: Inst, data: &InstData) -> Outcome {
    let memory = memory_of(data)?;
    let (value, pointer) = (data.operands[0], data.operands[1]);
    let ty = s.ty(value);
    let shape = s.shape(ty)?;
    let pieces = pieces(ty, shape, memory.align)?;
    let how = manner(&memory, data.flags, false, s.arch.number)?;
    let space = space_word(s.ty(pointer))?;
    let (base, offset) = s.address(pointer);
    let mut operands = Vec::new();
    for index in 0..pieces.count {
        let part = match (ty.is_vector(), pieces.by_lane || shape.per_word == 1) {
            (false, _) => Part::Scalar,
            (true, true) => Part::Lane(index),
            (true, false) => Part::Word(index),
        };
        let operand = s.part(value, part);
        let operand = match (shape.class, pieces.width) {
            (Class::Pred, _) => s.temp("selp.b16", Class::B16, &[Operand::Int(1), Operand::Int(0), operand]),
            _ => operand,
        };
        operands.push(operand);
    }
    for (index, operands) in operands.chunks(pieces.width as usize).enumerate() {
        let at = offset + index as i64 * i64::from(pieces.width * pieces.bits / 8);
        let name = format!("st{how}{space}{}.b{}", vector_word(pieces.width), pieces.bits);
        let what = bracketed(operands.to_vec());
        s.push_operands(name, 0, SmallVec::from_iter([Operand::Address(base.clone(), at), what]));
    }
    Ok(())
}

/// PTX's words for the operations of `atomicrmw`, and the letter of their type.
const ATOMICS: &[(Rmw, &str, &str)] = &[
    (Rmw::Xchg, "exch", "b"),
    (Rmw::Add, "add", "u"),
    (Rmw::And, "and", "b"),
    (Rmw::Or, "or", "b"),
    (Rmw::Xor, "xor", "b"),
    (Rmw::Max, "max", "s"),
    (Rmw::Min, "min", "s"),
    (Rmw::UMax, "max", "u"),
    (Rmw::UMin, "min", "u"),
    (Rmw::FAdd, "add", "f"),
];

fn semantics(memory: &Memory) -> &'static str {
    match memory.ordering {
        Some(Ordering::Monotonic) | None => ".relaxed.sys",
        Some(Ordering::Acquire) => ".acquire.sys",
        Some(Ordering::Release) => ".release.sys",
        Some(Ordering::AcqRel | Ordering::SeqCst) => ".acq_rel.sys",
    }
}

fn atomic(s: &mut Selector<'_>, inst: Inst, data: &InstData) -> Outcome {
    let (value, memory) = (s.func.result(inst), memory_of(data)?);
    let Payload::Rmw(rmw, _) = data.payload else {
        return Err("an atomic access without its operation".into());
    };
    let row = ATOMICS.iter().find(|row| row.0 == rmw);
    let (_, operation, letter) =
        row.ok_or_else(|| format!("an atomic `{}` has no PTX instruction", rmw.word()))?;
    let class = lane_class(data.ty).ok_or_else(|| format!("an atomic access to {}", data.ty))?;
    let space = space_word(s.ty(data.operands[0]))?;
    let word = match data.ty.kind() {
        Scalar::Half if rmw == Rmw::FAdd => "noftz.f16".into(),
        Scalar::BFloat if rmw == Rmw::FAdd => "noftz.bf16".into(),
        _ => format!("{letter}{}", data.ty.lane_bits()),
    };
    let (base, offset) = s.address(data.operands[0]);
    let operand = Operand::Reg(s.reg(data.operands[1], Part::Scalar));
    let to = match value {
        Some(value) => s.word(value, 0),
        None => s.fresh(class),
    };
    let name = format!("atom{}{space}.{operation}.{word}", semantics(&memory));
    s.push(name, &[to], &[Operand::Address(base, offset), operand]);
    Ok(())
}

fn compare_exchange(s: &mut Selector<'_>, inst: Inst, data: &InstData) -> Outcome {
    let value = s.func.result(inst).ok_or("an exchange without a result")?;
    let memory = memory_of(data)?;
    let ty = s.ty(data.operands[1]);
    let bits = ty.lane_bits();
    let space = space_word(s.ty(data.operands[0]))?;
    let (base, offset) = s.address(data.operands[0]);
    let expected = Operand::Reg(s.reg(data.operands[1], Part::Scalar));
    let new = Operand::Reg(s.reg(data.operands[2], Part::Scalar));
    let old = s.word(value, 0);
    let name = format!("atom{}{space}.cas.b{bits}", semantics(&memory));
    s.push(name, &[old], &[Operand::Address(base, offset), expected.clone(), new]);
    if s.words_of(value).get(1).is_some_and(PackedOption::is_some) {
        let swapped = s.word(value, 1);
        s.push(format!("setp.eq.b{bits}"), &[swapped], &[Operand::Reg(old), expected]);
    }
    Ok(())
}

fn fence(s: &mut Selector<'_>, _: Inst, data: &InstData) -> Outcome {
    let name = match data.payload {
        Payload::Fence(Ordering::SeqCst, _) => "fence.sc.sys",
        _ => "fence.acq_rel.sys",
    };
    s.push(name, &[], &[]);
    Ok(())
}

/// Memory of one lane: a place in the function's block of local memory.
fn alloca(s: &mut Selector<'_>, inst: Inst, data: &InstData) -> Outcome {
    let value = s.func.result(inst).ok_or("memory without an address")?;
    let Payload::Element(ty, align) = data.payload else { return Err("memory without a type".into()) };
    let align = align.max(1);
    let size = u64::from(ty.lane_bytes()) * u64::from(ty.lanes());
    let at = s.stack.0.next_multiple_of(u64::from(align));
    s.stack = (at + size, s.stack.1.max(align));
    let plain = s.temp("mov.b64", Class::B64, &[Operand::Name(crate::ptx::text::STACK.into())]);
    let moved =
        if at == 0 { plain } else { s.temp("add.s64", Class::B64, &[plain, Operand::Int(at as i64)]) };
    let to = s.word(value, 0);
    s.push("cvta.local.u64", &[to], &[moved]);
    Ok(())
}
