//! Hints for the assembler about loops that load.
//!
//! ```text
//! loop: ld.global.v4 ; add                                     no `.pragma "nounroll"`
//! loop: ld.global ; ld.global ; ld.global ; add ; add ; add    .minnctapersm 3
//! ```
//!
//! A loop that loads once or twice an iteration waits for memory in each, if iterations are not put together. Where it
//! only reduces it may be unrolled, and the loads of four iterations are under way at a time (column sums of 65536×256,
//! blocks of 128×16, 8 warps, H200: of bf16 282 and 92 µs, of fp32 289 and 99). Not where a kernel's loops store: rows
//! that end with the first iteration take a tenth longer then, as fewer programs share an SM.
//!
//! Of a loop that loads more, `ptxas` puts each load beside its use where that saves registers: without a word about
//! programs it works for the most that an SM can hold. A column sum of bf16 whose rows begin at odd addresses, 16 loads
//! an iteration, had two of them under way in 32 registers, and took four times as long as with all of them in 48
//! (4001×3001, 32×64 blocks, H200: 363 and 82 µs). With a number of programs for which twice the registers are there
//! that the text has in use it keeps the order.

use super::machine::{MBlock, MFunction};
use super::work::{InUse, Known, REGISTERS, Work, loops};
use llir::Block;

/// Hints for the assembler.
#[derive(Default, PartialEq, Eq, Debug)]
pub(super) struct LoopLoads {
    /// The loops that may be unrolled, each a block.
    pub(super) unrolled: Vec<Block>,
    /// For so many programs an SM is to have registers.
    pub(super) programs: Option<u32>,
}

/// Loads of a loop that may be unrolled, at most.
const MOST_LOADS: u32 = 2;
/// Instructions of such a loop, at most: four times as many are little beside what memory takes.
const MOST_INSTRUCTIONS: u32 = 96;
/// Programs that an SM holds at most.
const MOST_PROGRAMS: u32 = 32;
/// Registers of a lane that are left in any case: with fewer there is nothing to gain.
const LEAST_REGISTERS: u32 = 64;

impl LoopLoads {
    /// What is to be said of a function of which so many lanes are a program.
    pub(super) fn of(function: &MFunction, lanes: u32) -> LoopLoads {
        let mut known = Known::default();
        if sum(&function.blocks, &mut known).is_demanding {
            return LoopLoads::default();
        }
        let unrolled = unrolled(function);
        let waits_for_several = loops(function).into_iter().any(|blocks| {
            let work = sum(&function.blocks[blocks], &mut known);
            work.loads > 1 && !work.waits
        });
        let programs = (waits_for_several || !unrolled.is_empty())
            .then(|| {
                let registers = (2 * InUse::of(function, &mut known).anywhere).max(LEAST_REGISTERS);
                (REGISTERS / (lanes * registers)).min(MOST_PROGRAMS)
            })
            .filter(|&programs| programs > 1);
        LoopLoads { unrolled, programs }
    }
}

/// The loops of a function of which the assembler may put iterations together.
pub(super) fn unrolled(function: &MFunction) -> Vec<Block> {
    let mut known = Known::default();
    let mut found = Vec::new();
    for blocks in loops(function) {
        let body = &function.blocks[blocks];
        let work = sum(body, &mut known);
        if work.stores > 0 {
            return Vec::new();
        }
        if let [block] = body
            && (1..=MOST_LOADS).contains(&work.loads)
            && !work.waits
            && !work.is_demanding
            && work.instructions <= MOST_INSTRUCTIONS
        {
            found.push(block.block);
        }
    }
    found
}

fn sum<'a>(blocks: &'a [MBlock], known: &mut Known<'a>) -> Work {
    blocks.iter().map(|block| Work::of(block, known)).sum()
}

#[cfg(test)]
mod tests {
    use super::super::effort::{Effort, effort};
    use super::super::machine::testing::{block, function};
    use super::LoopLoads;
    use cranelift_entity::EntityRef;
    use llir::Block;

    const LOAD: &str = "ld.global.v4.b32";
    const STORE: &str = "st.global.v4.b32";

    /// A function with a loop of these instructions, each so many times, and another one behind it.
    fn of(first: &[(&'static str, usize)], second: &[(&'static str, usize)]) -> (LoopLoads, Effort) {
        let blocks = vec![
            block(0, &[], &[1]),
            block(1, first, &[1, 2]),
            block(2, second, &[2, 3]),
            block(3, &[(STORE, 1)], &[]),
        ];
        let function = function(blocks);
        (LoopLoads::of(&function, 128), effort(&function, 128))
    }

    #[test]
    fn loops_that_only_reduce() {
        let heads = |loops: &[usize]| loops.iter().map(|&number| Block::new(number)).collect::<Vec<_>>();
        let (hints, level) = of(&[(LOAD, 1), ("add.f32", 8)], &[("add.f32", 8)]);
        assert_eq!((hints, level), (LoopLoads { unrolled: heads(&[1]), programs: Some(8) }, Effort::Full));
        let (hints, level) = of(&[(LOAD, 2), ("add.f32", 16)], &[(LOAD, 1), ("add.f32", 4)]);
        assert_eq!((hints, level), (LoopLoads { unrolled: heads(&[1, 2]), programs: Some(8) }, Effort::Full));
        let (hints, level) = of(&[(LOAD, 1), ("add.f32", 4)], &[(LOAD, 1), (STORE, 1)]);
        assert_eq!(
            (hints, level),
            (LoopLoads::default(), Effort::Low),
            "rows may end with the first iteration"
        );
        let (hints, level) = of(&[(LOAD, 2), ("add.f32", 200)], &[("add.f32", 8)]);
        assert_eq!((hints.unrolled, level), (heads(&[]), Effort::Full), "the sums take longer");
        let (hints, _) = of(&[(LOAD, 1), ("bar.sync", 1)], &[("add.f32", 8)]);
        assert_eq!(hints, LoopLoads::default(), "what waits is not unrolled");
    }

    #[test]
    fn programs_where_loads_could_move() {
        let (hints, _) = of(&[("ld.global.b16", 16), ("add.f32", 16)], &[("add.f32", 8)]);
        assert_eq!(hints, LoopLoads { unrolled: Vec::new(), programs: Some(8) });
        let (hints, _) = of(&[("ld.global.b16", 16), ("bar.sync", 1)], &[("add.f32", 8)]);
        assert_eq!(hints.programs, None);
        let multiply = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
        let (hints, _) = of(&[("ld.global.b16", 16), (multiply, 1)], &[("add.f32", 8)]);
        assert_eq!(hints, LoopLoads::default(), "dots have pipelines of their own");
    }
}
