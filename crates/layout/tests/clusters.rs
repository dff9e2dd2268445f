//! Conversions between the blocks of a cluster, carried out lane by lane on random pairs of layouts.

use layout::convert::{
    Access, Choice, Conversion, ConvertFacts, Exchange, Source, Staged, plan, plan_from_owners,
};
use layout::{Dim, LinearLayout};
use proptest::prelude::*;

/// Bits of lanes, warps and blocks.
#[derive(Clone, Copy, Debug)]
struct Machine {
    lanes: u32,
    warps: u32,
    blocks: u32,
}

impl Machine {
    fn threads(self) -> u32 {
        1 << (self.lanes + self.warps + self.blocks)
    }

    /// The block of a thread.
    fn block(self, thread: u32) -> u32 {
        thread >> (self.lanes + self.warps)
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) as u32 % end.max(1)
    }
}

/// A layout that reaches all of `bits` bits, with copies, its bits in any places, perhaps mixed.
fn layout(random: &mut Random, machine: Machine, bits: u32) -> LinearLayout {
    let Machine { lanes, warps, blocks } = machine;
    let registers = bits.saturating_sub(lanes + warps + blocks) + random.below(3);
    let total = (registers + lanes + warps + blocks).max(bits) as usize;
    let registers = total - (lanes + warps + blocks) as usize;
    let mut columns: Vec<u32> = (0..bits).map(|bit| 1 << bit).collect();
    while columns.len() < total {
        columns.push(if random.below(2) == 0 { 0 } else { random.below(1 << bits) });
    }
    for at in (1..total).rev() {
        columns.swap(at, random.below(at as u32 + 1) as usize);
    }
    for _ in 0..if random.below(3) == 0 { total } else { 0 } {
        let (to, from) = (random.below(total as u32) as usize, random.below(total as u32) as usize);
        if to != from {
            columns[to] ^= columns[from];
        }
    }
    let basis: Vec<[(Dim, u32); 1]> = columns.iter().map(|&column| [(Dim::block(0), column)]).collect();
    let basis: Vec<&[(Dim, u32)]> = basis.iter().map(|one| &one[..]).collect();
    let (register, rest) = basis.split_at(registers);
    let (lane, rest) = rest.split_at(lanes as usize);
    let (warp, block) = rest.split_at(warps as usize);
    let ins = [(Dim::REGISTER, register), (Dim::LANE, lane), (Dim::WARP, warp), (Dim::BLOCK, block)];
    LinearLayout::new(&ins, &[(Dim::block(0), bits)]).expect("columns fit")
}

fn registers(layout: &LinearLayout) -> u32 {
    1 << layout.ins().bits(Dim::REGISTER)
}

/// The elements that each thread of the cluster has.
fn held(layout: &LinearLayout, machine: Machine) -> Vec<Vec<u64>> {
    let element = |thread: u32, register: u32| {
        let (lane, above) = (thread & ((1 << machine.lanes) - 1), thread >> machine.lanes);
        let (warp, block) = (above & ((1 << machine.warps) - 1), above >> machine.warps);
        let place = [(Dim::REGISTER, register), (Dim::LANE, lane), (Dim::WARP, warp), (Dim::BLOCK, block)];
        layout.apply_word(layout.ins().pack(&place))
    };
    (0..machine.threads())
        .map(|thread| (0..registers(layout)).map(|register| element(thread, register)).collect())
        .collect()
}

/// A linear function of the thread index.
fn linear(columns: &[u32], thread: u32) -> u32 {
    let parts = columns.iter().enumerate().filter(|part| thread >> part.0 & 1 == 1);
    parts.fold(0, |all, part| all ^ part.1)
}

fn chosen(choices: &[Choice], thread: u32) -> u32 {
    let odd = |choice: &&Choice| (choice.mask & u64::from(thread)).count_ones() % 2 == 1;
    choices.iter().filter(odd).fold(0, |all, choice| all ^ choice.xor)
}

fn exchanged(plan: &Exchange, have: &[Vec<u64>], machine: Machine) -> Vec<Vec<u64>> {
    let sent = |thread: u32, slot: u32| have[thread as usize][(slot ^ chosen(&plan.before, thread)) as usize];
    let of = |thread: u32| {
        let warp = thread >> machine.lanes << machine.lanes;
        let arrived = |round: &layout::convert::Round| {
            let lane = match round.source {
                Source::Stay => thread - warp,
                Source::Xor(bits) => (thread - warp) ^ bits,
                Source::Index(bits) => linear(&plan.lanes, thread) ^ bits,
            };
            sent(warp + lane, round.from)
        };
        let arrived: Vec<u64> = plan.rounds.iter().map(arrived).collect();
        plan.outputs.iter().map(|&at| arrived[(at ^ chosen(&plan.after, thread)) as usize]).collect()
    };
    (0..machine.threads()).map(of).collect()
}

/// Stores and loads in turn, each block with memory of its own.
fn staged(plan: &Staged, have: &[Vec<u64>], machine: Machine, bytes: u32) -> Vec<Vec<u64>> {
    let mut result = vec![vec![None; plan.load.same.len()]; machine.threads() as usize];
    let in_round = |access: &Access, round: u32| {
        access.steps.iter().filter(|step| step.round == round).cloned().collect::<Vec<_>>()
    };
    for round in 0..plan.rounds {
        let mut memory = vec![vec![None; (plan.bytes / bytes) as usize]; 1 << machine.blocks];
        for thread in (0..machine.threads()).filter(|thread| u64::from(*thread) & plan.store.copies == 0) {
            for step in in_round(&plan.store, round) {
                assert_eq!(step.far, 0, "a block stores in its own memory");
                let at = linear(&plan.store.thread, thread) ^ step.offset;
                for (next, &register) in step.registers.iter().enumerate() {
                    let slot = &mut memory[machine.block(thread) as usize][at as usize + next];
                    assert_eq!(*slot, None, "every element is stored once");
                    *slot = Some(have[thread as usize][register as usize]);
                }
            }
        }
        for thread in 0..machine.threads() {
            for step in in_round(&plan.load, round) {
                let at = linear(&plan.load.thread, thread) ^ step.offset;
                assert_eq!(at % plan.load.vector, 0, "vectors are aligned");
                let far = linear(&plan.load.far, thread) ^ step.far;
                assert!(far == 0 || plan.crosses_blocks, "who reads other blocks says so");
                let block = machine.block(thread) ^ far;
                for (next, &register) in step.registers.iter().enumerate() {
                    result[thread as usize][register as usize] = memory[block as usize][at as usize + next];
                }
            }
        }
    }
    let all = |registers: &Vec<Option<u64>>| {
        plan.load
            .same
            .iter()
            .map(|&from| registers[from as usize].expect("every register is loaded"))
            .collect()
    };
    result.iter().map(all).collect()
}

fn machines() -> impl Strategy<Value = Machine> {
    (0..4u32, 0..3u32, 0..4u32).prop_map(|(lanes, warps, blocks)| Machine { lanes, warps, blocks })
}

/// Blocks of one thread, of which the registers alone lead into the other block.
#[test]
fn registers_alone_may_lead_elsewhere() {
    let machine = Machine { lanes: 0, warps: 0, blocks: 1 };
    let mut random = Random(1965509194369581058 | 1);
    let (src, dst) = (layout(&mut random, machine, 1), layout(&mut random, machine, 1));
    let facts = ConvertFacts { max_bytes: 1 << 4, ..ConvertFacts::default() };
    let Ok(Conversion::Shared(plan)) = plan(&src, &dst, 8, &facts) else {
        panic!("the other block is read through memory")
    };
    assert!(plan.crosses_blocks);
    assert_eq!(staged(&plan, &held(&src, machine), machine, 1), held(&dst, machine));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_register_gets_its_element(seed: u64, machine in machines(), bits in 0..8u32, size in 0..4u32, bound in 4..12u32) {
        let mut random = Random(seed | 1);
        let (src, dst) = (layout(&mut random, machine, bits), layout(&mut random, machine, bits));
        let (have, want) = (held(&src, machine), held(&dst, machine));
        let facts = ConvertFacts { max_bytes: 1 << bound, ..ConvertFacts::default() };
        let got = match plan(&src, &dst, 8 << size, &facts).expect("the cluster holds every element") {
            Conversion::Registers(list) => {
                have.iter().map(|have| list.iter().map(|&at| have[at as usize]).collect()).collect()
            }
            Conversion::Exchange(plan) => exchanged(&plan, &have, machine),
            Conversion::Shared(plan) => {
                let of_block = |thread: usize, value: &u64| {
                    let own = machine.block(thread as u32);
                    let all = (0..machine.threads()).filter(|other| machine.block(*other) == own);
                    all.into_iter().any(|other| have[other as usize].contains(value))
                };
                let local = want.iter().enumerate().all(|(thread, list)| list.iter().all(|value| of_block(thread, value)));
                prop_assert!(!(local && plan.crosses_blocks), "a block reads itself what it has itself");
                staged(&plan, &have, machine, 1 << size)
            }
        };
        prop_assert_eq!(got, want);
    }

    #[test]
    fn owners_hand_round(seed: u64, machine in machines(), bits in 0..8u32, size in 0..4u32) {
        let mut random = Random(seed | 1);
        let layout = layout(&mut random, machine, bits);
        let plan = plan_from_owners(&layout, 8 << size, &ConvertFacts::default()).expect("the layout holds every element");
        let elements = held(&layout, machine);
        // Who holds an element second has something else in its place.
        let mut seen = std::collections::BTreeSet::new();
        let mut order: Vec<(u32, u32)> = (0..machine.threads()).flat_map(|thread| (0..registers(&layout)).map(move |register| (register, thread))).collect();
        order.sort_by_key(|(register, thread)| (*thread, *register));
        let mut have = elements.clone();
        for (register, thread) in order {
            if !seen.insert(elements[thread as usize][register as usize]) {
                have[thread as usize][register as usize] = u64::MAX;
            }
        }
        prop_assert_eq!(staged(&plan, &have, machine, 1 << size), elements);
    }
}
