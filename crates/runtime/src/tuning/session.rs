//! One tuning: what is left to do, what was found, and what is said about it.

use super::sampler::ALL_TOGETHER;
use super::{Outcome, Record, Results, Sampler, Search, Subject};
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// Configurations whose fast runs come this near the best median are run again, in turns.
const NEAR: f64 = 1.05;
/// How many are run again at most.
const MOST_FINALISTS: usize = 4;
/// Into how many turns the budget of a finalist is cut, and how many there are where a single run takes longer than
/// that.
const TURNS: usize = 5;
const FEWEST_TURNS: usize = 3;
/// Runs of a finalist in a turn at most.
const MOST_IN_A_TURN: usize = 8;

/// A tuning under way.
///
/// Configurations are numbers into the list that it was made with. Outcomes go to disk as they come.
#[derive(Debug)]
pub struct Session {
    record: Record,
    results: Option<Results>,
    configurations: Vec<String>,
    outcomes: Vec<Option<Outcome>>,
    search: Search,
    budget_ms: f64,
    samplers: FxHashMap<usize, Sampler>,
    /// Whether something was measured in this session.
    measured: usize,
}

/// The last round: those that come near the best run in turns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finals {
    /// Who runs, and how often in each turn.
    pub runs: Vec<(usize, usize)>,
    /// How many turns there are.
    pub turns: usize,
}

impl Session {
    /// Goes on from what is on disk for the subject.
    pub fn new(
        subject: Subject,
        configurations: Vec<String>,
        search: Search,
        results: Option<Results>,
        budget_ms: f64,
    ) -> Session {
        let known = results.as_ref().and_then(|results| results.load(&subject));
        let record = known.unwrap_or_else(|| Record { subject, measured: Vec::new() });
        let outcomes = configurations.iter().map(|text| record.outcome(text).cloned()).collect();
        let samplers = FxHashMap::default();
        Session { record, results, configurations, outcomes, search, budget_ms, samplers, measured: 0 }
    }

    /// What to try next; nothing when the search is over.
    pub fn next(&self) -> Vec<usize> {
        let medians: Vec<_> =
            self.outcomes.iter().map(|outcome| outcome.as_ref().map(Outcome::median)).collect();
        self.search.next(&medians)
    }

    /// How many configurations will have been tried in the end.
    pub fn total(&self) -> usize {
        self.search.budget()
    }

    /// How many were tried, now or before.
    pub fn tried(&self) -> usize {
        self.outcomes.iter().flatten().count()
    }

    /// Whether anything was measured here, and not only read.
    pub fn has_measured(&self) -> bool {
        self.measured > 0
    }

    /// The outcome of a configuration, if it is known.
    pub fn outcome(&self, number: usize) -> Option<&Outcome> {
        self.outcomes.get(number)?.as_ref()
    }

    /// The fastest configuration that ran.
    pub fn best(&self) -> Option<usize> {
        let ran = self.outcomes.iter().enumerate().filter_map(|(number, outcome)| {
            let median = outcome.as_ref()?.median();
            median.is_finite().then_some((number, median))
        });
        ran.min_by(|left, right| left.1.total_cmp(&right.1)).map(|(number, _)| number)
    }

    fn best_median(&self) -> f64 {
        let median = |number| self.outcome(number).map(Outcome::median);
        self.best().and_then(median).unwrap_or(f64::INFINITY)
    }

    /// Begins to time a configuration.
    pub fn begin(&mut self, number: usize) {
        let sampler = Sampler::new(self.best_median(), self.budget_ms);
        self.samplers.insert(number, sampler);
    }

    /// How many runs of a configuration that was begun are wanted now; none when its times are enough.
    pub fn wanted(&self, number: usize) -> usize {
        self.samplers.get(&number).map_or(0, Sampler::wanted)
    }

    /// Adds times of a configuration that was begun, and how many milliseconds taking them took.
    pub fn add(&mut self, number: usize, times: &[f64], spent_ms: f64) {
        if let Some(sampler) = self.samplers.get_mut(&number) {
            sampler.add(times, spent_ms);
        }
    }

    /// Takes the times of a configuration that was begun as its outcome.
    pub fn end(&mut self, number: usize) {
        let Some(sampler) = self.samplers.get(&number) else { return };
        let Some(times) = sampler.result() else {
            return self.set(number, Outcome::Failed("no run of it could be timed".to_owned()));
        };
        let outcome = if sampler.is_slower() { Outcome::Slower(times) } else { Outcome::Timed(times) };
        self.set(number, outcome);
    }

    /// Sets an outcome, and writes it down.
    pub fn set(&mut self, number: usize, outcome: Outcome) {
        let (Some(text), Some(slot)) = (self.configurations.get(number), self.outcomes.get_mut(number))
        else {
            return;
        };
        self.record.set(text, outcome.clone());
        *slot = Some(outcome);
        self.measured += 1;
        if let Some(results) = &self.results {
            results.keep(&self.record);
        }
    }

    /// Who is to be run again in turns, now that everything was timed; nobody where the best stands alone, or where
    /// nothing was timed here by runs.
    ///
    /// Each finalist has the budget of a configuration: so many milliseconds of its own time, and five times as many
    /// with all that was seen to be around its runs. That is cut into turns of at least one run each.
    pub fn finals(&mut self) -> Finals {
        let best = self.best_median();
        let near = |outcome: &Outcome| match outcome {
            Outcome::Timed(times) => times.low <= NEAR * best,
            _ => false,
        };
        let mut near: Vec<(f64, usize)> = (0..self.outcomes.len())
            .filter_map(|number| {
                self.outcome(number).filter(|outcome| near(outcome)).map(|o| (o.median(), number))
            })
            .collect();
        near.sort_by(|left, right| left.0.total_cmp(&right.0));
        near.truncate(MOST_FINALISTS);
        if near.len() < 2 || self.samplers.is_empty() {
            return Finals::default();
        }
        let around = self.around_a_run();
        let together = ALL_TOGETHER * self.budget_ms;
        let runs = |median: f64| {
            let bought = (self.budget_ms / median.max(1e-6)).min(together / (median + around).max(1e-6));
            (bought as usize / TURNS).clamp(1, MOST_IN_A_TURN)
        };
        let runs: Vec<(usize, usize)> =
            near.iter().map(|(median, number)| (*number, runs(*median))).collect();
        let turn: f64 =
            near.iter().zip(&runs).map(|((median, _), (_, runs))| (median + around) * *runs as f64).sum();
        let turns = ((together * near.len() as f64 / turn.max(1e-6)) as usize).clamp(FEWEST_TURNS, TURNS);
        for (_, number) in &near {
            self.samplers.insert(*number, Sampler::new(f64::INFINITY, self.budget_ms));
        }
        Finals { runs, turns }
    }

    /// Milliseconds that a run was seen to take beside its own time.
    fn around_a_run(&self) -> f64 {
        let add = |(runs, spent): (usize, f64), (more, time): (usize, f64)| (runs + more, spent + time);
        let (runs, spent) = self.samplers.values().map(Sampler::overhead).fold((0, 0.0), add);
        spent / runs.max(1) as f64
    }

    /// One line about how far it is.
    pub fn progress(&self) -> String {
        let tried = format!(
            "tuning {}: configuration {} of {}",
            self.record.subject.kernel,
            (self.tried() + 1).min(self.total()),
            self.total()
        );
        let Some(number) = self.best() else { return tried };
        let best = milliseconds(self.best_median());
        format!("{tried}, best so far {best} ({})", self.configurations[number])
    }

    /// The configurations that cannot run, with their reasons.
    pub fn failures(&self) -> Vec<(usize, &str)> {
        let failed = |(number, outcome): (usize, &'_ Option<Outcome>)| match outcome {
            Some(Outcome::Failed(_)) => Some(number),
            _ => None,
        };
        let numbers = self.outcomes.iter().enumerate().filter_map(failed);
        numbers.map(|number| (number, self.reason(number))).collect()
    }

    fn reason(&self, number: usize) -> &str {
        match self.outcome(number) {
            Some(Outcome::Failed(reason)) => reason,
            _ => "",
        }
    }

    /// The list of configurations that cannot run, one a line; empty where all can.
    pub fn failures_text(&self) -> String {
        let mut text = String::new();
        for (number, reason) in self.failures() {
            let first = reason.lines().next().unwrap_or_default();
            // Writing to a string does not fail.
            let _ = write!(text, "\n  {}: {first}", self.configurations[number]);
        }
        text
    }

    /// Forgets everything known about the subject, here and on disk.
    pub fn forget(&mut self) {
        if let Some(results) = &self.results {
            results.remove(&self.record.subject);
        }
        self.record.measured.clear();
        self.outcomes.fill(None);
    }
}

/// A time as people read it.
fn milliseconds(time: f64) -> String {
    match time {
        time if time >= 100.0 => format!("{time:.0} ms"),
        time if time >= 1.0 => format!("{time:.2} ms"),
        time => format!("{:.1} µs", time * 1e3),
    }
}
