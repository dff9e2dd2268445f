//! Conversions within a warp: any linear map between registers and lanes, by shuffles.
//!
//! Let a destination place (register `r`, thread `p`) want the source place `M(r, p)`. In round `t` a thread of lane
//! `l` fills its register `t ^ A(l)`, for a map `A` chosen so that, in each round, a lane is asked for one register
//! only: then a round is one shuffle. Which register a lane sends is a constant of the round, xor a function of the
//! lane; so all that depends on the lane are two xors of register numbers, before and after, and each is a few rows of
//! selects. `A` exists always: lane bits are taken one by one, each with a choice of registers that makes it read a
//! direction no earlier bit reads; where that is impossible the destination gets another register to be dropped.
//! Of two such maps, one that keeps rounds fixed xors and one that is zero where it can be, the cheaper is taken.

use super::{Columns, ConvertFacts};
use crate::matrix::{Echelon, apply, kernel};
use crate::subspace::Basis;
use std::collections::BTreeSet;

/// An xor of register numbers that a thread makes or not: when the bits of its index under `mask` have odd parity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Choice {
    /// Bits of the thread index.
    pub mask: u64,
    /// What the register number is changed by.
    pub xor: u32,
}

/// From which lane a shuffle reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Source {
    /// From itself: no shuffle.
    Stay,
    /// From the lane whose number differs by these bits.
    Xor(u32),
    /// From lane `Exchange::lanes` (of the thread index) xor these bits.
    Index(u32),
}

/// One transport: slot `from` of the source lane arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Round {
    /// The slot, after [`Exchange::before`].
    pub from: u32,
    /// Where it comes from.
    pub source: Source,
}

/// A conversion within a warp.
///
/// Slot `s` of a thread is source register `s` xor its choices of `before`. `rounds[t]` delivers slot `from`.
/// Destination register `i` is the delivery of round `outputs[i]` xor the thread's choices of `after`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exchange {
    /// Choices before the shuffles.
    pub before: Vec<Choice>,
    /// The transports.
    pub rounds: Vec<Round>,
    /// For [`Source::Index`]: the lane each bit of the thread index contributes.
    pub lanes: Vec<u32>,
    /// Choices after the shuffles.
    pub after: Vec<Choice>,
    /// For each destination register the round that delivers it, before `after`.
    pub outputs: Vec<u32>,
}

impl Exchange {
    /// The list of source registers, if nothing moves between lanes and nothing depends on the lane.
    pub(crate) fn renaming(&self) -> Option<Vec<u32>> {
        let still = self.before.is_empty()
            && self.after.is_empty()
            && self.rounds.iter().all(|round| round.source == Source::Stay);
        still.then(|| self.outputs.iter().map(|&round| self.rounds[round as usize].from).collect())
    }

    /// The rounds that matter: those some destination register may select.
    pub fn needed_rounds(&self) -> BTreeSet<u32> {
        closure(self.outputs.iter().copied(), &self.after)
    }

    /// How many selects are needed in all.
    pub fn selects(&self) -> u32 {
        let slots = self.needed_rounds().into_iter().map(|round| self.rounds[round as usize].from);
        count(self.outputs.iter().copied(), &self.after) + count(slots, &self.before)
    }

    /// How many shuffles are needed, several small elements travelling in one where they go the same way.
    pub fn shuffles(&self, element_bits: u32, shuffle_bits: u32) -> u32 {
        let mut travels: Vec<(Source, u32)> = self
            .needed_rounds()
            .into_iter()
            .map(|round| self.rounds[round as usize])
            .filter(|round| round.source != Source::Stay)
            .map(|round| (round.source, round.from))
            .collect();
        travels.sort_unstable();
        travels.dedup();
        let mut total = 0;
        for group in travels.chunk_by(|one, other| one.0 == other.0) {
            let count = group.len() as u32;
            total += if element_bits < shuffle_bits {
                count.div_ceil(shuffle_bits / element_bits.max(1).next_power_of_two().max(8))
            } else {
                count * element_bits.div_ceil(shuffle_bits)
            };
        }
        total
    }

    pub(crate) fn cost(&self, element_bits: u32, facts: &ConvertFacts) -> u32 {
        let words = element_bits.div_ceil(facts.shuffle_bits).max(1);
        // Packing and unpacking of small elements costs about what a select does.
        let packs = if element_bits < facts.shuffle_bits { self.needed_rounds().len() as u32 } else { 0 };
        self.shuffles(element_bits, facts.shuffle_bits) * facts.shuffle_cost
            + (self.selects() * words + packs) * facts.select_cost
    }
}

/// Selects that give values at some numbers after choices.
fn count(numbers: impl Iterator<Item = u32>, choices: &[Choice]) -> u32 {
    let mut level: BTreeSet<u32> = numbers.collect();
    let mut total = 0;
    for choice in choices.iter().rev() {
        total += level.len() as u32;
        level = level.iter().flat_map(|&at| [at, at ^ choice.xor]).collect();
    }
    total
}

/// Numbers that choices may reach.
fn closure(numbers: impl Iterator<Item = u32>, choices: &[Choice]) -> BTreeSet<u32> {
    let mut level: BTreeSet<u32> = numbers.collect();
    for choice in choices {
        level = level.iter().flat_map(|&at| [at, at ^ choice.xor]).collect();
    }
    level
}

/// A source place: register bits below, lane bits above.
#[derive(Clone, Copy)]
struct Place {
    registers: u32,
}

impl Place {
    fn register(self, place: u64) -> u32 {
        (place & crate::dims::mask(self.registers)) as u32
    }

    fn lane(self, place: u64) -> u64 {
        place >> self.registers
    }
}

/// Whether every warp has what it needs: whether [`plan`] gives one.
pub(crate) fn is_possible(src: &Columns, dst: &Columns) -> bool {
    let held: Vec<u64> = src.register.iter().chain(&src.lane).copied().collect();
    let in_warp = Echelon::new(&held);
    let above = dst.warp.iter().zip(&src.warp).map(|(to, from)| to ^ from).chain(dst.block.iter().copied());
    let mut all = dst.register.iter().chain(&dst.lane).copied().chain(above);
    all.all(|element| in_warp.solve(element).is_some())
}

/// The conversion as the cheapest exchange within warps, if every warp has what it needs.
pub(crate) fn plan(src: &Columns, dst: &Columns, cost: impl Fn(&Exchange) -> u32) -> Option<Exchange> {
    let near = plan_with(src, dst, Reads::FixedXor)?;
    if near.selects() == 0 {
        return Some(near);
    }
    let direct = plan_with(src, dst, Reads::Direct)?;
    Some(if cost(&direct) < cost(&near) { direct } else { near })
}

/// How lane bits choose what they read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reads {
    /// As if each lane stood still, where destination registers make up for that: rounds are fixed xors of the lane
    /// number.
    FixedXor,
    /// What the lane's own register is to hold, with no more registers than conflicts ask for: where all lanes want
    /// the same, a round is a broadcast and nothing is selected.
    Direct,
}

fn plan_with(src: &Columns, dst: &Columns, how: Reads) -> Option<Exchange> {
    let place = Place { registers: src.register.len() as u32 };
    let held: Vec<u64> = src.register.iter().chain(&src.lane).copied().collect();
    let in_registers = Echelon::new(&src.register);
    let in_warp = Echelon::new(&held);
    let find = |element: u64| in_registers.solve(element).or_else(|| in_warp.solve(element));

    let (kept, coordinates) = distinct_registers(&dst.register);
    let mut want: Vec<u64> = kept.iter().map(|&column| find(column)).collect::<Option<_>>()?;
    let lanes: Vec<u64> = dst
        .lane
        .iter()
        .enumerate()
        .map(|(bit, &column)| {
            let own = 1 << (place.registers + bit as u32);
            in_registers.solve(column ^ src.lane[bit]).map(|rest| rest ^ own).or_else(|| find(column))
        })
        .collect::<Option<_>>()?;
    let above = dst.warp.iter().zip(&src.warp).map(|(to, from)| to ^ from).chain(dst.block.iter().copied());
    let warps: Vec<u64> = above.map(find).collect::<Option<_>>()?;
    let copies: Vec<u64> = kernel(&held).into_iter().filter(|&copy| place.lane(copy) != 0).collect();
    let reads = directions(&lanes, &mut want, &copies, place, how);
    Some(assemble(&want, &reads, &warps, &coordinates, place))
}

/// Register bits that hold different elements, and each register as a combination of them.
fn distinct_registers(columns: &[u64]) -> (Vec<u64>, Vec<u32>) {
    let basis = Basis::of(columns);
    let mut coordinates = Vec::with_capacity(1 << columns.len());
    coordinates.push(0);
    for &column in columns {
        let own = basis.coordinates(column).expect("a column is in its span") as u32;
        let half = coordinates.len();
        coordinates.extend_from_within(..);
        coordinates[half..].iter_mut().for_each(|sum| *sum ^= own);
    }
    (basis.vectors().to_vec(), coordinates)
}

/// What a lane bit reads: the source place, and the destination register bits it is combined with.
#[derive(Clone, Copy, Default)]
struct Read {
    place: u64,
    registers: u32,
}

/// Chooses, for each lane bit, what it reads, such that no two reads ask one lane for different registers.
fn directions(lanes: &[u64], want: &mut Vec<u64>, copies: &[u64], place: Place, how: Reads) -> Vec<Read> {
    let generators: Vec<u64> = want.iter().chain(copies).copied().collect();
    let registers = want.len();
    let reach = Echelon::new(&generators.iter().map(|&one| place.lane(one)).collect::<Vec<_>>());
    let register_mask = crate::dims::mask(registers as u32);
    let mut reads: Vec<Option<Read>> = lanes
        .iter()
        .enumerate()
        .map(|(bit, &read)| {
            if how == Reads::Direct {
                return None;
            }
            let used = reach.solve(place.lane(read) ^ 1 << bit)?;
            Some(Read { place: read ^ apply(&generators, used), registers: (used & register_mask) as u32 })
        })
        .collect();
    let mut taken: Vec<u64> = reads.iter().flatten().map(|read| read.place).collect();
    while reads.iter().any(Option::is_none) {
        let agreeing = agreeing_read(lanes, &reads, &taken, &generators[..], registers, place);
        let Some((bit, read)) = agreeing.or_else(|| dropped_read(lanes, &reads, &taken, want, place)) else {
            break;
        };
        taken.push(read.place);
        reads[bit] = Some(read);
    }
    reads.into_iter().map(Option::unwrap_or_default).collect()
}

/// A lane bit that is still open, with a read that agrees with those taken.
fn agreeing_read(
    lanes: &[u64],
    reads: &[Option<Read>],
    taken: &[u64],
    generators: &[u64],
    registers: usize,
    place: Place,
) -> Option<(usize, Read)> {
    let used = lanes_of(taken, place);
    let free = (0..generators.len()).find(|&at| !used.holds(place.lane(generators[at])));
    open(reads).find_map(|bit| {
        let read = lanes[bit];
        if Basis::of(taken).holds(read) || !used.holds(place.lane(read)) {
            return Some((bit, Read { place: read, registers: 0 }));
        }
        let at = free?;
        let registers = if at < registers { 1 << at } else { 0 };
        Some((bit, Read { place: read ^ generators[at], registers }))
    })
}

/// An open lane bit with one more destination register, to be dropped, that reads a lane nobody reads.
fn dropped_read(
    lanes: &[u64],
    reads: &[Option<Read>],
    taken: &[u64],
    want: &mut Vec<u64>,
    place: Place,
) -> Option<(usize, Read)> {
    let used = lanes_of(taken, place);
    let bit = open(reads).next()?;
    let lane = (0..lanes.len()).find(|&lane| !used.holds(1 << lane))?;
    let extra = 1 << (place.registers + lane as u32);
    want.push(extra);
    Some((bit, Read { place: lanes[bit] ^ extra, registers: 1 << (want.len() - 1) }))
}

fn open(reads: &[Option<Read>]) -> impl Iterator<Item = usize> + '_ {
    reads.iter().enumerate().filter(|read| read.1.is_none()).map(|read| read.0)
}

fn lanes_of(places: &[u64], place: Place) -> Basis {
    Basis::of(&places.iter().map(|&one| place.lane(one)).collect::<Vec<_>>())
}

fn assemble(want: &[u64], reads: &[Read], warps: &[u64], coordinates: &[u32], place: Place) -> Exchange {
    let sends = sends(reads, place);
    let send = |lanes: u64| apply(&sends, lanes) as u32;
    let before: Vec<u32> = (0..reads.len())
        .map(|bit| sends[bit] as u32)
        .chain(warps.iter().map(|&warp| place.register(warp) ^ send(place.lane(warp))))
        .collect();
    let lanes: Vec<u32> = reads
        .iter()
        .map(|read| read.place)
        .chain(warps.iter().copied())
        .map(|at| place.lane(at) as u32)
        .collect();
    let fixed =
        lanes.iter().enumerate().all(|(bit, &lane)| lane == if bit < reads.len() { 1 << bit } else { 0 });
    let rounds = (0..1u64 << want.len())
        .map(|round| {
            let at = apply(want, round);
            let lane = place.lane(at);
            let source = match (fixed, lane) {
                (true, 0) => Source::Stay,
                (true, _) => Source::Xor(lane as u32),
                (false, _) => Source::Index(lane as u32),
            };
            Round { from: place.register(at) ^ send(lane), source }
        })
        .collect();
    let after: Vec<u32> = reads.iter().map(|read| read.registers).collect();
    Exchange {
        before: choices(&before),
        rounds,
        lanes,
        after: choices(&after),
        outputs: coordinates.to_vec(),
    }
}

/// For each lane bit of a sender, what it changes of the register that is sent.
fn sends(reads: &[Read], place: Place) -> Vec<u64> {
    let lanes: Vec<u64> = reads.iter().map(|read| place.lane(read.place)).collect();
    let registers: Vec<u64> = reads.iter().map(|read| u64::from(place.register(read.place))).collect();
    let echelon = Echelon::new(&lanes);
    (0..reads.len()).map(|bit| apply(&registers, echelon.reduce(1 << bit).1)).collect()
}

/// A map from bits of the thread index to xors, as the fewest choices.
fn choices(columns: &[u32]) -> Vec<Choice> {
    let wide: Vec<u64> = columns.iter().map(|&column| u64::from(column)).collect();
    let basis = Basis::of(&wide);
    let parts: Vec<u64> =
        wide.iter().map(|&column| basis.coordinates(column).expect("a column is in its span")).collect();
    let mask =
        |at: usize| parts.iter().enumerate().fold(0, |mask, (bit, part)| mask | (part >> at & 1) << bit);
    basis.vectors().iter().enumerate().map(|(at, &xor)| Choice { mask: mask(at), xor: xor as u32 }).collect()
}
