//! What the decoder of one instruction sees: its operands as rows, and how to add what it does.

use crate::decode::assembly::{Assembly, Components, Scope, widths};
use crate::machine::Execute;
use crate::machine::code::{Fill, Instr, Slot};
use crate::machine::lanes::map;
use amdgcn_isa::Arch;
use llir::{ConstantKind, InstData, Scalar, Type};
use smallvec::SmallVec;

/// What is wrong with an instruction that cannot be run.
pub(crate) type Decoded = Result<(), String>;

/// An instruction that is being decoded.
pub(crate) struct Site<'a, 'm> {
    pub(crate) assembly: &'a mut Assembly<'m>,
    pub(crate) scope: &'a Scope<'m>,
    pub(crate) data: &'m InstData,
    pub(crate) site: u32,
    /// The rows of its result.
    pub(crate) result: Components,
}

impl Site<'_, '_> {
    /// The architecture.
    pub(crate) fn arch(&self) -> Arch {
        self.assembly.arch
    }

    /// Lanes of a warp.
    pub(crate) fn wave(&self) -> u32 {
        self.assembly.arch.wave().lanes()
    }

    /// The rows of an operand.
    pub(crate) fn rows(&mut self, index: usize) -> Result<Components, String> {
        let value = self.data.operands.get(index).copied();
        let value = value.ok_or_else(|| format!("operand {index} is missing"))?;
        self.assembly.value(self.scope, value)
    }

    /// The row of an operand that has one component.
    pub(crate) fn row(&mut self, index: usize) -> Result<Slot, String> {
        match self.rows(index)?[..] {
            [row] => Ok(row),
            _ => Err(format!("operand {index} must be a scalar")),
        }
    }

    /// The type of an operand.
    pub(crate) fn ty(&self, index: usize) -> Type {
        self.data.operands.get(index).map_or(Type::VOID, |value| self.scope.function.value(*value).ty)
    }

    /// The bits of an operand that is a constant.
    pub(crate) fn constant(&self, index: usize) -> Result<u64, String> {
        let value = self.data.operands.get(index).copied();
        let constant = value.and_then(|value| self.scope.function.constant(value));
        let bits = constant.and_then(|constant| constant.splat_bits());
        bits.map(|bits| bits as u64).ok_or_else(|| format!("operand {index} must be a constant"))
    }

    /// Whether an operand is anything.
    pub(crate) fn is_anything(&self, index: usize) -> bool {
        let value = self.data.operands.get(index).copied();
        let constant = value.and_then(|value| self.scope.function.constant(value));
        constant.is_some_and(|constant| matches!(constant.kind, ConstantKind::Poison | ConstantKind::Undef))
    }

    /// A row that holds the same bits in every lane.
    pub(crate) fn bits(&mut self, bits: u64) -> Slot {
        self.assembly.fill(Fill::Bits(bits))
    }

    /// New rows for the result.
    pub(crate) fn dests(&mut self) -> Result<Components, String> {
        let rows = self.assembly.rows(self.data.ty)?;
        self.result.clone_from(&rows);
        Ok(rows)
    }

    /// A new row for a result of one component.
    pub(crate) fn dest(&mut self) -> Result<Slot, String> {
        match self.dests()?[..] {
            [row] => Ok(row),
            _ => Err(format!("a result of the type {} cannot be run", self.data.ty)),
        }
    }

    /// Adds an instruction whose results are known where all that it reads is.
    pub(crate) fn push(&mut self, execute: Box<dyn Execute>, reads: &[Slot], writes: &[Slot]) {
        self.add(execute, Rows { reads, writes, ..Rows::default() });
    }

    /// Adds an instruction.
    pub(crate) fn add(&mut self, execute: Box<dyn Execute>, rows: Rows<'_>) {
        let Rows { reads, writes, sinks, knows } = rows;
        let site = self.site;
        self.assembly.push(Instr {
            execute,
            reads: reads.into(),
            writes: writes.into(),
            sinks: sinks.into(),
            knows,
            site,
        });
    }

    /// A result component by component from the first `N` operands.
    pub(crate) fn each<const N: usize>(
        &mut self,
        f: impl Fn([u64; N]) -> u64 + Copy + Send + Sync + 'static,
    ) -> Decoded {
        let mut operands: SmallVec<[Components; 3]> = SmallVec::new();
        for index in 0..N {
            operands.push(self.rows(index)?);
        }
        let dests = self.dests()?;
        if operands.iter().any(|rows| rows.len() != dests.len()) {
            return Err("operands and result must have equally many components".to_owned());
        }
        for (component, dest) in dests.iter().enumerate() {
            let sources: [Slot; N] = std::array::from_fn(|index| operands[index][component]);
            self.push(map(*dest, sources, f), &sources, &[*dest]);
        }
        Ok(())
    }

    /// The widths of the components of an operand.
    pub(crate) fn widths(&self, index: usize) -> Result<SmallVec<[u32; 8]>, String> {
        widths(self.ty(index))
    }

    /// The number of a pointer's address space.
    pub(crate) fn space(&self, index: usize) -> Result<u8, String> {
        match self.ty(index).kind() {
            Scalar::Ptr(space) => Ok(space),
            _ => Err(format!("operand {index} must be an address")),
        }
    }
}

/// The rows that an instruction touches.
#[derive(Default)]
pub(crate) struct Rows<'a> {
    pub(crate) reads: &'a [Slot],
    pub(crate) writes: &'a [Slot],
    pub(crate) sinks: &'a [Slot],
    pub(crate) knows: bool,
}
