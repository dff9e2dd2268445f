//! What the blocks of a function do, counted: instructions, bytes of device memory, waits, registers in use.

use super::machine::{MBlock, MFunction, MInst, Operand, Reg, Text};
use cranelift_entity::EntitySet;
use ptx_isa::{Role, computes, device_bytes, machine_instructions, role};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Registers of an SM.
pub(super) const REGISTERS: u32 = 65_536;
/// Lanes that an SM holds at most.
const MOST_LANES: u32 = 2048;
/// Registers that the assembler takes beyond those that the text has in use (norms take 3 to 6).
const BEYOND: u32 = 6;

/// What stands in some blocks.
#[derive(Clone, Copy, Default)]
pub(super) struct Work {
    /// How many instructions.
    pub(super) instructions: u32,
    /// Bytes between device memory and a lane.
    pub(super) bytes: u32,
    /// Loads of device memory.
    pub(super) loads: u32,
    /// Stores to it.
    pub(super) stores: u32,
    /// Whether there is something that only the full level does well: matrix instructions, which are inline assembly,
    /// or calls.
    pub(super) is_demanding: bool,
    /// Whether lanes wait for each other.
    pub(super) waits: bool,
}

/// What an instruction does, by its row.
#[derive(Clone, Copy)]
pub(super) struct About {
    pub(super) role: Role,
    /// Bytes between device memory and a lane.
    pub(super) bytes: u32,
    /// Whether these bytes are stored.
    stores: bool,
    /// How many of the machine it is.
    instructions: u32,
}

/// What instructions do: each mnemonic is looked up once.
#[derive(Default)]
pub(super) struct Known<'a>(FxHashMap<&'a str, About>);

impl<'a> Known<'a> {
    pub(super) fn of(&mut self, mnemonic: &'a str) -> About {
        *self.0.entry(mnemonic).or_insert_with(|| {
            let role = role(mnemonic);
            About {
                role,
                bytes: device_bytes(role, mnemonic),
                stores: mnemonic.starts_with("st."),
                instructions: machine_instructions(mnemonic),
            }
        })
    }
}

impl MInst {
    /// Whether an instruction does nothing but compute registers from registers and constants.
    pub(super) fn only_computes(&self) -> bool {
        let is_name = |operand: &Operand| matches!(operand, Operand::Name(_));
        match &self.text {
            Text::Plain(mnemonic) => computes(mnemonic) && !self.operands.iter().any(is_name),
            Text::Copy => true,
            // What names a register here is a special one, such as a clock; comments of blocks hide what follows them.
            Text::Asm(asm) => {
                !["%", "/*"].iter().any(|mark| asm.text.contains(mark))
                    && ptx_isa::mnemonics(&asm.text).all(computes)
            }
            Text::Call(_) => false,
        }
    }
}

impl Work {
    pub(super) fn of<'a>(block: &'a MBlock, known: &mut Known<'a>) -> Work {
        let mut work = Work::default();
        block.insts.iter().for_each(|inst| work.add(inst, known));
        work
    }

    pub(super) fn add<'a>(&mut self, inst: &'a MInst, known: &mut Known<'a>) {
        match &inst.text {
            Text::Plain(mnemonic) => self.add_one(known.of(mnemonic)),
            Text::Copy => self.instructions += 1,
            Text::Asm(asm) => ptx_isa::mnemonics(&asm.text).for_each(|one| self.add_one(known.of(one))),
            Text::Call(_) => self.is_demanding = true,
        }
    }

    fn add_one(&mut self, of: About) {
        self.instructions += of.instructions;
        self.bytes += of.bytes;
        let is_access = u32::from(of.bytes > 0);
        self.loads += if of.stores { 0 } else { is_access };
        self.stores += if of.stores { is_access } else { 0 };
        self.is_demanding |= matches!(of.role, Role::Multiply | Role::MultiplyControl | Role::MultiplyWait);
        self.waits |= waits(of.role);
    }
}

impl std::iter::Sum for Work {
    fn sum<I: Iterator<Item = Work>>(all: I) -> Work {
        all.fold(Work::default(), |sum, one| Work {
            instructions: sum.instructions + one.instructions,
            bytes: sum.bytes + one.bytes,
            loads: sum.loads + one.loads,
            stores: sum.stores + one.stores,
            is_demanding: sum.is_demanding || one.is_demanding,
            waits: sum.waits || one.waits,
        })
    }
}

/// Registers of 32 bits in use at a time in a function without loops: in the order of its text, a value is in use from
/// where it is written to where it is last read.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct InUse {
    /// The most anywhere.
    pub(super) anywhere: u32,
    /// The most where lanes wait for each other.
    pub(super) across: u32,
}

impl InUse {
    /// Counts them.
    pub(super) fn of<'a>(function: &'a MFunction, known: &mut Known<'a>) -> InUse {
        let width = |reg: Reg| function.regs[reg].bits();
        let (mut live, mut bits, mut most) = (EntitySet::<Reg>::new(), 0, InUse::default());
        for block in function.blocks.iter().rev() {
            block.end.each_use(|reg| bits += if live.insert(reg) { width(reg) } else { 0 });
            for inst in block.insts.iter().rev() {
                inst.each_def(|reg| bits -= if live.remove(reg) { width(reg) } else { 0 });
                inst.each_use(|reg| bits += if live.insert(reg) { width(reg) } else { 0 });
                most.anywhere = most.anywhere.max(bits / 32);
                if matches!(&inst.text, Text::Plain(mnemonic) if waits(known.of(mnemonic).role)) {
                    most.across = most.across.max(bits / 32);
                }
            }
            for param in &block.params {
                bits -= if live.remove(*param) { width(*param) } else { 0 };
            }
        }
        most
    }
}

/// Programs of so many lanes that an SM holds where their text has so many registers in use.
pub(super) fn programs(lanes: u32, registers: u32) -> u32 {
    let registers = (registers + BEYOND).next_multiple_of(8);
    (REGISTERS / (lanes * registers)).min(MOST_LANES / lanes)
}

/// Whether lanes wait for each other.
pub(super) fn waits(role: Role) -> bool {
    matches!(role, Role::Barrier | Role::ClusterBarrier | Role::WarpBarrier | Role::Shuffle)
}

/// The blocks from where something jumps back to up to the jump.
pub(super) fn loops(function: &MFunction) -> Vec<Range<usize>> {
    let place = |target| function.blocks.iter().position(|block| block.block == target);
    let back = |(end, block): (usize, &MBlock)| {
        let targets = block.end.edges().iter().filter_map(|edge| place(edge.block));
        targets.filter(|start| *start <= end).map(|start| start..end + 1).collect::<Vec<_>>()
    };
    function.blocks.iter().enumerate().flat_map(back).collect()
}
