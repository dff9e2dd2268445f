//! From blocks with layouts to what each lane does: ttgir to llir.
//!
//! Input: a verified ttgir module whose tensors all have an encoding. Output: an llir module with one function per
//! `tt.func`, and facts about what a launch needs ([`Facts`]).
//!
//! - A scalar is one llir value, the same in every lane; a tensor is a list of llir values, one per register, in the
//!   order of the registers of its linear layout; shared memory is its address and offsets into it.
//! - A handler for each operation is found in a table by the operation's row; [`ops`] holds one file per family.
//! - What differs between machines goes through [`LaneTarget`]; nothing here knows a vendor.
//! - Indices and addresses are kept as a part that depends on the lane plus a constant per register ([`affine`]), so
//!   that registers share one address and differ in an immediate.

mod access;
mod affine;
mod block_memory;
mod context;
mod copies;
mod element;
mod error;
mod facts;
mod free_bits;
mod ids;
mod kernel;
mod layouts;
mod notes;
pub mod ops;
mod packing;
pub mod pairs;
mod positions;
mod roles;
mod row_access;
mod shared;
mod shuffle;
mod shuffle_words;
mod size;
mod survey;
mod target;
mod types;
mod value;
mod view;

pub use context::{Cx, Handler};
pub use error::{Error, Result, SharedMemoryNeed};
pub use facts::{Facts, Options, Scratch};
pub use free_bits::FreeBits;
pub use kernel::{Lowered, lower, shared_bytes};
pub use layouts::layout_of;
pub use positions::{Element, Positions};
pub use survey::{Classify, survey};
pub use target::{
    Access, AssertPlace, AtomicAccess, CombineLanes, CompareSwap, LaneTarget, Multiply, Near, Overflow,
    Pending, PrintCall, Reductions, ScaledMultiply, Shuffle,
};
pub use types::{ABILITIES, register};
pub use value::{LaneValue, SharedMemory};
