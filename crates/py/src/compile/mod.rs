//! Compiling: for a signature, from the text of a stage, and what Python hears of it.

pub(crate) mod ahead_of_time;
pub(crate) mod build;
pub(crate) mod c_sources;
pub(crate) mod notify;
pub(crate) mod walk;
