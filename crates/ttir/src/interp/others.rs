//! The programs of a grid that have not begun.

use super::data::Data;
use ir::Op;
use std::rc::Rc;

/// Programs that may be open at a time, each in the middle of the one before it.
const MOST_OPEN: usize = 400;

/// The programs that follow the one that runs, x fastest.
pub(super) struct Others {
    /// What each of them runs, and with what.
    pub(super) function: Op,
    pub(super) args: Rc<[Data]>,
    grid: [u32; 3],
    next: u64,
    open: usize,
}

impl Others {
    pub(super) fn new(grid: [u32; 3], function: Op, args: Vec<Data>) -> Others {
        Others { function, args: args.into(), grid, next: 0, open: 0 }
    }

    /// The next one, which begins.
    pub(super) fn take(&mut self) -> Option<[u32; 3]> {
        let [width, height, depth] = self.grid.map(u64::from);
        let number = self.next;
        if number >= width * height * depth {
            return None;
        }
        self.next += 1;
        Some([number % width, number / width % height, number / width / height].map(|at| at as u32))
    }

    /// Whether another one may run in the middle of the one that runs; [`Others::close`] follows where it has.
    pub(super) fn open(&mut self) -> bool {
        let may = self.open < MOST_OPEN;
        self.open += usize::from(may);
        may
    }

    pub(super) fn close(&mut self) {
        self.open -= 1;
    }
}
