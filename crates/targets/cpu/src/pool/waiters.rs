//! Who waits: how many threads of a launch have said, since they were last counted, that their programs spin.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The count of one launch.
#[derive(Debug)]
pub(super) struct Waiters {
    /// Which count this is: a number that no other count of the process has.
    number: AtomicU64,
    count: AtomicU64,
    /// Whether the launch has more threads than cores.
    is_crowded: AtomicBool,
}

impl Waiters {
    pub(super) fn none() -> Waiters {
        let (number, count) = (AtomicU64::new(next_number()), AtomicU64::new(0));
        Waiters { number, count, is_crowded: AtomicBool::new(false) }
    }

    /// Says that the program on this thread waits. Where threads share cores, the others go first.
    pub(super) fn wait(&self) {
        thread_local! { static COUNTED: Cell<u64> = const { Cell::new(0) } }
        let number = self.number.load(Ordering::Acquire);
        if COUNTED.replace(number) != number {
            self.count.fetch_add(1, Ordering::Relaxed);
        }
        if self.is_crowded.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
    }

    /// Forgets who has waited.
    pub(super) fn count_anew(&self) {
        // In this order: who sees the new number is counted.
        self.count.store(0, Ordering::Relaxed);
        self.number.store(next_number(), Ordering::Release);
    }

    /// Threads that wait, or more: one that said so while the count began anew may be counted twice.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// From now on there are more threads than cores.
    pub(super) fn crowd(&self) {
        self.is_crowded.store(true, Ordering::Relaxed);
    }
}

/// Never 0.
fn next_number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    1 + LAST.fetch_add(1, Ordering::Relaxed)
}
