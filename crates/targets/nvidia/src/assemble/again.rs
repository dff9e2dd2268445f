//! Asking the assembler again, with fewer registers, where one program more fits on an SM then.
//!
//! ```text
//! .reqntid 256, 1, 1                       138 registers: an SM holds one program of 8 warps
//! .reqntid 256, 1, 1 .minnctapersm 2       128 registers, 8 bytes spilled: two
//! ```
//!
//! The assembler takes the registers that the code is best with by itself; how many programs an SM holds then is known
//! behind that alone. What one more gave, by what was spilled for it (26 functions of flash-linear-attention 0.6, and
//! attention over chosen rows; H200, 2026-12-01), as times the speed:
//!
//! ```text
//! beside one            to 16 bytes 0.97, 0.99, 1.16, 1.24, 1.17 to 1.29    64 to 120 bytes 0.90 to 1.31 (7, 1.10)
//!                       160 bytes and more 0.94, 0.82, 0.35
//! beside two            8 to 152 bytes 0.90 to 1.22 (10); never without
//! beside three or four  nothing 1.01 to 1.19 (10, 1.04)                     8 bytes and more 0.37 to 1.08 (17, 0.95)
//! beside more           nothing 0.98 to 1.10 (10, 1.04)                     8 bytes and more 0.84 to 1.08 (19, 0.97)
//! ```
//!
//! Beside two it is too uncertain, beside more than four too little for what a second assembly takes.

use crate::machine;
use crate::ptx::Effort;
use crate::resident::{by_registers, by_shared, registers_for};
use target::DeviceFacts;
use ttgir::Machine;

/// What a program takes of an SM, whatever the assembler makes of it.
pub(crate) struct Program {
    /// The SM.
    pub(crate) machine: &'static Machine,
    /// Its warps, all of them.
    pub(crate) warps: u32,
    /// Bytes of shared memory that the launch asks for.
    pub(crate) shared: u64,
}

/// What the assembler took for a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Taken {
    pub(crate) registers: u32,
    /// Bytes of local memory.
    pub(crate) stack: u32,
}

/// Where a program is alone on its SM: of 100 registers so many are left at least, and so many bytes may be spilled.
const OF_ONE: Bounds = Bounds { left: 70, spilled: 96 };
/// Where there are three or four.
const OF_SEVERAL: Bounds = Bounds { left: 80, spilled: 0 };

/// What is asked of the assembler, and taken from it.
struct Bounds {
    left: u32,
    spilled: u32,
}

/// Where a kernel says how many lanes it has.
const LANES: &str = "\n.reqntid ";
/// What a text that says how many registers it wants has in it; products that the assembler lets wait for each other
/// where registers are short; and clusters, of which nothing was measured.
const OWN_WAYS: [&str; 4] = ["\n.minnctapersm ", "\n.maxnreg ", "wgmma.mma_async", "\n.explicitcluster"];

impl Program {
    /// Of a kernel that asks for so much shared memory and is assembled at a level, on devices of a compute capability;
    /// none where nothing is known of those, or where the level says that another program gains nothing: the time goes
    /// to memory, or nobody wants fast code.
    pub(crate) fn of(facts: &DeviceFacts, shared: u64, level: u32, capability: u32) -> Option<Program> {
        let machine = machine::machine(capability).filter(|_| level == Effort::Full.level())?;
        Some(Program { machine, warps: (facts.num_warps + facts.role_warps).max(1), shared })
    }

    /// The first machine code of a text, or what comes of asking for it once more where that is to run in its place.
    /// `assemble` answers none where that is refused, `taken` where it is not known.
    pub(crate) fn best<T>(
        &self,
        text: &str,
        first: T,
        taken: impl Fn(&T) -> Option<Taken>,
        assemble: impl FnOnce(&str) -> Option<T>,
    ) -> T {
        let at_first = taken(&first);
        let second = at_first.and_then(|at_first| {
            let second = assemble(&self.again(text, at_first)?)?;
            self.gains(at_first, taken(&second)?).then_some(second)
        });
        second.unwrap_or(first)
    }

    /// The programs that an SM holds, and what another one may cost; none where it is not tried.
    fn bounds(&self, taken: Taken) -> Option<(u32, &'static Bounds)> {
        let programs = by_registers(self.machine, self.warps, taken.registers);
        match programs {
            1 => Some((programs, &OF_ONE)),
            3 | 4 => Some((programs, &OF_SEVERAL)),
            _ => None,
        }
    }

    /// The text to ask with once more, if one program more could share the SM.
    fn again(&self, text: &str, taken: Taken) -> Option<String> {
        let (programs, bounds) = self.bounds(taken)?;
        let shared = u32::try_from(self.shared).unwrap_or(u32::MAX);
        let others = by_shared(self.machine, shared).min(self.machine.resident_warps / self.warps);
        let each = registers_for(self.machine, self.warps, programs + 1);
        if others <= programs || 100 * each < bounds.left * taken.registers {
            return None;
        }
        if OWN_WAYS.iter().any(|way| text.contains(way)) || text.matches(LANES).count() != 1 {
            return None;
        }
        let line = text.find(LANES)? + 1;
        let end = line + text[line..].find('\n')?;
        Some(format!("{}\n.minnctapersm {}{}", &text[..end], programs + 1, &text[end..]))
    }

    /// Whether what came of it is to run in place of the first.
    fn gains(&self, first: Taken, second: Taken) -> bool {
        let more = by_registers(self.machine, self.warps, second.registers);
        self.bounds(first)
            .is_some_and(|(programs, bounds)| more > programs && second.stack <= first.stack + bounds.spilled)
    }
}

#[cfg(test)]
mod tests {
    use super::{Program, Taken};
    use crate::machine::machine;
    use crate::ptx::Effort;
    use target::DeviceFacts;

    fn program(warps: u32, shared: u64) -> Program {
        Program { machine: machine(90).expect("known"), warps, shared }
    }

    fn taken(registers: u32, stack: u32) -> Taken {
        Taken { registers, stack }
    }

    const TEXT: &str = ".entry k(\n)\n.reqntid 256, 1, 1\n{\n\tret;\n}\n";

    #[test]
    fn one_program_more_is_asked_for_where_a_few_registers_are_missing() {
        let asked = |program: Program, registers| program.again(TEXT, taken(registers, 0));
        let with = |programs| TEXT.replace("1\n{", &format!("1\n.minnctapersm {programs}\n{{"));
        assert_eq!(asked(program(8, 93_824), 138), Some(with(2)));
        assert_eq!(asked(program(8, 0), 180), Some(with(2)));
        assert_eq!(asked(program(4, 0), 146), Some(with(4)));
        assert_eq!(asked(program(4, 0), 108), Some(with(5)));
        assert_eq!(asked(program(32, 0), 34), Some(with(2)));
        let none = |program: Program, text: &str, registers| {
            assert_eq!(program.again(text, taken(registers, 0)), None);
        };
        none(program(8, 93_824), TEXT, 128);
        none(program(8, 93_824), TEXT, 190);
        none(program(8, 120_000), TEXT, 138);
        none(program(4, 0), TEXT, 178);
        none(program(4, 60_000), TEXT, 146);
        none(program(4, 0), TEXT, 165);
        none(program(4, 0), TEXT, 84);
        let of_48_warps = Program { machine: machine(86).expect("known"), ..program(32, 0) };
        none(of_48_warps, TEXT, 34);
        for own in [".minnctapersm 1", ".maxnreg 255", "\twgmma.mma_async.sync", ".explicitcluster"] {
            none(program(8, 0), &TEXT.replace("\n{", &format!("\n{own}\n{{")), 138);
        }
        none(program(8, 0), &[TEXT, TEXT].concat(), 138);
    }

    #[test]
    fn kernels_that_wait_for_memory_are_assembled_once() {
        let facts = DeviceFacts::new("sm_90a", 8, 32);
        assert!(Program::of(&facts, 0, Effort::Full.level(), 90).is_some());
        for level in [0, Effort::Low.level()] {
            assert!(Program::of(&facts, 0, level, 90).is_none());
        }
    }

    #[test]
    fn what_a_program_more_may_spill() {
        let gains = |warps, first, second| program(warps, 0).gains(first, second);
        assert!(gains(8, taken(138, 0), taken(128, 96)));
        assert!(gains(8, taken(138, 40), taken(128, 40)));
        assert!(!gains(8, taken(138, 0), taken(128, 104)));
        assert!(!gains(8, taken(138, 0), taken(136, 0)));
        assert!(gains(4, taken(146, 0), taken(128, 0)));
        assert!(!gains(4, taken(146, 0), taken(128, 8)));
        assert!(!gains(4, taken(146, 0), taken(144, 0)));
    }
}
