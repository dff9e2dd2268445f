//! Targets, devices, streams and knobs: where a launch runs and what is set in this process.

pub(crate) mod active;
pub(crate) mod handles;
pub(crate) mod knobs;
pub(crate) mod options;
pub(crate) mod place;
pub(crate) mod targets;
pub(crate) mod torch;
