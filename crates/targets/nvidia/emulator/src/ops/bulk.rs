//! `cp.async.bulk`: copies between global and shared memory that run by themselves.
//!
//! Copies into shared memory land when somebody waits at their mbarrier; copies out of it read when their lane waits for its groups, and
//! write when it waits without `.read`, or ends. So whoever forgets to wait sees old bytes.

use crate::decode::site::{Address, Site};
use crate::diagnostic::Diagnostic;
use crate::machine::block::{Delivery, Piece, Team};
use crate::machine::code::{Execute, Slot};
use crate::machine::flow::Flow;
use crate::machine::lanes::run;
use crate::machine::launch::World;
use crate::machine::place::{Place, RANK_SHIFT};
use crate::machine::step::{Step, lanes_of};
use crate::machine::warp::BulkStore;
use crate::numeric::reduce::{OPERATIONS, Reduce};
use crate::ops::memory::{cell, take_hints};
use crate::ops::tensor;
use crate::syntax::types::{Space, Type};
use emulation::{Access, Fault, FaultKind, FindingKind};

type Decoded = Result<Box<dyn Execute>, Diagnostic>;

/// Every `cp.async.bulk.…` and `cp.reduce.async.bulk.…`.
pub(crate) fn bulk(site: &mut Site<'_, '_>, reduces: bool) -> Decoded {
    if site.flag("commit_group") {
        site.arity(0, 0)?;
        return Ok(run(|step| {
            for lane in step.lanes() {
                step.warp.stores.committed[lane as usize] += 1;
            }
            Ok(Flow::Next)
        }));
    }
    if site.flag("wait_group") {
        let until = if site.flag("read") { Until::Read } else { Until::Written };
        site.arity(1, 1)?;
        let left = site.immediate(0)? as u32;
        return Ok(run(move |step| {
            for lane in step.lanes() {
                let committed = step.warp.stores.committed[lane as usize];
                write_out(step, lane, committed.saturating_sub(left), until)?;
            }
            Ok(Flow::Next)
        }));
    }
    if site.flag("prefetch") {
        return prefetch(site);
    }
    let tensor = site.flag("tensor");
    let multicast = site.flag("multicast::cluster");
    let completes =
        site.map_modifier(|word| (word == "mbarrier::complete_tx::bytes").then_some(())).is_some();
    let grouped = site.flag("bulk_group");
    if tensor {
        return tensor::copy(site, reduces, multicast);
    }
    let policy = take_hints(site);
    let (to, from) = (site.space(), site.space());
    let reduce = if reduces { Some(reduction(site)?) } else { None };
    let mut expected = 3 + usize::from(completes) + usize::from(multicast);
    expected += usize::from(policy);
    site.arity(expected, expected)?;
    let (target, source, size) = (site.address(0)?, site.address(1)?, site.source(2, Type::U32)?);
    site.sink(&[size]);
    match (to, from) {
        (Space::Shared, Space::Global) if completes && reduce.is_none() => {
            let mbarrier = site.address(3)?;
            let mask = if multicast { Some(site.wide_source_of(site.operand(4)?, Type::B16)?) } else { None };
            Ok(run(move |step| load(step, [target, source, mbarrier], size, mask)))
        }
        (Space::Global, Space::Shared) if grouped => {
            Ok(run(move |step| store(step, target, source, size, reduce)))
        }
        _ => site
            .error("copies go from global memory to an mbarrier's program, or from shared memory in a group"),
    }
}

/// The operation and type of a reduction.
pub(crate) fn reduction(site: &mut Site<'_, '_>) -> Result<Reduce, Diagnostic> {
    let operation = site.choice(OPERATIONS);
    site.flag("noftz");
    let Some(operation) = operation else { return site.error("an operation is missing") };
    Ok(Reduce {
        operation,
        ty: site
            .ty()
            .or_else(|error| if operation_has_map_type(site) { Ok(Type::B32) } else { Err(error) })?,
    })
}

/// Of tensors the map gives the type.
fn operation_has_map_type(site: &Site<'_, '_>) -> bool {
    site.instruction.opcode.contains(".tensor")
}

fn prefetch(site: &mut Site<'_, '_>) -> Decoded {
    site.flag("L2");
    take_hints(site);
    if site.flag("tensor") {
        site.flags(&["1d", "2d", "3d", "4d", "5d", "tile"]);
    }
    site.space();
    Ok(run(|_| Ok(Flow::Next)))
}

/// A lane's size of a copy.
fn size_of(step: &Step<'_, '_>, size: Slot, lane: u32) -> Result<u32, Box<Fault>> {
    let bytes = step.get(size, lane) as u32;
    if !bytes.is_multiple_of(16) {
        return Err(step.fault(
            FaultKind::Misuse,
            lane,
            format!("{bytes} bytes: a multiple of 16 is needed"),
        ));
    }
    Ok(bytes)
}

/// Pieces of a copy of bytes that lie together.
fn plain_pieces(global: u64, shared: u32, bytes: u32) -> Vec<Piece> {
    (0..bytes)
        .step_by(16)
        .map(|at| Piece { global: Some(global + u64::from(at)), shared: shared + at, bytes: 16 })
        .collect()
}

fn load(
    step: &mut Step<'_, '_>,
    [target, source, mbarrier]: [Address; 3],
    size: Slot,
    mask: Option<Slot>,
) -> Result<Flow, Box<Fault>> {
    for lane in step.lanes() {
        let bytes = size_of(step, size, lane)?;
        let global = step.effective(source, lane);
        step.place(Space::Global, global, lane, bytes as usize, 16)?;
        let shared = step.effective(target, lane);
        step.place(Space::Shared, shared, lane, bytes as usize, 16)?;
        let pieces = plain_pieces(global, shared as u32 & ((1 << RANK_SHIFT) - 1), bytes);
        let mbarrier = step.effective(mbarrier, lane);
        let mask = mask.map(|mask| step.get(mask, lane) as u32);
        begin_load(step, lane, Incoming { shared, mbarrier, mask, pieces, bytes })?;
    }
    Ok(Flow::Next)
}

/// A copy into shared memory.
pub(crate) struct Incoming {
    pub(crate) shared: u64,
    pub(crate) mbarrier: u64,
    /// The programs of the cluster that get it, if several may.
    pub(crate) mask: Option<u32>,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) bytes: u32,
}

/// Puts a copy on its way.
pub(crate) fn begin_load(step: &mut Step<'_, '_>, lane: u32, incoming: Incoming) -> Result<(), Box<Fault>> {
    let Incoming { shared, mbarrier, mask, pieces, bytes } = incoming;
    let (own, _) = step.shared_place(shared, lane, bytes as usize)?;
    let (barrier_block, offset) = step.shared_place(mbarrier, lane, 8)?;
    let targets: Vec<(usize, usize)> = match mask {
        None => vec![(own, barrier_block)],
        Some(mask) => lanes_of(mask & 0xffff).map(|rank| (rank as usize, rank as usize)).collect(),
    };
    let number = step.warp.number;
    for (block, barrier_block) in targets {
        if block >= step.team.blocks.len() {
            return Err(step.fault(FaultKind::Misuse, lane, format!("the cluster has no program {block}")));
        }
        let seen = step.team.clocks.snapshot(number);
        step.team.deliveries.push(Delivery {
            mbarrier: (barrier_block, offset as u32),
            block,
            pieces: pieces.clone(),
            bytes,
            who: step.warp.who(step.team),
            warp: number,
            lane,
            seen,
            instruction: step.pc,
        });
    }
    if step.world.checks.races {
        step.team.clocks.tick(number);
    }
    Ok(())
}

/// Lands the copies that an mbarrier counts.
pub(crate) fn deliver(team: &mut Team, world: &mut World<'_>, at: (usize, u32)) -> Result<(), Box<Fault>> {
    while let Some(index) = team.deliveries.iter().position(|delivery| delivery.mbarrier == at) {
        let delivery = team.deliveries.remove(index);
        let clock = team.clocks.begin_asynchronous(delivery.warp);
        let column = team.clocks.asynchronous_column(delivery.warp);
        for piece in &delivery.pieces {
            land_piece(team, world, &delivery, *piece, (column, clock))?;
        }
        let columns = team.clocks.columns();
        if let Some(barrier) = team.blocks[at.0].mbarriers.get_mut(&at.1) {
            barrier.seen.resize(columns, 0);
            barrier.seen[column] = barrier.seen[column].max(clock);
            barrier.bytes -= i64::from(delivery.bytes);
            barrier.settle();
        }
    }
    Ok(())
}

/// A cluster ends: copies that nobody waited for land, and are told.
pub(crate) fn finish_team(team: &mut Team, world: &mut World<'_>) -> Result<(), Box<Fault>> {
    while let Some(delivery) = team.deliveries.first() {
        let (at, pc, who, lane) = (delivery.mbarrier, delivery.instruction, delivery.who, delivery.lane);
        let message = "the program ends, but nobody waited for this copy".to_owned();
        world.find(FindingKind::Unfinished, message, pc, None, who, lane);
        deliver(team, world, at)?;
    }
    Ok(())
}

fn land_piece(
    team: &mut Team,
    world: &mut World<'_>,
    delivery: &Delivery,
    piece: Piece,
    (column, clock): (usize, u32),
) -> Result<(), Box<Fault>> {
    let mut data = [0; 16];
    let bytes = piece.bytes as usize;
    if let Some(global) = piece.global
        && let Err(error) = world.memory.read(global, &mut data[..bytes])
    {
        let message = format!("global memory: {error}");
        return Err(world.fault(
            FaultKind::OutOfBounds,
            message,
            delivery.instruction,
            delivery.who,
            Some(delivery.lane),
        ));
    }
    let offset = piece.shared as usize;
    let block = &mut team.blocks[delivery.block];
    if let Some(shadow) = &mut block.shadow {
        let access = Access {
            column,
            lane: delivery.lane,
            clock,
            seen: &delivery.seen,
            instruction: delivery.instruction,
        };
        if let Some((clash, other)) = shadow.write(offset..offset + bytes, &access, |_| false) {
            let (_, message) = clash.describe(offset as u64);
            let kind = FindingKind::AsyncRace;
            world.find(kind, message, delivery.instruction, Some(other), delivery.who, delivery.lane);
        }
    }
    block.shared[offset..offset + bytes].copy_from_slice(&data[..bytes]);
    block.written[offset..offset + bytes].fill(true);
    Ok(())
}

fn store(
    step: &mut Step<'_, '_>,
    target: Address,
    source: Address,
    size: Slot,
    reduce: Option<Reduce>,
) -> Result<Flow, Box<Fault>> {
    for lane in step.lanes() {
        let bytes = size_of(step, size, lane)?;
        let global = step.effective(target, lane);
        step.place(Space::Global, global, lane, bytes as usize, 16)?;
        let shared = step.effective(source, lane);
        let Place::Shared(_, offset) = step.place(Space::Shared, shared, lane, bytes as usize, 16)? else {
            return Err(step.fault(FaultKind::Misuse, lane, "the source is not in shared memory"));
        };
        begin_store(step, lane, plain_pieces(global, offset as u32, bytes), reduce);
    }
    Ok(Flow::Next)
}

/// Puts a copy out of shared memory on its way.
pub(crate) fn begin_store(step: &mut Step<'_, '_>, lane: u32, pieces: Vec<Piece>, reduce: Option<Reduce>) {
    let (number, block) = (step.warp.number, step.warp.block);
    let seen = step.team.clocks.snapshot(number);
    let clock = step.team.clocks.begin_asynchronous(number);
    if step.world.checks.races {
        for piece in &pieces {
            let offset = piece.shared as usize;
            let team = &*step.team;
            let shadow = team.blocks[block].shadow.as_ref();
            let range = offset..offset + piece.bytes as usize;
            let clash = shadow.and_then(|shadow| shadow.unfenced(range, number, &team.clocks));
            step.report_clash(clash, offset, lane);
        }
        step.team.clocks.tick(number);
    }
    let group = step.warp.stores.committed[lane as usize];
    let instruction = step.pc;
    step.warp.stores.pending.push(BulkStore {
        lane,
        group,
        pieces,
        reduce,
        seen,
        clock,
        instruction,
        data: None,
    });
}

/// How far a copy out of shared memory must be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    Read,
    Written,
}

/// Performs a lane's stores of the groups before `end`.
fn write_out(step: &mut Step<'_, '_>, lane: u32, end: u32, until: Until) -> Result<(), Box<Fault>> {
    let mut index = 0;
    while index < step.warp.stores.pending.len() {
        let store = &step.warp.stores.pending[index];
        if store.lane != lane || store.group >= end {
            index += 1;
            continue;
        }
        let mut store = step.warp.stores.pending.remove(index);
        let data = match store.data.take() {
            Some(data) => data,
            None => read_pieces(step, &store),
        };
        if until == Until::Read {
            store.data = Some(data);
            step.warp.stores.pending.insert(index, store);
            index += 1;
            continue;
        }
        for (piece, data) in store.pieces.iter().zip(&data) {
            write_piece(step, &store, *piece, data)?;
        }
    }
    Ok(())
}

/// What a store reads of shared memory, which its lane may write again then.
fn read_pieces(step: &mut Step<'_, '_>, store: &BulkStore) -> Vec<[u8; 16]> {
    let data = store.pieces.iter().map(|piece| read_piece(step, store, *piece)).collect();
    let number = step.warp.number;
    step.team.clocks.finish_asynchronous(number, store.clock);
    data
}

fn read_piece(step: &mut Step<'_, '_>, store: &BulkStore, piece: Piece) -> [u8; 16] {
    let (number, block) = (step.warp.number, step.warp.block);
    let (offset, bytes) = (piece.shared as usize, piece.bytes as usize);
    let column = step.team.clocks.asynchronous_column(number);
    let source = &mut step.team.blocks[block];
    if let Some(shadow) = &mut source.shadow {
        let access = Access {
            column,
            lane: store.lane,
            clock: store.clock,
            seen: &store.seen,
            instruction: store.instruction,
        };
        let clash = shadow.read(offset..offset + bytes, &access);
        step.report_clash_at(clash, offset, store.lane, store.instruction);
    }
    let source = &step.team.blocks[block];
    let mut data = [0; 16];
    data[..bytes].copy_from_slice(&source.shared[offset..offset + bytes]);
    if step.world.checks.uninitialised && source.written[offset..offset + bytes].contains(&false) {
        let message = format!("copies bytes of shared memory that were never written (address {offset:#x})");
        let who = step.warp.who(step.team);
        step.world.find(FindingKind::Uninitialised, message, store.instruction, None, who, store.lane);
    }
    data
}

fn write_piece(
    step: &mut Step<'_, '_>,
    store: &BulkStore,
    piece: Piece,
    data: &[u8; 16],
) -> Result<(), Box<Fault>> {
    let bytes = piece.bytes as usize;
    let Some(global) = piece.global else { return Ok(()) };
    let who = step.warp.who(step.team);
    let world = &mut *step.world;
    let result = match store.reduce {
        None => world.memory.write(global, &data[..bytes]),
        Some(reduce) => {
            let size = reduce.ty.bytes();
            let mut old = [0; 16];
            world.memory.read(global, &mut old[..bytes]).and_then(|()| {
                for (old, new) in old.chunks_mut(size).zip(data[..bytes].chunks(size)) {
                    let value = reduce.apply(cell(old), cell(new));
                    old.copy_from_slice(&value.to_le_bytes()[..size]);
                }
                world.memory.write(global, &old[..bytes])
            })
        }
    };
    result.map_err(|error| {
        let message = format!("global memory: {error}");
        world.fault(FaultKind::OutOfBounds, message, store.instruction, who, Some(store.lane))
    })
}

/// Lanes end: their stores happen; those of no group are reported, and those that still read memory which is given back.
pub(crate) fn finish_lanes(step: &mut Step<'_, '_>) -> Result<(), Box<Fault>> {
    if step.warp.stores.pending.is_empty() {
        return Ok(());
    }
    for lane in lanes_of(step.mask) {
        let committed = step.warp.stores.committed[lane as usize];
        let pending = &step.warp.stores.pending;
        let open = pending.iter().find(|store| store.lane == lane && store.group >= committed);
        let unread = pending.iter().find(|store| store.lane == lane && store.data.is_none());
        let found = open.map(|store| (store.instruction, "the lane ends, but never committed this copy"));
        let found = found.or_else(|| {
            let message = "the lane ends, but never waited until this copy has read shared memory";
            unread.map(|store| (store.instruction, message))
        });
        if let Some((instruction, message)) = found {
            let who = step.warp.who(step.team);
            step.world.find(FindingKind::Unfinished, message.to_owned(), instruction, None, who, lane);
        }
        write_out(step, lane, u32::MAX, Until::Written)?;
    }
    Ok(())
}
