//! Who waits: how many threads of a launch have said, since they were last counted, that their programs spin.

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The count of one launch.
pub(super) struct Waiters {
    /// Which count this is: a number that no other count of the process has.
    number: AtomicU64,
    count: AtomicU64,
    /// Whether the launch has more threads than cores.
    is_crowded: AtomicBool,
    /// What the first that waits calls.
    call: Mutex<Option<Call>>,
}

type Call = &'static (dyn Fn() + Sync);

/// Until this is dropped, the first that waits calls something.
pub(super) struct FirstCall<'a>(&'a Waiters);

impl Drop for FirstCall<'_> {
    fn drop(&mut self) {
        *held(&self.0.call) = None;
    }
}

impl fmt::Debug for Waiters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiters").field("count", &self.count()).finish_non_exhaustive()
    }
}

impl Waiters {
    pub(super) fn none() -> Waiters {
        let (number, count) = (AtomicU64::new(next_number()), AtomicU64::new(0));
        Waiters { number, count, is_crowded: AtomicBool::new(false), call: Mutex::default() }
    }

    /// Says that the program on this thread waits. Where threads share cores, the others go first.
    pub(super) fn wait(&self) {
        thread_local! { static COUNTED: Cell<u64> = const { Cell::new(0) } }
        let number = self.number.load(Ordering::Acquire);
        if COUNTED.replace(number) != number {
            self.count.fetch_add(1, Ordering::Relaxed);
            let mut call = held(&self.call);
            if let Some(call) = call.take() {
                call();
            }
        }
        if self.is_crowded.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
    }

    /// Until the answer is dropped, which must happen, the first that waits calls this.
    pub(super) fn when_one_waits<'a>(&'a self, call: &'a (dyn Fn() + Sync)) -> FirstCall<'a> {
        // SAFETY: who calls it holds the lock, without which `drop` of the answer, and so `call`, does not end.
        let call = unsafe { std::mem::transmute::<&'a (dyn Fn() + Sync), Call>(call) };
        *held(&self.call) = Some(call);
        FirstCall(self)
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

/// Nothing panics while it holds one of these.
pub(super) fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Never 0.
fn next_number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    1 + LAST.fetch_add(1, Ordering::Relaxed)
}
