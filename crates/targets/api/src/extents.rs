//! How far the memory of arguments goes.
//!
//! A launch passes addresses. Devices that check every access ([`crate::Target::checks_memory`]) want to know how far the memory
//! behind them goes; whoever launches says so for the time of the launch, on the thread that launches.

use std::cell::RefCell;

/// A piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Where it begins.
    pub base: u64,
    /// Its bytes.
    pub len: u64,
    /// Whether it may be written.
    pub writable: bool,
}

thread_local! {
    static EXTENTS: RefCell<Vec<Extent>> = const { RefCell::new(Vec::new()) };
}

/// Runs `work`, in which launches of this thread may touch these pieces of memory.
pub fn with_extents<R>(extents: Vec<Extent>, work: impl FnOnce() -> R) -> R {
    let _before = Restore(EXTENTS.replace(extents));
    work()
}

/// Puts the pieces of before back, also when a panic passes by.
struct Restore(Vec<Extent>);

impl Drop for Restore {
    fn drop(&mut self) {
        EXTENTS.set(std::mem::take(&mut self.0));
    }
}

/// The pieces of memory that were spoken of.
pub fn extents() -> Vec<Extent> {
    EXTENTS.with_borrow(Clone::clone)
}

#[cfg(test)]
mod tests {
    use super::{Extent, extents, with_extents};

    #[test]
    fn they_count_for_the_time_of_the_call() {
        let one = Extent { base: 16, len: 4, writable: false };
        with_extents(vec![one], || {
            with_extents(Vec::new(), || assert!(extents().is_empty()));
            assert_eq!(extents(), [one]);
        });
        assert!(extents().is_empty());
    }
}
