//! How far the memory of arguments goes.
//!
//! A launch passes addresses. Devices that check every access ([`crate::Target::checks_memory`]) want to know how far
//! the memory behind them goes; whoever launches says so for the time of the launch, on the thread that launches.

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

impl Extent {
    /// Whether a byte is in both.
    pub(crate) fn meets(&self, other: &Extent) -> bool {
        let end = |extent: &Extent| extent.base.saturating_add(extent.len);
        self.base < end(other) && other.base < end(self)
    }

    /// Whether a pointer is one into this piece; an empty piece has its base.
    pub fn holds(&self, address: u64) -> bool {
        address.checked_sub(self.base).is_some_and(|offset| offset < self.len.max(1))
    }
}

/// The pieces of memory that a launch with these pointers may touch, in order and apart from each other: those that
/// were spoken of, and around a pointer into none of them as much as the process has there.
pub fn pieces(pointers: impl IntoIterator<Item = u64>) -> Vec<Extent> {
    let mut all = extents();
    for pointer in pointers {
        if !all.iter().any(|extent| extent.holds(pointer)) {
            all.extend(mapped(pointer));
        }
    }
    merged(all)
}

/// Pieces that overlap as one, in order.
pub(crate) fn merged(mut extents: Vec<Extent>) -> Vec<Extent> {
    extents.sort_by_key(|extent| (extent.base, std::cmp::Reverse(extent.len)));
    let mut merged: Vec<Extent> = Vec::new();
    for extent in extents {
        match merged.last_mut() {
            Some(last) if last.holds(extent.base) => {
                last.len = last.len.max(extent.base + extent.len - last.base);
                last.writable |= extent.writable;
            }
            _ => merged.push(extent),
        }
    }
    merged
}

/// The memory that this process has around an address.
fn mapped(address: u64) -> Option<Extent> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let (start, end) = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
        let writable = rest.starts_with("rw");
        (rest.starts_with('r') && start <= address && address < end).then_some(Extent {
            base: start,
            len: end - start,
            writable,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{Extent, extents, mapped, merged, with_extents};

    #[test]
    fn they_count_for_the_time_of_the_call() {
        let one = Extent { base: 16, len: 4, writable: false };
        with_extents(vec![one], || {
            with_extents(Vec::new(), || assert!(extents().is_empty()));
            assert_eq!(extents(), [one]);
        });
        assert!(extents().is_empty());
    }

    #[test]
    fn pieces_are_merged_and_mappings_found() {
        let extent = |base, len| Extent { base, len, writable: true };
        let all = vec![
            extent(100, 10),
            extent(10, 5),
            extent(105, 2),
            extent(108, 10),
            extent(12, 0),
            extent(15, 1),
            extent(200, 0),
            extent(200, 0),
        ];
        assert_eq!(merged(all), [extent(10, 5), extent(15, 1), extent(100, 18), extent(200, 0)]);
        let here = [1u8; 10];
        if cfg!(target_os = "linux") {
            let address = here.as_ptr() as u64;
            assert!(
                mapped(address)
                    .is_some_and(|extent| extent.base <= address && address < extent.base + extent.len)
            );
        }
        assert_eq!(mapped(1), None);
    }
}
