//! Accesses of a block to shared memory: which registers go together in one instruction, where, and with what
//! conflicts.

use super::{Columns, ConversionError, ConvertFacts, blocks};
use crate::dims::mask;
use crate::linear::LinearLayout;
use crate::matrix::{Echelon, kernel};
use std::collections::BTreeMap;

/// One access instruction of every thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccessStep {
    /// The registers it moves, in the order of memory; by rows, those in which a thread holds its pairs, matrix after
    /// matrix.
    pub registers: Vec<u32>,
    /// Its offset in elements, xor the thread's.
    pub offset: u32,
    /// The round it belongs to, where a conversion is done in several.
    pub round: u32,
    /// By which bits the number of the block whose memory it reads differs from the thread's.
    pub far: u32,
}

/// How lanes hold the rows that are moved for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rows {
    /// A lane holds two elements of a column, not of a row.
    pub transposed: bool,
}

/// How all elements of a block are stored or loaded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Access {
    /// Elements of one instruction.
    pub vector: u32,
    /// What each bit of the thread index contributes to the offset, in elements; combined by xor.
    pub thread: Vec<u32>,
    /// What each bit of the thread index changes of the number of the block whose memory is read, from the own one;
    /// empty where all reads are of the own memory.
    pub far: Vec<u32>,
    /// The instructions.
    pub steps: Vec<AccessStep>,
    /// For stores: threads with any of these bits of their index hold copies and store nothing.
    pub copies: u64,
    /// For each register, the register that holds the same element and is moved: itself, or an earlier one.
    pub same: Vec<u32>,
    /// Where lanes move rows for each other, how they hold them; `thread` is then the place of the row that a lane
    /// names.
    pub by_rows: Option<Rows>,
    /// Passes over the banks that one instruction takes.
    pub wavefronts: u32,
    /// Passes it would take without conflicts.
    pub ideal: u32,
}

/// Both accesses of a block to a shared memory layout (`offset` and perhaps `block` to an element): the store, then the
/// load. Each block of a cluster reaches its own memory only.
///
/// # Errors
/// When the memory does not hold every element, or that of another block does.
pub fn access(
    tensor: &LinearLayout,
    memory: &LinearLayout,
    element_bits: u32,
    facts: &ConvertFacts,
) -> Result<(Access, Access), ConversionError> {
    let order: Vec<_> = memory.outs().iter().map(|dim| dim.0).collect();
    let same = tensor.outs().iter().count() == order.len()
        && tensor.outs().iter().all(|(dim, bits)| memory.outs().has(dim) && memory.outs().bits(dim) == bits);
    if !same {
        return Err(ConversionError::Mismatch);
    }
    let columns = Columns::of(&tensor.reorder_outs(&order));
    let offsets = Echelon::new(&Columns::offsets(memory));
    let place = |list: &[u64]| -> Result<Vec<u64>, ConversionError> {
        list.iter().map(|&column| offsets.solve(column).ok_or(ConversionError::Missing)).collect()
    };
    let held = Columns::of(memory).block;
    let held = held.into_iter().chain(std::iter::repeat(0));
    let blocks: Vec<u64> = columns.block.iter().zip(held).map(|(wanted, held)| wanted ^ held).collect();
    let mut block = place(&blocks).map_err(|_| ConversionError::CrossesBlocks)?;
    if block.iter().all(|&offset| offset == 0) {
        block.clear();
    }
    let places = Places {
        register: place(&columns.register)?,
        lane: place(&columns.lane)?,
        warp: place(&columns.warp)?,
        block,
    };
    Ok((places.store(element_bits, facts), places.load(element_bits, facts)))
}

impl Columns {
    fn offsets(memory: &LinearLayout) -> Vec<u64> {
        let start = memory.ins.shift(crate::dims::Dim::OFFSET) as usize;
        let bits = memory.ins.bits(crate::dims::Dim::OFFSET) as usize;
        memory.columns.iter().skip(start).take(bits).copied().collect()
    }
}

/// Offsets in memory that each bit of a place contributes, with the block whose memory it is above (see [`blocks`]).
pub(crate) struct Places {
    pub(crate) register: Vec<u64>,
    pub(crate) lane: Vec<u64>,
    pub(crate) warp: Vec<u64>,
    pub(crate) block: Vec<u64>,
}

impl Places {
    fn thread(&self) -> Vec<u64> {
        self.lane.iter().chain(&self.warp).chain(&self.block).copied().collect()
    }

    /// Every element is stored once.
    pub(crate) fn store(&self, element_bits: u32, facts: &ConvertFacts) -> Access {
        // Every block stores: what another one has stored is in that one's memory.
        let all: Vec<u64> = self.register.iter().chain(&self.lane).chain(&self.warp).copied().collect();
        // Each combination that goes to nothing has a last bit of its own; places without these bits hold every element
        // once.
        let last = kernel(&all).iter().fold(0u64, |bits, copy| bits | 1 << (63 - copy.leading_zeros()));
        let dropped = last & mask(self.register.len() as u32);
        let kept = (0..1u64 << self.register.len()).filter(|register| register & dropped == 0);
        self.build(kept.collect(), last >> self.register.len(), element_bits, facts)
    }

    /// Every register is loaded, those that hold the same once.
    pub(crate) fn load(&self, element_bits: u32, facts: &ConvertFacts) -> Access {
        let last =
            kernel(&self.register).iter().fold(0u64, |bits, copy| bits | 1 << (63 - copy.leading_zeros()));
        let kept = (0..1u64 << self.register.len()).filter(|register| register & last == 0);
        self.build(kept.collect(), 0, element_bits, facts)
    }

    fn build(&self, kept: Vec<u64>, copies: u64, element_bits: u32, facts: &ConvertFacts) -> Access {
        let bytes = element_bits.div_ceil(8).max(1);
        let vector_bits = self.vector_bits(&kept, (facts.max_vector_bytes / bytes).max(1).ilog2());
        let places = self.register_places();
        let mut parts: Vec<(u64, u32)> =
            kept.iter().map(|&register| (places[register as usize], register as u32)).collect();
        parts.sort_unstable();
        let mut steps: Vec<AccessStep> = parts
            .chunk_by(|one, next| one.0 >> vector_bits == next.0 >> vector_bits)
            .map(|group| {
                let registers = group.iter().map(|part| part.1).collect();
                let at = group[0].0;
                AccessStep { registers, offset: blocks::near(at) as u32, round: 0, far: blocks::far(at) }
            })
            .collect();
        steps.sort_by_cached_key(|step| step.registers.iter().min().copied());
        let vector = 1 << vector_bits;
        let lanes: Vec<u64> = self.lane.iter().map(|&at| blocks::near(at)).collect();
        let (wavefronts, ideal) = wavefronts(&lanes, vector * bytes, bytes, facts);
        let thread = self.thread().iter().map(|&at| blocks::near(at) as u32).collect();
        let mut far: Vec<u32> = self.thread().iter().map(|&at| blocks::far(at)).collect();
        if far.iter().chain(steps.iter().map(|step| &step.far)).all(|&far| far == 0) {
            far.clear();
        }
        Access {
            vector,
            thread,
            far,
            steps,
            copies,
            same: representatives(&self.register, &places),
            by_rows: None,
            wavefronts,
            ideal,
        }
    }

    /// How many low bits of the offset a thread holds in registers, with threads aligned to them.
    fn vector_bits(&self, kept: &[u64], limit: u32) -> u32 {
        let held: Vec<u64> = (0..self.register.len())
            .filter(|&bit| kept.contains(&(1 << bit)))
            .map(|bit| self.register[bit])
            .collect();
        let held = Echelon::new(&held);
        let thread = self.thread();
        (0..limit)
            .take_while(|&bit| {
                held.solve(1 << bit).is_some() && thread.iter().all(|offset| offset & mask(bit + 1) == 0)
            })
            .count() as u32
    }

    /// The place of each register.
    fn register_places(&self) -> Vec<u64> {
        let mut places = Vec::with_capacity(1 << self.register.len());
        places.push(0);
        for column in &self.register {
            let half = places.len();
            places.extend_from_within(..);
            places[half..].iter_mut().for_each(|place| *place ^= column);
        }
        places
    }
}

/// For each register the first at the same place. `columns` say where the bits of their numbers go.
fn representatives(columns: &[u64], places: &[u64]) -> Vec<u32> {
    let numbers = 0..places.len() as u32;
    if crate::subspace::rank(columns) as usize == columns.len() {
        return numbers.collect();
    }
    let mut first = BTreeMap::new();
    places.iter().zip(numbers).map(|(&place, number)| *first.entry(place).or_insert(number)).collect()
}

/// Passes over the banks of one instruction of a warp, and how many there would be without conflicts.
///
/// `lanes` is what each bit of a lane's number contributes to its place, in elements of so many bytes. Wide accesses
/// are served in phases of as many neighbouring lanes as fill all banks.
pub fn wavefronts(lanes: &[u64], vector_bytes: u32, bytes: u32, facts: &ConvertFacts) -> (u32, u32) {
    let row = facts.banks * facts.bank_bytes;
    let unit = vector_bytes.max(facts.bank_bytes).min(row);
    let in_phase = ((row / unit).ilog2() as usize).min(lanes.len());
    let slots: Vec<u64> =
        lanes[..in_phase].iter().map(|&offset| offset * u64::from(bytes) / u64::from(unit)).collect();
    let in_row: Vec<u64> = slots.iter().map(|slot| slot & (u64::from(row / unit) - 1)).collect();
    let phases = 1 << (lanes.len() - in_phase);
    (phases << (crate::subspace::rank(&slots) - crate::subspace::rank(&in_row)), phases)
}
