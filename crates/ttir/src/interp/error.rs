//! What went wrong in which program.

use std::fmt;

/// What sort of thing went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunErrorKind {
    /// The caller asked for something that cannot be: no such kernel, arguments that do not fit.
    Call,
    /// An access outside the given memory, or a misaligned one.
    Access,
    /// A value without a definition reached memory, output, an address or control.
    Undefined,
    /// An assertion or an assumption of the program does not hold.
    Assertion,
    /// Accesses of two programs that nothing orders.
    Race,
    /// The program waits for another one, which does not run.
    Waits,
    /// The program does what the interpreter cannot.
    Unsupported,
    /// The caller asked to stop.
    Interrupted,
}

/// An error of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunError {
    /// What sort of thing went wrong.
    pub kind: RunErrorKind,
    /// What went wrong.
    pub message: String,
    /// `file:line:column` of the operation, where it is known.
    pub place: Option<String>,
    /// The program, if it happened in one.
    pub program: Option<[u32; 3]>,
    /// What else helps.
    pub notes: Vec<String>,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        write!(f, "error: {}", self.message)?;
        if let Some([x, y, z]) = self.program {
            write!(f, "\n  in program ({x}, {y}, {z})")?;
        }
        for note in &self.notes {
            write!(f, "\n  note: {note}")?;
        }
        Ok(())
    }
}

impl std::error::Error for RunError {}

impl From<Box<RunError>> for RunError {
    fn from(error: Box<RunError>) -> RunError {
        *error
    }
}
