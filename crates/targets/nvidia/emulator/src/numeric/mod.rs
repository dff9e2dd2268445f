//! Arithmetic of bits: formats of floating point, rounding, and the operations of atomics.

pub(crate) mod arithmetic;
pub(crate) mod format;
pub(crate) mod matrix;
pub(crate) mod reduce;
