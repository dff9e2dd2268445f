//! The CPU target: ttir to vector loops to native code, and the thread pool that runs it.

pub mod abi;
pub mod dot;
pub mod driver;
pub mod host;
pub mod loader;
pub mod math;
pub mod outcome;
pub mod pool;
mod scratch;
mod symbols;
mod topology;
