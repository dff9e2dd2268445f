//! Which loads of a loop can be issued iterations ahead, and what must be computed ahead for that.
//!
//! A loop is looked at by itself: [`AddressSlice`] finds the operations that addresses and masks of given loads depend
//! on, with the carried values among them. It serves copies to shared memory as well as loads into registers.

use crate::SharedEncoding;
use crate::ops::access::is_block_load;
use crate::ops::convert::CONVERT_LAYOUT;
use crate::ops::shared::{AllocOp, MemdescTransOp};
use crate::passes::accelerate_dots::swizzled;
use crate::passes::assign_layouts::memory_access;
use crate::passes::bulk_copies;
use crate::passes::residency::RESERVE;
use crate::passes::touches::reads_what_is_written;
use crate::{Encoding, Machine};
use ir::{Block, Def, Module, Op, Traits, Value};
use rustc_hash::FxHashSet;
use ttir::axis::AxisTable;
use ttir::ops::access::AccessOp;
use ttir::ops::constant::splat_bits;
use ttir::ops::control::IF;
use ttir::ops::descriptor::DescriptorAccessOp;
use ttir::ops::dot::MatmulOp;
use ttir::ops::extern_call::InlineAsmOp;
use ttir::ops::shape::TRANS;
use ttir::types::{elem, elem_bytes, is_tensor};

/// A load that becomes a copy to shared memory, begun ahead.
#[derive(Clone)]
pub(crate) struct PipelinedLoad {
    /// The load.
    pub(crate) load: Op,
    /// How the block lies in shared memory.
    pub(crate) shared: SharedEncoding,
    /// Elements that one lane copies at once.
    pub(crate) vector: u64,
    /// What stands where the mask does not hold, unless it is zero or undefined.
    pub(crate) other: Option<Value>,
    /// Whether it is a bulk copy, which a barrier counts, and not one of lanes.
    pub(crate) bulk: bool,
}

/// What is computed ahead.
#[derive(Clone, Default)]
pub(crate) struct AddressSlice {
    /// Operations of the body, in order.
    pub(crate) slice: Vec<Op>,
    /// Carried values, by their number.
    pub(crate) carried: Vec<usize>,
}

/// What to do with a loop.
#[derive(Clone)]
pub(crate) struct PipelinePlan {
    pub(crate) copies: Vec<PipelinedLoad>,
    pub(crate) ahead: AddressSlice,
    /// Iterations in flight.
    pub(crate) stages: usize,
    /// Iterations between the begin of a copy and its use.
    pub(crate) distance: usize,
    /// Buffers of each block.
    pub(crate) slots: usize,
    /// Whether warp groups read the buffers.
    pub(crate) groups: bool,
    /// Whether copies are begun in front of the reads of an iteration, into a buffer that nobody reads then.
    pub(crate) early: bool,
    /// Registers of a lane, in words, for what an iteration holds.
    pub(crate) room: u64,
}

/// The plan for a loop with so many stages, if copies can be begun ahead in it.
pub(crate) fn plan(
    module: &Module,
    op: Op,
    stages: usize,
    axis: &AxisTable,
    machine: &Machine,
) -> Option<PipelinePlan> {
    let body = module.entry_of(op);
    if stages < 2 || has_inner_loop(module, body) {
        return None;
    }
    let inside = module.walk(op);
    let mut copies: Vec<PipelinedLoad> = module
        .ops(body)
        .filter(|&load| is_block_load(module, load) && may_be_ahead(module, body, load, &inside))
        .filter_map(|load| bulk_copy_of(module, body, load).or_else(|| copy_of(module, load, axis, machine)))
        .collect();
    if copies.is_empty() {
        return None;
    }
    let loads: Vec<Op> = copies.iter().map(|copy| copy.load).collect();
    let ahead = AddressSlice::of(module, body, &loads)?;
    // A load that addresses are made of must stay a load.
    copies.retain(|copy| !ahead.slice.contains(&copy.load));
    let groups = copies.iter().any(|copy| is_read_by_groups(module, copy.load));
    let distance = stages - 1;
    let slots = if groups { stages } else { stages - 1 };
    (!copies.is_empty()).then_some(PipelinePlan {
        copies,
        ahead,
        stages,
        distance,
        slots,
        groups,
        early: false,
        room: u64::from(machine.lane_registers).saturating_sub(RESERVE),
    })
}

/// Whether a load of a loop, all of whose operations are `inside`, can be begun ahead, and should be: where there are
/// dots, for these alone.
pub(super) fn may_be_ahead(module: &Module, body: Block, load: Op, inside: &[Op]) -> bool {
    let has_dots = inside.iter().any(|&inner| is_dot(module, inner));
    (!has_dots || feeds_dot(module, Some(body), load))
        && AddressSlice::of(module, body, &[load]).is_some()
        && !reads_what_is_written(module, load, inside)
}

impl PipelinePlan {
    /// Whether there are copies of one kind.
    pub(crate) fn has(&self, bulk: bool) -> bool {
        self.copies.iter().any(|copy| copy.bulk == bulk)
    }
}

pub(super) fn has_inner_loop(module: &Module, body: Block) -> bool {
    let mut around = module.ops(body).filter(|&op| !module.regions(op).is_empty());
    around.any(|op| module.walk(op).iter().any(|&inner| module.has(inner, Traits::LOOP)))
}

pub(crate) fn is_dot(module: &Module, op: Op) -> bool {
    MatmulOp::of(module, op).is_some()
}

/// Whether the value of a load becomes an operand of a dot, in one block if one is named: that of a loop, whose next
/// iterations are looked at too.
pub(crate) fn feeds_dot(module: &Module, within: Option<Block>, load: Op) -> bool {
    let mut stack = vec![module.result(load, 0)];
    let (mut seen, mut carried) = (FxHashSet::default(), FxHashSet::default());
    while let Some(value) = stack.pop() {
        for &(user, slot) in module.uses(value) {
            if is_dot(module, user) && slot < 2 {
                return true;
            }
            if let Some(body) = within.filter(|&body| module.last_op(body) == Some(user)) {
                let next = module.args(body)[slot as usize + 1];
                stack.extend(carried.insert(next).then_some(next));
                continue;
            }
            let moves = module.has(user, Traits::PURE)
                || AllocOp::is(module, user)
                || InlineAsmOp::of(module, user).is_some();
            let near = within.is_none_or(|body| module.block_of(user) == Some(body));
            let stays = near && !module.has(user, Traits::TERMINATOR);
            if moves && stays && !is_dot(module, user) && seen.insert(user) {
                stack.extend(module.results(user));
            }
        }
    }
    false
}

fn is_read_by_groups(module: &Module, load: Op) -> bool {
    module.uses(module.result(load, 0)).iter().any(|&(user, _)| AllocOp::is(module, user))
}

/// A load by a descriptor that is there before the loop: iterations that make their own have it too late.
fn bulk_copy_of(module: &Module, body: Block, load: Op) -> Option<PipelinedLoad> {
    let of = DescriptorAccessOp::load(module, load)?;
    let is_of_iteration = match module.def(of.desc()) {
        Def::Arg(block, _) => block == body,
        Def::Result(make, _) => module.block_of(make) == Some(body),
    };
    if is_of_iteration {
        return None;
    }
    Some(PipelinedLoad {
        load,
        shared: bulk_copies::shared_for(module, load)?,
        vector: 0,
        other: None,
        bulk: true,
    })
}

/// A load whose block lanes can copy to shared memory.
pub(crate) fn copy_of(
    module: &Module,
    load: Op,
    axis: &AxisTable,
    machine: &Machine,
) -> Option<PipelinedLoad> {
    let value = module.result(load, 0);
    let ty = module.ty(value);
    let of = AccessOp::load(module, load)?;
    if !is_tensor(ty) || of.volatile() {
        return None;
    }
    let access = memory_access(module, load, axis, u64::from(machine.vector_bytes))?;
    let encoding = Encoding::of(ty)?;
    let vector = access.whole_vector().min(access.in_registers(encoding));
    let bytes = elem_bytes(elem(ty));
    if vector * bytes < machine.narrowest_copy() {
        return None;
    }
    let other = of.other().filter(|&other| module.constant(other).and_then(splat_bits) != Some(0));
    let outside =
        |value: Value| module.def_op(value).is_none_or(|def| module.block_of(def) != module.block_of(load));
    if other.is_some_and(|other| !outside(other)) {
        return None;
    }
    let shared = shared_for(module, value, access.shape, bytes, encoding);
    Some(PipelinedLoad { load, shared, vector, other, bulk: false })
}

/// How users want the block to lie in shared memory.
fn shared_for(
    module: &Module,
    value: Value,
    shape: &[i64],
    bytes: u64,
    encoding: &Encoding,
) -> SharedEncoding {
    for &(user, _) in module.uses(value) {
        if AllocOp::is(module, user)
            && let Some(shared) = SharedEncoding::of(module.ty(module.result(user, 0)))
        {
            return shared.clone();
        }
    }
    if module.uses(value).iter().any(|&(user, _)| becomes_operand(module, user)) {
        return swizzled(shape, bytes, &encoding.order(), encoding.cga());
    }
    SharedEncoding::Swizzled {
        vec: 1,
        per_phase: 1,
        max_phase: 1,
        order: encoding.order(),
        cga: encoding.cga(),
    }
}

/// Whether an operation puts a value into the layout of an operand of a dot.
fn becomes_operand(module: &Module, user: Op) -> bool {
    let users_do = |module: &Module| {
        module.uses(module.result(user, 0)).iter().any(|&(next, _)| module.is(next, &CONVERT_LAYOUT))
    };
    module.is(user, &CONVERT_LAYOUT)
        && matches!(Encoding::of(module.ty(module.result(user, 0))), Some(Encoding::DotOp { .. }))
        || module.is(user, &TRANS) && users_do(module)
}

/// Whether an operation only chooses between what is computed in its branches: of persistent kernels that go from tile
/// to tile in one loop, the new tile's offsets or the old one's.
fn is_choice(module: &Module, op: Op) -> bool {
    let is_part = |&inner: &Op| {
        inner == op
            || module.is(inner, &IF)
            || module.has(inner, Traits::TERMINATOR)
            || module.has(inner, Traits::PURE) && module.regions(inner).is_empty() && !is_dot(module, inner)
    };
    module.is(op, &IF) && module.walk(op).iter().all(is_part)
}

/// What an operation and those in its regions read of what stands around it.
pub(super) fn reads(module: &Module, op: Op) -> Vec<Value> {
    let inner = module.walk(op);
    let operands = inner.iter().flat_map(|&inner| module.operands(inner).to_vec());
    operands.filter(|&value| module.is_outside(value, op)).collect()
}

/// Whether a view of shared memory is of a buffer that copies made ahead fill, or of memory from outside a loop.
pub(crate) fn outlives_iteration(module: &Module, body: Block, view: Value, ring: &FxHashSet<Value>) -> bool {
    let mut view = view;
    loop {
        if ring.contains(&view) {
            return true;
        }
        match module.def(view) {
            Def::Arg(..) => return false,
            Def::Result(op, _) if module.block_of(op) != Some(body) => return true,
            Def::Result(op, _) => match MemdescTransOp::of(module, op) {
                Some(trans) => view = trans.src(),
                None => return false,
            },
        }
    }
}

impl AddressSlice {
    /// What the addresses and masks of loads depend on; `None` if that cannot be computed ahead.
    pub(crate) fn of(module: &Module, body: Block, loads: &[Op]) -> Option<AddressSlice> {
        let mut values: Vec<Value> = Vec::new();
        for &load in loads {
            match AccessOp::of(module, load) {
                Some(access) => values.extend([access.ptr()].into_iter().chain(access.mask())),
                None => values.extend(DescriptorAccessOp::new(module, load).indices()),
            }
        }
        AddressSlice::of_values(module, body, &values)
    }

    /// What values depend on; `None` if that cannot be computed ahead.
    pub(crate) fn of_values(module: &Module, body: Block, values: &[Value]) -> Option<AddressSlice> {
        let mut members: FxHashSet<Op> = FxHashSet::default();
        let mut carried: Vec<usize> = Vec::new();
        let mut stack = values.to_vec();
        let last = module.last_op(body)?;
        while let Some(value) = stack.pop() {
            match module.def(value) {
                Def::Arg(block, index) if block == body && index > 0 => {
                    let index = index as usize - 1;
                    if !carried.contains(&index) {
                        carried.push(index);
                        stack.push(module.operand(last, index));
                    }
                }
                Def::Result(op, _) if module.block_of(op) == Some(body) => {
                    let plain = module.has(op, Traits::PURE) || AccessOp::load(module, op).is_some();
                    let plain = plain && module.regions(op).is_empty() && !is_dot(module, op);
                    if !plain && !is_choice(module, op) {
                        return None;
                    }
                    if members.insert(op) {
                        stack.extend(reads(module, op));
                    }
                }
                Def::Arg(..) | Def::Result(..) => {}
            }
        }
        carried.sort_unstable();
        let slice = module.ops(body).filter(|op| members.contains(op)).collect();
        Some(AddressSlice { slice, carried })
    }
}
