//! Errors of the lowering: a message and the place in the source.

use ir::{Loc, Module, Op};
use target::TargetError;

/// What went wrong, and where.
#[derive(Clone, Debug)]
pub(crate) struct LowerError {
    message: String,
    loc: Option<Loc>,
}

/// A result of the lowering.
pub(crate) type Result<T> = std::result::Result<T, LowerError>;

impl LowerError {
    /// An error whose place is not known yet.
    pub(crate) fn new(message: impl Into<String>) -> LowerError {
        LowerError { message: message.into(), loc: None }
    }

    /// An operation that this target does not support, with the way out.
    pub(crate) fn unsupported(module: &Module, op: Op, why: &str) -> LowerError {
        let name = module.row(op).name;
        LowerError {
            message: format!("`{name}` is not supported on the CPU: {why}"),
            loc: Some(module.loc(op)),
        }
    }

    /// The same at an operation, unless a place is known already.
    #[must_use]
    pub(crate) fn at(mut self, module: &Module, op: Op) -> LowerError {
        self.loc = self.loc.or(Some(module.loc(op)));
        self
    }

    /// For the caller of the target.
    pub(crate) fn into_target(self, module: &Module) -> TargetError {
        let location = self.loc.and_then(|loc| module.locs.describe(loc));
        TargetError::Compile { message: self.message, location }
    }
}

/// What a pass over ttir has refused.
impl From<ir::Diagnostic> for LowerError {
    fn from(error: ir::Diagnostic) -> LowerError {
        LowerError::new(std::iter::once(error.message).chain(error.notes).collect::<Vec<_>>().join("; "))
    }
}

impl From<crate::dot::DotError> for LowerError {
    fn from(error: crate::dot::DotError) -> LowerError {
        LowerError::new(error.to_string())
    }
}
