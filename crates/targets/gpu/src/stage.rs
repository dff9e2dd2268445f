//! Names of the stages that all targets for GPUs have.

/// Block-level code with layouts.
pub const TTGIR: &str = "ttgir";
/// Code of a lane.
pub const LLIR: &str = "llir";
