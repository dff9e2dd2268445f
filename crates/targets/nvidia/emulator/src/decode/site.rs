//! One instruction as its decoder sees it: modifiers that are taken one by one, operands that become rows.
//!
//! What no decoder takes is an error, so nothing in the text is silently ignored.

use crate::decode::assembly::Assembly;
use crate::decode::scope::Symbol;
use crate::decode::special::special;
use crate::diagnostic::Diagnostic;
use crate::machine::code::{Fill, Slot};
use crate::machine::place::Address;
use crate::syntax::types::{Kind, Space, Type};
use crate::syntax::{Base, Instruction, Operand};
use smallvec::SmallVec;

/// Registers by role, for the checks.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) reads: Vec<Slot>,
    pub(crate) writes: Vec<Slot>,
    pub(crate) sinks: Vec<Slot>,
    pub(crate) knows: bool,
    pub(crate) in_flight_allowed: bool,
}

/// An instruction being decoded.
pub(crate) struct Site<'a> {
    pub(crate) assembly: &'a mut Assembly,
    pub(crate) instruction: &'a Instruction,
    /// The opcode's first word.
    pub(crate) mnemonic: &'a str,
    mods: SmallVec<[(&'a str, bool); 8]>,
    pub(crate) parts: Parts,
}

impl<'a> Site<'a> {
    pub(crate) fn new(assembly: &'a mut Assembly, instruction: &'a Instruction) -> Site<'a> {
        let mut words = instruction.opcode.split('.');
        let mnemonic = words.next().unwrap_or_default();
        let mods = words.map(|word| (word, false)).collect();
        Site { assembly, instruction, mnemonic, mods, parts: Parts::default() }
    }

    /// An error at this instruction.
    pub(crate) fn error<T>(&self, message: impl AsRef<str>) -> Result<T, Diagnostic> {
        let text = format!("`{}`: {}", self.instruction.opcode, message.as_ref());
        Err(Diagnostic::new(self.instruction.line, text))
    }

    /// The registers by role, if every modifier was taken.
    pub(crate) fn finish(self) -> Result<Parts, Diagnostic> {
        match self.mods.iter().find(|(_, taken)| !taken) {
            Some((word, _)) => self.error(format!("the modifier `.{word}` is unknown here")),
            None => Ok(self.parts),
        }
    }

    pub(crate) fn guard(&mut self) -> Result<Option<(Slot, bool)>, Diagnostic> {
        let Some((name, negated)) = &self.instruction.guard else { return Ok(None) };
        let slot = self.source_of(&Operand::Name(name.clone()), Type::PRED)?;
        self.parts.reads.clear();
        Ok(Some((slot, *negated)))
    }

    /// Takes a modifier if it is there.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        match self.mods.iter_mut().find(|(word, taken)| !taken && *word == name) {
            Some(entry) => {
                entry.1 = true;
                true
            }
            None => false,
        }
    }

    /// Whether a modifier of a list is there, taken or not.
    pub(crate) fn has(&self, names: &[&str]) -> bool {
        self.mods.iter().any(|(word, _)| names.contains(word))
    }

    /// Takes every modifier of a list that is there.
    pub(crate) fn flags(&mut self, names: &[&str]) {
        for name in names {
            self.flag(name);
        }
    }

    /// Takes the first modifier of a table that is there.
    pub(crate) fn choice<T: Copy>(&mut self, table: &[(&str, T)]) -> Option<T> {
        for entry in &mut self.mods {
            if !entry.1
                && let Some((_, value)) = table.iter().find(|(name, _)| *name == entry.0)
            {
                entry.1 = true;
                return Some(*value);
            }
        }
        None
    }

    /// Takes the first modifier that a function maps.
    pub(crate) fn map_modifier<T>(&mut self, f: impl Fn(&str) -> Option<T>) -> Option<T> {
        for entry in &mut self.mods {
            if !entry.1
                && let Some(value) = f(entry.0)
            {
                entry.1 = true;
                return Some(value);
            }
        }
        None
    }

    /// Takes the next type.
    pub(crate) fn ty(&mut self) -> Result<Type, Diagnostic> {
        match self.map_modifier(Type::named) {
            Some(ty) => Ok(ty),
            None => self.error("a type is missing"),
        }
    }

    /// Takes a state space; without one, generic.
    pub(crate) fn space(&mut self) -> Space {
        self.map_modifier(Space::named).unwrap_or(Space::Generic)
    }

    /// How many operands there are.
    pub(crate) fn count(&self) -> usize {
        self.instruction.operands.len()
    }

    /// Checks how many operands there are.
    pub(crate) fn arity(&self, least: usize, most: usize) -> Result<(), Diagnostic> {
        if (least..=most).contains(&self.count()) {
            return Ok(());
        }
        self.error(format!("{} operands where {least} to {most} are expected", self.count()))
    }

    /// An operand.
    pub(crate) fn operand(&self, index: usize) -> Result<&'a Operand, Diagnostic> {
        match self.instruction.operands.get(index) {
            Some(operand) => Ok(operand),
            None => self.error(format!("operand {} is missing", index + 1)),
        }
    }

    /// The row of a register that is read as a type of its own width.
    pub(crate) fn source(&mut self, index: usize, ty: Type) -> Result<Slot, Diagnostic> {
        let operand = self.operand(index)?;
        self.source_of(operand, ty)
    }

    /// The same, of an operand within another.
    pub(crate) fn source_of(&mut self, operand: &Operand, ty: Type) -> Result<Slot, Diagnostic> {
        if let Operand::Name(name) = operand
            && let Some(&Symbol::Register(slot, own)) = self.assembly.scopes.find(name)
        {
            if !fits(own, ty) {
                return self.error(format!("`{name}` has {} bits, not {}", own.width(), ty.width()));
            }
            self.read(slot, own);
            return Ok(slot);
        }
        self.constant(operand, ty)
    }

    fn read(&mut self, slot: Slot, ty: Type) {
        self.parts.reads.push(slot);
        if ty.width() == 128 {
            self.parts.reads.push(Slot(slot.0 + 1));
        }
    }

    /// The row of a register of at least this width, as memory instructions and conversions allow.
    pub(crate) fn wide_source_of(&mut self, operand: &Operand, ty: Type) -> Result<Slot, Diagnostic> {
        if let Operand::Name(name) = operand
            && let Some(&Symbol::Register(slot, own)) = self.assembly.scopes.find(name)
        {
            if own.width() < ty.width() {
                return self.error(format!("`{name}` has only {} bits of {}", own.width(), ty.width()));
            }
            self.read(slot, own);
            return Ok(slot);
        }
        self.constant(operand, ty)
    }

    /// The row of something that is no register: a literal, an address, a special register.
    fn constant(&mut self, operand: &Operand, ty: Type) -> Result<Slot, Diagnostic> {
        // It would take two rows.
        if ty.width() == 128 {
            return self.error("128 bits are only read from a register");
        }
        let fill = match operand {
            Operand::Name(name) => self.named_constant(name, 0)?,
            Operand::Offset(name, offset) => self.named_constant(name, *offset)?,
            Operand::Minus(inner) | Operand::Not(inner) => {
                return self.error(format!("{inner:?} cannot be negated here"));
            }
            _ => match literal_bits(operand, ty) {
                Some(bits) => Fill::Bits(bits),
                None => return self.error(format!("{operand:?} cannot be used as `.{}`", ty.name())),
            },
        };
        Ok(self.assembly.fill(fill))
    }

    fn named_constant(&mut self, name: &str, offset: i64) -> Result<Fill, Diagnostic> {
        match self.assembly.scopes.find(name) {
            Some(Symbol::Placed { offset: own, .. }) => Ok(Fill::Bits(own.wrapping_add_signed(offset))),
            Some(&Symbol::Variable(index)) => Ok(Fill::Variable(index, offset)),
            Some(_) => self.error(format!("`{name}` is not a value here")),
            None => match special(name) {
                Some((special, _)) => Ok(Fill::Special(special)),
                None if name == "WARP_SZ" => Ok(Fill::Bits(32)),
                None => self.error(format!("`{name}` is not declared")),
            },
        }
    }

    /// The row of a register that is written.
    pub(crate) fn dest(&mut self, index: usize, ty: Type) -> Result<Slot, Diagnostic> {
        let operand = self.operand(index)?;
        self.dest_of(operand, ty)
    }

    /// The same, of an operand within another. `_` becomes a row that nobody reads.
    pub(crate) fn dest_of(&mut self, operand: &Operand, ty: Type) -> Result<Slot, Diagnostic> {
        let (slot, own) = self.wide_dest_of(operand, ty)?;
        if !fits(own, ty) {
            return self.error(format!("the result has {} bits, not {}", own.width(), ty.width()));
        }
        Ok(slot)
    }

    /// The row and type of a result that may be wider than `ty`.
    pub(crate) fn wide_dest_of(&mut self, operand: &Operand, ty: Type) -> Result<(Slot, Type), Diagnostic> {
        match operand {
            Operand::Sink => {
                let slot = self.assembly.slot();
                if ty.width() == 128 {
                    self.assembly.slot();
                }
                Ok((slot, ty))
            }
            Operand::Name(name) => match self.assembly.scopes.find(name) {
                Some(&Symbol::Register(slot, own)) if own.width() >= ty.width() => {
                    self.parts.writes.push(slot);
                    if own.width() == 128 {
                        self.parts.writes.push(Slot(slot.0 + 1));
                    }
                    Ok((slot, own))
                }
                Some(Symbol::Register(_, own)) => {
                    self.error(format!("`{name}` has {} bits, the result {}", own.width(), ty.width()))
                }
                _ => self.error(format!("`{name}` is not a register")),
            },
            _ => self.error("a register is expected for the result"),
        }
    }

    /// `p` or `!p`: the row and whether it is negated.
    pub(crate) fn predicate(&mut self, index: usize) -> Result<(Slot, bool), Diagnostic> {
        let operand = self.operand(index)?;
        match operand {
            Operand::Not(inner) => Ok((self.source_of(inner, Type::PRED)?, true)),
            _ => Ok((self.source_of(operand, Type::PRED)?, false)),
        }
    }

    /// The parts of `{a, b}`, or one operand alone.
    pub(crate) fn elements(&self, index: usize) -> Result<&'a [Operand], Diagnostic> {
        match self.operand(index)? {
            Operand::Vector(parts) => Ok(parts),
            one => Ok(std::slice::from_ref(one)),
        }
    }

    /// Rows of all parts of a vector, read.
    pub(crate) fn sources(&mut self, index: usize, ty: Type) -> Result<Vec<Slot>, Diagnostic> {
        self.elements(index)?.iter().map(|part| self.source_of(part, ty)).collect()
    }

    /// Rows of all parts of a vector, written.
    pub(crate) fn dests(&mut self, index: usize, ty: Type) -> Result<Vec<Slot>, Diagnostic> {
        self.elements(index)?.iter().map(|part| self.dest_of(part, ty)).collect()
    }

    /// An integer that the text itself gives.
    pub(crate) fn immediate(&self, index: usize) -> Result<i64, Diagnostic> {
        match self.operand(index)? {
            Operand::Integer(value) => Ok(*value as i64),
            _ => self.error(format!("operand {} must be a number", index + 1)),
        }
    }

    /// `[base + offset]`.
    pub(crate) fn address(&mut self, index: usize) -> Result<Address, Diagnostic> {
        let operand = self.operand(index)?;
        self.address_of(operand).map(|(address, _)| address)
    }

    /// The same, with the space of a variable that is the base.
    pub(crate) fn address_of(&mut self, operand: &Operand) -> Result<(Address, Option<Space>), Diagnostic> {
        let Operand::Address(base, offset) = operand else { return self.error("an address is expected") };
        let Base::Name(name) = base else {
            let base = self.assembly.fill(Fill::Bits(*offset as u64));
            return Ok((Address { base, offset: 0 }, None));
        };
        match self.assembly.scopes.find(name) {
            Some(&Symbol::Register(slot, ty)) => {
                if ty.width() != 32 && ty.width() != 64 {
                    return self.error(format!("`{name}` of {} bits is no address", ty.width()));
                }
                self.parts.reads.push(slot);
                self.parts.sinks.push(slot);
                Ok((Address { base: slot, offset: *offset }, None))
            }
            Some(&Symbol::Placed { space, offset: own, .. }) => {
                let base = self.assembly.fill(Fill::Bits(own));
                Ok((Address { base, offset: *offset }, Some(space)))
            }
            Some(&Symbol::Variable(index)) => {
                let base = self.assembly.fill(Fill::Variable(index, 0));
                Ok((Address { base, offset: *offset }, Some(Space::Global)))
            }
            _ => self.error(format!("`{name}` is no address")),
        }
    }

    /// Marks registers whose value leaves the lane.
    pub(crate) fn sink(&mut self, slots: &[Slot]) {
        self.parts.sinks.extend_from_slice(slots);
    }

    /// The label of a branch.
    pub(crate) fn label(&self, name: &str) -> Result<u32, Diagnostic> {
        match self.assembly.scopes.find(name) {
            Some(&Symbol::Label(label)) => Ok(label),
            _ => self.error(format!("`{name}` is not a label in sight")),
        }
    }
}

/// Whether a register holds values of a type: of its own width, or bytes in the smallest register.
fn fits(register: Type, ty: Type) -> bool {
    register.width() == ty.width() || (ty.width() == 8 && register.width() == 16)
}

/// The bits of a literal as a type.
fn literal_bits(operand: &Operand, ty: Type) -> Option<u64> {
    let mask = ty.mask();
    match (operand, ty.kind) {
        (Operand::Integer(value), Kind::Predicate) => Some(u64::from(*value != 0)),
        (Operand::Integer(value), Kind::Float) if ty.bits >= 32 && ty.lanes == 1 => {
            float_bits(*value as f64, ty)
        }
        // As for ptxas: floats of fewer bits, and pairs of them, lie in registers.
        (Operand::Integer(_), kind) if kind.is_float() && ty.bits < 32 => None,
        (Operand::Integer(value), _) => Some(*value as u64 & mask),
        (Operand::Bits32(bits), Kind::Float) if ty.bits == 64 => {
            Some(f64::from(f32::from_bits(*bits)).to_bits())
        }
        (Operand::Bits32(bits), _) if ty.width() >= 32 => Some(u64::from(*bits)),
        (Operand::Bits64(bits), Kind::Float) if ty.bits == 32 => float_bits(f64::from_bits(*bits), ty),
        (Operand::Bits64(bits), _) if ty.width() >= 64 => Some(*bits),
        (Operand::Float(value), _) => float_bits(*value, ty),
        _ => None,
    }
}

fn float_bits(value: f64, ty: Type) -> Option<u64> {
    match ty.width() {
        64 => Some(value.to_bits()),
        32 => Some(u64::from((value as f32).to_bits())),
        _ => None,
    }
}
