//! Values, ops, regions, types and attributes; text form, verifier, rewriter and pass runner. No tensors, no devices.

/// A unit of compilation: one top-level region of functions.
pub struct Module {}
