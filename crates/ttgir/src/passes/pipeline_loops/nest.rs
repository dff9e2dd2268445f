//! Which loops begin their copies in one role: the loops and conditions around them as a tree, with what copies depend
//! on in each of their blocks.
//!
//! ```text
//! scf.for %tile … {                     Part { for %tile, the block needs %row = f(%tile), parts:
//!   scf.for %k … { load }                 Part { for %k, copies },
//!   scf.if %odd { scf.for %k … { load } }     Part { if %odd, parts: Part { for %k, copies } }
//! }                                     }
//! scf.for %k … { load }                 Part { for %k, copies }
//! ```
//!
//! Loops that follow each other are in one tree if their copies fit into one ring: blocks of the same types that lie
//! alike.

use super::plan::{self, AddressSlice, PipelinePlan};
use crate::from_ttir::is_written;
use crate::ops::group_dot::WARP_GROUP_DOT;
use crate::passes::bulk_copies::bytes_of;
use crate::passes::context::Context;
use crate::passes::residency::{FEW_STAGES, Residency, dots_of};
use crate::passes::touches::reads_what_is_written;
use crate::types::memdesc;
use ir::{Block, Def, Module, Op, Traits, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use ttir::axis::AxisTable;
use ttir::ops::control::{FLATTEN, FOR, ForOp, IF, IfOp, WARP_SPECIALIZE as ASKED};
use ttir::ops::descriptor::DescriptorAccessOp;
use ttir::ops::func::kernels;
use ttir::types::{elem_bytes, is_tensor, shape};

/// A loop or a condition that both roles go through.
pub(super) struct Part {
    pub(super) op: Op,
    /// Its blocks: that of a loop, or those of a condition.
    pub(super) bodies: Vec<Body>,
}

/// A block of a part.
pub(super) struct Body {
    pub(super) block: Block,
    /// What copies depend on in it.
    pub(super) ahead: AddressSlice,
    pub(super) inner: Inner,
}

/// What begins copies in a block.
pub(super) enum Inner {
    /// Each iteration does.
    Copies(Box<PipelinePlan>),
    /// Parts do, one after the other.
    Parts(Vec<Part>),
}

/// All that begins copies into one ring, in the block of a kernel.
pub(super) struct Nest {
    pub(super) parts: Vec<Part>,
    /// From the first part to the last one: these, and what stands between them.
    pub(super) span: Vec<Op>,
    /// What copies depend on of that.
    pub(super) between: Vec<Op>,
}

/// Loops with copies, and their plans.
type Plans = FxHashMap<Op, PipelinePlan>;

/// Why warps cannot have roles.
type Reason = &'static str;

/// A loop and the loops and conditions around it, the innermost first.
fn around(module: &Module, op: Op) -> Vec<Op> {
    let is_part = |op: &Op| module.is(*op, &FOR) || module.is(*op, &IF);
    std::iter::successors(Some(op), |&op| module.parent_op(op).filter(is_part)).collect()
}

/// A loop and the loops around it, the innermost first.
fn loops_around(module: &Module, op: Op) -> Vec<Op> {
    around(module, op).into_iter().filter(|&op| module.is(op, &FOR)).collect()
}

/// Whether a loop or one around it asks for roles.
pub(super) fn says(module: &Module, op: Op) -> bool {
    loops_around(module, op).iter().any(|&op| module.extra_attr(op, ASKED.name).is_some())
}

/// Whether warps of a loop gain by it that others begin the copies. Those of plain loops over one dot do not: their
/// copies run as far ahead without it. Warps without roles wait for each other in each iteration before a buffer is
/// filled again, so they all compute at one time and make dots at another where an iteration has several dots
/// (attention); and a loop around the loop has an epilogue, under which the copies go on. What that is worth:
/// `docs/notes/gpu.md`.
pub(super) fn pays(module: &Module, op: Op) -> bool {
    let body = ForOp::new(module, op).body();
    let dots = module.ops(body).filter(|&inner| module.is(inner, &WARP_GROUP_DOT)).count();
    let outer = &loops_around(module, op)[1..];
    let is_flat = !outer.is_empty() && outer.iter().all(|&op| module.extra_attr(op, FLATTEN.name).is_some());
    dots > 1 || dots == 1 && is_flat
}

/// Whether an SM that has room for several programs of a loop over several dots would hold a single one if each had a
/// warp more: one that begins copies does not make good for that. Where rows are loaded beside matrices, whether it
/// would hold fewer (gradients of keys, 64×64 blocks: two in place of three, 350 TFLOP/s in place of 400); and where a
/// ring is so short that programs wait for it (attention forward with two stages, H200: 64×64 blocks, d = 64, 1.21
/// times as fast without roles, 64×32, d = 128, 1.28, 128×64 by four warps 1.52, 64×16, d = 256, 1.6).
pub(super) fn takes_a_program(
    module: &Module,
    op: Op,
    plan: &PipelinePlan,
    (context, residency): (&Context, &Residency),
) -> bool {
    let dots = dots_of(module, op);
    let bytes = |memory: Value| {
        memdesc(module.ty(memory))
            .map_or(0, |of| of.shape.iter().product::<i64>() as u64 * elem_bytes(of.elem))
    };
    let outside: FxHashSet<Value> = dots
        .iter()
        .flat_map(|&dot| module.operands(dot).to_vec())
        .filter(|&operand| module.is_outside(operand, op))
        .collect();
    let ring: u64 = plan.copies.iter().map(|copy| bytes_of(module, copy.load)).sum();
    let shared = plan.stages as u64 * ring + outside.into_iter().map(bytes).sum::<u64>();
    let has_rows = plan.copies.iter().any(|copy| shape(module.ty(module.result(copy.load, 0))).len() == 1);
    let is_short = plan.stages <= FEW_STAGES;
    let takes = |[alone, beside]: [u64; 2]| {
        let alone = if is_short && residency.may_hold_two(module, op) { alone.max(2) } else { alone };
        alone > 1 && beside == 1 || (has_rows || is_short) && beside < alone
    };
    dots.len() > 1
        && 2 * shared <= u64::from(context.machine.sm_shared_bytes)
        && residency
            .beside_a_warp(module, op)
            .or_else(|| is_short.then(|| residency.largest_beside_a_warp()))
            .is_some_and(takes)
}

impl Nest {
    /// What begins its copies together with a loop of this plan: the loop, others inside of the same outermost loop or
    /// condition, and those that follow. `wants` says which loops should have roles.
    ///
    /// # Errors
    /// Why warps of the loop cannot have roles.
    pub(super) fn of(
        module: &Module,
        op: Op,
        plan: &PipelinePlan,
        (context, axis): (&Context, &AxisTable),
        wants: &dyn Fn(Op) -> bool,
    ) -> Result<Nest, Reason> {
        let outermost = *around(module, op).last().expect("the loop itself is one");
        check_program(module, outermost, context)?;
        check(module, op, plan, &[outermost])?;
        // What other loops of an operation can fill the same buffers, if it is the last one of a span.
        let others = |span: &[Op]| -> Plans {
            let root = *span.last().expect("it has a part");
            let loops = module.walk(root).into_iter().filter(|&other| module.is(other, &FOR));
            let loops = loops.filter(|&other| other != op && wants(other));
            let plans = loops.filter_map(|other| {
                let stages = ForOp::new(module, other).stages() as usize;
                plan::plan(module, other, stages, axis, context.machine).map(|plan| (other, plan))
            });
            let fits = |(other, own): &(Op, PipelinePlan)| {
                share_ring(module, plan, own) && check(module, *other, own, span).is_ok()
            };
            plans.filter(fits).collect()
        };
        let alone = Plans::from_iter([(op, plan.clone())]);
        let mut plans = others(&[outermost]);
        plans.extend(alone.clone());
        let root = Tree { module, plans: &plans }.part(outermost);
        let (part, _) = root.or_else(|_| Tree { module, plans: &alone }.part(outermost))?;
        let mut nest = Nest { parts: vec![part], span: vec![outermost], between: Vec::new() };
        let mut span = nest.span.clone();
        while let Some(next) = module.next(*span.last().expect("it has a part")) {
            span.push(next);
            if !module.walk(next).iter().any(|&inner| module.has(inner, Traits::LOOP)) {
                continue;
            }
            let plans = others(&span);
            let part = if plans.is_empty() { None } else { Tree { module, plans: &plans }.part(next).ok() };
            let found = part.and_then(|(part, needs)| Some((part, between(module, &span, &needs)?)));
            let Some((part, needs)) = found.filter(|_| gives_no_memory(module, &span)) else { break };
            nest.parts.push(part);
            nest.between.extend(needs);
            nest.span.clone_from(&span);
        }
        nest.between.sort_unstable_by_key(|op| nest.span.iter().position(|own| own == op));
        nest.between.dedup();
        Ok(nest)
    }

    /// The loops with copies and their plans, in order.
    pub(super) fn leaves(&self) -> Vec<(Op, &PipelinePlan)> {
        let mut found = Vec::new();
        self.parts.iter().for_each(|part| part.leaves(&mut found));
        found
    }
}

impl Part {
    /// Whether a loop is around a loop with copies.
    pub(super) fn has_outer_loop(&self, module: &Module) -> bool {
        let is_outer = module.is(self.op, &FOR) && self.bodies.iter().any(|body| !body.parts().is_empty());
        is_outer || self.bodies.iter().flat_map(Body::parts).any(|part| part.has_outer_loop(module))
    }

    fn leaves<'a>(&'a self, found: &mut Vec<(Op, &'a PipelinePlan)>) {
        for body in &self.bodies {
            match &body.inner {
                Inner::Copies(plan) => found.push((self.op, plan)),
                Inner::Parts(parts) => parts.iter().for_each(|part| part.leaves(found)),
            }
        }
    }
}

impl Body {
    fn parts(&self) -> &[Part] {
        match &self.inner {
            Inner::Parts(parts) => parts,
            Inner::Copies(_) => &[],
        }
    }
}

/// Whether a program can have roles in the block around an operation.
fn check_program(module: &Module, outermost: Op, context: &Context) -> Result<(), Reason> {
    if !kernels(module).any(|kernel| Some(kernel.op) == module.parent_op(outermost)) {
        return Err("it stands inside of a loop that does not count, or a function that is called");
    }
    if context.config.num_ctas > 1 {
        return Err("the blocks of a cluster cannot have roles");
    }
    // Registers are given away by whole groups of four warps.
    if context.config.num_warps + 4 > context.machine.max_warps {
        return Err("the program has as many warps as there can be");
    }
    Ok(())
}

/// Whether the copies of a loop can be begun by warps that run ahead through a span, of which the last operation is or
/// holds the loop.
fn check(module: &Module, op: Op, plan: &PipelinePlan, span: &[Op]) -> Result<(), Reason> {
    if plan.has(false) {
        return Err("it has loads that are not copied in bulk");
    }
    let loops = loops_around(module, op);
    let says = |op: &Op| [&FLATTEN, &ASKED].iter().any(|key| module.extra_attr(*op, key.name).is_some());
    if !loops[1..].iter().all(says) {
        return Err("a loop around it says neither `warp_specialize` nor `flatten`");
    }
    let inside = span.iter().flat_map(|&own| module.walk(own));
    let before: Vec<Op> = inside.take_while(|&inner| inner != op).collect();
    let writes = before.iter().any(|&inner| module.row(inner).writes());
    let goes_ahead = loops.len() > 1 || writes;
    for copy in &plan.copies {
        let desc = DescriptorAccessOp::new(module, copy.load).desc();
        if module.def_op(desc).is_some_and(|def| span.iter().any(|&own| module.is_inside(def, own))) {
            return Err("a descriptor is made inside of it");
        }
        let sees = loops.len() == 1 && reads_what_is_written(module, copy.load, &before);
        if sees || goes_ahead && is_written(module, desc) {
            return Err("the kernel may write to what a descriptor describes");
        }
    }
    Ok(())
}

/// Whether the copies of two loops fit into the buffers of one ring.
fn share_ring(module: &Module, plan: &PipelinePlan, other: &PipelinePlan) -> bool {
    let ty = |load: Op| module.ty(module.result(load, 0));
    let mut pairs = plan.copies.iter().zip(&other.copies);
    plan.copies.len() == other.copies.len()
        && pairs.all(|(one, other)| {
            let same = ty(one.load) == ty(other.load) && one.shared == other.shared;
            same && one.bulk == other.bulk
        })
}

/// What values depend on between the parts of a span; `None` if the role that begins copies cannot compute that.
fn between(module: &Module, span: &[Op], needs: &[Value]) -> Option<Vec<Op>> {
    let own: FxHashSet<Op> = span.iter().copied().collect();
    let mut found = FxHashSet::default();
    let mut stack = needs.to_vec();
    while let Some(value) = stack.pop() {
        let Some(op) = module.def_op(value).filter(|op| own.contains(op)) else { continue };
        if !is_simple(module, op) {
            return None;
        }
        if found.insert(op) {
            stack.extend(module.operands(op));
        }
    }
    Some(found.into_iter().collect())
}

/// Whether the role that begins copies can run an operation as well.
fn is_simple(module: &Module, op: Op) -> bool {
    let is_scalar = !module.results(op).iter().any(|&value| is_tensor(module.ty(value)));
    is_scalar && module.has(op, Traits::PURE) && module.regions(op).is_empty()
}

/// Whether what stands between the parts of a span leaves no memory to what stands behind it.
fn gives_no_memory(module: &Module, span: &[Op]) -> bool {
    let is_memory = |value: Value| crate::types::memdesc(module.ty(value)).is_some();
    let values = span.iter().flat_map(|&op| module.results(op)).copied();
    values.filter(|&value| is_memory(value)).all(|value| {
        module.uses(value).iter().all(|&(user, _)| span.iter().any(|&own| module.is_inside(user, own)))
    })
}

/// Whether a value is defined in the regions of an operation; its results are not.
fn is_within(module: &Module, value: Value, around: Op) -> bool {
    !module.is_outside(value, around) && !matches!(module.def(value), Def::Result(op, _) if op == around)
}

/// Makes parts of loops with these plans and of what stands around them.
struct Tree<'a> {
    module: &'a Module,
    plans: &'a Plans,
}

impl Tree<'_> {
    fn has_copies(&self, op: Op) -> bool {
        self.module.walk(op).iter().any(|inner| self.plans.contains_key(inner))
    }

    /// A part, and what it needs of what stands around it.
    fn part(&self, op: Op) -> Result<(Part, Vec<Value>), Reason> {
        let module = self.module;
        let blocks: Vec<Block> = match IfOp::of(module, op) {
            Some(of) => of.blocks().collect(),
            None if module.is(op, &FOR) => vec![ForOp::new(module, op).body()],
            None => return Err("it stands inside of a loop that does not count"),
        };
        let mut needs = Vec::new();
        let mut bodies = Vec::new();
        for block in blocks {
            let (inner, wanted) = self.inner(op, block)?;
            let (ahead, more) = slice(module, (op, block), &wanted)?;
            needs.extend(more);
            bodies.push(Body { block, ahead, inner });
        }
        match ForOp::of(module, op) {
            Some(of) => {
                needs.extend([of.lower(), of.upper(), of.step()]);
                needs.extend(bodies[0].ahead.carried.iter().map(|&number| of.inits()[number]));
            }
            None => needs.push(IfOp::new(module, op).condition()),
        }
        Ok((Part { op, bodies }, needs))
    }

    /// What begins copies in a block of an operation, and what that needs.
    fn inner(&self, op: Op, block: Block) -> Result<(Inner, Vec<Value>), Reason> {
        let module = self.module;
        if let Some(plan) = self.plans.get(&op) {
            let indices = |load: Op| DescriptorAccessOp::new(module, load).indices().to_vec();
            let needs = plan.copies.iter().flat_map(|copy| indices(copy.load)).collect();
            return Ok((Inner::Copies(Box::new(plan.clone())), needs));
        }
        let mut needs = Vec::new();
        let mut parts = Vec::new();
        for inner in module.ops(block).filter(|&inner| self.has_copies(inner)) {
            let (part, own) = self.part(inner)?;
            parts.push(part);
            needs.extend(own);
        }
        Ok((Inner::Parts(parts), needs))
    }
}

/// What values depend on in a block, and what that needs of what stands around the operation of the block.
fn slice(
    module: &Module,
    (op, block): (Op, Block),
    wanted: &[Value],
) -> Result<(AddressSlice, Vec<Value>), Reason> {
    let within = |value: &Value| is_within(module, *value, op);
    let (own, mut needs): (Vec<Value>, Vec<Value>) = wanted.iter().copied().partition(within);
    let ahead = AddressSlice::of_values(module, block, &own)
        .ok_or("where a copy begins depends on what it computes")?;
    if !ahead.slice.iter().all(|&inner| module.has(inner, Traits::PURE)) {
        return Err("where a copy begins is loaded");
    }
    if !ahead.slice.iter().all(|&inner| is_simple(module, inner)) {
        return Err("where a copy begins is computed from blocks");
    }
    let yielded = ttir::ops::control::yielded(module, block);
    let outside = ahead.carried.iter().map(|&number| yielded[number]);
    let operands = ahead.slice.iter().flat_map(|&inner| module.operands(inner).to_vec());
    needs.extend(outside.chain(operands).filter(|value| !within(value)));
    Ok((ahead, needs))
}
