//! Tuning: sessions, and what identifies a tuned kernel.

pub(crate) mod session;
pub(crate) mod source;
