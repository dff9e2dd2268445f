//! Copies: which registers, lanes and warps hold an element that others hold too.

use layout::{Dim, LinearLayout};

/// The bits of register, lane, warp and block that only make copies: with all of them at zero, every element is met
/// exactly once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FreeBits {
    /// Of the register.
    pub register: u32,
    /// Of the lane.
    pub lane: u32,
    /// Of the warp.
    pub warp: u32,
    /// Of the block in its cluster.
    pub block: u32,
}

impl FreeBits {
    /// The free bits of a layout: those whose basis is a sum of bases that come before, registers first.
    pub fn of(layout: &LinearLayout) -> FreeBits {
        let mut pivots: Vec<u64> = Vec::new();
        let mut free_of = |dim: Dim| {
            let (mut free, shift) = (0, layout.ins().shift(dim));
            for bit in 0..layout.ins().bits(dim) {
                let mut column = layout.apply_word(1 << (shift + bit));
                for pivot in &pivots {
                    column = column.min(column ^ pivot);
                }
                if column == 0 {
                    free |= 1 << bit;
                } else {
                    pivots.push(column);
                }
            }
            free
        };
        FreeBits {
            register: free_of(Dim::REGISTER),
            lane: free_of(Dim::LANE),
            warp: free_of(Dim::WARP),
            block: free_of(Dim::BLOCK),
        }
    }
}

/// For each register, the first register of the lane that holds the same element.
pub(crate) fn first_copies(layout: &LinearLayout) -> Vec<usize> {
    let mut first = rustc_hash::FxHashMap::default();
    let elements = layout.along(Dim::REGISTER).into_iter().enumerate();
    elements.map(|(register, element)| *first.entry(element).or_insert(register)).collect()
}

#[cfg(test)]
mod tests {
    use super::{FreeBits, first_copies};
    use layout::{Dim, LinearLayout};

    #[test]
    fn copies_are_found_wherever_they_are() {
        let dim0 = Dim::block(0);
        let at = |position: u32| [(dim0, position)];
        let (one, two, three, zero) = (at(1), at(2), at(3), at(0));
        let layout = LinearLayout::new(
            &[
                (Dim::REGISTER, &[&one, &zero]),
                (Dim::LANE, &[&two, &three]),
                (Dim::WARP, &[&one]),
                (Dim::BLOCK, &[]),
            ],
            &[(dim0, 2)],
        )
        .unwrap();
        let free = FreeBits { register: 2, lane: 2, warp: 1, block: 0 };
        assert_eq!(FreeBits::of(&layout), free);
        assert_eq!(first_copies(&layout), [0, 1, 0, 1]);
    }
}
