//! Conversion planning: how the elements of a block get from one distributed layout to another.
//!
//! A layout here maps `register`, `lane`, `warp` and `block` to an element. [`plan`] compares three ways and takes the
//! cheapest that is possible:
//!
//! * **registers**: every lane has what it needs; values are renamed;
//! * **exchange**: every warp has what it needs; lanes exchange registers by shuffles, with selects before and after;
//! * **shared memory**: stored under one layout, loaded under the other, in a swizzled order without bank conflicts.
//!
//! The thread index of a lane is its lane number with its warp number in the bits above: every function of the place of
//! a lane is given as a linear map of the bits of that word. Where it matters which block of a cluster the lane is in,
//! the number of the block stands above both.
//!
//! Elements that change blocks are stored in the memory of the block that has them and loaded from there by the others.
//! A block takes what it has itself from itself.

mod access;
mod blocks;
mod exchange;
pub mod rows;
mod swizzle;

pub use access::{Access, AccessStep, Rows, access, wavefronts};
pub use exchange::{Choice, Exchange, Round, Source};
pub use swizzle::{Staged, memory_order};

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
    /// Whether lanes of a warp can store rows of 16 bytes for each other.
    pub stores_rows: bool,
    /// Whether they can load them.
    pub loads_rows: bool,
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
            stores_rows: false,
            loads_rows: false,
        }
    }
}

/// How elements move.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Conversion {
    /// Destination register `i` is source register `list[i]` of the same lane.
    Registers(Vec<u32>),
    /// Lanes of a warp exchange registers.
    Exchange(Exchange),
    /// Through shared memory.
    Shared(Staged),
}

/// Why there is no plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ConversionError {
    /// The layouts are not of the same block, or of different machines.
    Mismatch,
    /// Some elements are in no place of the source.
    Missing,
    /// Blocks of a cluster would have to reach each other's memory.
    CrossesBlocks,
}

impl fmt::Display for ConversionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ConversionError::Mismatch => "the layouts are of different blocks or different machines",
            ConversionError::Missing => "the source layout does not hold every element",
            ConversionError::CrossesBlocks => {
                "a block of a cluster would have to reach the memory of another one"
            }
        })
    }
}

impl std::error::Error for ConversionError {}

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

    /// Columns of the thread index: lanes, then warps, then blocks.
    pub(crate) fn thread(&self) -> Vec<u64> {
        self.lane.iter().chain(&self.warp).chain(&self.block).copied().collect()
    }

    /// Columns of one block: registers, lanes, warps.
    pub(crate) fn program(&self) -> Vec<u64> {
        self.register.iter().chain(&self.lane).chain(&self.warp).copied().collect()
    }

    /// Columns of the whole cluster: registers, lanes, warps, blocks.
    pub(crate) fn cluster(&self) -> Vec<u64> {
        self.program().into_iter().chain(self.block.iter().copied()).collect()
    }

    /// The same with a function applied to every column.
    pub(crate) fn try_map<E>(&self, mut place: impl FnMut(u64) -> Result<u64, E>) -> Result<Columns, E> {
        let mut list =
            |columns: &[u64]| columns.iter().map(|&column| place(column)).collect::<Result<Vec<u64>, E>>();
        Ok(Columns {
            register: list(&self.register)?,
            lane: list(&self.lane)?,
            warp: list(&self.warp)?,
            block: list(&self.block)?,
        })
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
) -> Result<Conversion, ConversionError> {
    let (src, dst) = blocks::columns(src, dst)?;
    let exchange = exchange::plan(&src, &dst, |one| one.cost(element_bits, facts));
    if let Some(list) = exchange.as_ref().and_then(Exchange::renaming) {
        return Ok(Conversion::Registers(list));
    }
    let staged = staged(&src, &dst, element_bits, facts)?;
    Ok(match exchange {
        Some(exchange) if exchange.cost(element_bits, facts) <= staged.cost(facts) => {
            Conversion::Exchange(exchange)
        }
        _ => Conversion::Shared(staged),
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
) -> Result<Staged, ConversionError> {
    let (src, dst) = blocks::columns(src, dst)?;
    staged(&src, &dst, element_bits, facts)
}

/// The cheapest way through shared memory: by rows where that is less work, or as much and with fewer moves of
/// registers.
fn staged(
    src: &Columns,
    dst: &Columns,
    element_bits: u32,
    facts: &ConvertFacts,
) -> Result<Staged, ConversionError> {
    let plain = swizzle::plan(src, dst, element_bits, facts)?;
    let by_rows = rows::plans(src, dst, element_bits, facts);
    let work = |way: &Staged| (way.cost(facts), way.moved_words(element_bits));
    Ok(by_rows.into_iter().fold(plain, |best, way| if work(&way) < work(&best) { way } else { best }))
}

/// The way through shared memory to all that hold an element from the first of them: the one with zeros in all bits of
/// its place that only make copies.
///
/// # Errors
/// As [`plan`].
pub fn plan_from_owners(
    layout: &LinearLayout,
    element_bits: u32,
    facts: &ConvertFacts,
) -> Result<Staged, ConversionError> {
    let (src, dst) = blocks::from_owners(layout)?;
    swizzle::plan(&src, &dst, element_bits, facts)
}

/// The way by shuffles alone, where it is possible.
///
/// # Errors
/// As [`plan`].
pub fn plan_exchange(src: &LinearLayout, dst: &LinearLayout) -> Result<Option<Exchange>, ConversionError> {
    let (src, dst) = blocks::columns(src, dst)?;
    let facts = ConvertFacts::default();
    Ok(exchange::plan(&src, &dst, |one| one.cost(facts.shuffle_bits, &facts)))
}
