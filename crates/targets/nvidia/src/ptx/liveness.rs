//! Which registers are needed at the borders of blocks.

use super::machine::{MFunction, Reg};
use cranelift_entity::{EntityRef, SecondaryMap};
use llir::Block;

/// A set of registers.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct RegSet(Vec<u64>);

impl RegSet {
    fn new(count: usize) -> RegSet {
        RegSet(vec![0; count.div_ceil(64)])
    }

    fn insert(&mut self, reg: Reg) {
        self.0[reg.index() / 64] |= 1 << (reg.index() % 64);
    }

    fn remove(&mut self, reg: Reg) {
        self.0[reg.index() / 64] &= !(1 << (reg.index() % 64));
    }

    /// Adds all of another set; says whether that changed anything.
    fn add_all(&mut self, other: &RegSet) -> bool {
        let mut changed = false;
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            changed |= *more & !*word != 0;
            *word |= more;
        }
        changed
    }

    /// All registers in it.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Reg> + '_ {
        self.0.iter().enumerate().flat_map(|(index, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(Reg::from_u32(index as u32 * 64 + bit))
            })
        })
    }
}

/// Registers needed at the beginning of each block (its parameters not counted) and at its end, by its place in the
/// text.
pub(crate) struct Liveness {
    /// At the beginning.
    pub(crate) before: Vec<RegSet>,
    /// At the end, after the jump has handed on what it hands on.
    pub(crate) after: Vec<RegSet>,
}

/// Computes it by going round until nothing changes.
pub(crate) fn liveness(function: &MFunction, places: &SecondaryMap<Block, usize>) -> Liveness {
    let count = function.regs.len();
    let blocks = &function.blocks;
    let mut before = Vec::with_capacity(blocks.len());
    let mut written = Vec::with_capacity(blocks.len());
    for block in blocks {
        let (mut reads, mut writes) = (RegSet::new(count), RegSet::new(count));
        block.end.each_use(|reg| reads.insert(reg));
        for inst in block.insts.iter().rev() {
            inst.each_def(|reg| {
                reads.remove(reg);
                writes.insert(reg);
            });
            inst.each_use(|reg| reads.insert(reg));
        }
        for param in &block.params {
            reads.remove(*param);
            writes.insert(*param);
        }
        before.push(reads);
        written.push(writes);
    }
    let mut after = vec![RegSet::new(count); blocks.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for index in (0..blocks.len()).rev() {
            for edge in blocks[index].end.edges() {
                let more = std::mem::take(&mut before[places[edge.block]]);
                let grown = after[index].add_all(&more);
                before[places[edge.block]] = more;
                if grown {
                    let mut through = after[index].clone();
                    for (word, written) in through.0.iter_mut().zip(&written[index].0) {
                        *word &= !written;
                    }
                    changed |= before[index].add_all(&through);
                }
            }
        }
    }
    Liveness { before, after }
}
