//! The CPU target: ttir to vector loops to native code, and the thread pool that runs it.

pub mod math;
