//! From functions of llir to blocks of instructions on rows.
//!
//! Vectors and structures become one row a component, so moving components about costs nothing at run time. Functions
//! that are called stand where the call was. `flow` finds where lanes that part meet again, `site` is what the decoders
//! of `ops` see.

mod assemble;
pub(crate) mod assembly;
mod flow;
pub(crate) mod site;

pub(crate) use assemble::{Refusal, assemble};
pub(crate) use assembly::widths;
