//! The target for NVIDIA GPUs: ttgir pipelines, PTX written directly, assembly and launch through libraries found at
//! run time.

pub mod assemble;
mod compile;
pub mod driver;
mod emulated;
mod facts;
mod given;
mod intrinsics;
mod knobs;
pub mod lower;
pub mod machine;
pub mod maps;
mod options;
pub mod pipeline;
pub mod portable;
pub mod ptx;
mod resident;
mod stage;
mod survey;
mod target;
pub mod tensor_layout;

pub use self::target::target;
