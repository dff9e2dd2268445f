//! Memory of a thread that a kernel may use for the length of a call, kept between calls.

use std::alloc::{Layout, alloc, dealloc};
use std::cell::Cell;

/// Alignment of a scratch: a cache line, and the widest vector.
const ALIGN: usize = 64;

/// A block of memory of the global allocator.
struct Block {
    start: *mut u8,
    bytes: usize,
}

impl Block {
    const EMPTY: Block = Block { start: std::ptr::without_provenance_mut(ALIGN), bytes: 0 };

    fn new(bytes: usize) -> Option<Block> {
        let layout = Layout::from_size_align(bytes, ALIGN).ok()?;
        // SAFETY: the size is not zero: it is larger than that of an empty block.
        let start = unsafe { alloc(layout) };
        (!start.is_null()).then_some(Block { start, bytes })
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if self.bytes > 0 {
            // SAFETY: made by `new` with this layout, which was valid.
            unsafe { dealloc(self.start, Layout::from_size_align_unchecked(self.bytes, ALIGN)) };
        }
    }
}

thread_local! {
    static KEPT: Cell<Block> = const { Cell::new(Block::EMPTY) };
}

/// Calls `f` with so many bytes that are nobody else's during the call; `None` where there is not so much memory. Their
/// contents are not defined. A call inside a call gets other memory.
pub(crate) fn with<R>(bytes: usize, f: impl FnOnce(*mut u8) -> R) -> Option<R> {
    let mut block = KEPT.replace(Block::EMPTY);
    if block.bytes < bytes {
        let more = bytes.checked_next_multiple_of(4096)?;
        drop(std::mem::replace(&mut block, Block::EMPTY));
        block = Block::new(more)?;
    }
    let result = f(block.start);
    KEPT.set(block);
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::with;

    #[test]
    fn a_scratch_is_kept_grows_and_is_not_shared() {
        let first = with(100, |start| start as usize).unwrap();
        assert_eq!(first % 64, 0);
        assert_eq!(with(50, |start| start as usize), Some(first));
        with(5000, |outer| {
            with(5000, |inner| {
                // SAFETY: both have 5000 bytes.
                unsafe {
                    outer.write_bytes(1, 5000);
                    inner.write_bytes(2, 5000);
                    assert_eq!((*outer.add(4999), *inner.add(4999)), (1, 2));
                }
            })
        });
        assert_eq!(with(usize::MAX, |_| ()), None);
        assert_eq!(with(0, |_| 7), Some(7));
    }
}
