//! Lanes need not hold what they copy: a load that becomes a copy to shared memory is done in the layout in which one
//! copy moves most, whatever layout suits the use of its values.
//!
//! ```text
//! scf.for … {                                   scf.for … {
//!   %s = tt.load %p : tensor<64xf16, #one>        %w = tt.load %q : tensor<64xf16, #eight>
//!   use(%s)                               =>      %s = ttg.convert_layout %w : …, #eight -> …, #one
//! }                                               use(%s)
//! ```
//!
//! The conversion then is the load from shared memory. A block with fewer elements than there are lanes would otherwise
//! be held in parts that no copy moves, and be waited for in each iteration. Left alone: loads whose addresses cannot
//! be computed anew, loops without dots, and machines that load through registers.

use super::plan::{has_inner_loop, is_dot, may_be_ahead};
use crate::Encoding;
use crate::passes::assign_layouts::{blocked, is_computed, memory_access, move_loads};
use crate::passes::context::Context;
use ir::{Module, Op, Value};
use ttir::axis::AxisTable;
use ttir::ops::access::AccessOp;
use ttir::ops::control::ForOp;
use ttir::types::{elem, elem_bytes, is_tensor};

/// Gives the loads of loops that become copies the layouts in which these move most; says whether there were any.
pub(super) fn widen(
    module: &mut Module,
    function: Op,
    loops: &[Op],
    context: &Context,
    axis: &AxisTable,
) -> bool {
    if !context.machine.async_copy() || context.machine.staged_loads {
        return false;
    }
    let mut moves = Vec::new();
    for &op in loops.iter().filter(|&&op| ForOp::new(module, op).stages() > 1) {
        let inside = module.walk(op);
        let body = ForOp::new(module, op).body();
        if has_inner_loop(module, body) || !inside.iter().any(|&inner| is_dot(module, inner)) {
            continue;
        }
        for load in module.ops(body) {
            if let Some(wider) = wider(module, load, context, axis)
                && may_be_ahead(module, body, load, &inside)
                && is_computed(module, function, &inputs(module, load))
            {
                moves.push((load, wider));
            }
        }
    }
    move_loads(module, function, context.config, &moves);
    !moves.is_empty()
}

/// The layout in which a copy moves more of a load than lanes hold together, if there is one.
fn wider(module: &Module, load: Op, context: &Context, axis: &AxisTable) -> Option<Encoding> {
    let of = AccessOp::load(module, load).filter(|load| !load.volatile())?;
    let ty = module.ty(of.ptr());
    let encoding = Encoding::of(ty).filter(|_| is_tensor(ty))?;
    let access = memory_access(module, load, axis, u64::from(context.machine.vector_bytes))?;
    let most = access.whole_vector();
    let bytes = most * elem_bytes(elem(module.ty(module.result(load, 0))));
    if access.in_registers(encoding) >= most || bytes < context.machine.narrowest_copy() {
        return None;
    }
    let mut per_lane = vec![1; access.shape.len()];
    per_lane[access.dim] = most as u32;
    let threads = (context.config.num_warps, context.config.threads_per_warp);
    Some(blocked(access.shape, &per_lane, &access.order, threads, encoding.cga()))
}

/// What a load reads at, where, and what stands where it does not read.
fn inputs(module: &Module, load: Op) -> Vec<Value> {
    let of = AccessOp::new(module, load);
    [Some(of.ptr()), of.mask(), of.other()].into_iter().flatten().collect()
}
