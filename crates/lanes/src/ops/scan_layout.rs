//! Where the positions along the axis of a scan are: in which registers, lanes and warps.

use layout::reduce::PARTIAL;
use layout::{Dim, LayoutError, LinearLayout};

/// The output dimension that numbers the runs of a line.
const RUN: Dim = Dim::named("run");

/// The axis in a layout that has its positions, from the lowest bit up, in registers, lanes, warps, registers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Axis {
    /// Runs of neighbouring registers, in order; the runs of one line of the block behind each other.
    pub(crate) runs: Vec<Vec<u32>>,
    /// How many runs a line has.
    pub(crate) runs_of_line: usize,
    /// Bits of the lane number along the axis; higher bits are further on.
    pub(crate) lane_mask: u32,
    /// Bits of the number of a warp along the axis.
    pub(crate) warp_bits: u32,
    /// What each bit of the thread index contributes to that number.
    pub(crate) warp_number: Vec<u32>,
    /// For each register, the first that holds the same element.
    pub(crate) same: Vec<u32>,
}

/// A place along the axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Register(u32),
    Lane(u32),
    Warp(u32),
}

impl Axis {
    /// The axis of a layout, if its positions are in the right order.
    pub(crate) fn of(layout: &LinearLayout, axis: usize) -> Option<Axis> {
        let places = places(layout, axis)?;
        let mut rest = &places[..];
        let mut take = |fits: fn(&Place) -> bool| {
            let count = rest.iter().take_while(|place| fits(place)).count();
            let (taken, left) = rest.split_at(count);
            rest = left;
            taken.to_vec()
        };
        let low = take(|place| matches!(place, Place::Register(_)));
        let lanes = take(|place| matches!(place, Place::Lane(_)));
        let warps = take(|place| matches!(place, Place::Warp(_)));
        let high = take(|place| matches!(place, Place::Register(_)));
        let lanes: Vec<u32> = lanes.iter().map(|place| bit_of(*place)).collect();
        if !rest.is_empty() || !lanes.is_sorted() {
            return None;
        }
        let bits = |places: &[Place]| places.iter().map(|place| bit_of(*place)).collect::<Vec<_>>();
        let (low, high, warps) = (bits(&low), bits(&high), bits(&warps));
        let lane_bits = layout.ins().bits(Dim::LANE) as usize;
        let mut warp_number = vec![0; lane_bits + layout.ins().bits(Dim::WARP) as usize];
        for (at, warp) in warps.iter().enumerate() {
            warp_number[lane_bits + *warp as usize] = 1 << at;
        }
        let same = same_registers(layout);
        Some(Axis {
            runs: runs(&same, &low, &high),
            runs_of_line: 1 << high.len(),
            lane_mask: lanes.iter().fold(0, |mask, lane| mask | 1 << lane),
            warp_bits: warps.len() as u32,
            warp_number,
            same,
        })
    }
}

fn bit_of(place: Place) -> u32 {
    match place {
        Place::Register(bit) | Place::Lane(bit) | Place::Warp(bit) => bit,
    }
}

/// Where each bit of the position along the axis is, if each is in one place that does nothing else.
fn places(layout: &LinearLayout, axis: usize) -> Option<Vec<Place>> {
    let dim = Dim::block(axis);
    let mut places = vec![None; layout.outs().bits(dim) as usize];
    for input in [Dim::REGISTER, Dim::LANE, Dim::WARP, Dim::BLOCK] {
        for (bit, basis) in layout.bases(input).iter().enumerate() {
            let along = basis.iter().find(|part| part.0 == dim).map_or(0, |part| part.1);
            if along == 0 {
                continue;
            }
            let pure = along.is_power_of_two() && basis.iter().all(|part| part.0 == dim || part.1 == 0);
            let slot = &mut places[along.trailing_zeros() as usize];
            if !pure || slot.is_some() {
                return None;
            }
            *slot = Some(match input {
                Dim::REGISTER => Place::Register(bit as u32),
                Dim::LANE => Place::Lane(bit as u32),
                Dim::WARP => Place::Warp(bit as u32),
                // Blocks of a cluster cannot scan together.
                _ => return None,
            });
        }
    }
    places.into_iter().collect()
}

/// For each register, the first that holds the same element.
fn same_registers(layout: &LinearLayout) -> Vec<u32> {
    let elements: Vec<_> = (0..1u32 << layout.ins().bits(Dim::REGISTER))
        .map(|at| layout.apply(&[(Dim::REGISTER, at)]))
        .collect();
    let first =
        |element| elements.iter().position(|other| other == element).expect("it is one of them") as u32;
    elements.iter().map(first).collect()
}

/// The runs of all lines, each the registers that differ in the low bits of the axis alone.
fn runs(same: &[u32], low: &[u32], high: &[u32]) -> Vec<Vec<u32>> {
    let along = low.iter().chain(high).fold(0u32, |mask, bit| mask | 1 << bit);
    let spread = |number: u32, bits: &[u32]| {
        bits.iter()
            .enumerate()
            .filter(|(at, _)| number >> at & 1 == 1)
            .fold(0, |all, (_, bit)| all | 1 << bit)
    };
    let mut runs = Vec::new();
    let lines = same.iter().enumerate().filter(|(at, from)| *at as u32 == **from && **from & along == 0);
    for (line, _) in lines {
        for number in 0..1u32 << high.len() {
            let start = line as u32 | spread(number, high);
            runs.push((0..1u32 << low.len()).map(|at| start | spread(at, low)).collect());
        }
    }
    runs
}

/// A layout of the same block on the same machine in which the axis can be scanned: it comes first.
pub(crate) fn ordered(like: &LinearLayout, axis: usize) -> Result<LinearLayout, LayoutError> {
    let outs: Vec<(Dim, u32)> = like.outs().iter().collect();
    let along = Dim::block(axis);
    let order = outs.iter().filter(|out| out.0 == along).chain(outs.iter().filter(|out| out.0 != along));
    let mut bits: Vec<[(Dim, u32); 1]> =
        order.flat_map(|&(dim, bits)| (0..bits).map(move |bit| [(dim, 1 << bit)])).collect();
    let (lanes, warps) = (like.ins().bits(Dim::LANE) as usize, like.ins().bits(Dim::WARP) as usize);
    let registers = bits.len().saturating_sub(lanes + warps);
    let nothing = [(along, 0)];
    bits.resize(registers + lanes + warps, nothing);
    let bases: Vec<&[(Dim, u32)]> = bits.iter().map(|one| &one[..]).collect();
    let (register, rest) = bases.split_at(registers);
    let (lane, warp) = rest.split_at(lanes);
    let none: &[(Dim, u32)] = &nothing;
    let block = vec![none; like.ins().bits(Dim::BLOCK) as usize];
    let ins = [(Dim::REGISTER, register), (Dim::LANE, lane), (Dim::WARP, warp), (Dim::BLOCK, &block[..])];
    LinearLayout::new(&ins, &outs)
}

/// How the totals of all runs of all warps come to each warp along the axis. Of those of a line the lowest bits number
/// the warp, the others the run.
pub(crate) struct Totals {
    /// Where they are.
    pub(crate) from: LinearLayout,
    /// Where they are wanted.
    pub(crate) to: LinearLayout,
    /// How the lanes of a warp share them; without, each lane has them all in registers.
    pub(crate) spread: Option<Spread>,
}

/// The totals of a line, shared by the lanes along the axis: neighbours in registers, the others further on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Spread {
    /// The axis of totals in this layout. A line is one run.
    pub(crate) axis: Axis,
    /// So many bits of a total's number are those of the register.
    pub(crate) register_bits: u32,
    /// The others are those of the lane from this bit on.
    pub(crate) first_lane_bit: u32,
}

impl Spread {
    /// Lanes share totals from 32 a line on: each step of theirs takes a shuffle, an operation and a choice, and each
    /// total of one lane a load, an operation and a choice.
    fn of(axis: &Axis) -> Option<Spread> {
        const LEAST_BITS: u32 = 5;
        let (lane_bits, first_lane_bit) = (axis.lane_mask.count_ones(), axis.lane_mask.trailing_zeros());
        let bits = axis.warp_bits + axis.runs_of_line.ilog2();
        let neighbours = lane_bits > 0
            && (axis.lane_mask >> first_lane_bit).count_ones()
                == (axis.lane_mask >> first_lane_bit).trailing_ones();
        let register_bits = bits.saturating_sub(lane_bits);
        // Which of its registers a lane sends depends on the number of the warp alone.
        if bits < LEAST_BITS || !neighbours || register_bits > axis.warp_bits {
            return None;
        }
        let lines = (axis.runs.len() / axis.runs_of_line) as u32;
        let along = ((1u32 << (bits - register_bits)) - 1) << first_lane_bit;
        let run = |line: u32| (0..1 << register_bits).map(|at| line << register_bits | at).collect();
        let axis = Axis {
            runs: (0..lines).map(run).collect(),
            runs_of_line: 1,
            lane_mask: along,
            warp_bits: 0,
            warp_number: Vec::new(),
            same: (0..lines << register_bits).collect(),
        };
        Some(Spread { axis, register_bits, first_lane_bit })
    }
}

/// How the totals of runs come to all warps along the axis. `None` where one warp has the whole axis.
pub(crate) fn totals_of(axis: &Axis, layout: &LinearLayout, dim: usize) -> Option<Totals> {
    if axis.warp_bits == 0 {
        return None;
    }
    let along = Dim::block(dim);
    let others: Vec<(Dim, u32)> = layout.outs().iter().filter(|out| out.0 != along).collect();
    let run_bits = axis.runs.len().ilog2();
    let outs = [&others[..], &[(RUN, axis.runs_of_line.ilog2()), (PARTIAL, axis.warp_bits)]].concat();

    let elsewhere = |basis: &[(Dim, u32)]| -> Vec<(Dim, u32)> {
        basis.iter().copied().filter(|part| part.0 != along).collect()
    };
    // A run is numbered by its place in its line, then by the line; lines are linear in their number, as registers are.
    let registers: Vec<Vec<(Dim, u32)>> = (0..run_bits)
        .map(|bit| {
            let line_bits = axis.runs_of_line.ilog2();
            if bit < line_bits {
                return vec![(RUN, 1 << bit)];
            }
            let first = axis.runs[1 << bit][0];
            elsewhere(&layout.apply(&[(Dim::REGISTER, first)]))
        })
        .collect();
    let numbers: Vec<Vec<(Dim, u32)>> = (0..axis.warp_bits).map(|bit| vec![(PARTIAL, 1 << bit)]).collect();
    let lanes: Vec<Vec<(Dim, u32)>> = layout.bases(Dim::LANE).iter().map(|basis| elsewhere(basis)).collect();
    let blocks: Vec<Vec<(Dim, u32)>> =
        layout.bases(Dim::BLOCK).iter().map(|basis| elsewhere(basis)).collect();
    let warps: Vec<Vec<(Dim, u32)>> = layout.bases(Dim::WARP).iter().map(|basis| elsewhere(basis)).collect();
    let numbered: Vec<Vec<(Dim, u32)>> = warps
        .iter()
        .zip(&axis.warp_number[lanes.len()..])
        .map(|(basis, number)| [&basis[..], &[(PARTIAL, *number)]].concat())
        .collect();
    let make = |register: &[Vec<(Dim, u32)>], lane: &[Vec<(Dim, u32)>], warp: &[Vec<(Dim, u32)>]| {
        let lists = [register, lane, warp, &blocks];
        let slices: Vec<Vec<&[(Dim, u32)]>> =
            lists.iter().map(|list| list.iter().map(|basis| &basis[..]).collect()).collect();
        let dims = [Dim::REGISTER, Dim::LANE, Dim::WARP, Dim::BLOCK];
        let ins: Vec<_> = dims.into_iter().zip(slices.iter().map(|list| &list[..])).collect();
        LinearLayout::new(&ins, &outs).ok()
    };
    let from = make(&registers, &lanes, &numbered)?;
    let spread = Spread::of(axis);
    let to = match &spread {
        None => make(&[numbers, registers].concat(), &lanes, &warps)?,
        Some(spread) => {
            let (along, lines) = registers.split_at(axis.runs_of_line.ilog2() as usize);
            let bits = [&numbers[..], along].concat();
            let (low, high) = bits.split_at(spread.register_bits as usize);
            let mut lanes = lanes.clone();
            lanes[spread.first_lane_bit as usize..][..high.len()].clone_from_slice(high);
            make(&[low, lines].concat(), &lanes, &warps)?
        }
    };
    Some(Totals { from, to, spread })
}
