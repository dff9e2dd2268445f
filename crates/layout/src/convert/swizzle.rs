//! Conversions through shared memory: an order of memory in which both sides move wide vectors without bank conflicts.
//!
//! Memory is `vector | word | bank | row` bits of offset. Vector bits are elements that both sides hold in registers. A
//! row bit is an element bit pattern; two lanes of one phase collide when they differ by rows alone. The lanes of a
//! phase of each side span, with vector and word, a space no larger than one pass over the banks; two spaces of one
//! dimension always have a common complement, and the rows are one. So no conversion of whole words has conflicts;
//! [`Access`] counts them from the result all the same.

use super::access::{Access, AccessStep, Places};
use super::{Columns, ConversionError, ConvertFacts, blocks, exchange};
use crate::dims::{Dim, mask};
use crate::linear::LinearLayout;
use crate::matrix::apply;
use crate::subspace::{Basis, complement, intersect, inverse, rank};

/// A conversion through shared memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Staged {
    /// How the source is stored.
    pub store: Access,
    /// How the destination is loaded.
    pub load: Access,
    /// How often store, barrier, load are repeated; a barrier stands between.
    pub rounds: u32,
    /// Bytes of shared memory.
    pub bytes: u32,
    /// Whether each warp reads only what it wrote itself, so that it need not wait for the others.
    pub within_warp: bool,
    /// Whether blocks of a cluster read each other's memory, so that all of them must wait for each other.
    pub crosses_blocks: bool,
}

impl Staged {
    pub(crate) fn cost(&self, facts: &ConvertFacts) -> u32 {
        let side = |access: &Access| {
            access.steps.len() as u32 * (facts.access_cost + access.wavefronts * facts.wavefront_cost)
        };
        let barrier = if self.within_warp { facts.barrier_cost / 4 } else { facts.barrier_cost };
        side(&self.store) + side(&self.load) + (2 * self.rounds - 1) * barrier
    }

    /// Words that an instruction loads together and that are not beside each other where they are wanted: a matrix
    /// instruction takes neighbours, so they are moved. What is stored together was mostly computed one by one, and may
    /// be computed where it is stored from.
    pub(crate) fn moved_words(&self, element_bits: u32) -> u32 {
        let of_step = |step: &AccessStep| {
            let apart = step.registers.windows(2).any(|pair| pair[1] != pair[0] + 1);
            if apart { (step.registers.len() as u32 * element_bits).div_ceil(32) } else { 0 }
        };
        self.load.steps.iter().map(of_step).sum()
    }
}

/// An order of memory in which both sides of a conversion move wide vectors without conflicts: from `offset` to the
/// element.
///
/// # Errors
/// When the layouts are of different blocks, or are split between blocks of a cluster.
pub fn memory_order(
    src: &LinearLayout,
    dst: &LinearLayout,
    element_bits: u32,
    facts: &ConvertFacts,
) -> Result<LinearLayout, ConversionError> {
    let outs: Vec<(Dim, u32)> = src.outs().iter().collect();
    let order: Vec<Dim> = outs.iter().map(|out| out.0).collect();
    if outs.len() != dst.outs().iter().count() || outs.iter().any(|&(dim, bits)| dst.outs().bits(dim) != bits)
    {
        return Err(ConversionError::Mismatch);
    }
    let (src, dst) = (Columns::of(src), Columns::of(&dst.reorder_outs(&order)));
    if src.block.iter().chain(&dst.block).any(|&column| column != 0) {
        return Err(ConversionError::CrossesBlocks);
    }
    let bits = outs.iter().map(|out| out.1).sum();
    let bytes = element_bits.div_ceil(8).max(1);
    let split = Split { src, dst, bits };
    let sizes = crate::dims::Dims::new(&outs);
    let places: Vec<Vec<(Dim, u32)>> = Order::for_memory(&split, bytes, facts)
        .columns
        .iter()
        .map(|&column| sizes.unpack(column).into_iter().collect())
        .collect();
    let places: Vec<&[(Dim, u32)]> = places.iter().map(Vec::as_slice).collect();
    LinearLayout::new(&[(Dim::OFFSET, &places)], &outs).map_err(|_| ConversionError::Missing)
}

/// The columns of both sides in coordinates where the bits above `bits` are the round.
struct Split {
    src: Columns,
    dst: Columns,
    bits: u32,
}

impl Split {
    /// Columns without the round.
    fn cut(&self, columns: &[u64]) -> Vec<u64> {
        columns.iter().map(|column| column & mask(self.bits)).collect()
    }

    /// Each coordinate by itself.
    fn units(&self) -> Vec<u64> {
        (0..self.bits).map(|bit| 1 << bit).collect()
    }
}

/// Plans the conversion; elements of both are in coordinates of the source.
pub(crate) fn plan(
    src: &Columns,
    dst: &Columns,
    element_bits: u32,
    facts: &ConvertFacts,
) -> Result<Staged, ConversionError> {
    let bytes = element_bits.div_ceil(8).max(1);
    let split = split(src, dst, bytes, facts)?;
    let order = Order::of(&split, bytes, facts);
    let inverse = inverse(&order.columns, split.bits);
    let place = |columns: &[u64]| -> Vec<u64> {
        let low = mask(split.bits);
        columns.iter().map(|&column| apply(&inverse, column & low) | column & !low).collect()
    };
    let places = |columns: &Columns| Places {
        register: place(&columns.register),
        lane: place(&columns.lane),
        warp: place(&columns.warp),
        block: place(&columns.block),
    };
    let (mut store, mut load) =
        (places(&split.src).store(element_bits, facts), places(&split.dst).load(element_bits, facts));
    let mut rounds = 1;
    for step in store.steps.iter_mut().chain(&mut load.steps) {
        step.round = (u64::from(step.offset) >> split.bits) as u32;
        step.offset &= mask(split.bits) as u32;
        rounds = rounds.max(step.round + 1);
    }
    store.steps.sort_by_key(|step| step.round);
    load.steps.sort_by_key(|step| step.round);
    let own_warp = rank(&src.program()) as usize
        == rank(&[&src.register[..], &src.lane].concat()) as usize + src.warp.len();
    let within_warp = own_warp && exchange::is_possible(src, dst);
    // Without a bit of the thread index or of a register that leads elsewhere, nothing does.
    let crosses_blocks = !load.far.is_empty() || load.steps.iter().any(|step| step.far != 0);
    Ok(Staged { store, load, rounds, bytes: bytes << split.bits, within_warp, crosses_blocks })
}

/// Splits off rounds when the block is too large: along directions that both sides hold in registers only.
fn split(src: &Columns, dst: &Columns, bytes: u32, facts: &ConvertFacts) -> Result<Split, ConversionError> {
    let bits = rank(&src.program());
    if bits > 31 {
        return Err(ConversionError::Mismatch);
    }
    let fit = (facts.max_bytes / bytes).max(1).ilog2();
    let threads: Vec<u64> = src.thread().into_iter().chain(dst.thread()).map(blocks::near).collect();
    let common = intersect(&src.register, &dst.register);
    let mut basis = Basis::of(&threads);
    let fixed = basis.len() as u32;
    basis.extend(&common);
    basis.extend(&src.register);
    let wanted = bits.saturating_sub(fit.max(fixed)).min(bits - fixed);
    if wanted == 0 {
        return Ok(Split { src: src.clone(), dst: dst.clone(), bits });
    }
    let recode = |column: u64| -> Result<u64, ConversionError> {
        let coordinates = basis.coordinates(blocks::near(column)).ok_or(ConversionError::Missing)?;
        Ok(coordinates | column ^ blocks::near(column))
    };
    Ok(Split { src: src.try_map(recode)?, dst: dst.try_map(recode)?, bits: bits - wanted })
}

/// The order of memory: the element of each power of two of the offset.
struct Order {
    columns: Vec<u64>,
}

impl Order {
    fn of(split: &Split, bytes: u32, facts: &ConvertFacts) -> Order {
        let threads = [split.cut(&split.src.thread()), split.cut(&split.dst.thread())].concat();
        let stored = complement(&[], &split.src.register);
        let vector = vector(&stored, &split.dst.register, &split.units(), &threads);
        Order::around(vector, &threads, split, bytes, facts)
    }

    /// The same, but where no vector suits both sides, those who load get theirs: they load more often than is stored.
    fn for_memory(split: &Split, bytes: u32, facts: &ConvertFacts) -> Order {
        let threads = [split.cut(&split.src.thread()), split.cut(&split.dst.thread())].concat();
        let stored = complement(&[], &split.src.register);
        if !vector(&stored, &split.dst.register, &split.units(), &threads).is_empty() {
            return Order::of(split, bytes, facts);
        }
        let threads = split.cut(&split.dst.thread());
        let loaded = complement(&[], &split.dst.register);
        let own = vector(&loaded, &split.dst.register, &split.units(), &threads);
        let order = Order::around(own, &threads, split, bytes, facts);
        if Basis::of(&order.columns).len() == split.bits as usize {
            order
        } else {
            Order::of(split, bytes, facts)
        }
    }

    /// An order whose vectors are `vector`, to which `threads` are aligned.
    fn around(
        mut vector: Vec<u64>,
        threads: &[u64],
        split: &Split,
        bytes: u32,
        facts: &ConvertFacts,
    ) -> Order {
        vector.truncate((facts.max_vector_bytes / bytes).max(1).ilog2() as usize);
        let (cut, units) = (|columns: &[u64]| split.cut(columns), split.units());

        // All the rest, with every lane and warp inside, so that threads are aligned to vectors.
        let mut rest = Basis::of(threads);
        rest.extend(&complement(&[&vector[..], rest.vectors()].concat(), &units));
        let word_bits = (facts.bank_bytes / bytes).max(1).ilog2() as usize;
        let row_bits = (facts.banks * facts.bank_bytes / bytes).max(1).ilog2() as usize;
        let vector_bytes = (bytes << vector.len()).max(facts.bank_bytes);
        let in_phase = (facts.banks * facts.bank_bytes / vector_bytes).max(1).ilog2() as usize;
        let phase = |columns: &Columns| cut(&columns.lane[..in_phase.min(columns.lane.len())]);
        // Lanes that hold parts of one vector are on the same banks anyway.
        let (one, other) = (complement(&vector, &phase(&split.src)), phase(&split.dst));

        let word = words(&one, &other, rest.vectors(), word_bits.saturating_sub(vector.len()));
        let pass = row_bits.saturating_sub(vector.len()).min(rest.len());
        let rows = rows(&[&word[..], &one].concat(), &[&word[..], &other].concat(), rest.vectors(), pass);
        let near = [&one[..], &other, rest.vectors()].concat();
        let bank = complement(&[&word[..], &rows].concat(), &near);
        Order { columns: [vector, word, bank, rows].concat() }
    }
}

/// Elements of one round that both sides hold in registers, apart from what threads hold.
fn vector(src: &[u64], dst: &[u64], round: &[u64], threads: &[u64]) -> Vec<u64> {
    let both = Basis::of(&intersect(&intersect(src, dst), round));
    let whole: Vec<u64> = src.iter().copied().filter(|&column| both.holds(column)).collect();
    complement(threads, &[&whole[..], both.vectors()].concat())
}

/// What shares a word of memory besides the vector: best what the lanes of a phase hold side by side.
fn words(one: &[u64], other: &[u64], rest: &[u64], count: usize) -> Vec<u64> {
    let shared = intersect(one, other);
    let mut chosen = complement(&[], &[&shared[..], one, other, rest].concat());
    chosen.truncate(count);
    chosen
}

/// A common complement, within `all`, of the spaces that lanes span, each first made as large as one pass over the
/// banks.
fn rows(one: &[u64], other: &[u64], all: &[u64], pass: usize) -> Vec<u64> {
    let grow = |own: &[u64], theirs: &[u64]| -> Vec<u64> {
        let mut basis = Basis::of(own);
        let missing = pass.saturating_sub(basis.len());
        let outside = complement(&[own, theirs].concat(), all);
        let mut more = complement(own, &[&outside[..], theirs, all].concat());
        more.truncate(missing);
        basis.extend(&more);
        basis.vectors().to_vec()
    };
    let one = grow(one, other);
    let other = grow(other, &one);
    let both = intersect(&one, &other);
    let (left, right) = (complement(&both, &one), complement(&both, &other));
    let mut rows: Vec<u64> = left.iter().zip(&right).map(|(one, other)| one ^ other).collect();
    rows.extend(complement(&[&one[..], &other].concat(), all));
    rows
}
