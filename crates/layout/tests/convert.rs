//! Conversion plans, carried out lane by lane on random pairs of layouts; bank conflicts counted by brute force.

use layout::convert::{
    Access, Choice, Conversion, ConversionError, ConvertFacts, Exchange, Source, Staged, access, plan,
    plan_exchange, plan_shared,
};
use layout::{Dim, LinearLayout};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// How many bits of registers, lanes and warps.
type Shape = (u32, u32, u32);

fn layout(columns: &[u32], shape: Shape, bits: u32) -> LinearLayout {
    let basis: Vec<[(Dim, u32); 1]> = columns.iter().map(|&column| [(Dim::block(0), column)]).collect();
    let basis: Vec<&[(Dim, u32)]> = basis.iter().map(|one| &one[..]).collect();
    let (register, rest) = basis.split_at(shape.0 as usize);
    let (lane, warp) = rest.split_at(shape.1 as usize);
    let ins = [(Dim::REGISTER, register), (Dim::LANE, lane), (Dim::WARP, warp)];
    LinearLayout::new(&ins, &[(Dim::block(0), bits)]).expect("columns fit")
}

/// A layout that reaches all of `bits` bits: powers of two in some order (where `mix` is 0), some of them twice or not
/// at all elsewhere, mixed by random additions.
fn layouts(lanes: u32, warps: u32, bits: u32) -> impl Strategy<Value = LinearLayout> {
    let least = bits.saturating_sub(lanes + warps);
    (least..least + 3, any::<u64>(), 0..3u32).prop_map(move |(registers, seed, mix)| {
        let mut random = Random(seed | 1);
        let total = (registers + lanes + warps) as usize;
        let mut columns: Vec<u32> = (0..bits).map(|bit| 1 << bit).collect();
        while columns.len() < total {
            let copy = match random.below(3) {
                0 => 0,
                1 => 1 << random.below(bits.max(1)) & ((1 << bits) - 1),
                _ => random.below(1 << bits),
            };
            columns.push(if mix == 0 { 0 } else { copy });
        }
        shuffle(&mut random, &mut columns);
        for _ in 0..if mix == 2 { total } else { 0 } {
            let (to, from) = (random.below(total as u32) as usize, random.below(total as u32) as usize);
            if to != from {
                columns[to] ^= columns[from];
            }
        }
        layout(&columns, (registers, lanes, warps), bits)
    })
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

fn pairs() -> impl Strategy<Value = (LinearLayout, LinearLayout)> {
    (0..6u32, 0..4u32, 0..9u32)
        .prop_flat_map(|(lanes, warps, bits)| (layouts(lanes, warps, bits), layouts(lanes, warps, bits)))
}

struct Machine {
    lanes: u32,
    threads: u32,
}

fn machine(layout: &LinearLayout) -> Machine {
    let (lanes, warps) = (layout.ins().bits(Dim::LANE), layout.ins().bits(Dim::WARP));
    Machine { lanes, threads: 1 << (lanes + warps) }
}

fn element(layout: &LinearLayout, machine: &Machine, register: u32, thread: u32) -> u64 {
    let lane = thread & ((1 << machine.lanes) - 1);
    layout.apply_word(layout.ins().pack(&[
        (Dim::REGISTER, register),
        (Dim::LANE, lane),
        (Dim::WARP, thread >> machine.lanes),
    ]))
}

fn registers(layout: &LinearLayout) -> u32 {
    1 << layout.ins().bits(Dim::REGISTER)
}

/// The elements each thread has of a layout.
fn held(layout: &LinearLayout) -> Vec<Vec<u64>> {
    let machine = machine(layout);
    (0..machine.threads)
        .map(|thread| {
            (0..registers(layout)).map(|register| element(layout, &machine, register, thread)).collect()
        })
        .collect()
}

fn chosen(choices: &[Choice], thread: u32) -> u32 {
    let odd = |choice: &&Choice| (choice.mask & u64::from(thread)).count_ones() % 2 == 1;
    choices.iter().filter(odd).fold(0, |all, choice| all ^ choice.xor)
}

fn exchanged(plan: &Exchange, src: &LinearLayout) -> Vec<Vec<u64>> {
    let machine = machine(src);
    let have = held(src);
    let sent = |thread: u32, slot: u32| have[thread as usize][(slot ^ chosen(&plan.before, thread)) as usize];
    (0..machine.threads)
        .map(|thread| {
            let warp = thread >> machine.lanes << machine.lanes;
            let own = thread - warp;
            let index = |bits: u32| {
                let parts = plan.lanes.iter().enumerate().filter(|part| thread >> part.0 & 1 == 1);
                parts.fold(bits, |all, part| all ^ part.1)
            };
            let arrived: Vec<u64> = plan
                .rounds
                .iter()
                .map(|round| {
                    let lane = match round.source {
                        Source::Stay => own,
                        Source::Xor(bits) => own ^ bits,
                        Source::Index(bits) => index(bits),
                    };
                    sent(warp + lane, round.from)
                })
                .collect();
            plan.outputs.iter().map(|&at| arrived[(at ^ chosen(&plan.after, thread)) as usize]).collect()
        })
        .collect()
}

fn offset(access: &Access, thread: u32) -> u32 {
    access
        .thread
        .iter()
        .enumerate()
        .filter(|part| thread >> part.0 & 1 == 1)
        .fold(0, |all, part| all ^ part.1)
}

/// The thread that holds an element of what a thread names, and in which register.
fn holder(access: &Access, thread: u32, registers: &[u32], next: usize) -> (u32, u32) {
    let Some(rows) = access.by_rows else { return (thread, registers[next]) };
    let (matrix, row, column) = (thread as usize % 32 / 8, thread % 8, next as u32);
    let (major, minor) = if rows.transposed { (column, row) } else { (row, column) };
    (thread / 32 * 32 + 4 * major + minor / 2, registers[2 * matrix + minor as usize % 2])
}

/// Passes over the banks of one step, the worst warp, counted word by word.
fn passes(access: &Access, machine: &Machine, bytes: u32, facts: &ConvertFacts, step: u32) -> u32 {
    let unit = (access.vector * bytes).max(facts.bank_bytes);
    let in_phase = (facts.banks * facts.bank_bytes / unit).min(1 << machine.lanes);
    let mut worst = 0;
    for warp in 0..machine.threads >> machine.lanes {
        let mut total = 0;
        for phase in 0..(1 << machine.lanes) / in_phase {
            let mut banks = BTreeMap::<u32, BTreeSet<u32>>::new();
            for lane in 0..in_phase {
                let thread = (warp << machine.lanes) + phase * in_phase + lane;
                let at = (offset(access, thread) ^ step) * bytes;
                for word in at / facts.bank_bytes..(at + access.vector * bytes).div_ceil(facts.bank_bytes) {
                    banks.entry(word % facts.banks).or_default().insert(word);
                }
            }
            total += banks.values().map(BTreeSet::len).max().unwrap_or(0) as u32;
        }
        worst = worst.max(total);
    }
    worst
}

fn staged(plan: &Staged, src: &LinearLayout, dst: &LinearLayout, bytes: u32) -> Vec<Vec<Option<u64>>> {
    let (source, target) = (machine(src), machine(dst));
    let have = held(src);
    let mut result = vec![vec![None; registers(dst) as usize]; target.threads as usize];
    for round in 0..plan.rounds {
        let mut memory = vec![None; (plan.bytes / bytes) as usize];
        for thread in (0..source.threads).filter(|thread| u64::from(*thread) & plan.store.copies == 0) {
            for step in plan.store.steps.iter().filter(|step| step.round == round) {
                let at = offset(&plan.store, thread) ^ step.offset;
                assert_eq!(at % plan.store.vector, 0, "vectors are aligned");
                for next in 0..step.registers.len() {
                    let slot = &mut memory[at as usize + next];
                    assert_eq!(*slot, None, "every element is stored once");
                    let (from, register) = holder(&plan.store, thread, &step.registers, next);
                    *slot = Some((thread >> source.lanes, have[from as usize][register as usize]));
                }
            }
        }
        for thread in 0..target.threads {
            for step in plan.load.steps.iter().filter(|step| step.round == round) {
                let at = offset(&plan.load, thread) ^ step.offset;
                assert_eq!(at % plan.load.vector, 0, "vectors are aligned");
                for next in 0..step.registers.len() {
                    let (warp, value) = memory[at as usize + next].expect("what is loaded was stored");
                    assert!(!plan.within_warp || warp == thread >> target.lanes, "a warp reads its own");
                    let (to, register) = holder(&plan.load, thread, &step.registers, next);
                    result[to as usize][register as usize] = Some(value);
                }
            }
        }
    }
    for registers in &mut result {
        *registers = plan.load.same.iter().map(|&from| registers[from as usize]).collect();
    }
    result
}

fn whole(list: Vec<Vec<Option<u64>>>) -> Vec<Vec<u64>> {
    list.into_iter()
        .map(|one| one.into_iter().map(|value| value.expect("every register is loaded")).collect())
        .collect()
}

fn check_conflicts(plan: &Staged, src: &LinearLayout, bytes: u32, facts: &ConvertFacts) {
    let machine = machine(src);
    for side in [&plan.store, &plan.load] {
        for step in &side.steps {
            let counted = passes(side, &machine, bytes, facts, step.offset);
            assert!(counted <= side.wavefronts, "{counted} passes, {} foretold", side.wavefronts);
        }
        assert_eq!(side.wavefronts, side.ideal, "a conversion has no conflicts");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_register_gets_its_element((src, dst) in pairs(), size in 0..4u32) {
        let expected = held(&dst);
        let facts = ConvertFacts { stores_rows: true, loads_rows: true, ..ConvertFacts::default() };
        match plan(&src, &dst, 8 << size, &facts) {
            Ok(Conversion::Registers(list)) => {
                let got: Vec<Vec<u64>> =
                    held(&src).iter().map(|have| list.iter().map(|&at| have[at as usize]).collect()).collect();
                prop_assert_eq!(got, expected);
            }
            Ok(Conversion::Exchange(exchange)) => prop_assert_eq!(exchanged(&exchange, &src), expected),
            Ok(Conversion::Shared(plan)) => prop_assert_eq!(whole(staged(&plan, &src, &dst, 1 << size)), expected),
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn shared_memory_moves_every_element_without_conflicts((src, dst) in pairs(), size in 0..4u32) {
        let facts = ConvertFacts::default();
        let plan = plan_shared(&src, &dst, 8 << size, &facts).expect("the pair has a plan");
        check_conflicts(&plan, &src, 1 << size, &facts);
        prop_assert_eq!(whole(staged(&plan, &src, &dst, 1 << size)), held(&dst));
    }

    #[test]
    fn rows_move_for_others_where_lanes_hold_matrices(
        seed: u64, registers in 3..6u32, warps in 0..4u32, transposed: bool, loads: bool, bound in 10..17u32
    ) {
        let mut random = Random(seed | 1);
        let bits = registers + 5 + warps;
        let mut columns: Vec<u32> = (0..bits).map(|bit| 1 << bit).collect();
        shuffle(&mut random, &mut columns);
        // A pair beside each other, two lane bits beside it, three for the rows; the rest as it comes.
        let (rest, above) = columns[6..].split_at(registers as usize - 1);
        let lanes = [&columns[..1], rest, &columns[1..6], above].concat();
        let row = if transposed { 3..6 } else { 0..3 };
        let mut others = columns.clone();
        others.drain(row.clone());
        shuffle(&mut random, &mut others);
        let vectors = [&columns[row], &others].concat();
        let [lanes, vectors] = [lanes, vectors].map(|columns| blocked((registers, 5, warps), &columns, bits));
        let (src, dst) = if loads { (&vectors, &lanes) } else { (&lanes, &vectors) };
        let facts = ConvertFacts { stores_rows: true, loads_rows: true, max_bytes: 1 << bound, ..ConvertFacts::default() };
        let plan = plan_shared(src, dst, 16, &facts).expect("the pair has a plan");
        check_conflicts(&plan, src, 2, &facts);
        prop_assert_eq!(whole(staged(&plan, src, dst, 2)), held(dst));
        // With too little memory rows are cut.
        if 2 << bits <= facts.max_bytes {
            let plain = ConvertFacts { stores_rows: false, loads_rows: false, ..facts };
            let plain = plan_shared(src, dst, 16, &plain).expect("the pair has a plan");
            let steps = |plan: &Staged| plan.store.steps.len() + plan.load.steps.len();
            let by_rows = plan.store.by_rows.is_some() || plan.load.by_rows.is_some();
            let is_no_worse = plan == plain || by_rows && steps(&plan) <= steps(&plain);
            prop_assert!(is_no_worse);
        }
    }

    #[test]
    fn rounds_bound_the_memory((src, dst) in pairs(), size in 0..3u32, bound in 4..10u32) {
        let facts = ConvertFacts { max_bytes: 1 << bound, ..ConvertFacts::default() };
        let plan = plan_shared(&src, &dst, 8 << size, &facts).expect("the pair has a plan");
        check_conflicts(&plan, &src, 1 << size, &facts);
        prop_assert_eq!(whole(staged(&plan, &src, &dst, 1 << size)), held(&dst));
    }

    #[test]
    fn exchanges_reach_all_that_stays_in_the_warp((src, dst) in pairs()) {
        let machine = machine(&src);
        let (have, want) = (held(&src), held(&dst));
        let in_warp = |thread: u32, value: u64| {
            let warp = thread >> machine.lanes << machine.lanes;
            (warp..warp + (1 << machine.lanes)).any(|other| have[other as usize].contains(&value))
        };
        let possible = (0..machine.threads).all(|thread| want[thread as usize].iter().all(|&value| in_warp(thread, value)));
        match plan_exchange(&src, &dst).expect("the pair is of one machine") {
            Some(exchange) => prop_assert_eq!(exchanged(&exchange, &src), want),
            None => prop_assert!(!possible, "every warp has what it needs"),
        }
    }

    #[test]
    fn accesses_reach_their_place(tensor in layouts(4, 2, 8), seed: u64, size in 0..4u32) {
        let mut random = Random(seed | 1);
        let mut columns: Vec<u32> = (0..8).map(|bit| 1 << bit).collect();
        for (bit, column) in columns.iter_mut().enumerate() {
            let above = random.below(256) & !((2u32 << bit) - 1);
            *column |= above;
        }
        let basis: Vec<[(Dim, u32); 1]> = columns.iter().map(|&column| [(Dim::block(0), column)]).collect();
        let basis: Vec<&[(Dim, u32)]> = basis.iter().map(|one| &one[..]).collect();
        let memory = LinearLayout::new(&[(Dim::OFFSET, &basis)], &[(Dim::block(0), 8)]).expect("columns fit");
        let facts = ConvertFacts::default();
        let (store, load) = access(&tensor, &memory, 8 << size, &facts).expect("every element has a place");
        let machine = machine(&tensor);
        let have = held(&tensor);
        let mut stored = BTreeSet::new();
        for thread in 0..machine.threads {
            for (side, stores) in [(&store, true), (&load, false)] {
                if stores && u64::from(thread) & side.copies != 0 {
                    continue;
                }
                for step in &side.steps {
                    let at = offset(side, thread) ^ step.offset;
                    prop_assert!(passes(side, &machine, 1 << size, &facts, step.offset) <= side.wavefronts);
                    for (next, &register) in step.registers.iter().enumerate() {
                        let element = memory.apply_word(u64::from(at) + next as u64);
                        prop_assert_eq!(have[thread as usize][register as usize], element);
                        prop_assert!(!stores || stored.insert(element), "stored twice");
                    }
                }
            }
        }
        prop_assert_eq!(stored.len(), 256);
    }
}

fn shuffle(random: &mut Random, list: &mut [u32]) {
    for at in (1..list.len()).rev() {
        list.swap(at, random.below(at as u32 + 1) as usize);
    }
}

fn blocked(shape: Shape, columns: &[u32], bits: u32) -> LinearLayout {
    layout(columns, shape, bits)
}

#[test]
fn a_permutation_of_registers_moves_nothing() {
    let src = blocked((2, 2, 0), &[1, 2, 4, 8], 4);
    let dst = blocked((2, 2, 0), &[2, 1, 4, 8], 4);
    assert_eq!(plan(&src, &dst, 32, &ConvertFacts::default()), Ok(Conversion::Registers(vec![0, 2, 1, 3])));
}

#[test]
fn a_trade_of_a_register_bit_for_a_lane_bit_shuffles_half() {
    let src = blocked((2, 2, 0), &[1, 2, 4, 8], 4);
    let dst = blocked((2, 2, 0), &[4, 2, 1, 8], 4);
    let exchange = plan_exchange(&src, &dst).expect("one machine").expect("one warp");
    assert_eq!(exchange.shuffles(32, 32), 2);
    assert_eq!(exchange.shuffles(16, 32), 1, "two halves travel together");
    assert_eq!(exchange.shuffles(64, 32), 4);
}

#[test]
fn one_lane_to_all_is_one_shuffle_per_register() {
    let src = blocked((0, 5, 0), &[1, 2, 4, 0, 0], 3);
    let dst = blocked((3, 5, 0), &[1, 2, 4, 0, 0, 0, 0, 0], 3);
    let exchange = plan_exchange(&src, &dst).expect("one machine").expect("one warp");
    assert_eq!(
        (exchange.shuffles(32, 32), exchange.selects()),
        (8, 0),
        "each lane is read by all of its warp"
    );
}

#[test]
fn a_transpose_has_wide_words_and_no_conflicts() {
    // 64 by 64 in rows against columns, four in a lane, four warps.
    let rows: Vec<u32> = (0..12).map(|bit| 1 << bit).collect();
    let cols: Vec<u32> = (0..12).map(|bit| 1 << ((bit + 6) % 12)).collect();
    let order = |list: &[u32]| [&list[..2], &list[9..], &list[2..9]].concat();
    let (src, dst) = (blocked((5, 5, 2), &order(&rows), 12), blocked((5, 5, 2), &order(&cols), 12));
    for bits in [8, 16, 32, 64] {
        let staged = plan_shared(&src, &dst, bits, &ConvertFacts::default()).expect("a plan");
        assert_eq!(
            (staged.store.wavefronts, staged.load.wavefronts),
            (staged.store.ideal, staged.load.ideal),
            "{bits}"
        );
    }
}

#[test]
fn operands_of_matrix_instructions_come_by_rows_where_that_is_as_much_work() {
    // 64 rows of 64 halves: loaded by lanes with eight columns each, multiplied by two warps of 16 rows each.
    let row = |row: u32| 64 * row;
    let loaded = [1, 2, 4, row(8), row(16), row(32), 8, 16, 32, row(1), row(2), row(4)];
    let multiplied = [1, row(8), 8, 16, 32, row(32), 2, 4, row(1), row(2), row(4), row(16)];
    let [src, dst] = [loaded, multiplied].map(|columns| layout(&columns, (6, 5, 1), 12));
    let plain = plan_shared(&src, &dst, 16, &ConvertFacts::default()).expect("a plan");
    let facts = ConvertFacts { loads_rows: true, ..ConvertFacts::default() };
    let by_rows = plan_shared(&src, &dst, 16, &facts).expect("a plan");
    let steps = |plan: &Staged| [plan.store.steps.len(), plan.load.steps.len()];
    assert_eq!(steps(&plain), steps(&by_rows), "no way takes more instructions");
    assert!(by_rows.load.by_rows.is_some());
    // What an instruction moves is beside each other, as it was loaded and as it is multiplied.
    let is_run = |registers: &[u32]| registers.windows(2).all(|pair| pair[1] == pair[0] + 1);
    let all =
        |plan: &Staged| plan.store.steps.iter().chain(&plan.load.steps).all(|step| is_run(&step.registers));
    assert_eq!((all(&plain), all(&by_rows)), (false, true));
}

#[test]
fn missing_elements_are_refused() {
    let src = blocked((1, 2, 0), &[1, 2, 0], 3);
    let dst = blocked((1, 2, 0), &[1, 2, 4], 3);
    assert_eq!(plan(&src, &dst, 32, &ConvertFacts::default()), Err(ConversionError::Missing));
    let other = blocked((1, 3, 0), &[1, 2, 4, 0], 3);
    assert_eq!(plan(&dst, &other, 32, &ConvertFacts::default()), Err(ConversionError::Mismatch));
}
