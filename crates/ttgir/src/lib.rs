//! Block-level IR with layouts: ttir plus, for every tensor, which lane holds which element.
//!
//! The rows of ttir stay; their tensors carry an [`Encoding`], and rows for shared memory ([`ops::shared`]), copies
//! that go on while the program does ([`ops::async_copy`], [`ops::bulk`]), matrix products of several warps
//! ([`ops::group_dot`]) and barriers ([`ops::barrier`]) are added. The text is that of the reference: `#blocked` and
//! its like are defined in front of the program.
//!
//! Rules that the verifier checks ([`infer::check`] on every operation), besides those of ttir and of each row:
//! - the module says how many warps run a program: `"ttg.num-warps"`, and where it is not 32 and 1,
//!   `"ttg.threads-per-warp"` and `"ttg.num-ctas"` ([`Config`]); all are powers of two;
//! - every tensor that an operation takes or gives has an [`Encoding`], of the rank of its shape, for so many lanes and
//!   warps;
//! - all sizes in encodings are powers of two, orders are permutations, and every element is held by some register;
//! - elementwise operations, loads, stores and atomics hold all their tensors alike; `tt.broadcast` holds what it
//!   repeats as the result would be held in that shape;
//! - `tt.reduce`, `tt.expand_dims`, `tt.trans`, `tt.reshape`, `tt.join` and `tt.split` move no element between
//!   registers, lanes or warps: the encodings of operand and result follow from each other ([`infer::forward`],
//!   [`infer::backward`]); `tt.reshape allow_reorder` is free;
//! - the operands of `tt.dot` are encoded as operands of its result; only `ttg.convert_layout` and shared memory
//!   move elements between lanes;
//! - a memory descriptor has a [`SharedEncoding`], in the space `#ttg.shared_memory`; its shape is no larger than what
//!   was allocated; immutable memory is filled when it is made and never written.
//!
//! Two encodings are the same if they hold each element at the same positions ([`same_layout`]), however they are
//! written.
//!
//! Left out on purpose: any vendor's name beyond what the language's own syntax demands. What a machine can do is data
//! ([`Machine`]).

pub mod encoding;
mod from_ttir;
pub mod infer;
pub mod machine;
pub mod module;
pub mod ops;
pub mod passes;
pub mod roots;
pub mod scalar;
pub mod types;

pub use from_ttir::{
    Combine, GUARDS, HALVED, LOAD_NOTES, MAP_COPIED, MAP_OF, MAP_WRITTEN, MapPart, MapParts, PAIRS,
    PERSISTENCE, PROGRAMS, UNALIGNED, UnalignedLoad, from_ttir, guards, load_notes, map_parts, pairs,
    persistence, programs_params, unaligned,
};
pub use machine::{Copies, FragmentKind, Machine, MatrixKind, MatrixRow, Number, Pairs, Persistence, Roles};
pub use module::{Config, is_paired, set_shared, target};

pub use encoding::{
    BasisList, Encoding, Facts, Fragments, Padding, SharedEncoding, Tiles, num_registers, replace_encoding,
    same_layout, shape_per_block,
};

/// All rows of block-level code with layouts: those of ttir and these.
pub fn registry() -> &'static ir::Registry {
    static REGISTRY: std::sync::OnceLock<ir::Registry> = std::sync::OnceLock::new();
    REGISTRY.get_or_init(|| {
        ir::Registry::new(
            &[&ttir::ops::DIALECT, &ops::DIALECT],
            &ttir::ops::constant::CONSTANT,
            &ttir::ops::func::MODULE,
            ttir::constant_rules(),
        )
        .with_structure(ttir::ops::structure_branches::structure_branches)
        .with_rule(infer::check)
    })
}

/// The passes of this crate, for tools that find passes by name.
pub static PASSES: &[&ir::pass::PassRow] = &[
    &from_ttir::BOX_LOADS,
    &from_ttir::KEEP_DESCRIPTORS,
    &from_ttir::BRANCH_POWERS,
    &from_ttir::EXPAND_CAT,
    &from_ttir::LOAD_ONCE,
    &from_ttir::SQUEEZE_BOXES,
    &from_ttir::PERSIST,
    &passes::SPLIT_PRECISION,
    &passes::REBASE_POINTERS,
    &passes::ACCELERATE_DOTS,
    &passes::ASSIGN_LAYOUTS,
    &passes::DEFER_REDUCTIONS,
    &passes::STREAM_LAST_READS,
    &passes::HOIST_MEMORY,
    &passes::HOLD_OPERANDS,
    &passes::FIT_REGISTERS,
    &passes::EASE_REGISTERS,
    &passes::UNROLL_LOADS,
    &passes::PIPELINE_LOOPS,
    &passes::BULK_COPIES,
    &passes::COPY_LOADS,
    &passes::PREFETCH_LOADS,
    &passes::LOAD_EARLY,
    &passes::PING_PONG,
    &passes::ORDER_COPIES,
    &passes::INSERT_FENCES,
    &passes::CAPTURE_VALUES,
    &passes::DROP_CARRIED,
];

#[cfg(test)]
mod tests {
    #[test]
    fn every_row_says_what_it_does_to_memory() {
        for row in super::registry().ops() {
            assert!(!row.has_unknown_effects(), "{} is taken for one that writes everything", row.name);
        }
    }
}
