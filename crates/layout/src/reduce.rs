//! Reductions of a block along one dimension: which registers, lanes, warps and blocks of a cluster hold what must be
//! combined.
//!
//! Three steps. A lane combines its own registers, by groups: those that agree in all other dimensions. Lanes of a
//! warp combine by exchanging with the lane whose number differs by a mask, once for each mask. Where a lane has many
//! groups, it hands half of them over and keeps the others, so that each exchange is of half as many. What is left
//! are `2^n` partial results per element, in different warps and blocks; they are converted to a layout in which
//! every lane that needs the element has all its partials in registers, and combines them. Where combining is
//! expensive, lanes that would all do the same have one partial each instead, and exchange. Where lanes need many
//! elements, they share these: each combines its part, and what comes out is handed to all. Copies of elements are
//! never combined twice.

use crate::convert::Columns;
use crate::dims::{Dim, Dims};
use crate::linear::{LayoutError, LinearLayout};
use crate::matrix::{apply, kernel};
use crate::subspace::{Basis, complement};
use std::collections::BTreeMap;

/// The output dimension that numbers partial results.
pub const PARTIAL: Dim = Dim::named("partial");

/// An exchange between lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fold {
    /// The other lane's number differs by these bits.
    pub lane: u32,
    /// The other lane's group of the same element differs by these bits.
    pub group: u32,
    /// Whether each lane keeps half of the groups and gets those of the other lane: the upper half where its bit of
    /// `lane` is set. The groups are half as many from then on.
    pub halves: bool,
}

/// How a reduction is done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reduction {
    /// For each group the registers to combine, in order of the position along the dimension.
    pub groups: Vec<Vec<u32>>,
    /// Exchanges between lanes, in order.
    pub folds: Vec<Fold>,
    /// Bits of the number of partial results that are left.
    pub partial_bits: u32,
    /// Where the partial results are: `register` is the group; onto the other dimensions and [`PARTIAL`].
    pub partials: LinearLayout,
    /// Where they are wanted: the low bits of `register` are those of [`PARTIAL`], or some bits of `lane`.
    pub wanted: LinearLayout,
    /// Exchanges between lanes that have one partial result each, by the bits in which their numbers differ; none where
    /// every lane has all partial results.
    pub late: Vec<u32>,
    /// Where the results are after that: in the layout that was asked for, or in one by which lanes share them.
    pub combined: LinearLayout,
}

/// What the steps behind the exchanges of a warp take, in operations of a lane.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Work {
    /// To combine two elements.
    pub combine: u32,
    /// The values of an element.
    pub values: u32,
    /// Whether an exchange costs so much that lanes rather choose what they exchange.
    pub halves: bool,
    /// Whether one instruction combines all lanes of a warp.
    pub by_warp: bool,
}

/// What an exchange of a value between lanes takes: it waits for the other.
const EXCHANGE: u32 = 6;
/// What it takes to choose between two values.
const CHOICE: u32 = 1;
/// What a value takes on its way through memory.
const MEMORY: u32 = 1;
/// What it takes to wait for all lanes.
const WAIT: u32 = 40;

impl Work {
    /// Of a lane that combines `2^bits` partial results of each of `2^results` elements.
    fn alone(self, bits: u32, results: u32) -> u64 {
        let each = u64::from(self.combine) * ((1u64 << bits) - 1) + (u64::from(MEMORY * self.values) << bits);
        each << results
    }

    /// Of exchanges between lanes that have `2^groups` elements each, of which the first ones are of halves.
    fn exchanges(self, count: u32, groups: u32, halves: u32) -> u64 {
        let step = u64::from(self.combine + EXCHANGE * self.values);
        let halved = (1..=halves).map(|at| (step + u64::from(2 * CHOICE * self.values)) << (groups - at));
        halved.sum::<u64>() + ((u64::from(count - halves) * step) << (groups - halves))
    }

    /// Of how many of some exchanges each lane keeps half of its `2^groups` elements. If all lanes want what comes out
    /// (`for_all`), it is handed to them by as many exchanges again.
    fn halves(self, folds: &[Fold], groups: u32, for_all: bool) -> u32 {
        let plain = |fold: &Fold| fold.group == 0 && fold.lane.is_power_of_two();
        if !self.halves || !folds.iter().all(plain) {
            return 0;
        }
        let count = folds.len() as u32;
        let halves = groups.min(count);
        let back = if for_all { u64::from(EXCHANGE * self.values) << groups } else { 0 };
        // Handing it back waits once more: only where much is saved.
        let most = self.exchanges(count, groups, 0) * if for_all { 2 } else { 3 } / 3;
        if self.exchanges(count, groups, halves) + back < most { halves } else { 0 }
    }

    /// Of lanes that have one partial result of each of `2^results` elements and exchange.
    fn together(self, bits: u32, results: u32) -> u64 {
        let step = u64::from(self.combine + EXCHANGE * self.values);
        (u64::from(bits) * step + u64::from(MEMORY * self.values)) << results
    }

    /// Of handing `2^results` elements to every lane.
    fn handed_on(self, results: u32) -> u64 {
        u64::from(WAIT) + (u64::from(MEMORY * self.values) << results)
    }

    /// Whether it is less work that lanes exchange than that each combines `2^bits` partial results.
    fn is_costly(self, bits: u32) -> bool {
        let alone = u64::from(self.combine) * ((1u64 << bits) - 1);
        alone > u64::from(bits) * u64::from(self.combine + EXCHANGE * self.values)
    }
}

/// The reduction of a block along dimension `axis` to blocks of layout `result`, whose dimensions are the others in
/// order. Which lanes combine what others have is chosen by the work that it takes.
///
/// # Errors
/// When `result` does not have the sizes of the other dimensions.
pub fn plan(
    source: &LinearLayout,
    axis: usize,
    result: &LinearLayout,
    work: Work,
) -> Result<Reduction, LayoutError> {
    let rest = others(source, axis, result)?;
    let (whole, other) = (Columns::of(source), Columns::of(&rest));
    let groups = Basis::of(&other.register);
    let group_of = |element: u64| groups.coordinates(element).map(|word| word as u32);

    let in_lanes = |columns: &Columns| [&columns.register[..], &columns.lane].concat();
    let lanes = quotient(&in_lanes(&other), &in_lanes(&whole), source.ins.bits(Dim::REGISTER));
    let fold = |&lane: &u64| {
        let group = group_of(apply(&other.lane, lane))?;
        Some(Fold { lane: lane as u32, group, halves: false })
    };
    let mut folds: Vec<Fold> = lanes.iter().filter_map(fold).collect();

    let below = source.ins.bits(Dim::REGISTER) + source.ins.bits(Dim::LANE);
    let copies = parts(&kernel(&whole.cluster()), below);
    let warps = quotient(&other.cluster(), &whole.cluster(), below);
    let number = numbering(&copies, &warps, whole.warp.len() + whole.block.len());

    let partial_bits = warps.len() as u32;
    let by_warp = work.by_warp && folds.len() == whole.lane.len();
    let halves = if by_warp { 0 } else { work.halves(&folds, groups.len() as u32, partial_bits == 0) };
    let (kept, split) = groups.vectors().split_at(groups.len() - halves as usize);
    let mut lane_columns = other.lane.clone();
    for (fold, element) in folds.iter_mut().zip(split.iter().rev()) {
        fold.halves = true;
        lane_columns[fold.lane.trailing_zeros() as usize] = *element;
    }
    let outs = rest.outs.sum(&Dims::new(&[(PARTIAL, partial_bits)]));
    let shift = rest.outs.total_bits();
    let partials = LinearLayout {
        ins: with_registers(&rest.ins, kept.len() as u32),
        outs: outs.clone(),
        columns: (kept.iter().chain(&lane_columns).copied())
            .chain(
                (other.warp.iter().chain(&other.block))
                    .zip(&number)
                    .map(|(column, number)| column | number << shift),
            )
            .collect(),
    };
    let mut target = Columns::of(result);
    let numbers: Vec<u64> = (0..partial_bits).map(|bit| 1 << (shift + bit)).collect();
    let held = Basis::of(&target.register).len() as u32;
    let late = if work.is_costly(partial_bits) { copies_in_lanes(&target, partial_bits) } else { Vec::new() };
    let least = match late.is_empty() {
        true => work.alone(partial_bits, held),
        false => work.together(partial_bits, held),
    };
    let spread = (held > 0).then(|| Columns::spread(&result.ins, shift, partial_bits)).flatten();
    let spread = spread.filter(|spread| {
        let own = spread.register.len() as u32;
        work.together(partial_bits, own) + work.handed_on(held) < least
    });
    let (late, combined) = match spread {
        Some(spread) => {
            let combined = spread.layout(&result.ins, &result.outs)?;
            target = spread;
            ((0..partial_bits).collect(), combined)
        }
        None => (late, result.clone()),
    };
    if late.is_empty() {
        target.register.splice(0..0, numbers);
    } else {
        late.iter().zip(numbers).for_each(|(&bit, number)| target.lane[bit as usize] = number);
    }
    let wanted = target.layout(&result.ins, &outs)?;
    let late = late.into_iter().map(|bit| 1 << bit).collect();
    let groups = register_groups(&whole.register, &other.register, &groups);
    Ok(Reduction { groups, folds, partial_bits, partials: partials.checked()?, wanted, late, combined })
}

impl Columns {
    /// Lanes that share `2^elements` elements: the lowest bits of a lane's number are left for `2^partial_bits` partial
    /// results of each. `None` where there is nothing to share, or blocks of a cluster hold parts.
    fn spread(ins: &Dims, elements: u32, partial_bits: u32) -> Option<Columns> {
        let [lanes, warps, blocks] = [Dim::LANE, Dim::WARP, Dim::BLOCK].map(|dim| ins.bits(dim));
        if partial_bits == 0 || partial_bits > lanes || blocks > 0 {
            return None;
        }
        let mut left = (0..elements).map(|bit| 1u64 << bit);
        let mut take = |count: u32| (0..count).map(|_| left.next().unwrap_or(0)).collect::<Vec<u64>>();
        let (lane, warp) = (take(lanes - partial_bits), take(warps));
        let lane = [vec![0; partial_bits as usize], lane].concat();
        Some(Columns { register: left.collect(), lane, warp, block: Vec::new() })
    }

    /// The layout that has these columns.
    fn layout(&self, ins: &Dims, outs: &Dims) -> Result<LinearLayout, LayoutError> {
        let columns = [&self.register[..], &self.lane, &self.warp, &self.block].concat().into();
        let ins = with_registers(ins, self.register.len() as u32);
        LinearLayout { ins, outs: outs.clone(), columns }.checked()
    }
}

/// The source onto its other dimensions, named and sized as the result's.
fn others(source: &LinearLayout, axis: usize, result: &LinearLayout) -> Result<LinearLayout, LayoutError> {
    let kept: Vec<Dim> = source
        .outs
        .iter()
        .map(|dim| dim.0)
        .enumerate()
        .filter(|dim| dim.0 != axis)
        .map(|dim| dim.1)
        .collect();
    let ins = [Dim::REGISTER, Dim::LANE, Dim::WARP, Dim::BLOCK];
    let outs: Vec<(Dim, u32)> = result.outs.iter().collect();
    let rest = source.restrict(&ins, &kept);
    if rest.outs.iter().map(|dim| dim.1).ne(outs.iter().map(|dim| dim.1)) {
        return Err(LayoutError::Mismatch {
            left: Box::new(rest.outs),
            right: Box::new(result.outs.clone()),
        });
    }
    rest.rename_outs(&outs)
}

/// So many bits of the lane that only make copies; none if there are not so many.
fn copies_in_lanes(target: &Columns, count: u32) -> Vec<u32> {
    let bits = (0u32..).zip(&target.lane).filter(|(_, column)| **column == 0).map(|(bit, _)| bit);
    let bits: Vec<u32> = bits.take(count as usize).collect();
    if bits.len() == count as usize { bits } else { Vec::new() }
}

fn with_registers(ins: &Dims, registers: u32) -> Dims {
    let part = |dim: Dim| (dim, ins.bits(dim));
    Dims::new(&[(Dim::REGISTER, registers), part(Dim::LANE), part(Dim::WARP), part(Dim::BLOCK)])
}

/// The bits from `below` on of each word.
fn parts(words: &[u64], below: u32) -> Vec<u64> {
    words.iter().map(|word| word.checked_shr(below).unwrap_or(0)).collect()
}

/// Directions, in the input bits from `below` on, between places that differ in the reduced dimension only, without
/// those between copies.
fn quotient(other: &[u64], whole: &[u64], below: u32) -> Vec<u64> {
    complement(&parts(&kernel(whole), below), &parts(&kernel(other), below))
}

/// For each warp bit, what it contributes to the number of the partial result: copies nothing, each direction one bit.
fn numbering(copies: &[u64], directions: &[u64], warp_bits: usize) -> Vec<u64> {
    let mut basis = Basis::of(copies);
    let first = basis.len();
    basis.extend(directions);
    let units: Vec<u64> = (0..warp_bits).map(|bit| 1 << bit).collect();
    basis.extend(&units);
    let low = crate::dims::mask(directions.len() as u32);
    units.iter().map(|&unit| basis.coordinates(unit).map_or(0, |word| word >> first & low)).collect()
}

fn register_groups(whole: &[u64], other: &[u64], groups: &Basis) -> Vec<Vec<u32>> {
    let mut members = vec![BTreeMap::<u64, u32>::new(); 1 << groups.len()];
    for register in 0..1u64 << whole.len() {
        if let Some(group) = groups.coordinates(apply(other, register)) {
            // Elements of one group differ along the reduced dimension alone, so that their words are in its order.
            members[group as usize].entry(apply(whole, register)).or_insert(register as u32);
        }
    }
    members.into_iter().map(|group| group.into_values().collect()).collect()
}
