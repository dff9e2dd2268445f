//! Conversion planning: how the elements of a block get from one distributed layout to another.
//!
//! A layout here maps `register`, `lane`, `warp` and `block` to an element. [`plan`] compares three ways and takes the
//! cheapest that is possible:
//!
//! * **registers**: every lane has what it needs; values are renamed;
//! * **exchange**: every warp has what it needs; lanes trade registers by shuffles, with selects in front and behind;
//! * **shared memory**: stored under one layout, loaded under the other, in a swizzled order without bank conflicts.
//!
//! The thread index of a lane is its lane number with its warp number in the bits above: every function of the place of a
//! lane is given as a linear map of the bits of that word. Conversions between programs of a cluster are refused.

mod access;
mod exchange;
mod swizzle;

pub use access::{Access, Step, access};
pub use exchange::{Choice, Exchange, Round, Source};
pub use swizzle::Staged;

use crate::dims::Dim;
use crate::linear::LinearLayout;
use std::fmt;

/// What the machine does, and what it costs. Costs are in issue slots of one warp, times four.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConvertFacts {
    /// Banks of shared memory.
    pub banks: u32,
    /// Bytes of a bank's word.
    pub bank_bytes: u32,
    /// Bytes of the widest access of a lane.
    pub max_vector_bytes: u32,
    /// Bits that one shuffle moves.
    pub shuffle_bits: u32,
    /// Shared memory one conversion may use; more is moved in rounds where that is possible.
    pub max_bytes: u32,
    /// A shuffle.
    pub shuffle_cost: u32,
    /// A select.
    pub select_cost: u32,
    /// One pass over all banks.
    pub wavefront_cost: u32,
    /// One access instruction, besides its passes.
    pub access_cost: u32,
    /// A barrier of the program.
    pub barrier_cost: u32,
}

impl Default for ConvertFacts {
    fn default() -> ConvertFacts {
        ConvertFacts {
            banks: 32,
            bank_bytes: 4,
            max_vector_bytes: 16,
            shuffle_bits: 32,
            max_bytes: 64 << 10,
            shuffle_cost: 4,
            select_cost: 1,
            wavefront_cost: 4,
            access_cost: 1,
            barrier_cost: 80,
        }
    }
}

/// How elements move.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Plan {
    /// Destination register `i` is source register `list[i]` of the same lane.
    Registers(Vec<u32>),
    /// Lanes of a warp trade registers.
    Exchange(Exchange),
    /// Through shared memory.
    Shared(Staged),
}

/// Why there is no plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PlanError {
    /// The layouts are not of the same block, or of different machines.
    Mismatch,
    /// Some elements are in no place of the source.
    Missing,
    /// Programs of a cluster would have to trade elements.
    CrossesBlocks,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PlanError::Mismatch => "the layouts are of different blocks or different machines",
            PlanError::Missing => "the source layout does not hold every element",
            PlanError::CrossesBlocks => "elements would have to move between the programs of a cluster",
        })
    }
}

impl std::error::Error for PlanError {}

/// A layout taken apart: where each bit of each input dimension goes, as words of one common output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Columns {
    pub(crate) register: Vec<u64>,
    pub(crate) lane: Vec<u64>,
    pub(crate) warp: Vec<u64>,
    pub(crate) block: Vec<u64>,
}

impl Columns {
    pub(crate) fn of(layout: &LinearLayout) -> Columns {
        let part = |dim: Dim| {
            let start = layout.ins.shift(dim) as usize;
            layout.columns.iter().skip(start).take(layout.ins.bits(dim) as usize).copied().collect()
        };
        let (register, lane) = (part(Dim::REGISTER), part(Dim::LANE));
        Columns { register, lane, warp: part(Dim::WARP), block: part(Dim::BLOCK) }
    }

    /// Columns of the thread index: lanes, then warps.
    pub(crate) fn thread(&self) -> Vec<u64> {
        self.lane.iter().chain(&self.warp).copied().collect()
    }

    /// Columns of one program: registers, lanes, warps.
    pub(crate) fn program(&self) -> Vec<u64> {
        self.register.iter().chain(&self.lane).chain(&self.warp).copied().collect()
    }
}

/// The cheapest way from `src` to `dst` for elements of so many bits.
///
/// # Errors
/// When the layouts are of different blocks or machines, or elements are missing from the program that needs them.
pub fn plan(
    src: &LinearLayout,
    dst: &LinearLayout,
    element_bits: u32,
    facts: &ConvertFacts,
) -> Result<Plan, PlanError> {
    let (src, dst) = columns(src, dst)?;
    let exchange = exchange::plan(&src, &dst);
    if let Some(list) = exchange.as_ref().and_then(Exchange::renaming) {
        return Ok(Plan::Registers(list));
    }
    let staged = swizzle::plan(&src, &dst, element_bits, facts)?;
    Ok(match exchange {
        Some(exchange) if exchange.cost(element_bits, facts) <= staged.cost(facts) => {
            Plan::Exchange(exchange)
        }
        _ => Plan::Shared(staged),
    })
}

/// The way through shared memory alone, whether or not another is cheaper.
///
/// # Errors
/// As [`plan`].
pub fn plan_shared(
    src: &LinearLayout,
    dst: &LinearLayout,
    element_bits: u32,
    facts: &ConvertFacts,
) -> Result<Staged, PlanError> {
    let (src, dst) = columns(src, dst)?;
    swizzle::plan(&src, &dst, element_bits, facts)
}

/// The way by shuffles alone, where it is possible.
///
/// # Errors
/// As [`plan`].
pub fn plan_exchange(src: &LinearLayout, dst: &LinearLayout) -> Result<Option<Exchange>, PlanError> {
    let (src, dst) = columns(src, dst)?;
    Ok(exchange::plan(&src, &dst))
}

/// Both layouts onto the same words, in coordinates of what one program holds; blocks must keep what they have.
fn columns(src: &LinearLayout, dst: &LinearLayout) -> Result<(Columns, Columns), PlanError> {
    let (outs, ins) = (src.outs(), [Dim::LANE, Dim::WARP, Dim::BLOCK]);
    let same = outs.iter().count() == dst.outs().iter().count()
        && outs.iter().all(|(dim, bits)| dst.outs().has(dim) && dst.outs().bits(dim) == bits)
        && ins.iter().all(|&dim| src.ins().bits(dim) == dst.ins().bits(dim));
    if !same {
        return Err(PlanError::Mismatch);
    }
    let order: Vec<Dim> = outs.iter().map(|dim| dim.0).collect();
    let (mut src, mut dst) = (Columns::of(src), Columns::of(&dst.reorder_outs(&order)));
    let basis = crate::subspace::Basis::of(&src.program());
    if src.block != dst.block {
        return Err(PlanError::CrossesBlocks);
    }
    for list in
        [&mut src.register, &mut src.lane, &mut src.warp, &mut dst.register, &mut dst.lane, &mut dst.warp]
    {
        for column in list.iter_mut() {
            *column = basis.coordinates(*column).ok_or(PlanError::Missing)?;
        }
    }
    Ok((src, dst))
}
