//! Rewrites of single operations into better ones. The rows name them, `canonicalize` applies them.
//!
//! None of them changes a bit of any result, but for functions of maths libraries, which keep the accuracy that is
//! promised. Each returns whether it changed something; one that replaces its operation
//! erases it.

mod compare;
mod control;
mod external;
mod flags;
mod memory;
mod select;
mod shape;

pub(crate) use compare::{known_comparison, narrow_comparison};
pub(crate) use control::{
    drop_repeated_assert, drop_unneeded_values, drop_unused_results, fold_if, forward_invariant_values,
    inline_single_iteration, sink_from_branches, skip_empty_loop,
};
pub(crate) use external::power_of_constant;
pub(crate) use flags::product_of_flags;
pub(crate) use memory::{combine_addptr, simplify_mask};
pub(crate) use select::select_by_scalar;
pub(crate) use shape::{
    broadcast_of_broadcast, broadcast_of_splat, expand_dims_of_splat, fold_same_type, fold_trans,
    fold_uniform, reshape_of_reshape, reshape_of_splat, split_of_join, trans_of_splat, trans_of_trans,
    unsplat_of_splat,
};

use ir::{Module, Op, Value};

/// Puts a value in place of the one result of an operation.
fn replace(module: &mut Module, op: Op, value: Value) -> bool {
    let result = module.result(op, 0);
    if value == result {
        return false;
    }
    module.replace_uses(result, value);
    module.erase(op);
    true
}
