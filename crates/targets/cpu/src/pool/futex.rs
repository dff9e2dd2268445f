//! Sleeping until a word changes.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Sleeps while the word is `expected`. May return early.
pub(super) fn wait(word: &AtomicU32, expected: u32) {
    sleep(word, expected, std::ptr::null());
}

/// The same for so long at most.
pub(super) fn wait_for(word: &AtomicU32, expected: u32, most: Duration) {
    // Nanoseconds of a second and some hours of seconds fit anywhere.
    let most = libc::timespec { tv_sec: most.as_secs() as _, tv_nsec: most.subsec_nanos() as _ };
    sleep(word, expected, &raw const most);
}

fn sleep(word: &AtomicU32, expected: u32, most: *const libc::timespec) {
    let flags = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: a valid word; the time is null, or lives until the call returns.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), flags, expected, most) };
}

/// Wakes one thread that sleeps on the word.
pub(super) fn wake_one(word: &AtomicU32) {
    let flags = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: a valid word.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), flags, 1) };
}
