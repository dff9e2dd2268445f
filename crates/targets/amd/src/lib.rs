//! The target for AMD GPUs: ttgir pipelines, code for LLVM's AMDGPU back end, code objects by a linker of our own.
//!
//! Not yet run on AMD hardware: code objects are assembled, linked and looked at by tests, and the driver was tested
//! against a runtime that tests make.

mod abi;
mod compile;
pub mod driver;
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
