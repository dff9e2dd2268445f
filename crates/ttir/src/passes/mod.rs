//! Passes over block-level code that no target is needed for, and the list of all that every target runs first.

mod accumulate_dots;
mod carry_transposed;
mod expand_descriptors;
mod flatten_descriptors;
mod inline_calls;
mod pad_blocks;
pub(crate) mod patterns;
mod reorder_broadcast;
mod share_exponentials;
mod written_descriptors;

pub use accumulate_dots::ACCUMULATE_DOTS;
pub use carry_transposed::CARRY_TRANSPOSED;
pub use expand_descriptors::{EXPAND_DESCRIPTORS, Inside, KEPT, expand_descriptors};
pub use flatten_descriptors::FLATTEN_DESCRIPTORS;
pub use inline_calls::{INLINE_CALLS, replace_calls};
pub use pad_blocks::PAD_BLOCKS;
pub use reorder_broadcast::REORDER_BROADCAST;
pub use share_exponentials::SHARE_EXPONENTIALS;

use ir::pass::PassRow;
use ir::passes::{CANONICALIZE, CSE, LICM, SYMBOL_DCE};

/// The passes of this crate, for tools that find passes by name.
pub static ALL: &[&PassRow] = &[
    &ACCUMULATE_DOTS,
    &CARRY_TRANSPOSED,
    &EXPAND_DESCRIPTORS,
    &FLATTEN_DESCRIPTORS,
    &INLINE_CALLS,
    &PAD_BLOCKS,
    &REORDER_BROADCAST,
    &SHARE_EXPONENTIALS,
];

/// What turns the front end's code into the form that the lowerings expect: one function a kernel, and those that
/// stay called; uniform values scalar, constants known, nothing twice, nothing unused.
pub fn pipeline() -> &'static [&'static PassRow] {
    static PIPELINE: &[&PassRow] = &[
        &INLINE_CALLS,
        &CANONICALIZE,
        &PAD_BLOCKS,
        &ACCUMULATE_DOTS,
        &CARRY_TRANSPOSED,
        &REORDER_BROADCAST,
        &CANONICALIZE,
        &CSE,
        &SHARE_EXPONENTIALS,
        &LICM,
        &CANONICALIZE,
        &CSE,
        &SYMBOL_DCE,
    ];
    PIPELINE
}
