//! A layout of one shape as bit vectors, and what it costs to get from one to another.
//!
//! Each register, lane and warp bit moves to a position in the block; positions are row-major words (the last dimension
//! lowest). That is all that costs and classes of conversions need.

use layout::{Dim, LinearLayout};

/// Where each bit of each hardware dimension goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Bases {
    /// Bits of the register number.
    pub(crate) register: Vec<u64>,
    /// Bits of the lane number.
    pub(crate) lane: Vec<u64>,
    /// Bits of the warp number.
    pub(crate) warp: Vec<u64>,
    /// Bits of the number of the thread block in its cluster.
    pub(crate) block: Vec<u64>,
}

/// How far data moves in a conversion.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Reach {
    /// Every element stays where it is.
    Nothing,
    /// Elements change registers.
    Registers,
    /// Elements change lanes.
    Lanes,
    /// Elements change warps.
    Warps,
    /// Elements change blocks of a cluster.
    Blocks,
}

impl Bases {
    /// The bit vectors of a layout of a block with these sizes.
    pub(crate) fn new(linear: &LinearLayout, shape: &[i64]) -> Bases {
        let strides = strides(shape);
        let word = |dim: Dim| -> Vec<u64> {
            let bases = linear.bases(dim);
            let at = |basis: &[(Dim, u32)]| -> u64 {
                (0..shape.len())
                    .map(|index| {
                        let position = basis.iter().find(|part| part.0 == Dim::block(index));
                        position.map_or(0, |part| u64::from(part.1)) * strides[index]
                    })
                    .fold(0, |word, part| word | part)
            };
            bases.iter().map(|basis| at(basis)).collect()
        };
        Bases {
            register: word(Dim::REGISTER),
            lane: word(Dim::LANE),
            warp: word(Dim::WARP),
            block: word(Dim::BLOCK),
        }
    }

    /// How far elements move from this layout to another.
    pub(crate) fn reach(&self, to: &Bases) -> Reach {
        if self == to {
            return Reach::Nothing;
        }
        let mut span = Span::default();
        self.register.iter().for_each(|&word| span.insert(word));
        let inside = |span: &Span, words: &[u64]| words.iter().all(|&word| span.contains(word));
        if inside(&span, &to.register)
            && differences_are_in(&span, &self.lane, &to.lane)
            && differences_are_in(&span, &self.warp, &to.warp)
            && differences_are_in(&span, &self.block, &to.block)
        {
            return Reach::Registers;
        }
        self.lane.iter().for_each(|&word| span.insert(word));
        if inside(&span, &to.register)
            && inside(&span, &to.lane)
            && differences_are_in(&span, &self.warp, &to.warp)
            && differences_are_in(&span, &self.block, &to.block)
        {
            return Reach::Lanes;
        }
        self.warp.iter().for_each(|&word| span.insert(word));
        let own = [&to.register, &to.lane, &to.warp].iter().all(|words| inside(&span, words));
        let stays = own && differences_are_in(&span, &self.block, &to.block);
        if self.block.is_empty() || stays { Reach::Warps } else { Reach::Blocks }
    }

    /// How many different elements a lane holds.
    pub(crate) fn registers(&self) -> u64 {
        1 << self.register.iter().filter(|&&word| word != 0).count()
    }
}

/// Distances of neighbours along each dimension in a row-major word.
pub(crate) fn strides(shape: &[i64]) -> Vec<u64> {
    let mut strides = vec![1; shape.len()];
    for dim in (1..shape.len()).rev() {
        strides[dim - 1] = strides[dim] * shape[dim] as u64;
    }
    strides
}

fn differences_are_in(span: &Span, from: &[u64], to: &[u64]) -> bool {
    from.len() == to.len() && from.iter().zip(to).all(|(&a, &b)| span.contains(a ^ b))
}

/// A linear space over F2.
#[derive(Default)]
struct Span(Vec<u64>);

impl Span {
    fn reduce(&self, mut word: u64) -> u64 {
        for &row in &self.0 {
            word = word.min(word ^ row);
        }
        word
    }

    fn contains(&self, word: u64) -> bool {
        self.reduce(word) == 0
    }

    fn insert(&mut self, word: u64) {
        let rest = self.reduce(word);
        if rest != 0 {
            self.0.push(rest);
            self.0.sort_unstable_by(|a, b| b.cmp(a));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Bases, Reach};

    fn bases(register: &[u64], lane: &[u64], warp: &[u64]) -> Bases {
        Bases { register: register.to_vec(), lane: lane.to_vec(), warp: warp.to_vec(), block: vec![] }
    }

    #[test]
    fn reach_is_the_nearest_place_that_suffices() {
        let a = bases(&[1, 2], &[4, 8], &[16]);
        assert_eq!(a.reach(&a), Reach::Nothing);
        assert_eq!(a.reach(&bases(&[2, 1], &[4, 8], &[16])), Reach::Registers);
        assert_eq!(a.reach(&bases(&[4, 8], &[1, 2], &[16])), Reach::Lanes);
        assert_eq!(a.reach(&bases(&[1, 2], &[4, 16], &[8])), Reach::Warps);
    }

    #[test]
    fn blocks_of_a_cluster_are_the_farthest() {
        let split = Bases { block: vec![32], ..bases(&[1, 2], &[4, 8], &[16]) };
        let copied = Bases { block: vec![0], ..bases(&[1, 2, 32], &[4, 8], &[16]) };
        let other = Bases { block: vec![16], ..bases(&[1, 2], &[4, 8], &[32]) };
        assert_eq!(copied.reach(&split), Reach::Registers);
        assert_eq!(split.reach(&copied), Reach::Blocks);
        assert_eq!(split.reach(&other), Reach::Blocks);
        assert_eq!(split.reach(&Bases { block: vec![32], ..bases(&[1, 2], &[4, 16], &[8]) }), Reach::Warps);
    }

    #[test]
    fn copies_serve_lanes_that_hold_them() {
        // Every warp holds everything: nothing needs to cross warps.
        let copied = bases(&[1], &[2, 4], &[0]);
        assert_eq!(copied.reach(&bases(&[], &[1, 2], &[4])), Reach::Lanes);
        assert_eq!(copied.reach(&bases(&[], &[2, 4], &[1])), Reach::Registers);
    }
}
