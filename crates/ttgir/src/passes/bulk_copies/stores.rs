//! Stores by descriptors become bulk copies of blocks that were put into shared memory.
//!
//! ```text
//!                                             %m = ttg.local_alloc %x ; ttng.fence_async_shared
//! tt.descriptor_store %d[%i, %j], %x    =>    ttng.async_tma_copy_local_to_global %d[%i, %j] %m
//!                                             ttng.async_tma_store_wait {read_only}
//! ```
//!
//! Where the code does not show that bulk copies can store there ([`Begin`]), the program chooses:
//!
//! ```text
//! scf.if %ok { ttng.async_tma_copy_local_to_global … } else { ttng.lanes_copy_local_to_global … }
//! ```
//!
//! In a loop that says `tt.flatten`, or whose warps have roles, the buffer is made in front of the loops, and who
//! writes to it waits until the copy of the last iteration has read it: the copy goes on while the next iteration
//! begins. Where shared memory is short, blocks are stored in parts ([`super::parts`]), and all parts of a loop that
//! lie alike share a buffer.
//!
//! What a copy writes is there for others once it has been waited for without `read_only`. That is done behind the copy
//! where the program may read it by the same descriptor, or read or write it by addresses of the same tensor, or behind
//! a loop if that is done outside of it; where it reads by a descriptor of another one, if the two overlap; in front of
//! the next copy to the same tensor, unless the two are of boxes that lie apart; and in front of every barrier of the
//! program and of atomics that order accesses.
//! Loads by descriptors in a loop that says `tt.flatten` do not read what earlier iterations wrote: that is what the
//! word promises.

use super::build::{BulkTile, fence, store, store_wait};
use super::parts::Parts;
use crate::SharedEncoding;
use crate::from_ttir::{Begin, MapPart, map_parts, map_slot, value_of};
use crate::module::store_bytes;
use crate::ops::barrier::FENCE_ASYNC_GLOBAL;
use crate::ops::bulk::{BulkLoadOp, LANES_REDUCE, LANES_STORE, LanesReduceOp};
use crate::ops::roles::WARP_SPECIALIZE;
use crate::ops::shared::{LOCAL_DEALLOC, LOCAL_STORE, allocate, allocate_with};
use crate::passes::touches::Touches;
use crate::roots::{Roots, reachable};
use crate::types::memdesc_type;
use ir::{Attr, Block, Builder, Module, Op, OpInit, Place, Traits, Type, Value};
use smallvec::SmallVec;
use ttir::axis::{self, AxisTable};
use ttir::ops::access::AccessOp;
use ttir::ops::arith_cast::{EXTSI, PTR_TO_INT};
use ttir::ops::arith_int::{ADDI, ANDI, MULI, ORI, SUBI, int_value};
use ttir::ops::atomic::Sem;
use ttir::ops::compare::{CMPI, CmpIOp, CmpIPredicate};
use ttir::ops::constant::CONSTANT;
use ttir::ops::control::{FLATTEN, IF, YIELD};
use ttir::ops::descriptor::{DescriptorAccessOp, MakeDescriptorOp, ReduceKind, atomic_kind};
use ttir::ops::forms::BinaryOp;
use ttir::ops::func::FuncOp;
use ttir::ops::memory::{BARRIER, BarrierOp, BarrierScope};
use ttir::types::{elem, elem_bytes, shape};

/// Makes bulk copies of the stores of a kernel that are kept for them.
pub(super) fn copy_all(module: &mut Module, function: Op) {
    let order = module.walk(function);
    let is_store = |&op: &Op| DescriptorAccessOp::written(module, op).is_some();
    let stores: Vec<Op> = order.iter().copied().filter(is_store).collect();
    if stores.is_empty() {
        return;
    }
    let roots = Roots::of(module, function, &reachable(module, function));
    let plans: Vec<StorePlan> =
        stores.iter().map(|&store| StorePlan::of(module, &roots, &order, &stores, store)).collect();
    for op in order {
        if module.is(op, &BARRIER) || orders_accesses(module, op) {
            publish(module, op);
        }
    }
    let entry = FuncOp::new(module, function).entry();
    let axis = axis::analyze(module, function);
    let mut buffers = Buffers::new(store_bytes(module).is_some());
    for plan in &plans {
        carry_out(module, entry, plan, &mut buffers, &axis);
    }
    let mut left: Vec<Op> = plans.iter().filter_map(|plan| plan.behind).collect();
    left.dedup();
    for around in left {
        let mut builder = behind(module, around);
        store_wait(&mut builder, 0, false);
        barrier(&mut builder);
    }
    let mut loops: Vec<Op> = plans.iter().filter_map(|plan| plan.around).collect();
    loops.dedup();
    for around in loops {
        let mut builder = behind(module, around);
        store_wait(&mut builder, 0, true);
    }
}

/// What becomes of a store.
struct StorePlan {
    store: Op,
    /// The loop in front of which its buffer is made, if it goes on while the loop does.
    around: Option<Op>,
    parts: Parts,
    /// The newest copies that may go on while its buffer is written, and whether the others must be written then; if
    /// not, they must have been read.
    pendings: u32,
    waits: bool,
    written: Written,
    /// The innermost loop behind which all that was copied must be in the device's memory.
    behind: Option<Op>,
}

/// When what was copied must be in the device's memory before the program goes on.
enum Written {
    /// Nothing of the program reads it.
    Later,
    /// Always.
    AtOnce,
    /// Where the tensor overlaps one of these, by the numbers of their parameters.
    IfMeets(Vec<Value>),
}

impl StorePlan {
    fn of(module: &Module, roots: &Roots, order: &[Op], stores: &[Op], store: Op) -> StorePlan {
        let around = flat_loop(module, store);
        let mates = stores.iter().filter(|&&other| around.is_some() && flat_loop(module, other) == around);
        let mates: Vec<Op> = mates.copied().collect();
        let same_block = mates.iter().all(|&other| module.block_of(other) == module.block_of(store));
        let at = stores.iter().position(|&other| other == store);
        let waits = stores
            .iter()
            .enumerate()
            .any(|(other, &before)| is_overwritten(module, before, store, Some(other) < at));
        // Each part is a copy.
        let count = |&op: &Op| parts_of(module, op).count();
        // Those of this iteration that stand in front of it, where they all lie apart.
        let before = mates.iter().take_while(|&&other| other != store);
        let apart = before
            .clone()
            .all(|&other| !same_tensor(module, other, store) || lie_apart(module, other, store));
        let pendings = match (same_block, waits) {
            (false, _) => 0,
            (true, false) => mates.iter().filter(|&&other| other != store).map(count).sum(),
            (true, true) => {
                if apart {
                    before.map(count).sum()
                } else {
                    0
                }
            }
        };
        let (written, behind) = Written::of(module, roots, order, store);
        StorePlan { store, around, parts: parts_of(module, store), pendings, waits, written, behind }
    }

    /// Waits until a part may be written to its buffer.
    fn wait(&self, builder: &mut Builder<'_>, part: u32, shares: bool) {
        let is_first = part == 0;
        if is_first && (self.waits || !shares) {
            store_wait(builder, self.pendings, !self.waits);
        }
        if shares && !(is_first && self.waits && self.pendings == 0) {
            store_wait(builder, 0, true);
        }
    }
}

/// The parts of a store.
fn parts_of(module: &Module, store: Op) -> Parts {
    let of = DescriptorAccessOp::new(module, store);
    let most = store_bytes(module).filter(|_| flat_loop(module, store).is_some());
    let encoding = SharedEncoding::of_box(module.ty(of.desc()));
    most.zip(encoding)
        .map_or(Parts::WHOLE, |(most, encoding)| Parts::of(module.ty(of.block()), &encoding, most))
}

/// The buffers in front of loops.
struct Buffers {
    /// Whether blocks that lie alike share one.
    shared: bool,
    made: Vec<(Op, Value)>,
}

impl Buffers {
    fn new(shared: bool) -> Buffers {
        Buffers { shared, made: Vec::new() }
    }

    fn of(&mut self, module: &mut Module, around: Op, memory: Type) -> Value {
        let fits = |&&(at, buffer): &&(Op, Value)| at == around && module.ty(buffer) == memory;
        if let Some(&(_, buffer)) = self.made.iter().find(fits).filter(|_| self.shared) {
            return buffer;
        }
        let buffer = allocate(&mut Builder::before(module, around), memory);
        behind(module, around).build_effect(&LOCAL_DEALLOC, &[buffer], &[]);
        self.made.push((around, buffer));
        buffer
    }
}

/// The outermost loop around a store, if one of those around it says `tt.flatten`.
fn flat_loop(module: &Module, op: Op) -> Option<Op> {
    let loops: Vec<Op> = loops_around(module, op).collect();
    loops.iter().any(|&each| is_flat(module, each)).then(|| loops.last().copied())?
}

/// Whether iterations of a loop do not read by descriptors what earlier ones wrote: it says so, or its warps have
/// roles, which promises the same.
fn is_flat(module: &Module, op: Op) -> bool {
    let has_roles = module.parent_op(op).is_some_and(|around| module.is(around, &WARP_SPECIALIZE));
    has_roles || module.extra_attr(op, FLATTEN.name).is_some()
}

fn loops_around(module: &Module, op: Op) -> impl Iterator<Item = Op> {
    let parents = std::iter::successors(module.parent_op(op), |&op| module.parent_op(op));
    parents.filter(|&op| module.has(op, Traits::LOOP))
}

fn same_tensor(module: &Module, store: Op, other: Op) -> bool {
    let [one, two] = [store, other].map(|op| DescriptorAccessOp::new(module, op).desc());
    may_be_one(module, one, two)
}

/// Whether a store may write where another has written, which stands in front of it if `is_before`, or runs in an
/// earlier iteration. What is combined in one way may be so in any order.
fn is_overwritten(module: &Module, other: Op, store: Op, is_before: bool) -> bool {
    let [one, two] = [other, store].map(|op| DescriptorAccessOp::new(module, op).kind());
    if one.is_some() && one == two {
        return false;
    }
    let in_loop = loops_around(module, other).any(|each| module.is_inside(store, each));
    same_tensor(module, other, store) && (in_loop || is_before && !lie_apart(module, other, store))
}

/// Whether the boxes of two stores that run one behind the other lie so far apart, along an axis, that neither reaches
/// the other.
fn lie_apart(module: &Module, store: Op, other: Op) -> bool {
    let [one, two] = [store, other].map(|op| DescriptorAccessOp::new(module, op));
    let sizes = shape(module.ty(one.block()));
    let pairs = one.indices().iter().zip(two.indices()).zip(sizes);
    shape(module.ty(two.block())) == sizes
        && pairs.into_iter().any(|((&one, &two), &size)| {
            let ((base, from), (other, to)) = (moved(module, one), moved(module, two));
            base == other && (size as u64..MOST).contains(&from.abs_diff(to))
        })
}

/// The most elements between two boxes that count as apart: sums of 32 bits may wrap around.
const MOST: u64 = 1 << 30;

/// A number as another one, if it is none by itself, and a constant that is added to it.
fn moved(module: &Module, value: Value) -> (Option<Value>, i64) {
    if let Some(number) = int_value(module, value) {
        return (None, number);
    }
    let sum = module.def_op(value).filter(|&op| module.is(op, &ADDI));
    let parts = sum.map(|op| BinaryOp::new(module, op));
    let by = |sum: BinaryOp<'_>| int_value(module, sum.rhs()).filter(|by| by.unsigned_abs() < MOST);
    match parts.and_then(|sum| Some((sum.lhs(), by(sum)?))) {
        Some((from, by)) => (Some(from), by),
        None => (Some(value), 0),
    }
}

impl Written {
    /// And the loop behind which others read it.
    fn of(module: &Module, roots: &Roots, order: &[Op], store: Op) -> (Written, Option<Op>) {
        let own = DescriptorAccessOp::new(module, store).desc();
        let at = |op: Op| order.iter().position(|&other| other == op);
        let (mut others, mut behind) = (Vec::new(), None::<Op>);
        for &op in order {
            let is_behind = at(op) > at(store);
            let both: Vec<Op> =
                loops_around(module, op).filter(|&each| module.is_inside(store, each)).collect();
            if !is_behind && both.is_empty() {
                continue;
            }
            let written = Touches { writes: roots.get(own).to_vec(), ..Touches::default() };
            let desc = read_of(module, op);
            let reads = |desc| (op, desc);
            let meets = written.must_precede(&Touches::own(module, roots, op))
                || desc.is_some_and(|desc| !is_comparable(module, reads(desc), (store, own), &both, &at));
            if meets {
                // The outermost loop that the reader is outside of.
                let Some(left) = loops_around(module, store).take_while(|each| !both.contains(each)).last()
                else {
                    return (Written::AtOnce, None);
                };
                behind = behind.filter(|&known| module.is_inside(known, left)).or(Some(left));
                continue;
            }
            let Some(desc) = desc else { continue };
            let promised = both.iter().all(|&each| is_flat(module, each));
            if (is_behind || !promised) && !others.contains(&desc) {
                others.push(desc);
            }
        }
        (if others.is_empty() { Written::Later } else { Written::IfMeets(others) }, behind)
    }
}

/// Whether a number where a store stands says if a tensor that is read overlaps the one that is stored to, in all
/// iterations of the loops around both. Who makes a descriptor that is stored by waits for all that the one before
/// stored ([`super::kernel_maps`]).
fn is_comparable(
    module: &Module,
    (read, desc): (Op, Value),
    (store, own): (Op, Value),
    both: &[Op],
    at: &dyn Fn(Op) -> Option<usize>,
) -> bool {
    if desc == own {
        return false;
    }
    if map_slot(module, desc).is_some() && map_slot(module, own).is_some() {
        return !may_be_one(module, desc, own);
    }
    let is_known =
        |desc: Value| map_slot(module, desc).is_some() || MakeDescriptorOp::def(module, desc).is_some();
    let made = MakeDescriptorOp::def(module, desc).map(|made| made.op);
    let own_made = MakeDescriptorOp::def(module, own).map(|made| made.op);
    // A loop may make another descriptor each time.
    let renews = |each: &&Op| made.is_some_and(|made| module.is_inside(made, **each));
    let waits = |each: &Op| {
        own_made.is_some_and(|own| {
            module.is_inside(own, *each) && at(own) < at(read) && stands_before(module, own, read)
        })
    };
    is_known(desc)
        && is_known(own)
        && made.is_none_or(|made| at(made) < at(store) && stands_before(module, made, store))
        && both.iter().filter(renews).all(waits)
}

/// Whether an operation stands in a block around another one.
fn stands_before(module: &Module, op: Op, other: Op) -> bool {
    module.block_of(op).is_some_and(|block| blocks_around(module, other).any(|each| each == block))
}

/// The blocks that an operation stands in.
fn blocks_around(module: &Module, op: Op) -> impl Iterator<Item = Block> {
    std::iter::successors(Some(op), |&op| module.parent_op(op)).filter_map(|op| module.block_of(op))
}

/// Whether two descriptors may be of the same tensor, as far as the parameters say that they are made of.
fn may_be_one(module: &Module, desc: Value, other: Value) -> bool {
    match (map_slot(module, desc), map_slot(module, other)) {
        (Some(slot), Some(other)) => slot == other,
        _ => true,
    }
}

/// The descriptor of what an operation reads.
fn read_of(module: &Module, op: Op) -> Option<Value> {
    let desc = DescriptorAccessOp::load(module, op).map(DescriptorAccessOp::desc);
    desc.or_else(|| Some(BulkLoadOp::of(module, op)?.desc()))
}

/// Whether an operation orders what stands in front of it before itself, for other programs.
fn orders_accesses(module: &Module, op: Op) -> bool {
    AccessOp::of(module, op)
        .and_then(AccessOp::sem)
        .is_some_and(|sem| matches!(sem, Sem::Release | Sem::AcqRel))
}

/// Everybody sees in front of an operation what was copied.
fn publish(module: &mut Module, op: Op) {
    let mut builder = Builder::before(module, op);
    store_wait(&mut builder, 0, false);
    if !builder.module.is(op, &BARRIER) {
        barrier(&mut builder);
    }
}

fn barrier(builder: &mut Builder<'_>) {
    builder.build_effect(&BARRIER, &[], &BarrierOp::attrs(BarrierScope::All));
}

fn carry_out(module: &mut Module, entry: Block, plan: &StorePlan, buffers: &mut Buffers, axis: &AxisTable) {
    let of = DescriptorAccessOp::new(module, plan.store);
    let begin = Begin::of(module, plan.store, axis);
    let (desc, corner, value, kind) = (of.desc(), of.indices().to_vec(), of.block(), of.kind());
    let Some(encoding) = SharedEncoding::of_box(module.ty(desc)) else { return };
    let ty = module.ty(value);
    let memory = memdesc_type(&plan.parts.sides(shape(ty)), elem(ty), &encoding, true);
    let meets = match &plan.written {
        Written::IfMeets(others) => Some(meet(module, entry, plan.store, others)),
        _ => None,
    };
    let buffer = plan.around.map(|around| buffers.of(module, around, memory));
    let mut builder = Builder::before(module, plan.store);
    let blocks = plan.parts.split(&mut builder, value);
    for (part, &block) in (0..).zip(&blocks) {
        let target = match buffer {
            Some(buffer) => {
                plan.wait(&mut builder, part, buffers.shared);
                builder.build_effect(&LOCAL_STORE, &[block, buffer], &[]);
                buffer
            }
            None => {
                if plan.waits {
                    store_wait(&mut builder, 0, false);
                }
                allocate_with(&mut builder, block, memory)
            }
        };
        let corner = plan.parts.corner(&mut builder, &corner, shape(ty), part);
        let tile = BulkTile { desc, corner: &corner, target };
        match begin.test(&mut builder, entry) {
            None => begin_copy(&mut builder, &tile, kind),
            Some(test) => {
                let fills: [Fill<'_>; 2] = [&|builder| begin_copy(builder, &tile, kind), &|builder| {
                    copy_by_lanes(builder, entry, &tile, kind)
                }];
                branches(&mut builder, test, &fills);
            }
        }
    }
    match (&plan.written, meets) {
        (Written::AtOnce, _) => {
            store_wait(&mut builder, 0, false);
            barrier(&mut builder);
        }
        (_, Some(meets)) => branches(&mut builder, meets, &[&|builder| store_wait(builder, 0, false)]),
        _ => {}
    }
    if plan.around.is_none() && !matches!(plan.written, Written::AtOnce) {
        store_wait(&mut builder, 0, true);
    }
    module.erase(plan.store);
}

/// Behind a loop.
fn behind(module: &mut Module, around: Op) -> Builder<'_> {
    let next = module.next(around).expect("a loop is followed by a terminator");
    Builder::before(module, next)
}

fn begin_copy(builder: &mut Builder<'_>, tile: &BulkTile<'_>, kind: Option<ReduceKind>) {
    fence(builder);
    store(builder, tile, kind);
}

/// Lets lanes copy a tile, or combine it with what is there. What bulk copies read later comes behind that.
fn copy_by_lanes(builder: &mut Builder<'_>, entry: Block, tile: &BulkTile<'_>, kind: Option<ReduceKind>) {
    let (base, sizes, strides) = extent(builder, entry, tile.desc);
    let operands = [base].into_iter().chain(tile.corner.iter().copied()).chain(sizes).chain(strides);
    let operands: Vec<Value> = operands.chain([tile.target]).collect();
    let kind = kind.map(|kind| {
        let kind = atomic_kind(builder.module.ty(tile.desc), kind);
        kind.expect("what bulk copies combine, memory combines")
    });
    match kind {
        None => builder.build_effect(&LANES_STORE, &operands, &[]),
        Some(kind) => builder.build_effect(&LANES_REDUCE, &operands, &LanesReduceOp::attrs(kind)),
    };
    builder.build_effect(&FENCE_ASYNC_GLOBAL, &[], &[]);
    barrier(builder);
}

type Fill<'a> = &'a dyn Fn(&mut Builder<'_>);

/// Fills the branches of a condition: where it holds, and, if there are two, where it does not.
fn branches(builder: &mut Builder<'_>, condition: Value, fills: &[Fill<'_>]) {
    let init = OpInit {
        operands: SmallVec::from_slice(&[condition]),
        results: SmallVec::new(),
        attrs: SmallVec::new(),
        regions: 2,
    };
    let branch = builder.insert(&IF, init);
    let place = builder.place;
    for (region, fill) in fills.iter().enumerate() {
        let block = builder.module.add_block(builder.module.region(branch, region));
        builder.place = Place::End(block);
        fill(builder);
        builder.build_effect(&YIELD, &[], &[]);
    }
    builder.place = place;
}

/// Whether the tensor of a store overlaps that of one of the descriptors, computed where the kernel begins, or in front
/// of the store if it makes one of them.
fn meet(module: &mut Module, entry: Block, store: Op, others: &[Value]) -> Value {
    let desc = DescriptorAccessOp::new(module, store).desc();
    let first = module.first_op(entry).expect("a kernel has a terminator");
    let by_launch = others.iter().chain([&desc]).all(|&each| map_slot(module, each).is_some());
    let mut builder = Builder::before(module, if by_launch { first } else { store });
    let own = bounds(&mut builder, entry, desc);
    let mut meets: Option<Value> = None;
    for &other in others {
        let other = bounds(&mut builder, entry, other);
        let below = |builder: &mut Builder<'_>, left: Value, right: Value| {
            builder.build(&CMPI, &[left, right], &CmpIOp::attrs(CmpIPredicate::Ult))
        };
        let [one, two] = [below(&mut builder, own[0], other[1]), below(&mut builder, other[0], own[1])];
        let both = builder.build(&ANDI, &[one, two], &[]);
        meets = Some(match meets {
            None => both,
            Some(meets) => builder.build(&ORI, &[meets, both], &[]),
        });
    }
    meets.expect("there are others")
}

/// Where the tensor of a descriptor begins and ends in memory, if it has elements at all.
fn bounds(builder: &mut Builder<'_>, entry: Block, desc: Value) -> [Value; 2] {
    let bytes = elem_bytes(elem(builder.module.ty(desc))) as i64;
    let (base, sizes, strides) = extent(builder, entry, desc);
    let base = builder.build_as(&PTR_TO_INT, &[base], &[], Type::int(64));
    let one = integer(builder, 1);
    let mut elements = one;
    for (size, stride) in sizes.into_iter().zip(strides) {
        let steps = builder.build(&SUBI, &[size, one], &[]);
        let reach = builder.build(&MULI, &[steps, stride], &[]);
        elements = builder.build(&ADDI, &[elements, reach], &[]);
    }
    let bytes = integer(builder, bytes);
    let length = builder.build(&MULI, &[elements, bytes], &[]);
    let end = builder.build(&ADDI, &[base, length], &[]);
    [base, end]
}

/// Base, sizes and strides of the tensor of a descriptor, the last two of 64 bits.
fn extent(builder: &mut Builder<'_>, entry: Block, desc: Value) -> (Value, Vec<Value>, Vec<Value>) {
    let long = Type::int(64);
    if let Some(made) = MakeDescriptorOp::def(builder.module, desc) {
        let (base, sizes, strides) = (made.base(), made.shape().to_vec(), made.strides().to_vec());
        let mut widen = |&value: &Value| {
            let is_long = builder.module.ty(value) == long;
            if is_long { value } else { builder.build_as(&EXTSI, &[value], &[], long) }
        };
        let [sizes, strides] = [sizes, strides].map(|list| list.iter().map(&mut widen).collect::<Vec<_>>());
        return (base, sizes, strides);
    }
    let parts = map_parts(builder.module, desc).expect("a descriptor that launches make");
    let last = [MapPart::Constant(1)];
    let mut of = |part: &MapPart| value_of(builder, entry, part, 64);
    let sizes = parts.sizes.iter().map(&mut of).collect();
    let strides = parts.strides.iter().chain(&last).map(&mut of).collect();
    (builder.module.args(entry)[parts.base], sizes, strides)
}

fn integer(builder: &mut Builder<'_>, value: i64) -> Value {
    let long = Type::int(64);
    builder.build_as(&CONSTANT, &[], &[Some(Attr::int(value, long))], long)
}
