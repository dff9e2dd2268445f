//! Loads that feed dots, as copies to shared memory that pass by the registers, where a machine's copies put the parts
//! of the lanes of a warp one behind the other.
//!
//! ```text
//! scf.for … {                                  begin copies of the first iterations into buffers
//!   %x = tt.load %p : …, #blocked              scf.for … {
//!   %y = ttg.convert_layout %x          =>       wait for the copy of this iteration
//!   … = tt.dot %y, …                             begin the copy of a later iteration
//! }                                              %y = ttg.local_load of its buffer ; … = tt.dot %y, …
//!                                              }
//! ```
//!
//! Memory without bank conflicts then asks lanes for other elements than those that they load best: the same ones
//! within a warp, each by another lane. So addresses and masks are computed in the order of memory ([`move_loads`]).
//! There is one buffer more than iterations in flight, so that one barrier an iteration is enough.
//!
//! Left out, and loaded through registers: operands that lie in memory across the sums of the dot, which lanes turn on
//! their way; addresses that are no 32-bit offsets from a parameter, where a copy would need a branch for its mask;
//! masks and addresses that are themselves loaded.

use super::plan::{AddressSlice, PipelinePlan, PipelinedLoad};
use super::staged::memory_between;
use crate::ops::convert::ConvertLayoutOp;
use crate::passes::assign_layouts::{is_computed, move_loads};
use crate::passes::context::Context;
use crate::{BasisList, Encoding, SharedEncoding};
use ir::{Def, Module, Op, Value};
use layout::Dim;
use ttir::ops::access::AccessOp;
use ttir::ops::func::POINTER_RANGE;
use ttir::ops::memory::AddPtrOp;
use ttir::ops::shape::SplatOp;
use ttir::types::{elem, elem_bytes, shape};

/// A load with its memory and the layout in which lanes lie in the order of it.
struct Ordered {
    load: Op,
    memory: BasisList,
    lanes: Encoding,
}

/// The plan for a loop all of whose copies can be such; addresses and masks are then computed in their new layouts.
pub(super) fn plan(
    module: &mut Module,
    op: Op,
    plan: PipelinePlan,
    context: &Context,
) -> Result<PipelinePlan, PipelinePlan> {
    let stages = plan.stages;
    if stages < context.machine.direct_stages as usize || context.config.num_ctas > 1 {
        return Err(plan);
    }
    let ordered: Option<Vec<Ordered>> =
        plan.copies.iter().map(|copy| ordered(module, copy, context)).collect();
    let Some(ordered) = ordered.filter(|_| !plan.has(true)) else { return Err(plan) };
    let function = module.parent_op(op).expect("a loop is in a function");
    let function = std::iter::successors(Some(function), |&around| module.parent_op(around))
        .take_while(|&around| around != module.top())
        .last()
        .expect("a loop is in a function");
    let values: Vec<Value> = ordered.iter().flat_map(|ordered| addresses(module, ordered.load)).collect();
    if !is_computed(module, function, &values) {
        return Err(plan);
    }
    let moves: Vec<(Op, Encoding)> =
        ordered.iter().map(|ordered| (ordered.load, ordered.lanes.clone())).collect();
    move_loads(module, function, context.config, &moves);
    let body = module.entry_of(op);
    let loads: Vec<Op> = ordered.iter().map(|ordered| ordered.load).collect();
    let ahead = AddressSlice::of(module, body, &loads).expect("it was computed ahead in another layout");
    let copies = plan.copies.iter().zip(ordered).map(|(copy, ordered)| {
        let Ordered { load, memory, .. } = ordered;
        let shared = SharedEncoding::SharedLinear { offset: memory, block: BasisList::new(), alignment: 16 };
        PipelinedLoad { load, shared, vector: copy.vector, other: None, bulk: false }
    });
    let copies = copies.collect();
    Ok(PipelinePlan {
        copies,
        ahead,
        stages,
        distance: stages - 1,
        slots: stages,
        groups: false,
        early: true,
        room: plan.room,
    })
}

/// Address and mask of a load.
fn addresses(module: &Module, load: Op) -> impl Iterator<Item = Value> {
    let of = AccessOp::new(module, load);
    [Some(of.ptr()), of.mask(), of.other()].into_iter().flatten()
}

/// The memory and the lanes of a load; `None` where it cannot be such a copy.
fn ordered(module: &Module, copy: &PipelinedLoad, context: &Context) -> Option<Ordered> {
    let value = module.result(copy.load, 0);
    let ty = module.ty(value);
    let bytes = copy.vector * elem_bytes(elem(ty));
    let of = AccessOp::new(module, copy.load);
    if copy.other.is_some() || !context.machine.async_copy_bytes.iter().any(|&own| u64::from(own) == bytes) {
        return None;
    }
    if !is_near(module, of.ptr()) {
        return None;
    }
    let user = ConvertLayoutOp::of(module, module.only_user(value)?)?;
    let Some(SharedEncoding::SharedLinear { offset: memory, .. }) =
        memory_between(ty, module.ty(user.result()), context.machine)
    else {
        return None;
    };
    let lanes = in_order_of(&memory, ty, copy.vector.ilog2() as usize, context)?;
    Some(Ordered { load: copy.load, memory, lanes })
}

/// The layout in which what a lane copies at once is neighbours in memory, and the lanes of a warp lie one behind the
/// other.
fn in_order_of(memory: &BasisList, ty: ir::Type, vector: usize, context: &Context) -> Option<Encoding> {
    let own = Encoding::of(ty)?.to_linear(shape(ty));
    let parts = |dim| -> Vec<Vec<u32>> {
        own.bases(dim).iter().map(|basis| basis.iter().map(|part| part.1).collect()).collect()
    };
    let (registers, lanes) = (parts(Dim::REGISTER), parts(Dim::LANE));
    let (config, lane_bits) = (context.config, context.config.threads_per_warp.ilog2() as usize);
    let warp_bits = config.num_warps.ilog2() as usize;
    if memory.len() < vector + lane_bits + warp_bits || registers.get(..vector) != memory.get(..vector) {
        return None;
    }
    let (front, rest) = memory.split_at(vector);
    let (lane, rest) = rest.split_at(lane_bits);
    // Lanes still read whole lines: they differ in as many bits of the fastest dimension as they did.
    let fastest = front.first()?.iter().position(|&at| at != 0)?;
    let alone = |list: &[Vec<u32>]| {
        list.iter()
            .filter(|basis| basis.iter().enumerate().all(|(dim, &at)| (at != 0) == (dim == fastest)))
            .count()
    };
    if alone(lane) < alone(&lanes) {
        return None;
    }
    let (warp, more) = rest.split_at(warp_bits);
    let register = [front, more].concat();
    Some(Encoding::Linear { register, lane: lane.to_vec(), warp: warp.to_vec(), block: BasisList::new() })
}

/// Whether addresses are 32-bit offsets from a parameter whose memory such offsets reach.
fn is_near(module: &Module, pointer: Value) -> bool {
    let Some(sum) = AddPtrOp::def(module, pointer) else { return false };
    let Some(splat) = SplatOp::def(module, sum.ptr()) else { return false };
    let Def::Arg(block, index) = module.def(splat.src()) else { return false };
    let attrs = module.arg_attrs(block, index as usize);
    let reaches =
        attrs.iter().any(|(key, attr)| key.name() == POINTER_RANGE.name && attr.as_int() == Some(32));
    reaches && elem(module.ty(sum.offset())).as_int() == Some(32)
}
