//! What a launch decides, for every interface alike: the key of a call, the kernels of a function, what the next launch
//! is expected to be, and the call of the device.
//!
//! ```text
//! call ── like the last one? (Prediction) ── yes ──────────────────────────┐
//!   └─ no ─> Prepared: words of a key, slots ─> Variants: kernel of the key ┴─> submit
//!                                                 └─ none: the interface compiles and adds it
//! ```
//!
//! An interface says what its values are (numbers, memory, constants) and keeps what it shows of a kernel beside it.
//! Nothing here allocates on the way of a launch whose kernel is there.

mod context;
mod prediction;
mod prepared;
mod submit;
mod variants;

pub use context::Context;
pub use prediction::{Expected, Part, Prediction, Seen, Value};
pub use prepared::{Prepared, Slots};
pub use submit::{Site, prepare, scratch_bytes, submit};
pub use variants::Variants;

#[cfg(test)]
mod tests;
