//! Whether a launch is to be given up: asked on the launching thread, now and then.

use super::waiters::Waiters;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;
use target::INTERRUPT_INTERVAL;

/// What the threads of a launch know of its end.
#[derive(Debug)]
pub struct Watch {
    ask: Option<fn() -> bool>,
    launcher: usize,
    /// When it is asked next, by [`now`]; 0 before the first look. Only the launching thread writes it.
    next: AtomicU64,
    is_given_up: AtomicBool,
    /// Whether a program has failed: those that wait for it end too.
    has_ended: AtomicBool,
    waiting: Waiters,
}

impl Watch {
    /// Made on the launching thread, which alone asks. The first look asks nobody.
    pub fn new(ask: Option<fn() -> bool>) -> Watch {
        let [is_given_up, has_ended] = [false; 2].map(AtomicBool::new);
        let (launcher, next, waiting) = (this_thread(), AtomicU64::new(0), Waiters::none());
        Watch { ask, launcher, next, is_given_up, has_ended, waiting }
    }

    /// Whether programs are to end: the launch is to be given up, or one has failed. The launching thread asks if it is
    /// time to.
    pub fn look(&self) -> bool {
        if self.is_given_up.load(Ordering::Relaxed) || self.has_ended.load(Ordering::Relaxed) {
            return true;
        }
        let Some(ask) = self.ask.filter(|_| self.launcher == this_thread()) else { return false };
        let (now, next) = (now(), self.next.load(Ordering::Relaxed));
        if next == 0 || now >= next {
            self.next.store(now + INTERRUPT_INTERVAL.as_nanos() as u64, Ordering::Relaxed);
        }
        let is_given_up = next != 0 && now >= next && ask();
        if is_given_up {
            self.is_given_up.store(true, Ordering::Relaxed);
        }
        is_given_up
    }

    /// The same, asked by a program that waits for what others write.
    pub fn wait(&self) -> bool {
        self.waiting.wait();
        self.look()
    }

    /// Ends programs that wait, because one has failed: what they wait for may never come.
    pub fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }

    /// Who waits.
    pub(super) fn waiting(&self) -> &Waiters {
        &self.waiting
    }

    /// Whether the launch was given up.
    ///
    /// # Errors
    /// When it was.
    pub(super) fn outcome(&self) -> Result<(), String> {
        if self.is_given_up.load(Ordering::Relaxed) { Err("it was interrupted".into()) } else { Ok(()) }
    }
}

/// Nanoseconds since some time in this process; never 0.
fn now() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    1 + START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// A number that no other living thread has.
fn this_thread() -> usize {
    thread_local! { static PLACE: u8 = const { 0 } }
    PLACE.with(|place| std::ptr::from_ref(place).addr())
}

/// The looks of one thread between chunks of programs.
pub(super) struct Interrupt<'a> {
    watch: &'a Watch,
    /// Chunks from one look at the clock to the next.
    every: u32,
    left: u32,
}

impl<'a> Interrupt<'a> {
    /// Looks after each chunk.
    pub(super) fn new(watch: &'a Watch) -> Interrupt<'a> {
        Interrupt { watch, every: 1, left: 0 }
    }

    /// From now on a look comes after so many nanoseconds: the clock is not read more often than it pays.
    pub(super) fn pace(&mut self, nanos: Option<f64>) {
        let chunks = nanos.map_or(1.0, |nanos| INTERRUPT_INTERVAL.as_nanos() as f64 / 4.0 / nanos.max(1.0));
        self.every = chunks.clamp(1.0, 1e6) as u32;
        self.left = self.every;
    }

    /// Whether the launch is to be given up; asks, if it is time to.
    pub(super) fn look(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        if self.left > 0 {
            return false;
        }
        self.left = self.every;
        self.watch.look()
    }

    /// See [`Watch::outcome`].
    pub(super) fn outcome(&self) -> Result<(), String> {
        self.watch.outcome()
    }

    /// What the threads of the launch know.
    pub(super) fn watch(&self) -> &'a Watch {
        self.watch
    }
}
