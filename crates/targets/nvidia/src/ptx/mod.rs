//! llir to PTX text.
//!
//! Instructions are chosen (`select`), registers that are copied into one another join (`coalesce`), and what is left
//! becomes text (`text`). The version that the text asks for is the lowest that has every instruction in it. Assumes
//! verified llir. Left out: optimising the llir itself, which its own passes do.

mod by_need;
mod coalesce;
mod early_loads;
mod edges;
mod effort;
mod error;
mod features;
mod interleave;
mod liveness;
mod loop_loads;
mod low_halves;
mod machine;
mod module;
mod options;
mod select;
mod shape;
mod text;
mod work;

pub use effort::Effort;
pub use error::PtxError;
pub use module::{Ptx, bounds, emit, optimize};
pub use options::Options;
