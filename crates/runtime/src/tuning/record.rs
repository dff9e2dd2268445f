//! What was measured of one kernel for one key.

use crate::cache::{Key, KeyBuilder};

/// A change of what the fields mean changes this number, and with it every key.
const MEANING: u32 = 1;

/// What results belong to. Another value of any field is another record.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Subject {
    /// The name of the kernel.
    pub kernel: String,
    /// A hash of its text and of all that the text refers to.
    pub source: String,
    /// The parameters of the key with their values, in order.
    pub values: Vec<(String, String)>,
    /// The dtypes of the arrays among the arguments, in order.
    pub dtypes: Vec<String>,
    /// Options of the launch that are the same for all configurations.
    pub options: Vec<(String, String)>,
    /// How times are taken.
    pub method: String,
    /// The device.
    pub device: String,
    /// Everything else about the machine that the code depends on, the driver among it.
    pub machine: String,
    /// The version of the compiler.
    pub version: String,
}

impl Subject {
    /// The name of the record.
    pub fn key(&self) -> Key {
        KeyBuilder::new("tuning").value("meaning", &MEANING).value("subject", self).finish()
    }
}

/// Times of one configuration in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Times {
    /// The median, by which configurations are compared.
    pub median: f64,
    /// The time that a fifth of the runs stayed below.
    pub low: f64,
    /// The time that four fifths of the runs stayed below.
    pub high: f64,
}

impl Times {
    /// Whether all three are numbers, none below zero.
    pub fn are_sound(&self) -> bool {
        [self.median, self.low, self.high].iter().all(|time| time.is_finite() && *time >= 0.0)
    }
}

/// What became of one configuration.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It was timed to the end.
    Timed(Times),
    /// It was so much slower than the best until then that it was not timed to the end.
    Slower(Times),
    /// It cannot run, for this reason.
    Failed(String),
}

impl Outcome {
    /// The times, if it ran.
    pub fn times(&self) -> Option<Times> {
        match self {
            Outcome::Timed(times) | Outcome::Slower(times) => Some(*times),
            Outcome::Failed(_) => None,
        }
    }

    /// What it is compared by: the median, infinite for one that cannot run.
    pub fn median(&self) -> f64 {
        self.times().map_or(f64::INFINITY, |times| times.median)
    }
}

/// A configuration with its outcome.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Measured {
    /// The configuration, as text.
    pub configuration: String,
    /// What became of it.
    pub outcome: Outcome,
}

/// All that was measured for one subject.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Record {
    /// What it belongs to.
    pub subject: Subject,
    /// One entry a configuration, in the order of measuring.
    pub measured: Vec<Measured>,
}

impl Record {
    /// The outcome of a configuration.
    pub fn outcome(&self, configuration: &str) -> Option<&Outcome> {
        self.measured.iter().find(|one| one.configuration == configuration).map(|one| &one.outcome)
    }

    /// Sets the outcome of a configuration.
    pub fn set(&mut self, configuration: &str, outcome: Outcome) {
        match self.measured.iter_mut().find(|one| one.configuration == configuration) {
            Some(known) => known.outcome = outcome,
            None => self.measured.push(Measured { configuration: configuration.to_owned(), outcome }),
        }
    }

    /// Takes over what another record has and this one has not.
    pub fn merge(&mut self, other: &Record) {
        for one in &other.measured {
            if self.outcome(&one.configuration).is_none() {
                self.measured.push(one.clone());
            }
        }
    }

    /// The fastest configuration that ran.
    pub fn best(&self) -> Option<(&str, Times)> {
        let ran = self.measured.iter().filter_map(|one| Some((&*one.configuration, one.outcome.times()?)));
        ran.min_by(|(_, left), (_, right)| left.median.total_cmp(&right.median))
    }

    /// Whether every number in it is one; a record from a file may hold anything.
    pub fn is_sound(&self) -> bool {
        self.measured.iter().all(|one| one.outcome.times().is_none_or(|times| times.are_sound()))
    }
}
