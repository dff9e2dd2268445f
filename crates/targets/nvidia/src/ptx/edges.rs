//! Turns what a jump hands on into copies one after another, and finds a place for them.

use super::coalesce::Classes;
use super::liveness::Liveness;
use super::machine::{Edge, End, MFunction, Operand, Reg};
use cranelift_entity::SecondaryMap;
use llir::Block;
use rustc_hash::{FxHashMap, FxHashSet};

/// A register and what it gets.
pub(crate) type EdgeCopy = (Reg, Operand);

/// The copies that are left once registers have joined.
pub(crate) fn remaining(edge: &Edge, classes: &Classes) -> Vec<EdgeCopy> {
    let mut copies: Vec<EdgeCopy> = Vec::new();
    for (to, from) in &edge.copies {
        let to = classes.leader(*to);
        let from = match from {
            Operand::Reg(reg) => Operand::Reg(classes.leader(*reg)),
            other => other.clone(),
        };
        if from != Operand::Reg(to) {
            copies.push((to, from));
        }
    }
    copies
}

/// What is copied before a branch, and what only on the way to each side.
pub(crate) struct Placed {
    /// Before the branch, in groups, each all at once.
    pub(crate) before: [Vec<EdgeCopy>; 2],
    /// On the way.
    pub(crate) on_edge: [Vec<EdgeCopy>; 2],
}

/// Places the copies of a branch: before it where the other side does not see them.
pub(crate) fn place(
    condition: Reg,
    edges: &[Edge; 2],
    classes: &Classes,
    liveness: &Liveness,
    places: &SecondaryMap<Block, usize>,
    params: impl Fn(Block) -> Vec<Reg>,
) -> Placed {
    let mut copies = [remaining(&edges[0], classes), remaining(&edges[1], classes)];
    let mut before = [Vec::new(), Vec::new()];
    let condition = classes.leader(condition);
    for side in 0..2 {
        let other = &edges[1 - side];
        if copies[side].is_empty() {
            continue;
        }
        let seen: FxHashSet<Reg> = liveness.before[places[other.block]]
            .iter()
            .chain(params(other.block))
            .map(|reg| classes.leader(reg))
            .collect();
        let theirs: FxHashMap<Reg, &Operand> =
            copies[1 - side].iter().map(|(to, from)| (*to, from)).collect();
        let mut read: FxHashSet<Reg> = FxHashSet::default();
        for (_, from) in &copies[1 - side] {
            from.each_reg(&mut |reg| _ = read.insert(reg));
        }
        let hidden = copies[side].iter().all(|(to, from)| {
            let shared = theirs.get(to).is_some_and(|other| *other == from);
            *to != condition && !read.contains(to) && (shared || !seen.contains(to))
        });
        if hidden {
            before[side] = std::mem::take(&mut copies[side]);
            let moved: FxHashSet<Reg> = before[side].iter().map(|copy| copy.0).collect();
            copies[1 - side].retain(|copy| !moved.contains(&copy.0));
        }
    }
    Placed { before, on_edge: copies }
}

/// The copies one after another, so that none overwrites what a later one reads; `fresh` gives a register like another.
pub(crate) fn sequence(mut copies: Vec<EdgeCopy>, mut fresh: impl FnMut(Reg) -> Reg) -> Vec<EdgeCopy> {
    let mut done = Vec::with_capacity(copies.len());
    let mut readers: FxHashMap<Reg, u32> = FxHashMap::default();
    for (_, from) in &copies {
        from.each_reg(&mut |reg| *readers.entry(reg).or_default() += 1);
    }
    while !copies.is_empty() {
        let before = done.len();
        // In each round go those that nobody reads any more; a chain takes as many rounds as it is long at most.
        copies.retain(|(to, from)| {
            let is_read = readers.get(to).is_some_and(|count| *count > 0);
            if !is_read {
                from.each_reg(&mut |reg| _ = readers.entry(reg).and_modify(|count| *count -= 1));
                done.push((*to, from.clone()));
            }
            is_read
        });
        if done.len() == before {
            // Only circles are left: one register is saved, and its readers read that.
            let saved = copies[0].0;
            let spare = fresh(saved);
            done.push((spare, Operand::Reg(saved)));
            for (_, from) in &mut copies {
                if *from == Operand::Reg(saved) {
                    *from = Operand::Reg(spare);
                }
            }
            let moved = readers.remove(&saved).unwrap_or(0);
            readers.insert(spare, moved);
        }
    }
    done
}

/// Drops blocks that only go on to another one: who goes there goes on at once.
pub(crate) fn skip_empty(function: &mut MFunction) {
    let mut next: SecondaryMap<Block, Option<Block>> = SecondaryMap::new();
    for block in function.blocks.iter().skip(1) {
        if let End::Jump(edge) = &block.end
            && block.insts.is_empty()
            && block.params.is_empty()
            && edge.copies.is_empty()
            && edge.block != block.block
        {
            next[block.block] = Some(edge.block);
        }
    }
    let count = function.blocks.len();
    let follow = |mut block: Block| {
        // A circle of empty blocks goes nowhere else: whoever is in it stays.
        for _ in 0..count {
            match next[block] {
                Some(further) => block = further,
                None => return Some(block),
            }
        }
        None
    };
    let mut is_circular = false;
    for block in &mut function.blocks {
        for edge in block.end.edges_mut() {
            match follow(edge.block) {
                Some(further) => edge.block = further,
                None => is_circular = true,
            }
        }
    }
    if !is_circular {
        function.blocks.retain(|block| next[block.block].is_none());
    }
}

#[cfg(test)]
mod tests {
    use super::{Operand, Reg, sequence};

    fn run(copies: &[(u32, u32)]) {
        let reg = Reg::from_u32;
        let parallel = copies.iter().map(|(to, from)| (reg(*to), Operand::Reg(reg(*from)))).collect();
        let mut state: Vec<u32> = (0..32).collect();
        let mut next = 16;
        for (to, from) in sequence(parallel, |_| {
            next += 1;
            reg(next)
        }) {
            let Operand::Reg(from) = from else { panic!("a register") };
            state[to.as_u32() as usize] = state[from.as_u32() as usize];
        }
        for (to, from) in copies {
            assert_eq!(state[*to as usize], *from, "{copies:?}");
        }
    }

    #[test]
    fn parallel_copies_keep_their_meaning() {
        run(&[]);
        run(&[(1, 2), (2, 3), (3, 4)]);
        run(&[(1, 2), (2, 1)]);
        run(&[(1, 2), (2, 3), (3, 1), (4, 1), (5, 4)]);
        run(&[(1, 2), (2, 1), (3, 4), (4, 3), (6, 6)]);
    }
}
