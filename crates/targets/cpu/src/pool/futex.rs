//! Sleeping until a word changes.

use std::sync::atomic::AtomicU32;

/// Sleeps while the word is `expected`. May return early.
pub(super) fn wait(word: &AtomicU32, expected: u32) {
    let flags = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: a valid word; no timeout.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), flags, expected, std::ptr::null::<libc::timespec>())
    };
}

/// Wakes one thread that sleeps on the word.
pub(super) fn wake_one(word: &AtomicU32) {
    let flags = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: a valid word.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), flags, 1) };
}
