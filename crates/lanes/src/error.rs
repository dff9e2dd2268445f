//! What stops a lowering: a diagnostic with the place of the operation.

use ir::{Diagnostic, Module, Op};

/// A diagnostic on the heap, so that results stay small.
pub type Error = Box<Diagnostic>;

/// What a lowering step gives.
pub type Result<T> = std::result::Result<T, Error>;

/// An error at an operation.
pub(crate) fn at(module: &Module, op: Op, message: impl Into<String>) -> Error {
    let name = module.row(op).name;
    let message = format!("`{name}`: {}", message.into());
    Box::new(Diagnostic::new(message).at(module.locs.describe(module.loc(op))))
}

/// An error without a place.
pub(crate) fn plain(message: impl Into<String>) -> Error {
    Box::new(Diagnostic::new(message))
}
