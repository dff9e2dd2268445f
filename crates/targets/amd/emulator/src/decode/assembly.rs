//! A kernel that is being decoded: its rows and instructions so far, as decoders of single instructions see it.

use crate::machine::code::{Fill, Instr, NOWHERE, Slot};
use amdgcn_isa::Arch;
use llir::{Constant, ConstantKind, Function, Module, Scalar, Type, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The rows of a value.
pub(crate) type Components = SmallVec<[Slot; 4]>;

/// The instructions of a kernel so far, and its rows.
pub(crate) struct Assembly<'m> {
    pub(crate) module: &'m Module,
    pub(crate) arch: Arch,
    pub(crate) instructions: Vec<Instr>,
    pub(crate) slots: u32,
    pub(crate) fills: FxHashMap<Fill, Slot>,
    pub(crate) private: usize,
    pub(crate) is_sequential: bool,
    /// Offsets in LDS of variables there.
    offsets: FxHashMap<String, u64>,
}

/// The values of a function that is being put in place.
pub(crate) struct Scope<'m> {
    pub(crate) function: &'m Function,
    pub(crate) values: FxHashMap<Value, Components>,
}

impl<'m> Assembly<'m> {
    /// Nothing yet, of a module whose variables in LDS lie at these offsets.
    pub(super) fn new(module: &'m Module, arch: Arch, offsets: FxHashMap<String, u64>) -> Assembly<'m> {
        Assembly {
            module,
            arch,
            instructions: Vec::new(),
            slots: NOWHERE.0 + 1,
            fills: FxHashMap::default(),
            private: 0,
            is_sequential: false,
            offsets,
        }
    }

    /// A new row.
    pub(crate) fn slot(&mut self) -> Slot {
        self.slots += 1;
        Slot(self.slots - 1)
    }

    /// The row that a warp starts with.
    pub(crate) fn fill(&mut self, fill: Fill) -> Slot {
        if let Some(slot) = self.fills.get(&fill) {
            return *slot;
        }
        let slot = self.slot();
        self.fills.insert(fill, slot);
        slot
    }

    /// Adds an instruction to the block that is open.
    pub(crate) fn push(&mut self, instr: Instr) {
        self.instructions.push(instr);
    }

    /// Rows for a value of a type.
    pub(crate) fn rows(&mut self, ty: Type) -> Result<Components, String> {
        Ok(widths(ty)?.into_iter().map(|_| self.slot()).collect())
    }

    /// The rows of a constant.
    pub(crate) fn constant(&mut self, constant: &Constant) -> Result<Components, String> {
        let widths = widths(constant.ty)?;
        let is_buffer = constant.ty.kind() == Scalar::Ptr(8);
        Ok(match &constant.kind {
            ConstantKind::Poison | ConstantKind::Undef => widths.iter().map(|_| NOWHERE).collect(),
            ConstantKind::Bits(bits) if is_buffer => [*bits as u64, (*bits >> 64) as u64]
                .map(|half| self.fill(Fill::Bits(half)))
                .into_iter()
                .collect(),
            ConstantKind::Bits(bits) => {
                let slot = self.fill(Fill::Bits(*bits as u64));
                widths.iter().map(|_| slot).collect()
            }
            ConstantKind::Lanes(lanes) => {
                lanes.iter().map(|bits| self.fill(Fill::Bits(*bits as u64))).collect()
            }
            ConstantKind::Symbol(name) => SmallVec::from_slice(&[self.symbol(name)?]),
        })
    }

    /// The address of a variable.
    fn symbol(&mut self, name: &str) -> Result<Slot, String> {
        if let Some(offset) = self.offsets.get(name).copied() {
            return Ok(self.fill(Fill::Bits(offset)));
        }
        match self.module.globals().iter().position(|global| global.name == name) {
            Some(index) => Ok(self.fill(Fill::Variable(index))),
            None => Err(format!("the address of @{name} is not known")),
        }
    }

    /// The rows of a value.
    pub(crate) fn value(&mut self, scope: &Scope<'_>, value: Value) -> Result<Components, String> {
        if let Some(constant) = scope.function.constant(value) {
            return self.constant(constant);
        }
        let rows = scope.values.get(&value).cloned();
        rows.ok_or_else(|| format!("{value} is used before it is made"))
    }
}

/// The widths of a type's components in bits.
pub(crate) fn widths(ty: Type) -> Result<SmallVec<[u32; 8]>, String> {
    let mut widths = SmallVec::new();
    if ty.is_structure() {
        for part in (0..ty.part_count()).filter_map(|index| ty.part(index)) {
            widths.extend(self::widths(part)?);
        }
        return Ok(widths);
    }
    match ty.kind() {
        Scalar::Void => {}
        Scalar::Ptr(8) if !ty.is_vector() => widths.extend([64, 64]),
        Scalar::Ptr(7 | 8) => return Err(format!("values of the type {ty} cannot be run")),
        Scalar::Int(bits) if bits > 64 => return Err(format!("integers of {bits} bits cannot be run")),
        kind => widths.extend(std::iter::repeat_n(kind.bits(), ty.lanes() as usize)),
    }
    Ok(widths)
}
