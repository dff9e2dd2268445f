//! How long a program of a kernel takes, learnt from its launches.

use std::sync::atomic::{AtomicU32, Ordering};

/// A running estimate. It only steers how work is divided; results never depend on it.
#[derive(Debug, Default)]
pub struct Cost {
    /// The bits of an `f32`: nanoseconds per program, 0 for unknown.
    nanos: AtomicU32,
}

impl Cost {
    /// Nothing is known yet.
    pub const fn unknown() -> Cost {
        Cost { nanos: AtomicU32::new(0) }
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
}
