//! How often a configuration is run.
//!
//! After a launch that nobody times:
//! 1. It is run twice, then once more.
//! 2. **A configuration is clearly slower** if the fastest of these three runs took more than 1.25 times the median of
//!    the best configuration until then (or both of the first two more than four times): it is timed no further.
//!    Disturbances make a run longer, never shorter, so the fastest of a few says how fast it can be.
//! 3. Else it is run for the budget (20 ms of its own time by default), from 5 to 60 times, in groups; rule 2 is
//!    applied after each group. Three runs are enough where one takes longer than the whole budget, and five where
//!    everything around the runs, the emptying of caches most of all, has taken five times the budget.

use super::Times;

/// Runs before a configuration may be called slower.
const BEFORE_JUDGING: usize = 3;
/// How much slower is clearly slower.
const SLOWER: f64 = 1.25;
/// Runs before a configuration may be called much slower, and how much that is.
const BEFORE_GUESSING: usize = 2;
const MUCH_SLOWER: f64 = 4.0;
/// Bounds of the number of runs.
const FEWEST: usize = 5;
const MOST: usize = 60;
/// Runs between two looks at the times.
const GROUP: usize = 10;
/// How many times the budget everything together may take.
pub(super) const ALL_TOGETHER: f64 = 5.0;

/// Takes times of one configuration until they are enough.
#[derive(Clone, Debug)]
pub struct Sampler {
    times: Vec<f64>,
    /// How many were added, also those that are no numbers.
    added: usize,
    /// Milliseconds that all of it took until now.
    spent: f64,
    best: f64,
    budget_ms: f64,
}

impl Sampler {
    /// For a configuration that competes with a best median of so many milliseconds; infinite where there is none yet.
    pub fn new(best: f64, budget_ms: f64) -> Sampler {
        Sampler { times: Vec::new(), added: 0, spent: 0.0, best, budget_ms }
    }

    /// Adds times in milliseconds, and how long taking them took.
    pub fn add(&mut self, times: &[f64], spent_ms: f64) {
        self.added += times.len();
        self.spent += spent_ms;
        self.times.extend(times.iter().filter(|time| time.is_finite()).map(|time| time.max(0.0)));
    }

    /// Runs until now, and the milliseconds that all of them took beside their own time: hooks, and the emptying of
    /// caches.
    pub(super) fn overhead(&self) -> (usize, f64) {
        (self.added, (self.spent - self.times.iter().sum::<f64>()).max(0.0))
    }

    /// How many more runs are wanted now; none when the times are enough.
    pub fn wanted(&self) -> usize {
        let runs = self.times.len();
        if self.is_slower() || self.added >= MOST {
            return 0;
        }
        if runs < BEFORE_JUDGING {
            return if runs < BEFORE_GUESSING { BEFORE_GUESSING - runs } else { BEFORE_JUDGING - runs };
        }
        if runs >= FEWEST && self.spent > ALL_TOGETHER * self.budget_ms {
            return 0;
        }
        let until_fewest = if runs < FEWEST { FEWEST - runs } else { GROUP };
        self.needed().saturating_sub(runs).min(until_fewest)
    }

    /// How many runs the budget buys.
    fn needed(&self) -> usize {
        let median = quantile(&self.times, 0.5).max(1e-6);
        if median > self.budget_ms {
            BEFORE_JUDGING
        } else {
            ((self.budget_ms / median) as usize).clamp(FEWEST, MOST)
        }
    }

    /// Whether it lost already.
    pub fn is_slower(&self) -> bool {
        let fastest = self.times.iter().copied().fold(f64::INFINITY, f64::min);
        match self.times.len() {
            runs if runs < BEFORE_GUESSING => false,
            runs if runs < BEFORE_JUDGING => fastest > MUCH_SLOWER * self.best,
            _ => fastest > SLOWER * self.best,
        }
    }

    /// Median and spread of all runs; `None` before the first.
    pub fn result(&self) -> Option<Times> {
        let at = |share| quantile(&self.times, share);
        (!self.times.is_empty()).then(|| Times { median: at(0.5), low: at(0.2), high: at(0.8) })
    }
}

/// A quantile by linear interpolation between neighbours; not a number where there are no values.
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let point = share.clamp(0.0, 1.0) * last as f64;
    let (low, high) = (point.floor() as usize, point.ceil() as usize);
    let part = point - low as f64;
    sorted[low] * (1.0 - part) + sorted[high.min(last)] * part
}
