//! What the tests of compiled code share.

pub(crate) mod encode;
pub(crate) mod ways;
