//! Specialise, compile, cache, launch.
//!
//! The runtime sees the compiler through `frontend` and the machine through the two traits of `target`. It knows
//! neither Python nor a vendor. The environment is read in [`knobs`] alone and the disk in [`cache`] and in the dumps
//! of a compile.

pub mod agreement;
pub mod buffer;
pub mod c_sources;
pub mod cache;
pub mod compile;
pub mod eager;
mod error;
pub mod fixtures;
mod identity;
pub mod interpreter;
pub mod knobs;
pub mod launch;
mod machine;
pub mod options;
pub mod program;
pub mod specialize;
mod target_list;
#[cfg(test)]
mod testing;
pub mod timing;
mod trace;
pub mod tuning;

pub use error::{CompilationFailure, CompilationKind, RuntimeError};
pub use identity::{compiler, version};
pub use machine::{active_target, emulated, interpreted_target, target_named, target_of};
pub use target_list::all_targets;
