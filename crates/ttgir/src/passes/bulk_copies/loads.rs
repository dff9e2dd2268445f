//! Loads by descriptors that no loop has begun ahead: each becomes a bulk copy that begins where the load stands and is
//! waited for where the block is first wanted, so that copies which stand together are under way together. In a loop
//! their barriers are made once, in front of it, and each iteration waits for their next phase.
//!
//! ```text
//! scf.for %i = … {                              %b = ttg.local_alloc ; ttng.init_barrier %b[0], 1
//!   %x = tt.descriptor_load %d[%i, %j]          scf.for %i = … iter_args(%last = 1) {
//!   %y = tt.descriptor_load %e[%i, %k]            %phase = arith.xori %last, 1
//!   use(%x) ; use(%y)                             ttng.barrier_expect %b[0], 16384, %true
//! }                                               ttng.async_tma_copy_global_to_local %d[%i, %j] %m, %b[0], %true
//!                                        =>       ttng.async_tma_copy_global_to_local %e[%i, %k] %n, %b[0], %true
//!                                                 ttng.wait_barrier %b[0], %phase
//!                                                 use(%m) ; use(%n)
//!                                                 scf.yield %phase
//!                                               }
//!                                               ttng.inval_barrier %b[0]
//! ```
//!
//! Left out: a copy is not under way past what may write to the device's memory, which may be what it reads, by another
//! parameter too; and blocks that lanes load into registers wait in shared memory for no more than [`ROOM`] bytes.

use super::build::{
    self, BulkTile, barrier_at, bytes_of, end_barriers, expect, make_barriers, shared_for, wait,
};
use crate::SharedEncoding;
use crate::ops::shared::{AllocOp, MemdescTransOp, allocate};
use crate::passes::buffer_reads::read_instead;
use crate::passes::carried::{carry_through, yield_as};
use crate::passes::touches::may_write;
use crate::types::memdesc_type;
use ir::{Attr, Block, Builder, Module, Op, Place, Traits, Type, Value};
use rustc_hash::FxHashSet;
use ttir::ops::arith_int::XORI;
use ttir::ops::constant::CONSTANT;
use ttir::ops::control::{FOR, ForOp};
use ttir::ops::descriptor::DescriptorAccessOp;
use ttir::types::{elem, shape};

/// Bytes of shared memory in which blocks wait until lanes load them into registers: what two blocks of 128x64 numbers
/// of 16 bits take. Blocks that stay in shared memory are there anyway.
const ROOM: u64 = 32 << 10;

/// Makes bulk copies of the loads of a function.
pub(super) fn copy_all(module: &mut Module, function: Op) {
    let mut blocks: Vec<Block> = Vec::new();
    for op in module.walk(function) {
        let block = module.block_of(op).filter(|_| is_copied(module, op));
        blocks.extend(block.filter(|block| blocks.last() != Some(block)));
    }
    let mut seen = FxHashSet::default();
    for block in blocks.into_iter().filter(|&block| seen.insert(block)) {
        let groups = groups(module, block);
        copy_groups(module, block, &groups);
    }
}

fn is_copied(module: &Module, op: Op) -> bool {
    DescriptorAccessOp::load(module, op).is_some() && shared_for(module, op).is_some()
}

/// Copies that one barrier counts, in order, as they are waited for in front of the same operation.
struct Group {
    loads: Vec<Op>,
    wait: Op,
}

/// A load whose block nobody has asked for yet.
struct Pending {
    load: Op,
    /// The block, and views of the shared memory that it comes to.
    values: FxHashSet<Value>,
    /// Bytes that wait in shared memory for lanes alone.
    bytes: u64,
}

/// The loads of a block in groups, in the order of their waits.
fn groups(module: &Module, block: Block) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut pending: Vec<Pending> = Vec::new();
    for op in module.ops(block) {
        let is_copied = is_copied(module, op);
        let mut own = is_copied.then(|| Pending::of(module, op));
        let held: u64 = pending.iter().chain(&own).map(|copy| copy.bytes).sum();
        let inside = module.walk(op);
        let ends = module.has(op, Traits::TERMINATOR)
            || inside.iter().any(|&inner| may_write(module, inner))
            || own.as_ref().is_some_and(|own| own.bytes > 0) && held > ROOM;
        let is_due = |copy: &mut Pending| ends || copy.is_wanted(module, op, &inside);
        let due: Vec<Op> = pending.extract_if(.., is_due).map(|copy| copy.load).collect();
        if !due.is_empty() {
            groups.push(Group { loads: due, wait: op });
        }
        pending.extend(own.take());
    }
    groups
}

impl Pending {
    fn of(module: &Module, load: Op) -> Pending {
        let block = module.result(load, 0);
        let memory = shared_for(module, load).expect("the caller has looked");
        let is_kept = |&(user, _): &(Op, u32)| is_same_memory(module, user, &memory);
        let bytes = if module.uses(block).iter().all(is_kept) { 0 } else { bytes_of(module, load) };
        Pending { load, values: [block].into_iter().collect(), bytes }
    }

    /// Whether an operation, of which this and its regions consist, reads the block. What only names its memory does
    /// not.
    fn is_wanted(&mut self, module: &Module, op: Op, inside: &[Op]) -> bool {
        let mut operands = inside.iter().flat_map(|&inner| module.operands(inner));
        if !operands.any(|operand| self.values.contains(operand)) {
            return false;
        }
        let memory = shared_for(module, self.load).expect("the caller has looked");
        let is_view = is_same_memory(module, op, &memory) || MemdescTransOp::of(module, op).is_some();
        if is_view {
            self.values.extend(module.results(op));
        }
        !is_view
    }
}

/// Whether an operation puts a block into shared memory as its copy does.
fn is_same_memory(module: &Module, op: Op, memory: &SharedEncoding) -> bool {
    AllocOp::is(module, op) && SharedEncoding::of(module.ty(module.result(op, 0))) == Some(memory)
}

/// Begins the copies of a block and waits for them.
fn copy_groups(module: &mut Module, block: Block, groups: &[Group]) {
    let first = module.ops(block).find(|&op| is_copied(module, op)).expect("a block with loads");
    let loops = loops_around(module, first);
    let start = loops.first().copied().unwrap_or(first);
    let ring = make_barriers(&mut Builder::before(module, start), groups.len());
    let phase = match loops[..] {
        [] => build::number(&mut Builder::before(module, first), 0),
        _ => carry_phase(module, &loops),
    };
    let mut last = start;
    for (number, group) in groups.iter().enumerate() {
        last = copy_group(module, group, (ring, number), phase);
    }
    let last = loops.first().copied().unwrap_or(last);
    let end = module.next(last).expect("neither a loop nor a wait ends a block");
    end_barriers(&mut Builder::before(module, end), ring, groups.len());
}

/// Begins copies where loads stand, and waits for them in front of who wants them, who may be gone then; the wait.
fn copy_group(module: &mut Module, group: &Group, (ring, number): (Value, usize), phase: Value) -> Op {
    let bytes = group.loads.iter().map(|&load| bytes_of(module, load)).sum();
    let mut barrier = None;
    let mut buffers = Vec::new();
    for &load in &group.loads {
        let encoding = shared_for(module, load).expect("it became a copy for that");
        let of = DescriptorAccessOp::new(module, load);
        let (desc, corner, ty) = (of.desc(), of.indices().to_vec(), module.ty(of.block()));
        let mut builder = Builder { loc: module.loc(load), place: Place::Before(load), module };
        let target = allocate(&mut builder, memdesc_type(shape(ty), elem(ty), &encoding, true));
        let yes = builder.build_as(&CONSTANT, &[], &[Some(Attr::Bool(true))], Type::int(1));
        let barrier = *barrier.get_or_insert_with(|| {
            let number = build::number(&mut builder, number as i64);
            let barrier = barrier_at(&mut builder, ring, number);
            expect(&mut builder, barrier, bytes, yes);
            barrier
        });
        build::load(&mut builder, &BulkTile { desc, corner: &corner, target }, barrier, yes);
        buffers.push((load, target));
    }
    let barrier = barrier.expect("a group has loads");
    let mut builder = Builder { loc: module.loc(group.loads[0]), place: Place::Before(group.wait), module };
    let wait = wait(&mut builder, barrier, phase);
    for &(load, _) in &buffers {
        builder.module.move_before(group.wait, load);
    }
    for (load, buffer) in buffers {
        builder.loc = builder.module.loc(load);
        builder.place = Place::Before(load);
        read_instead(&mut builder, load, None, buffer, None);
        builder.module.erase(load);
    }
    wait
}

/// The loops in whose bodies an operation stands, each right in that of the one around it, the outermost first.
fn loops_around(module: &Module, op: Op) -> Vec<Op> {
    let loop_around = |&op: &Op| module.parent_op(op).filter(|&parent| module.is(parent, &FOR));
    let mut loops: Vec<Op> = std::iter::successors(loop_around(&op), loop_around).collect();
    loops.reverse();
    loops
}

/// The phase of barriers that each iteration waits for once: 0 in the first one, and then the other one each time.
fn carry_phase(module: &mut Module, loops: &[Op]) -> Value {
    let before_first = build::number(&mut Builder::before(module, loops[0]), 1);
    let last = carry_through(module, loops, before_first);
    let body = ForOp::new(module, loops[loops.len() - 1]).body();
    let start = module.first_op(body).expect("a body has a terminator");
    let mut builder = Builder::before(module, start);
    let one = build::number(&mut builder, 1);
    let phase = builder.build(&XORI, &[last, one], &[]);
    yield_as(module, body, last, phase);
    phase
}
