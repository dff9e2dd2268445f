//! The CPU target: ttir to vector loops to native code, and the thread pool that runs it.

pub mod abi;
mod loader;
pub mod dot;
pub mod math;
pub mod outcome;
pub mod host;
mod topology;
pub mod driver;
pub mod pool;
mod scratch;
mod symbols;
