//! What stops a lowering: a diagnostic with the place of the operation, or too little memory.

use ir::{Diagnostic, Module, Op};
use std::fmt;

/// What stops a lowering; on the heap, so that results stay small.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// An operation that cannot be lowered.
    Refused(Box<Diagnostic>),
    /// The machine has less shared memory than a kernel needs. A smaller configuration of the kernel may fit.
    SharedMemory(Box<SharedMemoryNeed>),
}

/// How much shared memory a kernel needs, and how much there is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SharedMemoryNeed {
    /// Bytes that the kernel needs.
    pub required: u64,
    /// Bytes that the machine has.
    pub limit: u64,
    /// The same in words, with what needs most.
    pub diagnostic: Diagnostic,
}

/// What a lowering step gives.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The error in words, with its place.
    pub fn diagnostic(&self) -> &Diagnostic {
        match self {
            Error::Refused(diagnostic) => diagnostic,
            Error::SharedMemory(need) => &need.diagnostic,
        }
    }

    /// The words alone, for an error that gets another place.
    pub(crate) fn message(&self) -> String {
        self.diagnostic().message.clone()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.diagnostic().fmt(f)
    }
}

impl std::error::Error for Error {}

/// A diagnostic about an operation.
pub(crate) fn diagnostic(module: &Module, op: Op, message: impl Into<String>) -> Diagnostic {
    let name = module.row(op).name;
    let message = format!("`{name}`: {}", message.into());
    Diagnostic::new(message).at(module.locs.describe(module.loc(op)))
}

/// An error at an operation.
pub(crate) fn at(module: &Module, op: Op, message: impl Into<String>) -> Error {
    Error::Refused(Box::new(diagnostic(module, op, message)))
}

/// An error without a place.
pub(crate) fn plain(message: impl Into<String>) -> Error {
    Error::Refused(Box::new(Diagnostic::new(message)))
}
