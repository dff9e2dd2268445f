//! Lets registers that are copied into one another become one.
//!
//! Input: `loop(%a): … wgmma %b tied to %a …; bra loop(%b)`. Output: `%a` and `%b` are one register, and nothing is
//! moved. Two registers join when no place needs both. Ties of inline assembly come first, then copies from one piece
//! of it to the next, then what loops carry, then other copies: sums must not be moved between a fence and the
//! `wgmma` behind it, and if they must be moved at all, that is in front of the fence.

use super::liveness::Liveness;
use super::machine::{MFunction, MInst, Operand, Reg, Text};
use cranelift_entity::{EntityRef, SecondaryMap};
use llir::Block;

/// Stretches of the text in which a register is needed, in order, ends excluded.
type Segments = Vec<(u32, u32)>;

/// Registers that would like to be one.
struct Wishes {
    /// They must be.
    ties: Vec<(Reg, Reg)>,
    /// One piece of assembly hands one to another.
    chains: Vec<(Reg, Reg)>,
    /// A loop carries one to the other.
    loops: Vec<(Reg, Reg)>,
    /// One is copied to the other.
    copies: Vec<(Reg, Reg)>,
}

/// For each register the one that stands for it.
pub(crate) struct Classes {
    leaders: SecondaryMap<Reg, Option<Reg>>,
}

impl Classes {
    /// The register that stands for this one.
    pub(crate) fn leader(&self, reg: Reg) -> Reg {
        let mut reg = reg;
        while let Some(leader) = self.leaders[reg] {
            reg = leader;
        }
        reg
    }
}

/// Joins what can be joined.
pub(crate) fn coalesce(
    function: &MFunction,
    places: &SecondaryMap<Block, usize>,
    liveness: &Liveness,
) -> Classes {
    let wishes = wishes(function, places);
    let mut classes = Classes { leaders: SecondaryMap::new() };
    classes.leaders.resize(function.regs.len());
    let Wishes { ties, chains, loops, copies } = &wishes;
    let all = || ties.iter().chain(chains).chain(loops).chain(copies);
    if all().next().is_none() {
        return classes;
    }
    let mut is_wanted: Vec<bool> = vec![false; function.regs.len()];
    for (a, b) in all() {
        is_wanted[a.index()] = true;
        is_wanted[b.index()] = true;
    }
    let mut segments = segments(function, liveness, &is_wanted);
    for (a, b) in all() {
        if function.regs[*a] == function.regs[*b] {
            join(&mut classes, &mut segments, *a, *b);
        }
    }
    classes
}

fn wishes(function: &MFunction, places: &SecondaryMap<Block, usize>) -> Wishes {
    let mut wishes = Wishes { ties: Vec::new(), chains: Vec::new(), loops: Vec::new(), copies: Vec::new() };
    // What assembly makes of a register that is tied to it.
    let mut results: SecondaryMap<Reg, bool> = SecondaryMap::new();
    for (index, block) in function.blocks.iter().enumerate() {
        for inst in &block.insts {
            match (&inst.text, &inst.operands[..]) {
                (Text::Copy, [Operand::Reg(to), Operand::Reg(from)]) => match results[*from] {
                    true => wishes.chains.push((*to, *from)),
                    false => wishes.copies.push((*to, *from)),
                },
                (Text::Asm(asm), operands) => {
                    for (result, operand) in &asm.ties {
                        if let (Operand::Reg(a), Operand::Reg(b)) = (&operands[*result], &operands[*operand])
                        {
                            wishes.ties.push((*a, *b));
                            results[*a] = true;
                        }
                    }
                }
                _ => {}
            }
        }
        for edge in block.end.edges() {
            let back = places[edge.block] <= index;
            for (to, from) in &edge.copies {
                if let Operand::Reg(from) = from {
                    let list = if back { &mut wishes.loops } else { &mut wishes.copies };
                    list.push((*to, *from));
                }
            }
        }
    }
    wishes
}

fn join(classes: &mut Classes, segments: &mut [Segments], a: Reg, b: Reg) {
    let (a, b) = (classes.leader(a), classes.leader(b));
    if a == b || overlap(&segments[a.index()], &segments[b.index()]) {
        return;
    }
    let more = std::mem::take(&mut segments[b.index()]);
    let merged = merge(&segments[a.index()], &more);
    segments[a.index()] = merged;
    classes.leaders[b] = Some(a);
}

fn overlap(a: &Segments, b: &Segments) -> bool {
    let (mut i, mut j) = (0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        if x.0 < y.1 && y.0 < x.1 {
            return true;
        }
        if x.1 <= y.1 { i += 1 } else { j += 1 }
    }
    false
}

/// Both in order; stretches that touch become one.
fn merge(a: &Segments, b: &Segments) -> Segments {
    let mut merged: Segments = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    loop {
        let next = match (a.get(i), b.get(j)) {
            (Some(x), Some(y)) if x.0 <= y.0 => (*x, &mut i),
            (Some(_) | None, Some(y)) => (*y, &mut j),
            (Some(x), None) => (*x, &mut i),
            (None, None) => return merged,
        };
        *next.1 += 1;
        match merged.last_mut() {
            Some(last) if last.1 == next.0.0 => last.1 = next.0.1,
            _ => merged.push(next.0),
        }
    }
}

/// Where registers are needed. An instruction reads at an even place and writes at the odd one after it; the first and
/// the last place of a block are its borders.
fn segments(function: &MFunction, liveness: &Liveness, is_wanted: &[bool]) -> Vec<Segments> {
    let mut builder =
        Builder { is_wanted, segments: vec![Vec::new(); is_wanted.len()], ends: vec![0; is_wanted.len()] };
    let lengths = function.blocks.iter().map(|block| 2 * block.insts.len() as u32 + 6);
    let mut end: u32 = lengths.sum();
    for (index, block) in function.blocks.iter().enumerate().rev() {
        let start = end - (2 * block.insts.len() as u32 + 6);
        for reg in liveness.after[index].iter() {
            builder.need(reg, end);
        }
        block.end.each_use(|reg| builder.need(reg, end));
        for (place, inst) in block.insts.iter().enumerate().rev() {
            builder.inst(inst, start + 2 + 2 * place as u32);
        }
        for reg in liveness.before[index].iter().chain(block.params.iter().copied()) {
            builder.begin(reg, start);
        }
        end = start;
    }
    for segments in &mut builder.segments {
        segments.reverse();
        // Stretches that touch become one.
        segments.dedup_by(|later, earlier| {
            let touches = earlier.1 == later.0;
            earlier.1 = if touches { later.1 } else { earlier.1 };
            touches
        });
    }
    builder.segments
}

struct Builder<'a> {
    is_wanted: &'a [bool],
    /// Found so far, from the end of the text on.
    segments: Vec<Segments>,
    /// Where the stretch ends that is open; 0 for none.
    ends: Vec<u32>,
}

impl Builder<'_> {
    fn need(&mut self, reg: Reg, end: u32) {
        let open = &mut self.ends[reg.index()];
        if self.is_wanted[reg.index()] && *open == 0 {
            *open = end;
        }
    }

    /// Closes the stretch that is open; a register that nobody reads is needed where it is written.
    fn begin(&mut self, reg: Reg, start: u32) {
        if self.is_wanted[reg.index()] {
            let end = std::mem::take(&mut self.ends[reg.index()]).max(start + 1);
            self.segments[reg.index()].push((start, end));
        }
    }

    fn inst(&mut self, inst: &MInst, place: u32) {
        let ties = match &inst.text {
            Text::Asm(asm) if asm.early => Some(&asm.ties),
            _ => None,
        };
        for (index, operand) in inst.operands[..inst.defs].iter().enumerate() {
            let is_tied = ties.is_none_or(|ties| ties.iter().any(|(result, _)| *result == index));
            operand.each_reg(&mut |reg| self.begin(reg, if is_tied { place + 1 } else { place }));
        }
        inst.each_use(|reg| self.need(reg, place + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::{merge, overlap};

    #[test]
    fn stretches_that_touch_do_not_overlap() {
        assert!(!overlap(&vec![(0, 4), (8, 10)], &vec![(4, 8)]));
        assert!(overlap(&vec![(0, 4), (8, 10)], &vec![(4, 9)]));
        assert_eq!(merge(&vec![(0, 4), (8, 10)], &vec![(4, 8)]), vec![(0, 10)]);
        assert_eq!(merge(&vec![(5, 6)], &vec![(1, 2)]), vec![(1, 2), (5, 6)]);
    }
}
