//! What is wrong with a program, and where.

use std::fmt;

/// A message with a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// What is wrong.
    pub message: String,
    /// `file:line:column`, where it is known.
    pub place: Option<String>,
    /// What else helps.
    pub notes: Vec<String>,
}

impl Diagnostic {
    /// A message without a place.
    pub fn new(message: impl Into<String>) -> Diagnostic {
        Diagnostic { message: message.into(), place: None, notes: Vec::new() }
    }

    /// With a place.
    #[must_use]
    pub fn at(mut self, place: Option<String>) -> Diagnostic {
        self.place = place;
        self
    }

    /// With a note.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Diagnostic {
        self.notes.push(note.into());
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        write!(f, "error: {}", self.message)?;
        for note in &self.notes {
            write!(f, "\n  note: {note}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}
