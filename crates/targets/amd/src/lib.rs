//! The target for AMD GPUs: ttgir pipelines, code for LLVM's AMDGPU back end, code objects by a linker of our own.
//!
//! Code objects have not yet run on AMD hardware: they are assembled, linked and looked at by tests.

mod abi;
mod compile;
mod emulated;
mod knobs;
pub mod log;
pub mod lower;
pub mod machine;
pub mod object;
mod options;
pub mod pipeline;
mod survey;
mod target;

pub use self::target::target;
