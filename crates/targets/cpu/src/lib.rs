//! The CPU target: ttir to vector loops to native code, and the thread pool that runs it.

pub mod abi;
mod compile;
pub mod dot;
pub mod driver;
pub mod host;
pub mod loader;
mod lower;
pub mod math;
pub mod outcome;
pub mod pool;
mod scratch;
mod survey;
mod symbols;
mod topology;

use std::sync::Arc;

/// The CPU target.
pub fn target() -> Arc<dyn target::Target> {
    Arc::new(compile::Cpu::default())
}
