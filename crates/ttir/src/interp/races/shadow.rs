//! What is remembered of memory: who wrote each piece, and who has read it since.
//!
//! Pages are made when they are first touched. A piece is as large as the smallest access to its page so far, since
//! accesses are aligned: most pages have one size of elements.

use super::history::Set;
use rustc_hash::FxHashMap;

/// Bytes of a page.
const PAGE: u64 = 4096;

/// What is remembered of a piece of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cell {
    /// The last write, or several that nothing orders.
    pub(super) writes: Set,
    /// Those who read since.
    pub(super) reads: Set,
}

struct Page {
    /// Bytes of a piece, as a power of two.
    shift: u32,
    cells: Vec<Cell>,
}

/// The pages.
#[derive(Default)]
pub(super) struct Shadow {
    pages: Vec<Page>,
    numbers: FxHashMap<u64, usize>,
    /// The last one that was asked for.
    last: Option<(u64, usize)>,
}

impl Shadow {
    fn page(&mut self, number: u64, size: u64) -> &mut Page {
        let index = match self.last {
            Some((known, index)) if known == number => index,
            _ => *self.numbers.entry(number).or_insert_with(|| {
                let shift = size.trailing_zeros();
                let empty = Cell { writes: Set::EMPTY, reads: Set::EMPTY };
                self.pages.push(Page { shift, cells: vec![empty; (PAGE >> shift) as usize] });
                self.pages.len() - 1
            }),
        };
        self.last = Some((number, index));
        let page = &mut self.pages[index];
        if 1 << page.shift > size {
            page.split(size.trailing_zeros());
        }
        page
    }

    /// How many elements from an aligned address on are in its page.
    pub(super) fn in_page(address: u64, size: u64) -> u64 {
        (PAGE - address % PAGE) / size
    }

    /// The pieces of some elements of a page, from an aligned address on.
    #[inline]
    pub(super) fn cells(&mut self, address: u64, size: u64, count: u64) -> &mut [Cell] {
        let page = self.page(address / PAGE, size);
        let first = (address % PAGE) >> page.shift;
        &mut page.cells[first as usize..][..((count * size) >> page.shift) as usize]
    }
}

impl Page {
    #[cold]
    fn split(&mut self, shift: u32) {
        let parts = 1 << (self.shift - shift);
        self.cells = self.cells.iter().flat_map(|&cell| std::iter::repeat_n(cell, parts)).collect();
        self.shift = shift;
    }
}

#[cfg(test)]
mod tests {
    use super::{Set, Shadow};

    #[test]
    fn pieces_are_as_small_as_the_smallest_access() {
        let mut shadow = Shadow::default();
        let cells = shadow.cells(8192 + 8, 4, 1);
        assert_eq!(cells.len(), 1);
        cells[0].writes = Set(3);
        assert_eq!(
            shadow.cells(8192 + 8, 8, 1).iter().map(|cell| cell.writes).collect::<Vec<_>>(),
            [Set(3), Set::EMPTY]
        );
        assert_eq!(shadow.cells(8192 + 11, 1, 1)[0].writes, Set(3));
        assert_eq!(shadow.cells(8192 + 8, 4, 2).len(), 8);
        assert_eq!(shadow.cells(8, 4, 1)[0].writes, Set::EMPTY);
    }
}
