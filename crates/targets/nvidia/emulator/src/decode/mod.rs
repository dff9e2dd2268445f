//! A module to code: names to rows, variables to offsets, opcodes to what they do.

pub(crate) mod assembly;
pub(crate) mod scope;
pub(crate) mod site;
pub(crate) mod special;
