//! Shared by the tests: machines, and an engine that runs code with layouts.

pub(crate) mod engine;
pub(crate) mod erase;
pub(crate) mod machines;
