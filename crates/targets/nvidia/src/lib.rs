//! The target for NVIDIA GPUs: ttgir pipelines, PTX written directly, assembly and launch through libraries found at run time.

pub mod assemble;
mod assembling;
mod compile;
pub mod driver;
mod emulated;
mod given;
mod knobs;
pub mod lower;
pub mod machine;
pub mod maps;
pub mod pipeline;
pub mod ptx;
mod survey;
mod target;

pub use self::target::target;
