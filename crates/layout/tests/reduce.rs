//! Reductions carried out lane by lane on random layouts: sets of elements are what is combined.

use layout::reduce::{PARTIAL, Work, plan};
use layout::{Dim, LinearLayout};
use proptest::prelude::*;

struct Random(u64);

impl Random {
    fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) as u32 % end.max(1)
    }
}

/// A random layout that reaches a whole block of `rows` by `cols` bits, with copies.
fn layout(random: &mut Random, shape: [u32; 4], sizes: &[u32]) -> LinearLayout {
    let bits: u32 = sizes.iter().sum();
    let threads = shape[1] + shape[2] + shape[3];
    let registers = bits.saturating_sub(threads).max(shape[0]);
    let total = (registers + threads) as usize;
    let mut columns: Vec<u32> = (0..bits).map(|bit| 1 << bit).collect();
    while columns.len() < total {
        let copy = random.below(1 << bits);
        columns.push(if random.below(2) == 0 { 0 } else { copy });
    }
    for at in (1..total).rev() {
        columns.swap(at, random.below(at as u32 + 1) as usize);
    }
    if random.below(2) == 0 {
        for _ in 0..total {
            let (to, from) = (random.below(total as u32) as usize, random.below(total as u32) as usize);
            if to != from {
                columns[to] ^= columns[from];
            }
        }
    }
    let outs: Vec<(Dim, u32)> = sizes.iter().enumerate().map(|(at, &bits)| (Dim::block(at), bits)).collect();
    let place = |word: u32| -> Vec<(Dim, u32)> {
        let mut shift = 0;
        let mut at = Vec::new();
        for &(dim, bits) in &outs {
            at.push((dim, word >> shift & ((1 << bits) - 1)));
            shift += bits;
        }
        at
    };
    let bases: Vec<Vec<(Dim, u32)>> = columns.into_iter().map(place).collect();
    let bases: Vec<&[(Dim, u32)]> = bases.iter().map(|one| &one[..]).collect();
    let (register, rest) = bases.split_at(registers as usize);
    let (lane, rest) = rest.split_at(shape[1] as usize);
    let (warp, block) = rest.split_at(shape[2] as usize);
    let ins = [(Dim::REGISTER, register), (Dim::LANE, lane), (Dim::WARP, warp), (Dim::BLOCK, block)];
    LinearLayout::new(&ins, &outs).expect("bases fit")
}

/// A bag of elements: how often each is in it.
type Bag = Vec<u32>;

fn add(one: &Bag, other: &Bag) -> Bag {
    one.iter().zip(other).map(|(one, other)| one + other).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_element_is_combined_once(seed: u64, rows in 0..4u32, cols in 0..5u32, lanes in 0..4u32, warps in 0..3u32, blocks in 0..3u32, axis in 0..2usize, combine in 1..60u32, values in 1..3u32, halves: bool, by_warp: bool) {
        let mut random = Random(seed | 1);
        let source = layout(&mut random, [0, lanes, warps, blocks], &[rows, cols]);
        let result_bits = [cols, rows][axis];
        let result = layout(&mut random, [0, lanes, warps, blocks], &[result_bits]);
        let plan = plan(&source, axis, &result, Work { combine, values, halves, by_warp }).expect("sizes agree");
        let elements = 1usize << (rows + cols);
        let place = |layout: &LinearLayout, register: u32, thread: u32| {
            let (lane, above) = (thread & ((1 << lanes) - 1), thread >> lanes);
            let (warp, block) = (above & ((1 << warps) - 1), above >> warps);
            layout.apply(&[(Dim::REGISTER, register), (Dim::LANE, lane), (Dim::WARP, warp), (Dim::BLOCK, block)])
        };
        let number = |register: u32, thread: u32| {
            let at = place(&source, register, thread);
            (at[0].1 << cols | at[1].1) as usize
        };
        let threads = 1u32 << (lanes + warps + blocks);
        let mut held: Vec<Vec<Bag>> = (0..threads)
            .map(|thread| {
                plan.groups
                    .iter()
                    .map(|group| {
                        let mut bag = vec![0; elements];
                        group.iter().for_each(|&register| bag[number(register, thread)] += 1);
                        bag
                    })
                    .collect()
            })
            .collect();
        for fold in &plan.folds {
            held = (0..threads as usize)
                .map(|thread| {
                    let other = &held[thread ^ fold.lane as usize];
                    if fold.halves {
                        let half = held[thread].len() / 2;
                        let start = if thread & fold.lane as usize == 0 { 0 } else { half };
                        return (start..start + half).map(|at| add(&held[thread][at], &other[at])).collect();
                    }
                    let groups = held[thread].iter().enumerate();
                    groups.map(|(group, bag)| add(bag, &other[group ^ fold.group as usize])).collect()
                })
                .collect();
        }
        // Partial results by element and number: all holders agree.
        let mut partials = std::collections::BTreeMap::<(u32, u32), Bag>::new();
        for thread in 0..threads {
            for (group, bag) in held[thread as usize].iter().enumerate() {
                let at = place(&plan.partials, group as u32, thread);
                let partial = at.iter().find(|part| part.0 == PARTIAL).map_or(0, |part| part.1);
                let old = partials.insert((at[0].1, partial), bag.clone());
                prop_assert!(old.is_none_or(|old| old == *bag), "holders of a partial result agree");
            }
        }
        prop_assert!(!plan.late.is_empty() || plan.combined == result, "who combines all has what is wanted");
        let registers = 1u32 << plan.combined.ins().bits(Dim::REGISTER);
        let mut combined = std::collections::BTreeSet::new();
        for thread in 0..threads {
            for register in 0..registers {
                let element = place(&plan.combined, register, thread)[0].1;
                combined.insert(element);
                let mut bag = vec![0; elements];
                for partial in 0..1u32 << plan.partial_bits {
                    let away = plan.late.iter().enumerate().filter(|(bit, _)| partial >> bit & 1 != 0);
                    let (register, thread) = match away.fold(0, |all, (_, lane)| all | lane) {
                        _ if plan.late.is_empty() => (partial | register << plan.partial_bits, thread),
                        lane => (register, thread ^ lane),
                    };
                    let at = place(&plan.wanted, register, thread);
                    prop_assert_eq!(at[0].1, element);
                    let partial = at.iter().find(|part| part.0 == PARTIAL).map_or(0, |part| part.1);
                    bag = add(&bag, &partials[&(element, partial)]);
                }
                for (index, count) in bag.iter().enumerate() {
                    let (row, col) = (index as u32 >> cols, index as u32 & ((1 << cols) - 1));
                    let belongs = [col, row][axis] == element;
                    prop_assert_eq!(*count, u32::from(belongs), "element {} of {}", index, element);
                }
            }
        }
        prop_assert_eq!(combined.len(), 1 << result_bits, "every element has a holder");
    }
}

/// A block of 512 by `2^bits` columns, of which a lane holds 8 neighbours; `2^warps` warps along the rows.
fn columns(bits: usize, warps: usize) -> LinearLayout {
    let (row, column) = (Dim::block(0), Dim::block(1));
    let place = |dim: Dim, bit: usize| [(dim, 1 << bit)];
    let columns: Vec<_> = (0..bits).map(|bit| place(column, bit)).collect();
    let rows: Vec<_> = (0..9).map(|bit| place(row, bit)).collect();
    let (lanes, rest) = rows.split_at(5 - (bits - 3));
    let register = [&columns[..3], &rest[warps..]].concat();
    let lane = [&columns[3..], lanes].concat();
    let [register, lane, warp] = [&register, &lane, &rest[..warps]]
        .map(|list| list.iter().map(|basis| &basis[..]).collect::<Vec<_>>());
    let ins = [(Dim::REGISTER, &register[..]), (Dim::LANE, &lane), (Dim::WARP, &warp), (Dim::BLOCK, &[])];
    LinearLayout::new(&ins, &[(row, 9), (column, bits as u32)]).expect("bases fit")
}

#[test]
fn lanes_share_what_is_much_work() {
    let sum = Work { combine: 1, values: 1, halves: false, by_warp: false };
    for (bits, warps, shared) in [(5, 4, true), (5, 3, true), (5, 2, false), (3, 4, true), (3, 1, false)] {
        let source = columns(bits, warps);
        let result = source.restrict(&[Dim::REGISTER, Dim::LANE, Dim::WARP, Dim::BLOCK], &[Dim::block(1)]);
        let result = result.rename_outs(&[(Dim::block(0), bits as u32)]).expect("one dimension");
        let plan = plan(&source, 0, &result, sum).expect("sizes agree");
        assert_eq!(plan.combined != result, shared, "2^{bits} columns, 2^{warps} warps");
        assert_eq!(plan.late.len(), if shared { warps } else { 0 });
    }
}

#[test]
fn lanes_hand_over_half_of_what_they_have() {
    let (source, dims) = (columns(5, 4), [Dim::REGISTER, Dim::LANE, Dim::WARP, Dim::BLOCK]);
    let result =
        source.restrict(&dims, &[Dim::block(1)]).rename_outs(&[(Dim::block(0), 5)]).expect("one dimension");
    let halved = |work: Work| {
        let plan = plan(&source, 0, &result, work).expect("sizes agree");
        (plan.folds.len(), plan.folds.iter().filter(|fold| fold.halves).count())
    };
    let sum = Work { combine: 1, values: 1, halves: true, by_warp: true };
    // Eight columns a lane, three exchanges: four, two and one of them, and no instruction for a part of the lanes.
    assert_eq!(halved(sum), (3, 3));
    assert_eq!(halved(Work { halves: false, ..sum }), (3, 0));
}
