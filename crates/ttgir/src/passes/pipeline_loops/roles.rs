//! Loops whose warps have roles: some begin the copies, the others use what was copied.
//!
//! ```text
//!                                          ttg.warp_specialize … default {
//! scf.for … {                                scf.for … { wait until the buffer is full ; use(it) ; arrive: it is empty }
//!   %a = tt.descriptor_load %d[…]    =>    } partition0 num_warps(…) {
//!   use(%a)                                  scf.for … { wait until the buffer is empty ; expect the bytes ; copy }
//! }                                        }
//! ```
//!
//! Every buffer of the ring has two barriers: `full` counts the bytes of its copies, `empty` the warps that have read
//! it. Whoever goes around the ring changes the phase that it waits for; the first time around all buffers are empty. A
//! loop around such a loop, and one around that, are in both roles, and the ring goes on from one of their iterations
//! to the next: the copies run ahead into the next tile while the last one is stored.
//!
//! Used where a loop, or one around it, says `tt.warp_specialize`, and where it pays ([`should_have`]). Who says it
//! promises what `tt.flatten` promises: iterations of loops around do not read by descriptors what earlier ones write.
//! Left out, and said in a remark: loops inside of conditions and of loops that do not count, copies by lanes,
//! addresses that are loaded or made of blocks, clusters.

use super::copies::{Rings, Values, begin_bulk, compare, integer, place};
use super::expand::{Turn, Walk, carry_turn, make_ring, read};
use super::plan::{AddressSlice, Plan};
use crate::from_ttir::is_written;
use crate::machine::Roles;
use crate::ops::barrier::{ARRIVE_BARRIER, ArriveBarrierOp};
use crate::ops::group_dot::{WARP_GROUP_DOT, WARP_GROUP_DOT_WAIT, WarpGroupDotWaitOp};
use crate::ops::roles::{WARP_RETURN, WARP_SPECIALIZE, WARP_YIELD, WarpSpecializeOp};
use crate::ops::shared::LOCAL_DEALLOC;
use crate::passes::bulk_copies::{barrier_at, end_barriers, make_barriers_for, wait};
use crate::passes::context::Context;
use ir::{Attr, Block, Builder, Def, Module, Op, OpInit, Place, Traits, Type, Value};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use ttir::ops::arith_int::{ADDI, XORI};
use ttir::ops::compare::{CmpIPredicate, SELECT};
use ttir::ops::constant::CONSTANT;
use ttir::ops::control::{FLATTEN, FOR, ForOp, WARP_SPECIALIZE as ASKED, YIELD};
use ttir::ops::descriptor::DescriptorLoadOp;
use ttir::ops::func::kernels;
use ttir::types::is_tensor;

/// One warp begins the copies: were there more, each would have to be waited for before a buffer is empty twice.
const PARTITION_WARPS: u32 = 1;
/// From so many warps on, a program has a multiprocessor for itself, and takes the registers that the warp which begins
/// copies leaves.
const MANY_WARPS: u32 = 8;
/// Registers of a lane that only begins copies.
const FEW_REGISTERS: i64 = 24;

/// A loop that is counted through in both roles, and what copies depend on in its body.
struct Level {
    op: Op,
    ahead: AddressSlice,
}

/// A loop with copies and all loops around it, the outermost first.
pub(super) struct Nest(Vec<Level>);

/// What is left to do once the loop waits for its dots where it does.
pub(super) struct Release {
    loops: Vec<Op>,
    barriers: Value,
    turn: Turn,
}

/// Whether a loop should have roles if it can: the one place where that is decided.
pub(super) fn should_have(module: &Module, op: Op, context: &Context) -> bool {
    match context.machine.roles {
        Roles::None => false,
        Roles::Asked => says(module, op),
        Roles::Paying => says(module, op) || pays(module, op),
        Roles::All => true,
    }
}

/// Whether warps of a loop gain by it that others begin the copies. Those of plain loops over one dot do not: their
/// copies run as far ahead without it. Warps without roles wait for each other in each iteration before a buffer is
/// filled again, so they all compute at one time and make dots at another where an iteration has several dots
/// (attention); and a loop around the loop has an epilogue, under which the copies go on. What that is worth:
/// `docs/notes/gpu.md`.
fn pays(module: &Module, op: Op) -> bool {
    let body = ForOp::new(module, op).body();
    let dots = module.ops(body).filter(|&inner| module.is(inner, &WARP_GROUP_DOT)).count();
    let around = &loops_around(module, op)[1..];
    let is_flat =
        !around.is_empty() && around.iter().all(|&op| module.extra_attr(op, FLATTEN.name).is_some());
    dots > 1 || dots == 1 && is_flat
}

/// Whether a loop or one around it asks for roles.
pub(super) fn says(module: &Module, op: Op) -> bool {
    loops_around(module, op).iter().any(|&op| module.extra_attr(op, ASKED.name).is_some())
}

/// A loop and those around it, the innermost first.
fn loops_around(module: &Module, op: Op) -> Vec<Op> {
    let is_loop = |op: &Op| module.is(*op, &FOR);
    std::iter::successors(Some(op), |&op| module.parent_op(op).filter(is_loop)).collect()
}

impl Nest {
    /// The loops of a plan.
    ///
    /// # Errors
    /// Why its warps cannot have roles.
    pub(super) fn of(module: &Module, op: Op, plan: &Plan, context: &Context) -> Result<Nest, &'static str> {
        let loops = loops_around(module, op);
        let outermost = *loops.last().expect("the loop itself is one");
        let around = module.parent_op(outermost);
        if !kernels(module).any(|kernel| Some(kernel.op) == around) {
            return Err(
                "it stands inside of a condition, a loop that does not count, or a function that is called",
            );
        }
        if plan.has(false) {
            return Err("it has loads that are not copied in bulk");
        }
        if context.config.num_ctas > 1 {
            return Err("the blocks of a cluster cannot have roles");
        }
        // Registers are given away by whole groups of four warps.
        if context.config.num_warps + 4 > context.machine.max_warps {
            return Err("the program has as many warps as there can be");
        }
        let says = |op: &Op| [&FLATTEN, &ASKED].iter().any(|key| module.extra_attr(*op, key.name).is_some());
        if !loops[1..].iter().all(says) {
            return Err("a loop around it says neither `warp_specialize` nor `flatten`");
        }
        for copy in &plan.copies {
            let desc = DescriptorLoadOp::new(module, copy.load).desc();
            if is_inside(module, desc, outermost) {
                return Err("a descriptor is made inside of it");
            }
            if loops.len() > 1 && is_written(module, desc) {
                return Err("the kernel may write to what a descriptor describes");
            }
        }
        levels(module, &loops, plan)
    }

    fn loops(&self) -> Vec<Op> {
        self.0.iter().map(|level| level.op).collect()
    }
}

/// What copies depend on in each loop, from the innermost outwards.
fn levels(module: &Module, loops: &[Op], plan: &Plan) -> Result<Nest, &'static str> {
    let indices =
        plan.copies.iter().flat_map(|copy| DescriptorLoadOp::new(module, copy.load).indices().to_vec());
    let mut needs: Vec<Value> = indices.collect();
    let mut levels = Vec::new();
    for &op in loops {
        let body = ForOp::new(module, op).body();
        let within = |value: &Value| is_inside(module, *value, op);
        let own: Vec<Value> = needs.iter().copied().filter(within).collect();
        let ahead = AddressSlice::of_values(module, body, &own)
            .ok_or("where a copy begins depends on what it computes")?;
        let is_scalar = |op: &Op| !module.results(*op).iter().any(|&value| is_tensor(module.ty(value)));
        if !ahead.slice.iter().all(|&inner| module.has(inner, Traits::PURE)) {
            return Err("where a copy begins is loaded");
        }
        if !ahead.slice.iter().all(is_scalar) {
            return Err("where a copy begins is computed from blocks");
        }
        let of = ForOp::new(module, op);
        needs.retain(|value| !within(value));
        needs.extend([of.lower(), of.upper(), of.step()]);
        needs.extend(ahead.carried.iter().map(|&number| of.inits()[number]));
        let outside = ahead.carried.iter().map(|&number| of.yielded()[number]);
        let operands = ahead.slice.iter().flat_map(|&inner| module.operands(inner).to_vec());
        needs.extend(outside.chain(operands).filter(|value| !within(value)));
        levels.push(Level { op, ahead });
    }
    levels.reverse();
    Ok(Nest(levels))
}

/// Whether a value is defined in the regions of an operation; its results are not.
fn is_inside(module: &Module, value: Value, around: Op) -> bool {
    !module.is_outside(value, around) && !matches!(module.def(value), Def::Result(op, _) if op == around)
}

/// Gives the warps of a loop their roles. Gives the views of the buffers that an iteration reads.
pub(super) fn split(
    module: &mut Module,
    nest: &Nest,
    plan: &Plan,
    context: &Context,
) -> (FxHashSet<Value>, Release) {
    let loops = nest.loops();
    let (outer, inner) = (loops[0], *loops.last().expect("a nest has loops"));
    let slots = plan.stages;
    let blocks: Vec<Value> = plan.copies.iter().map(|copy| make_ring(module, outer, copy, slots)).collect();
    let mut builder = Builder::before(module, outer);
    let full = make_barriers_for(&mut builder, slots, 1);
    let empty = make_barriers_for(&mut builder, slots, context.config.num_warps);
    let rings = Rings { blocks, barriers: Some(full) };
    let registers = (context.config.num_warps >= MANY_WARPS).then_some(FEW_REGISTERS);
    let roles = wrap(module, outer, registers);
    begin_copies(module, roles, nest, (plan, slots), (&rings, empty));
    let turn = carry_turn(module, &Walk { loops: &loops, slots, fills_from: None, is_bulk: true });
    let body = ForOp::new(module, inner).body();
    let views = read(module, body, plan, &rings, &turn);
    for copy in &plan.copies {
        module.erase(copy.load);
    }
    let next = module.next(roles).expect("a kernel has a terminator");
    let mut builder = Builder::before(module, next);
    for barriers in [full, empty] {
        end_barriers(&mut builder, barriers, slots);
    }
    for ring in rings.blocks.iter().copied().chain([full, empty]) {
        builder.build_effect(&LOCAL_DEALLOC, &[ring], &[]);
    }
    (views, Release { loops, barriers: empty, turn })
}

/// Puts a loop into the default region of roles; there is a partition beside it, still without operations, whose lanes
/// need so many registers.
fn wrap(module: &mut Module, op: Op, registers: Option<i64>) -> Op {
    let results = module.results(op).to_vec();
    let warps = [i64::from(PARTITION_WARPS)];
    let init = OpInit {
        operands: SmallVec::new(),
        results: results.iter().map(|&value| module.ty(value)).collect(),
        attrs: WarpSpecializeOp::attrs(&warps, registers.as_ref().map(std::slice::from_ref), None, None)
            .into_iter()
            .collect(),
        regions: 2,
    };
    let loc = module.loc(op);
    let roles = module.create(&WARP_SPECIALIZE, init, loc);
    module.insert_before(op, roles);
    for (&old, new) in results.iter().zip(module.results(roles).to_vec()) {
        module.replace_uses(old, new);
    }
    let [default, partition] = [0, 1].map(|region| module.add_block(module.region(roles, region)));
    module.detach(op);
    module.append(default, op);
    for (block, row, values) in [(default, &WARP_YIELD, &results[..]), (partition, &WARP_RETURN, &[])] {
        let init = OpInit { operands: SmallVec::from_slice(values), ..OpInit::default() };
        let end = module.create(row, init, loc);
        module.append(block, end);
    }
    roles
}

/// The partition: counts through all loops and begins the copies.
fn begin_copies(
    module: &mut Module,
    roles: Op,
    nest: &Nest,
    (plan, slots): (&Plan, usize),
    (rings, empty): (&Rings, Value),
) {
    let block = module.entry(module.region(roles, 1));
    let end = module.last_op(block).expect("it was just made");
    let mut builder = Builder::before(module, end);
    let number = Type::int(32);
    let before_first = integer(&mut builder, number, -1);
    // The first time around the ring, the phase in front of the first one is over.
    let phase = integer(&mut builder, number, 1);
    let mut producer = Producer { builder, plan, slots, rings, empty };
    producer.level(&nest.0, &mut Values::default(), [before_first, phase]);
}

/// What makes the partition.
struct Producer<'a, 'm> {
    builder: Builder<'m>,
    plan: &'a Plan,
    slots: usize,
    rings: &'a Rings,
    empty: Value,
}

impl Producer<'_, '_> {
    /// A loop like one of the nest that does nothing but begin copies; gives the number of the last buffer and the
    /// phase it was waited for in.
    fn level(&mut self, levels: &[Level], values: &mut Values, turn: [Value; 2]) -> [Value; 2] {
        let Some((level, inner)) = levels.split_first() else { return self.copies(values, turn) };
        let builder = &mut self.builder;
        let of = ForOp::new(builder.module, level.op);
        let get = |value: Value| values.get(&value).copied().unwrap_or(value);
        let carried = &level.ahead.carried;
        let inits = carried.iter().map(|&number| get(of.inits()[number])).chain(turn);
        let operands: Vec<Value> =
            [of.lower(), of.upper(), of.step()].map(get).into_iter().chain(inits).collect();
        let (old, body) = (builder.module.args(of.body()).to_vec(), of.body());
        let yielded: Vec<Value> = carried.iter().map(|&number| of.yielded()[number]).collect();
        debug_assert!(builder.module.args(body).len() == old.len());
        let (copy, args) = make_loop(builder, level.op, &operands);
        let after = builder.place;
        builder.place = Place::End(builder.module.entry(builder.module.region(copy, 0)));
        values.insert(old[0], args[0]);
        for (&number, &arg) in carried.iter().zip(&args[1..]) {
            values.insert(old[number + 1], arg);
        }
        for &op in &level.ahead.slice {
            let copy = builder.module.clone_op(op, values);
            place(builder, copy);
        }
        let last = [args[args.len() - 2], args[args.len() - 1]];
        let turn = self.level(inner, values, last);
        let next = yielded.iter().map(|value| values.get(value).copied().unwrap_or(*value));
        let next: Vec<Value> = next.chain(turn).collect();
        self.builder.build_effect(&YIELD, &next, &[]);
        self.builder.place = after;
        let results = self.builder.module.results(copy);
        [results[results.len() - 2], results[results.len() - 1]]
    }

    /// The copies of an iteration, once the buffer is empty.
    fn copies(&mut self, values: &mut Values, [before, phase]: [Value; 2]) -> [Value; 2] {
        let builder = &mut self.builder;
        let ty = Type::int(32);
        let [zero, one, slots] = [0, 1, self.slots as i64].map(|number| integer(builder, ty, number));
        let next = builder.build(&ADDI, &[before, one], &[]);
        let is_over = compare(builder, CmpIPredicate::Sge, next, slots);
        let index = builder.build(&SELECT, &[is_over, zero, next], &[]);
        let other = builder.build(&XORI, &[phase, one], &[]);
        let phase = builder.build(&SELECT, &[is_over, other, phase], &[]);
        let empty = barrier_at(builder, self.empty, index);
        wait(builder, empty, phase);
        let yes = builder.build_as(&CONSTANT, &[], &[Some(Attr::Bool(true))], Type::int(1));
        begin_bulk(builder, self.plan, self.rings, values, yes, index);
        [index, phase]
    }
}

/// A loop that carries what is given behind its bounds, with an empty body; and the arguments of that.
fn make_loop(builder: &mut Builder<'_>, like: Op, operands: &[Value]) -> (Op, Vec<Value>) {
    builder.loc = builder.module.loc(like);
    let types: Vec<Type> = operands.iter().map(|&value| builder.module.ty(value)).collect();
    let init = OpInit {
        operands: SmallVec::from_slice(operands),
        results: types[ForOp::NUM_BOUNDS..].iter().copied().collect(),
        attrs: SmallVec::new(),
        regions: 1,
    };
    let op = builder.insert(&FOR, init);
    let block = builder.module.add_block(builder.module.region(op, 0));
    let carried = &types[ForOp::NUM_BOUNDS..];
    let args = [&types[..1], carried].concat();
    let args = args.into_iter().map(|ty| builder.module.add_arg(block, ty)).collect();
    (op, args)
}

/// Says that buffers are empty, once the loop waits for its dots where it does: that of this iteration, or, where dots
/// go on into the next iteration, that of the one before. Whoever has the turn may wait for a buffer that others have
/// read, so they say so before they wait for `turn`.
pub(super) fn release(module: &mut Module, release: &Release, turn: Option<Op>) {
    let inner = *release.loops.last().expect("a nest has loops");
    let of = ForOp::new(module, inner);
    let (body, counter, lower, upper) = (of.body(), of.counter(), of.lower(), of.upper());
    let is_late = goes_on(module, body);
    let place = turn.filter(|_| is_late).unwrap_or_else(|| of.terminator());
    let mut builder = Builder::before(module, place);
    if !is_late {
        let index = release.turn.reads.expect("a ring has several buffers");
        return arrive(&mut builder, release.barriers, index, None);
    }
    let before = release.turn.before.expect("a ring has several buffers");
    let is_later = compare(&mut builder, CmpIPredicate::Sgt, counter, lower);
    arrive(&mut builder, release.barriers, before, Some(is_later));
    if release.loops.len() > 1 {
        let number = module.args(body).iter().position(|&arg| arg == before).expect("the body's") - 1;
        let index = module.result(inner, number);
        let mut builder = Builder::before(module, behind_waits(module, inner));
        let has_any = compare(&mut builder, CmpIPredicate::Slt, lower, upper);
        arrive(&mut builder, release.barriers, index, Some(has_any));
    }
}

/// Every warp says for itself that it has read a buffer.
fn arrive(builder: &mut Builder<'_>, barriers: Value, index: Value, condition: Option<Value>) {
    let barrier = barrier_at(builder, barriers, index);
    let operands: Vec<Value> = [barrier].into_iter().chain(condition).collect();
    builder.build_effect(&ARRIVE_BARRIER, &operands, &ArriveBarrierOp::attrs(1, true));
}

/// Whether dots may go on when an iteration ends.
fn goes_on(module: &Module, body: Block) -> bool {
    let mut goes_on = false;
    for op in module.ops(body) {
        goes_on |= module.is(op, &WARP_GROUP_DOT);
        goes_on &= WarpGroupDotWaitOp::of(module, op).is_none_or(|wait| wait.pendings() != 0);
    }
    goes_on
}

/// What stands behind a loop and the waits for its dots.
fn behind_waits(module: &Module, op: Op) -> Op {
    let mut next = module.next(op).expect("a loop is followed by a terminator");
    while module.is(next, &WARP_GROUP_DOT_WAIT) {
        next = module.next(next).expect("a wait is followed by a terminator");
    }
    next
}
