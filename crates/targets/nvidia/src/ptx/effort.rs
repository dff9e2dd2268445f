//! How hard the assembler should try.
//!
//! Where a kernel waits for device memory, the order of its loads decides, and the passes over llir have settled that:
//! the lower level of `ptxas` keeps it, takes a fifth to a quarter less time, and leaves fewer registers in use. Where
//! arithmetic decides, the full level is worth up to 1.7 times the speed, because it interleaves independent chains and
//! works on loops.
//!
//! Decided by counting, before registers are assigned: the instructions that move bytes between device memory and
//! registers against all others, in the innermost loops, or in the whole kernel if it has none. A kernel without loops
//! whose text keeps more values between its barriers than across them needs the full level all the same: it interleaves
//! the chains of single elements, and with fewer registers more programs share an SM (rms norm over 15872 columns with
//! 16 warps: 54 registers and two programs, 76 and one in our order). So does one without barriers that has very many
//! in use: the lower level spills them (255 registers in place of 122 for a gated activation that loads 256 bytes a
//! lane twice), and loops that load once an iteration, of which it puts several together. Left out: how often loops
//! run, and whether what they load is in a cache already.

use super::loop_loads::unrolled;
use super::machine::MFunction;
use super::work::{InUse, Known, REGISTERS, Work, loops, programs};
use std::ops::Range;

/// How hard the assembler should try.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Effort {
    /// Keep the order that instructions have.
    Low,
    /// Everything that the assembler knows.
    Full,
}

impl Effort {
    /// The level of optimisation of `ptxas`, and of the driver, that stands for it.
    pub const fn level(self) -> u32 {
        match self {
            Effort::Low => 1,
            Effort::Full => 3,
        }
    }
}

/// Bytes for each instruction from which on memory decides. A GPU with 132 SMs of 128 lanes at 1.8 GHz has 25
/// instructions for each four bytes that its memory moves in the meantime; half of that is left to chance.
const BYTES_PER_INSTRUCTION: f64 = 4.0 / 12.5;
/// Bytes that every iteration of a loop must move for each lane: less waits for single loads, which the full level
/// spreads out.
const BYTES_PER_ITERATION: u32 = 16;
/// Registers in use at a time from which on their number decides how many programs share an SM.
const CROWDED: u32 = 40;
/// How many times as many are in use between barriers as across them where the order of the text is at fault. Norms
/// have 1.4 to 2 times as many, and the full level needs two thirds of their registers; softmax has up to 1.3 times as
/// many, and gains nothing.
const SWELLS: (u32, u32) = (7, 5);

/// Registers in use at a time from which on the lower level takes many more, where no barrier keeps them.
const HEAVY: u32 = 128;
/// How many times as many values as a lane has registers `spills` asks for. Of kernels with 1.7 to 2 times as many most
/// take 255 registers unasked; one with two scans in a loop took 32, and spilled 7 KB a lane in place of 1.2.
const FAR_TOO_MANY: (u32, u32) = (3, 2);
/// Registers of a lane.
const MOST_REGISTERS: u32 = 255;
/// Lanes of a program from which on few registers decide how many programs share an SM. RMS norm of 8192 with 16 warps
/// took 34 and 40 registers and 37.3 and 37.5 µs, at the full level 32 and 36.1 (H200).
const WIDE: u32 = 512;

/// How hard the assembler should try with a function, of which so many lanes are a program.
pub(super) fn effort(function: &MFunction, lanes: u32) -> Effort {
    let mut known = Known::default();
    let mut work: Vec<Work> = Vec::with_capacity(function.blocks.len());
    for block in &function.blocks {
        work.push(Work::of(block, &mut known));
        if work.last().is_some_and(|work| work.is_demanding) {
            return Effort::Full;
        }
    }
    if !unrolled(function).is_empty() {
        return Effort::Full;
    }
    let sum = |blocks: &Range<usize>| work[blocks.clone()].iter().copied().sum::<Work>();
    let loops = loops(function);
    let is_inner = |outer: &Range<usize>| {
        !loops.iter().any(|inner| inner != outer && outer.start <= inner.start && inner.end <= outer.end)
    };
    let is_moving = if loops.is_empty() {
        sum(&(0..work.len())).is_moving(1) && !InUse::of(function, &mut known).is_crowded(lanes)
    } else {
        loops
            .iter()
            .filter(|blocks| is_inner(blocks))
            .map(sum)
            .all(|work| work.is_moving(BYTES_PER_ITERATION) && !work.waits)
    };
    if is_moving { Effort::Low } else { Effort::Full }
}

/// Whether a function of so many lanes has so many values in use at a time that most of them are spilled: then `ptxas`
/// takes 32 registers for as many programs on an SM as it holds, unless the text says that one is enough. A group norm
/// of 32,768 halves by four warps spills 18 KB a lane with 32 registers and 7 KB with 255, and takes 1.58 times as long
/// (H200).
pub(super) fn spills(function: &MFunction, lanes: u32) -> bool {
    let most = (REGISTERS / lanes).min(MOST_REGISTERS) * FAR_TOO_MANY.0 / FAR_TOO_MANY.1;
    // All that there are is no less than what is in use at a time.
    let all = function.regs.values().map(|class| class.bits()).sum::<u32>() / 32;
    all > most && InUse::of(function, &mut Known::default()).anywhere > most
}

impl Work {
    /// Whether device memory decides how long this takes, `least` bytes at least.
    fn is_moving(self, least: u32) -> bool {
        self.bytes >= least && f64::from(self.bytes) >= BYTES_PER_INSTRUCTION * f64::from(self.instructions)
    }
}

impl InUse {
    /// Whether the order of the text takes more registers than what must be kept across barriers, and so many that
    /// fewer programs share an SM.
    fn is_crowded(self, lanes: u32) -> bool {
        let (most, least) = SWELLS;
        let swells = self.anywhere >= CROWDED && least * self.anywhere >= most * self.across;
        let is_shared_less = lanes >= WIDE && programs(lanes, self.anywhere) < programs(lanes, self.across);
        if self.across == 0 { self.anywhere >= HEAVY } else { swells || is_shared_less }
    }
}

#[cfg(test)]
mod tests {
    use super::super::machine::testing::{block, function};
    use super::super::machine::{Class, End, MBlock, MFunction, MInst, Operand, Text};
    use super::super::work::{InUse, Known};
    use super::{Effort, HEAVY, effort};
    use cranelift_entity::{EntityRef, PrimaryMap};
    use llir::Block;
    use smallvec::SmallVec;

    const MULTIPLY: &str = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";

    fn of(blocks: Vec<MBlock>) -> Effort {
        effort(&function(blocks), 128)
    }

    #[test]
    fn memory_or_arithmetic() {
        let (load, store, add) = ("ld.global.v4.b32", "st.global.v4.b32", "add.f32");
        let straight = |sums| of(vec![block(0, &[(load, 1), (add, sums), (store, 1)], &[])]);
        assert_eq!([straight(4), straight(60), straight(120)], [Effort::Low, Effort::Low, Effort::Full]);
        let divided = |count| of(vec![block(0, &[(load, 1), ("rem.s32", count), (store, 1)], &[])]);
        assert_eq!([divided(4), divided(8)], [Effort::Low, Effort::Full]);
        // What stands before and behind a loop does not count.
        let looped = |inside: &[_]| {
            of(vec![block(0, &[(add, 200)], &[1]), block(1, inside, &[1, 2]), block(2, &[(add, 200)], &[])])
        };
        assert_eq!(looped(&[(load, 3), (add, 24)]), Effort::Low);
        assert_eq!(looped(&[(load, 3), (add, 240)]), Effort::Full);
        assert_eq!(looped(&[(load, 1), (add, 8)]), Effort::Full, "it is unrolled");
        assert_eq!(looped(&[(load, 1), (store, 1), (add, 8)]), Effort::Low);
        let words = [("ld.global.b32", 2), ("st.global.b32", 1), (add, 2)];
        assert_eq!(looped(&words), Effort::Full, "it waits for single words");
        assert_eq!(looped(&[(load, 4), (MULTIPLY, 1)]), Effort::Full);
        assert_eq!(looped(&[(load, 1), ("bar.sync", 1), (add, 7)]), Effort::Full, "gradients of a norm");
    }

    #[test]
    fn values_between_barriers_and_across_them() {
        // So many values are loaded before a barrier, as many again behind it, and all are stored.
        let in_lanes = |lanes: u32, before: usize, behind: usize| {
            let mut regs = PrimaryMap::new();
            let values: Vec<_> = (0..before + behind).map(|_| regs.push(Class::B32)).collect();
            let inst = |text: &'static str, defs, reg: Option<_>| MInst {
                text: Text::Plain(text.into()),
                defs,
                operands: reg.into_iter().map(Operand::Reg).collect(),
                location: None,
            };
            let mut insts: Vec<_> = values.iter().map(|reg| inst("ld.global.b32", 1, Some(*reg))).collect();
            insts.insert(before, inst("bar.sync", 0, None));
            insts.extend(values.iter().map(|reg| inst("st.global.b32", 0, Some(*reg))));
            let end = End::Return(SmallVec::new());
            let blocks = vec![MBlock { block: Block::new(0), params: Vec::new(), insts, end }];
            let function = MFunction { blocks, regs, stack: (0, 1) };
            (InUse::of(&function, &mut Known::default()), effort(&function, lanes))
        };
        let of = |before, behind| in_lanes(256, before, behind);
        assert_eq!(of(32, 0), (InUse { anywhere: 32, across: 32 }, Effort::Low));
        assert_eq!(of(128, 16), (InUse { anywhere: 144, across: 128 }, Effort::Low));
        assert_eq!(of(8, 16), (InUse { anywhere: 24, across: 8 }, Effort::Low), "few at all");
        assert_eq!(of(16, 32), (InUse { anywhere: 48, across: 16 }, Effort::Full));
        assert_eq!(of(28, 12), (InUse { anywhere: 40, across: 28 }, Effort::Full), "rms norm");
        assert_eq!(of(40, 13), (InUse { anywhere: 53, across: 40 }, Effort::Low), "softmax");
        // Nothing is kept across a barrier.
        assert_eq!([of(0, HEAVY as usize - 1).1, of(0, HEAVY as usize).1], [Effort::Low, Effort::Full]);
        // Three programs of 512 lanes share an SM with 40 registers each, four with 32.
        let wide = [in_lanes(256, 24, 5), in_lanes(512, 24, 5), in_lanes(512, 24, 2)];
        assert_eq!(wide.map(|(_, effort)| effort), [Effort::Low, Effort::Full, Effort::Low]);
    }

    #[test]
    fn every_inner_loop_counts() {
        let (load, add) = (("ld.global.v4.b32", 3), ("add.f32", 180));
        // Blocks 1 to 3 are a loop around the loop of block 2.
        let nested = |inner| {
            of(vec![
                block(0, &[], &[1]),
                block(1, &[add], &[2]),
                block(2, &[inner], &[2, 3]),
                block(3, &[], &[1, 4]),
                block(4, &[], &[]),
            ])
        };
        assert_eq!([nested(load), nested(add)], [Effort::Low, Effort::Full]);
        let after = of(vec![block(0, &[load], &[0, 1]), block(1, &[add], &[1, 2]), block(2, &[], &[])]);
        assert_eq!(after, Effort::Full, "of two loops one computes");
    }
}
