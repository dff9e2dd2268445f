//! Memory of a thread that a kernel may use for the length of a call, kept between calls.

use std::alloc::{Layout, alloc, dealloc};
use std::cell::Cell;

/// Alignment of a scratch: a cache line, and the widest vector.
const ALIGN: usize = 64;

/// A page, and where in one a scratch begins. A load waits for a store in front of it that has the same place within a
/// page, as if it were to the same address. Arrays of some size begin at the front of a page, or a line behind it, and
/// so do their rows where these are powers of two: loops that read a row and write scratch, or the other way round,
/// are then half a page apart.
const PAGE: usize = 4096;
const START: usize = PAGE / 2;

/// The size of a large page: what is this large is aligned to it, and asks the system for such pages.
const LARGE_PAGE: usize = 2 << 20;

/// A block of memory of the global allocator.
struct Block {
    /// [`START`] behind where the allocation begins, but for no bytes.
    start: *mut u8,
    bytes: usize,
    /// The launch whose notes it holds; 0 for none.
    launch: u64,
}

impl Block {
    const EMPTY: Block = Block { start: std::ptr::without_provenance_mut(ALIGN), bytes: 0, launch: 0 };

    fn new(bytes: usize) -> Option<Block> {
        let layout = Block::layout(bytes)?;
        // SAFETY: the size is not zero: it is larger than that of an empty block.
        let begin = unsafe { alloc(layout) };
        if begin.is_null() {
            return None;
        }
        if bytes >= LARGE_PAGE {
            // SAFETY: whole pages of this block. A refusal is no harm.
            unsafe { libc::madvise(begin.cast(), layout.size(), libc::MADV_HUGEPAGE) };
        }
        // SAFETY: the allocation has a page more than `bytes`.
        Some(Block { start: unsafe { begin.add(START) }, bytes, launch: 0 })
    }

    /// A page more than the bytes.
    fn layout(bytes: usize) -> Option<Layout> {
        let align = if bytes >= LARGE_PAGE { LARGE_PAGE } else { PAGE };
        Layout::from_size_align(bytes.checked_add(PAGE)?, align).ok()
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let (1.., Some(layout)) = (self.bytes, Block::layout(self.bytes)) {
            // SAFETY: made by `new` with this layout.
            unsafe { dealloc(self.start.sub(START), layout) };
        }
    }
}

thread_local! {
    static KEPT: Cell<Block> = const { Cell::new(Block::EMPTY) };
}

/// Calls `f` with so many bytes that are nobody else's during the call; `None` where there is not so much memory. Their
/// contents are not defined, but for notes: at the first call of a launch on this thread the first `note_bytes` are
/// zero, later ones find all bytes as the one before has left them. A call inside a call gets other memory.
pub(crate) fn with<R>(
    bytes: usize,
    (launch, note_bytes): (u64, usize),
    f: impl FnOnce(*mut u8) -> R,
) -> Option<R> {
    let mut block = KEPT.replace(Block::EMPTY);
    if block.bytes < bytes {
        let more = bytes.checked_next_multiple_of(PAGE)?;
        drop(std::mem::replace(&mut block, Block::EMPTY));
        block = Block::new(more)?;
    }
    if note_bytes > 0 && block.launch != launch {
        // SAFETY: the block is ours and has at least `bytes`.
        unsafe { block.start.write_bytes(0, note_bytes.min(bytes)) };
    }
    block.launch = if note_bytes > 0 { launch } else { 0 };
    let result = f(block.start);
    KEPT.set(block);
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::with;

    /// A launch that leaves no notes.
    const NONE: (u64, usize) = (0, 0);

    #[test]
    fn notes_last_as_long_as_a_launch_and_nobody_else_comes() {
        let count = |launch| {
            // SAFETY: there are eight bytes of notes.
            with(64, (launch, 8), |start| unsafe {
                *start += 1;
                *start
            })
        };
        assert_eq!((count(1), count(1), count(2), count(1)), (Some(1), Some(2), Some(1), Some(1)));
        // SAFETY: there are 64 bytes.
        with(64, NONE, |start| unsafe { start.write_bytes(7, 64) });
        assert_eq!((count(1), count(1)), (Some(1), Some(2)));
        with(1 << 20, NONE, |_| ());
        assert_eq!(count(1), Some(1));
    }

    #[test]
    fn a_scratch_is_kept_grows_and_is_not_shared() {
        let first = with(100, NONE, |start| start as usize).unwrap();
        assert_eq!(first % 64, 0);
        assert_eq!(with(50, NONE, |start| start as usize), Some(first));
        with(5000, NONE, |outer| {
            with(5000, NONE, |inner| {
                // SAFETY: both have 5000 bytes.
                unsafe {
                    outer.write_bytes(1, 5000);
                    inner.write_bytes(2, 5000);
                    assert_eq!((*outer.add(4999), *inner.add(4999)), (1, 2));
                }
            })
        });
        assert_eq!(with(usize::MAX, NONE, |_| ()), None);
        assert_eq!(with(0, NONE, |_| 7), Some(7));
    }
}
