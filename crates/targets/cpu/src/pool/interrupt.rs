//! Whether a launch is to be given up: asked on the launching thread, now and then.

use std::time::Instant;
use target::INTERRUPT_INTERVAL;

/// Whom to ask, and when again.
pub(super) struct Interrupt {
    ask: Option<fn() -> bool>,
    next: Option<Instant>,
    /// Chunks from one look at the clock to the next.
    every: u32,
    left: u32,
    is_given_up: bool,
}

impl Interrupt {
    /// Asks at the first look for which the interval is over.
    pub(super) fn new(ask: Option<fn() -> bool>) -> Interrupt {
        Interrupt { ask, next: None, every: 1, left: 0, is_given_up: false }
    }

    /// From now on a look comes after so many nanoseconds: the clock is not read more often than it pays.
    pub(super) fn pace(&mut self, nanos: Option<f64>) {
        let chunks = nanos.map_or(1.0, |nanos| INTERRUPT_INTERVAL.as_nanos() as f64 / 4.0 / nanos.max(1.0));
        self.every = chunks.clamp(1.0, 1e6) as u32;
        self.left = self.every;
    }

    /// Asks, if it is time to.
    ///
    /// # Errors
    /// When the launch is to be given up.
    pub(super) fn look(&mut self) -> Result<(), String> {
        let Some(ask) = self.ask else { return Ok(()) };
        self.left = self.left.saturating_sub(1);
        if self.left > 0 {
            return Ok(());
        }
        self.left = self.every;
        let now = Instant::now();
        if now < *self.next.get_or_insert(now + INTERRUPT_INTERVAL) {
            return Ok(());
        }
        self.next = Some(now + INTERRUPT_INTERVAL);
        self.is_given_up |= ask();
        self.outcome()
    }

    /// Whether the launch was given up.
    ///
    /// # Errors
    /// When it was.
    pub(super) fn outcome(&self) -> Result<(), String> {
        if self.is_given_up { Err("it was interrupted".into()) } else { Ok(()) }
    }
}
