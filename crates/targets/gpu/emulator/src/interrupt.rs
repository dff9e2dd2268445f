//! Launches that are given up while they run.

use crate::{Checks, Fault};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a launch runs before it asks again whether it is to be given up.
pub const INTERVAL: Duration = Duration::from_millis(20);

/// Who looks, between time slices, whether a launch is to be given up.
pub struct Interrupts<'a> {
    ask: Option<fn() -> bool>,
    asked: Instant,
    is_given_up: &'a AtomicBool,
}

impl<'a> Interrupts<'a> {
    /// On the thread that launches. `is_given_up` tells the others.
    pub fn new(checks: &Checks, is_given_up: &'a AtomicBool) -> Interrupts<'a> {
        Interrupts { ask: checks.interrupt, asked: Instant::now(), is_given_up }
    }

    /// On a thread that helps.
    pub fn of_helper(is_given_up: &'a AtomicBool) -> Interrupts<'a> {
        Interrupts { ask: None, asked: Instant::now(), is_given_up }
    }

    /// Goes on, unless the launch is to be given up.
    ///
    /// # Errors
    /// It is.
    pub fn look(&mut self) -> Result<(), Box<Fault>> {
        if let Some(ask) = self.ask
            && self.asked.elapsed() >= INTERVAL
        {
            self.asked = Instant::now();
            if ask() {
                self.is_given_up.store(true, Ordering::Relaxed);
            }
        }
        if self.is_given_up.load(Ordering::Relaxed) {
            return Err(Box::new(Fault::launch("it was interrupted")));
        }
        Ok(())
    }
}
