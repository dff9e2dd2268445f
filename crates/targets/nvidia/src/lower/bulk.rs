//! Bulk copies between tensors in device memory and shared memory, and the barriers in shared memory that wait for
//! them, since sm_90.
//!
//! One lane of the program speaks for all: it makes barriers, says how many bytes they wait for, and begins copies. All
//! lanes wait. A block that is more than one box is as many copies ([`ttgir::encoding::boxes`]).

use super::instruction::{Instruction, Sequence};
use ir::view::EnumAttr;
use ir::{Module, Op, OpRow, Value as IrValue};
use lanes::ops::combine_into;
use lanes::{Cx, Handler, LaneValue, Result};
use llir::{IntCompare, Op as LlirOp, Type, Value, Values};
use ttgir::SharedEncoding;
use ttgir::encoding::{BoxAt, box_of, boxes};
use ttgir::ops::barrier::{
    ARRIVE_BARRIER, ArriveBarrierOp, BARRIER_EXPECT, BarrierExpectOp, FENCE_ASYNC_GLOBAL, INIT_BARRIER,
    INVAL_BARRIER, InitBarrierOp, InvalBarrierOp, WAIT_BARRIER, WaitBarrierOp,
};
use ttgir::ops::bulk::{
    BULK_LOAD, BULK_REDUCE, BULK_STORE, BULK_STORE_WAIT, BulkLoadOp, BulkStoreWaitOp, BulkWriteOp,
    LANES_REDUCE, LANES_STORE, LanesWriteOp,
};
use ttgir::types::memdesc;
use ttir::types::{elem_bytes, shape};

/// Operations of this file.
const HANDLERS: &[(&OpRow, Handler)] = &[
    (&INIT_BARRIER, init),
    (&INVAL_BARRIER, inval),
    (&BARRIER_EXPECT, expect),
    (&ARRIVE_BARRIER, arrive),
    (&WAIT_BARRIER, wait),
    (&BULK_LOAD, load),
    (&FENCE_ASYNC_GLOBAL, fence),
    (&BULK_STORE, store),
    (&BULK_REDUCE, store),
    (&LANES_STORE, store_by_lanes),
    (&LANES_REDUCE, store_by_lanes),
    (&BULK_STORE_WAIT, store_wait),
];

/// The handler of an operation on barriers or bulk copies.
pub(super) fn handler(module: &Module, op: Op) -> Option<Handler> {
    HANDLERS.iter().find(|(row, _)| module.is(op, row)).map(|(_, handler)| *handler)
}

/// Whether this is the lane that the machine picks of its warp.
fn elect(cx: &mut Cx<'_>) -> Value {
    Instruction::new("elect.sync").flag().constant(-1).pure(&mut cx.b)
}

/// Whether this is the lane that speaks for the program, and a condition holds.
pub(super) fn speaks(cx: &mut Cx<'_>, condition: Option<Value>) -> Value {
    let warp = cx.ids().warp;
    let zero = cx.b.i32(0);
    let first = cx.b.icmp(IntCompare::Eq, warp, zero);
    let elected = elect(cx);
    let one = cx.b.and(first, elected);
    match condition {
        Some(condition) => cx.b.and(one, condition),
        None => one,
    }
}

/// Whether this is the lane that speaks for its warp, whose accesses so far come first, and a condition holds.
fn speaks_for_warp(cx: &mut Cx<'_>, condition: Option<Value>) -> Value {
    cx.target.warp_barrier(&mut cx.b);
    let elected = elect(cx);
    condition.map_or(elected, |condition| cx.b.and(elected, condition))
}

/// Where a memory descriptor begins, which is a whole buffer.
fn whole(cx: &mut Cx<'_>, op: Op, memory: IrValue) -> Result<Value> {
    let LaneValue::Shared(memory) = cx.get(memory)? else {
        return Err(cx.error(op, "an operand is not in shared memory"));
    };
    if memory.offsets.iter().any(|offset| cx.b.as_int(*offset) != Some(0)) {
        return Err(cx.error(op, "bulk copies and barriers need a whole buffer, not a part of one"));
    }
    Ok(memory.base)
}

/// The same as a 32-bit address.
fn address(cx: &mut Cx<'_>, op: Op, memory: IrValue) -> Result<Value> {
    let base = whole(cx, op, memory)?;
    Ok(cx.b.cast(LlirOp::PTRTOINT, base, Type::I32))
}

pub(super) fn scalar(cx: &Cx<'_>, op: Op, value: IrValue) -> Result<Value> {
    match cx.get(value)? {
        LaneValue::Scalar(value) => Ok(value),
        _ => Err(cx.error(op, "an operand is not a scalar")),
    }
}

fn init(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let of = InitBarrierOp::new(cx.module, op);
    let (count, barrier) = (of.count(), address(cx, op, of.alloc())?);
    let speaks = speaks(cx, None);
    let init = Instruction::new("mbarrier.init.shared::cta.b64").at(barrier).constant(count);
    init.when(speaks).effect(&mut cx.b);
    Instruction::new("fence.mbarrier_init.release.cluster").when(speaks).effect(&mut cx.b);
    Ok(())
}

fn inval(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let barrier = address(cx, op, InvalBarrierOp::new(cx.module, op).alloc())?;
    let speaks = speaks(cx, None);
    Instruction::new("mbarrier.inval.shared::cta.b64").at(barrier).when(speaks).effect(&mut cx.b);
    Ok(())
}

fn expect(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let of = BarrierExpectOp::new(cx.module, op);
    let (bytes, barrier, condition) = (of.size(), address(cx, op, of.alloc())?, scalar(cx, op, of.pred())?);
    let speaks = speaks(cx, Some(condition));
    let arrive = Instruction::new("mbarrier.arrive.expect_tx.shared::cta.b64").sink().at(barrier);
    arrive.constant(bytes).when(speaks).effect(&mut cx.b);
    Ok(())
}

fn arrive(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let of = ArriveBarrierOp::new(cx.module, op);
    let (count, barrier) = (of.count(), address(cx, op, of.alloc())?);
    let condition = of.pred().map(|pred| scalar(cx, op, pred)).transpose()?;
    let speaks = if of.per_warp() { speaks_for_warp(cx, condition) } else { speaks(cx, condition) };
    let arrive = Instruction::new("mbarrier.arrive.shared::cta.b64").sink().at(barrier);
    arrive.constant(count).when(speaks).effect(&mut cx.b);
    if of.in_pair() {
        let pointer = whole(cx, op, of.alloc())?;
        let (rank, one) = (cx.target.block_id(&mut cx.b), cx.b.i32(1));
        let other = cx.b.xor(rank, one);
        let there = cx.target.peer(&mut cx.b, pointer, other);
        let there = cx.b.cast(LlirOp::PTRTOINT, there, Type::I32);
        // Plain: with an order of the cluster each arrival would wait for all of the lane's accesses.
        let arrive = Instruction::new("mbarrier.arrive.shared::cluster.b64").sink().at(there);
        arrive.constant(count).when(speaks).effect(&mut cx.b);
    }
    Ok(())
}

/// Asks again until the phase is complete: the machine suspends the lanes for a while each time.
fn wait(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let of = WaitBarrierOp::new(cx.module, op);
    let (barrier, phase) = (address(cx, op, of.alloc())?, scalar(cx, op, of.phase())?);
    let mut lines = Sequence::default();
    let complete = lines.predicate("complete");
    let [again, done] = ["again", "done"].map(|name| lines.label(name));
    if let Some(pred) = of.pred() {
        lines.push(Instruction::new("bra.uni").own(done).unless(scalar(cx, op, pred)?));
    }
    lines.place(again);
    let wait = Instruction::new("mbarrier.try_wait.parity.shared::cta.b64").own(complete);
    lines.push(wait.at(barrier).register(phase));
    lines.push(Instruction::new("bra.uni").own(again).unless_own(complete));
    lines.place(done);
    lines.effect(&mut cx.b);
    Ok(())
}

fn load(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let of = BulkLoadOp::new(cx.module, op);
    let (target, barrier) = (address(cx, op, of.dst())?, address(cx, op, of.barrier())?);
    let condition = scalar(cx, op, of.pred())?;
    let corner = of.coord().iter().map(|&at| scalar(cx, op, at)).collect::<Result<Vec<_>>>()?;
    let map = scalar(cx, op, of.desc())?;
    let speaks = speaks(cx, Some(condition));
    let (target, corner, share) = if of.multicast() {
        let half = Half::of(cx, op, of.desc(), of.dst())?;
        let (target, corner) = half.begin(cx, target, &corner);
        (target, corner, half.boxes)
    } else {
        (target, corner, usize::MAX)
    };
    let multicast = if of.multicast() { ".multicast::cluster" } else { "" };
    for (to, at) in places(cx, op, (of.desc(), of.dst()), &corner)?.into_iter().take(share) {
        let copy = Instruction::new(format!(
            "cp.async.bulk.tensor.{}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{multicast}",
            at.len()
        ));
        let copy = copy.at_offset((target, to.into())).in_tensor(map, at).at(barrier);
        let copy = if of.multicast() { copy.constant(BOTH) } else { copy };
        copy.when(speaks).effect(&mut cx.b);
    }
    Ok(())
}

/// The blocks of a pair, as the mask of a copy to both.
const BOTH: i64 = 0b11;

/// The half of a block's boxes that one program of a pair copies.
struct Half {
    /// How many they are.
    boxes: usize,
    /// Bytes from a box to that of the other half.
    bytes: i32,
    /// The same in the tensor, by dimension.
    steps: Vec<i32>,
}

impl Half {
    fn of(cx: &Cx<'_>, op: Op, desc: IrValue, memory: IrValue) -> Result<Half> {
        let ty = cx.module.ty(memory);
        let all = boxes_in(cx.module, desc, memory).map(|(all, bytes)| (all, bytes as i32));
        let no_half = || cx.error(op, format!("{ty} has no two halves of boxes that lie alike"));
        let (all, bytes) = all.filter(|(all, _)| all.len() % 2 == 0).ok_or_else(no_half)?;
        let (first, second) = all.split_at(all.len() / 2);
        let step = |one: &BoxAt, two: &BoxAt| {
            let steps = two.corner.iter().zip(&one.corner).map(|(&two, &one)| two as i32 - one as i32);
            ((two.offset as i32 - one.offset as i32) * bytes, steps.collect::<Vec<_>>())
        };
        let (distance, steps) = step(&first[0], &second[0]);
        let is_alike = |(one, two)| step(one, two) == (distance, steps.clone());
        if !first.iter().zip(second).all(is_alike) {
            return Err(no_half());
        }
        Ok(Half { boxes: first.len(), bytes: distance, steps })
    }

    /// Where the half of this program begins, in shared memory and in the tensor, if the first one begins there.
    fn begin(&self, cx: &mut Cx<'_>, target: Value, corner: &[Value]) -> (Value, Vec<Value>) {
        let rank = cx.target.block_id(&mut cx.b);
        let mut moved = |by: i32, from: Value| {
            if by == 0 {
                return from;
            }
            let ty = cx.b.ty(from);
            let by = cx.b.i32(by);
            let by = cx.b.mul(rank, by);
            let by = cx.b.resize_signed(by, ty);
            cx.b.add(from, by)
        };
        let corner = self.steps.iter().zip(corner).map(|(&by, &from)| moved(by, from)).collect();
        (moved(self.bytes, target), corner)
    }
}

/// Copies a block to a tensor, or combines it with what is there.
fn store(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let of = BulkWriteOp::new(cx.module, op);
    let (name, kind) = match of.kind() {
        Some(kind) => ("cp.reduce.async.bulk", format!(".{}", kind.keyword())),
        None => ("cp.async.bulk", String::new()),
    };
    let source = address(cx, op, of.src())?;
    let corner = of.coord().iter().map(|&at| scalar(cx, op, at)).collect::<Result<Vec<_>>>()?;
    let map = scalar(cx, op, of.desc())?;
    let speaks = speaks(cx, None);
    for (from, at) in places(cx, op, (of.desc(), of.src()), &corner)? {
        let copy =
            Instruction::new(format!("{name}.tensor.{}d.global.shared::cta{kind}.tile.bulk_group", at.len()));
        copy.in_tensor(map, at).at_offset((source, from.into())).when(speaks).effect(&mut cx.b);
    }
    Instruction::new("cp.async.bulk.commit_group").when(speaks).effect(&mut cx.b);
    Ok(())
}

/// All lanes copy or combine elements one after the other, those that the tensor has. Slow, and short: it stands beside
/// every bulk store that may have to be done so.
fn store_by_lanes(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let of = LanesWriteOp::new(cx.module, op);
    let (source, base) = (whole(cx, op, of.src())?, scalar(cx, op, of.base())?);
    let ty = cx.module.ty(of.src());
    let parts = memdesc(ty).zip(SharedEncoding::of(ty));
    let found = parts.and_then(|(desc, encoding)| {
        let SharedEncoding::Nvmma { swizzling_byte_width: width, .. } = encoding else { return None };
        Some((boxes(encoding, desc.shape)?, box_of(encoding, desc.shape)?, desc.elem, *width))
    });
    let Some((found, sides, element, width)) = found else {
        return Err(cx.error(op, format!("bulk copies leave no block as {ty}")));
    };
    let bytes = elem_bytes(element);
    let mut longs = [Vec::new(), Vec::new(), Vec::new()];
    for (list, values) in longs.iter_mut().zip(of.places()) {
        for &value in values {
            let value = scalar(cx, op, value)?;
            list.push(cx.b.resize_signed(value, Type::I64));
        }
    }
    let [corner, sizes, strides] = longs;
    let (ids, lanes) = (cx.ids(), cx.b.i32(cx.lanes as i32));
    let first = cx.b.mul(ids.warp, lanes);
    let first = cx.b.add(first, ids.lane);
    let end = cx.b.i32(sides.iter().product::<u32>() as i32);
    let step = cx.b.i32((cx.lanes * cx.num_warps) as i32);
    let size = cx.b.i32(bytes as i32);
    for place in found {
        let walk = cx.b.begin_for(first, end, step, &[]);
        let (mut rest, mut inside, mut offset) = (walk.iv, cx.b.bool(true), cx.b.i64(0));
        for dim in (0..sides.len()).rev() {
            let (mask, bits) =
                (cx.b.i32(sides[dim] as i32 - 1), cx.b.i32(sides[dim].trailing_zeros() as i32));
            let along = cx.b.and(rest, mask);
            rest = cx.b.lshr(rest, bits);
            let start = cx.b.i32(place.corner[dim] as i32);
            let along = cx.b.add(along, start);
            let along = cx.b.resize_unsigned(along, Type::I64);
            let at = cx.b.add(corner[dim], along);
            let zero = cx.b.i64(0);
            for (compare, bound) in [(IntCompare::Sge, zero), (IntCompare::Slt, sizes[dim])] {
                let holds = cx.b.icmp(compare, at, bound);
                inside = cx.b.and(inside, holds);
            }
            let distance = cx.b.mul(at, strides[dim]);
            offset = cx.b.add(offset, distance);
        }
        let branch = cx.b.begin_if(inside);
        let start = cx.b.i32((place.offset * bytes as u32) as i32);
        let from = cx.b.mul(walk.iv, size);
        let from = cx.b.add(from, start);
        let from = swizzled(cx, width, from);
        let from = cx.b.offset(source, from);
        let word = Type::int(bytes as u16 * 8);
        let value = cx.b.load(word, from, bytes as u32);
        let to = cx.b.gep(word, base, offset);
        match of.kind() {
            None => cx.b.store(value, to, bytes as u32),
            Some(kind) => {
                let value = cx.b.bitcast(value, lanes::register(element));
                combine_into(cx, kind, element, to, value);
            }
        }
        cx.b.end_if(branch, &[]);
        cx.b.end_for(walk, &[]);
    }
    let speaks = speaks(cx, None);
    Instruction::new("cp.async.bulk.commit_group").when(speaks).effect(&mut cx.b);
    Ok(())
}

/// Where a byte of a buffer lies that bulk copies fill with rows of so many bytes mixed: among the 16 bytes of a row by
/// the number of its 128 bytes.
fn swizzled(cx: &mut Cx<'_>, width: u32, offset: Value) -> Value {
    let mask = (width / 16).saturating_sub(1);
    let [seven, mask, four] = [7, mask as i32, 4].map(|number| cx.b.i32(number));
    let line = cx.b.lshr(offset, seven);
    let line = cx.b.and(line, mask);
    let by = cx.b.shl(line, four);
    cx.b.xor(offset, by)
}

/// Each lane orders its own accesses; a barrier behind it lets the lane that speaks begin copies.
fn fence(cx: &mut Cx<'_>, _: Op) -> Result<()> {
    Instruction::new("fence.proxy.async.global").effect(&mut cx.b);
    Ok(())
}

/// The lane that began the copies waits for them; the others wait for it where they next write to what is read.
fn store_wait(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let of = BulkStoreWaitOp::new(cx.module, op);
    let (pendings, read) = (of.pendings(), if of.read_only() { ".read" } else { "" });
    let speaks = speaks(cx, None);
    let wait = Instruction::new(format!("cp.async.bulk.wait_group{read}")).constant(pendings);
    wait.when(speaks).effect(&mut cx.b);
    Ok(())
}

/// The boxes of memory as its descriptor counts them, with more dimensions of size 1 or not; the bytes of an element.
fn boxes_in(module: &Module, desc: IrValue, memory: IrValue) -> Option<(Vec<BoxAt>, u64)> {
    let (whole, ty) = (shape(module.ty(desc)), module.ty(memory));
    let (of, encoding) = memdesc(ty).zip(SharedEncoding::of(ty))?;
    let found = match whole.len() == of.shape.len() {
        true => boxes(encoding, of.shape),
        false => boxes(&encoding.with_rank(whole.len())?, whole),
    };
    Some((found?, elem_bytes(of.elem)))
}

/// For each box of a block: the byte of shared memory at which it begins, and where it stands in the tensor, the
/// fastest dimension first.
fn places(
    cx: &mut Cx<'_>,
    op: Op,
    (desc, memory): (IrValue, IrValue),
    corner: &[Value],
) -> Result<Vec<(u32, Values)>> {
    let Some((found, bytes)) = boxes_in(cx.module, desc, memory) else {
        let ty = cx.module.ty(memory);
        return Err(cx.error(op, format!("bulk copies leave no block as {ty}")));
    };
    let mut out = Vec::new();
    for place in found {
        let mut at = Values::new();
        for (&start, &inside) in corner.iter().zip(&place.corner).rev() {
            let start = cx.b.resize_signed(start, Type::I32);
            let inside = cx.b.i32(inside as i32);
            at.push(cx.b.add(start, inside));
        }
        out.push((place.offset * bytes as u32, at));
    }
    Ok(out)
}
