//! Tuning: sessions, and what identifies a tuned kernel.

pub(crate) mod key;
pub(crate) mod session;
pub(crate) mod source;
