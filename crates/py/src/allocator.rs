//! The allocator of the native part. Compiles allocate much and in small pieces: a sixth of the time before an
//! assembler went into the allocator of the system.
//!
//! This one is mimalloc, asked in its cheaper way where blocks are aligned by their size alone, and told to keep what
//! is free for longer: a process that compiles now and then would give a few hundred pages back each time, and take
//! them in again one fault after the other.

use libmimalloc_sys as mi;
use std::alloc::{GlobalAlloc, Layout};
use std::ffi::{c_int, c_long, c_void};

/// What [`GlobalAlloc`] asks, from mimalloc.
pub(crate) struct Allocator;

/// Blocks that are at least as large as their alignment have it, up to this one.
const NATURAL: usize = 16;

/// How long memory stays with the process after it was freed, in milliseconds.
const KEPT: c_long = 60_000;
/// How long it does as mimalloc is built.
const USUAL: c_long = 1000;
/// The number of that option.
const PURGE_DELAY: c_int = 15;

unsafe extern "C" {
    fn mi_option_get(option: c_int) -> c_long;
    fn mi_option_set(option: c_int, value: c_long);
}

/// Keeps free memory for longer, unless the environment (`MIMALLOC_PURGE_DELAY`) says otherwise.
pub(crate) fn keep_memory() {
    // SAFETY: both take any number, and answer 0 or do nothing for one that is no option. The usual value tells that
    // the option is the one meant, and that nobody has set it.
    unsafe {
        if mi_option_get(PURGE_DELAY) == USUAL {
            mi_option_set(PURGE_DELAY, KEPT);
        }
    }
}

/// Whether a block of so many bytes is aligned by its size alone.
#[inline]
fn is_natural(bytes: usize, align: usize) -> bool {
    align <= NATURAL && align <= bytes
}

// SAFETY: mimalloc keeps the promises of an allocator: blocks have the bytes that were asked for and, by `is_natural`
// or because it was asked for it, the alignment.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (bytes, align) = (layout.size(), layout.align());
        // SAFETY: the caller asks for at least a byte, with an alignment that is a power of two.
        unsafe {
            if is_natural(bytes, align) { mi::mi_malloc(bytes) } else { mi::mi_malloc_aligned(bytes, align) }
                .cast()
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (bytes, align) = (layout.size(), layout.align());
        // SAFETY: as above.
        unsafe {
            if is_natural(bytes, align) { mi::mi_zalloc(bytes) } else { mi::mi_zalloc_aligned(bytes, align) }
                .cast()
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
        // SAFETY: the caller has the block from here.
        unsafe { mi::mi_free(block.cast::<c_void>()) };
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        let (block, align) = (block.cast::<c_void>(), layout.align());
        // SAFETY: the caller has the block from here, and asks as above.
        unsafe {
            if is_natural(bytes, align) {
                mi::mi_realloc(block, bytes)
            } else {
                mi::mi_realloc_aligned(block, bytes, align)
            }
            .cast()
        }
    }
}
