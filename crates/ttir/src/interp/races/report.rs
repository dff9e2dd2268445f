//! What is said of a race.

use super::Doing;
use crate::interp::positions::element_name;
use crate::interp::{RunError, RunErrorKind};
use ir::Type;

/// One of the two accesses of a race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Touch {
    pub(crate) place: u32,
    pub(crate) program: [u32; 3],
    pub(crate) doing: Doing,
    pub(crate) ty: Type,
}

/// Two accesses that nothing orders.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Race {
    /// The one that came first in this run.
    pub(super) first: Touch,
    pub(super) second: Touch,
    /// The element of the second access, where it accesses a block.
    pub(super) block_element: Option<String>,
    /// Which memory it is.
    pub(super) memory: String,
    /// How many elements clash at these two places.
    pub(super) elements: u64,
}

impl Touch {
    fn says(&self) -> String {
        let [x, y, z] = self.program;
        let (verb, how) = match self.doing {
            Doing::Read => ("reads", ""),
            Doing::Write => ("writes", ""),
            Doing::AtomicRead => ("reads", " atomically"),
            Doing::AtomicWrite => ("updates", " atomically"),
        };
        format!("program ({x}, {y}, {z}) {verb} {}{how}", self.ty)
    }
}

impl Race {
    /// In words. `place` says where in the source a place is.
    fn says(&self, place: &dyn Fn(u32) -> Option<String>) -> String {
        let element = self.block_element.as_ref().map(|element| format!(" (element {element} of its block)"));
        let other = place(self.first.place).map(|place| format!(" at {place}"));
        let count = match self.elements {
            1 => String::new(),
            count => format!("; {count} elements clash at these two places"),
        };
        format!(
            "race between programs: {} at {}{}, where {}{}, and no atomics order the two{count}",
            self.second.says(),
            self.memory,
            element.unwrap_or_default(),
            self.first.says(),
            other.unwrap_or_default(),
        )
    }

    /// The error of a launch in which there are races: the first one, and the others as notes.
    pub(crate) fn error(races: &[Race], place: &dyn Fn(u32) -> Option<String>) -> Option<RunError> {
        let (first, rest) = races.split_first()?;
        let note = |race: &Race| {
            let at = place(race.second.place).map(|place| format!("{place}: ")).unwrap_or_default();
            format!("{at}{}", race.says(place))
        };
        Some(RunError {
            kind: RunErrorKind::Race,
            message: first.says(place),
            place: place(first.second.place),
            program: Some(first.second.program),
            notes: rest.iter().map(note).collect(),
        })
    }
}

/// `(1, 2)` of a block, nothing of a scalar.
pub(super) fn block_element(shape: &[i64], position: usize) -> Option<String> {
    (!shape.is_empty()).then(|| element_name(shape, position))
}
