//! How long a program of a kernel takes, learnt from its launches.

use std::sync::atomic::{AtomicU32, Ordering};

/// A running estimate. It only steers how work is divided; results never depend on it.
#[derive(Debug, Default)]
pub struct Cost {
    /// The bits of an `f32`: nanoseconds per program, 0 for unknown.
    nanos: AtomicU32,
    /// Short launches that will do without help.
    alone: AtomicU32,
    /// How often in a row help was none.
    failures: AtomicU32,
}

/// Launches that are shorter than this do without help where it does not pay.
const SHORT_NANOS: f64 = 100_000.0;
/// So many launches in a row are tried with help: the first find the workers asleep.
const TRIES: u32 = 8;
/// The longest pause between two rows of tries, in launches.
const LONGEST_PAUSE: u32 = 128;

impl Cost {
    /// Nothing is known yet.
    pub const fn unknown() -> Cost {
        Cost { nanos: AtomicU32::new(0), alone: AtomicU32::new(0), failures: AtomicU32::new(0) }
    }

    /// Nanoseconds per program, if any was measured.
    pub fn nanos_per_program(&self) -> Option<f64> {
        let nanos = f32::from_bits(self.nanos.load(Ordering::Relaxed));
        (nanos > 0.0).then_some(f64::from(nanos))
    }

    /// Nanoseconds that so many programs take on one thread.
    pub(super) fn of(&self, programs: u64) -> Option<f64> {
        Some(self.nanos_per_program()? * programs as f64)
    }

    /// How many programs fit in a time; at least one.
    pub(super) fn programs_in(&self, nanos: f64) -> Option<u64> {
        Some((nanos / self.nanos_per_program()?).max(1.0) as u64)
    }

    /// So many programs took so long on one thread.
    pub(super) fn measured(&self, programs: u64, nanos: f64) {
        if programs == 0 {
            return;
        }
        let new = (nanos / programs as f64).max(0.01);
        let mixed = self.nanos_per_program().map_or(new, |old| 0.5 * (old + new));
        self.nanos.store((mixed as f32).to_bits(), Ordering::Relaxed);
    }

    /// Whether a launch may ask the workers for help: no short one while they are busy elsewhere.
    pub(super) fn wants_help(&self, programs: u64) -> bool {
        let left = self.alone.load(Ordering::Relaxed);
        if left == 0 || self.of(programs).is_some_and(|nanos| nanos > SHORT_NANOS) {
            return true;
        }
        self.alone.store(left - 1, Ordering::Relaxed);
        false
    }

    /// A launch took so long with help, where it was expected to take `expected` alone.
    pub(super) fn was_helped(&self, expected: Option<f64>, nanos: f64) {
        let Some(expected) = expected.filter(|expected| *expected < SHORT_NANOS) else { return };
        if nanos < 0.8 * expected {
            self.failures.store(0, Ordering::Relaxed);
            return;
        }
        let failures = self.failures.load(Ordering::Relaxed).saturating_add(1);
        self.failures.store(failures, Ordering::Relaxed);
        if failures.is_multiple_of(TRIES) {
            let pause = LONGEST_PAUSE.min(2 * failures);
            self.alone.store(pause, Ordering::Relaxed);
        }
    }
}
