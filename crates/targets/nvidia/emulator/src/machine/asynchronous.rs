//! What runs by itself: bulk copies into shared memory and out of it, and what becomes of copies and products whose
//! lanes end.

use crate::machine::block::{Delivery, Piece, Team};
use crate::machine::proxies::note_landed;
use crate::machine::step::{Step, lanes_of};
use crate::machine::warp::BulkStore;
use crate::machine::world::World;
use crate::numeric::cell;
use crate::numeric::reduce::Reduce;
use emulation::{Access, Fault, FaultKind, FindingKind};

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
    for piece in &pieces {
        if let Some(global) = piece.global {
            step.note_begin(global..global + u64::from(piece.bytes), lane, false);
        }
    }
    let number = step.warp.number;
    for (block, barrier_block) in targets {
        if block >= step.team.blocks.len() {
            return Err(step.fault(FaultKind::Misuse, lane, format!("the cluster has no program {block}")));
        }
        if step.world.checks.races {
            for piece in &pieces {
                let (offset, team) = (piece.shared as usize, &*step.team);
                let shadow = team.blocks[block].shadow.as_ref();
                let range = offset..offset + piece.bytes as usize;
                let clash = shadow.and_then(|shadow| shadow.unfenced_reads(range, &team.clocks));
                step.report_clash(clash, offset, lane);
            }
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

/// A cluster ends: copies that nobody waited for land, and are reported.
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
    if let (Some(global), Some(proxies)) = (piece.global, &mut world.proxies) {
        let range = global..global + u64::from(piece.bytes);
        if let Some((message, other)) = note_landed(proxies, team.number, delivery, (column, clock), range) {
            let message = format!("{message} (global memory)");
            let (pc, who, lane) = (delivery.instruction, delivery.who, delivery.lane);
            world.find(FindingKind::AsyncRace, message, pc, Some(other), who, lane);
        }
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

/// Puts a copy out of shared memory on its way.
pub(crate) fn begin_store(step: &mut Step<'_, '_>, lane: u32, pieces: Vec<Piece>, reduce: Option<Reduce>) {
    for piece in &pieces {
        if let Some(global) = piece.global {
            step.note_begin(global..global + u64::from(piece.bytes), lane, true);
        }
    }
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
pub(crate) enum Until {
    /// What it reads was read.
    Read,
    /// It has happened.
    Written,
}

/// Performs a lane's stores of the groups before `end`.
pub(crate) fn write_out(
    step: &mut Step<'_, '_>,
    lane: u32,
    end: u32,
    until: Until,
) -> Result<(), Box<Fault>> {
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
    step.note_written(store, global..global + u64::from(piece.bytes));
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

/// Lanes end: what they have put on its way happens or is given up, and what nobody waited for is reported.
pub(crate) fn finish_lanes(step: &mut Step<'_, '_>) -> Result<(), Box<Fault>> {
    finish_stores(step)?;
    finish_copies(step);
    finish_products(step);
    Ok(())
}

/// Stores happen; those of no group are reported, and those that still read memory which is given back.
fn finish_stores(step: &mut Step<'_, '_>) -> Result<(), Box<Fault>> {
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

/// Lanes end: copies that nobody waited for are reported.
fn finish_copies(step: &mut Step<'_, '_>) {
    for lane in lanes_of(step.mask) {
        let left =
            step.warp.copies.pending.iter().find(|copy| copy.lane == lane).map(|copy| copy.instruction);
        if let Some(instruction) = left {
            let message = "the lane ends, but never waited for this copy".to_owned();
            let who = step.warp.who(step.team);
            step.world.find(FindingKind::Unfinished, message, instruction, None, who, lane);
        }
        step.warp.copies.pending.retain(|copy| copy.lane != lane);
    }
}

/// Matrix instructions that nobody waited for are reported.
fn finish_products(step: &mut Step<'_, '_>) {
    if step.warp.flights.pop().is_some() {
        step.warp.flights.clear();
        let lane = step.mask.trailing_zeros();
        step.find(FindingKind::Unfinished, "the warp ends before `wgmma.wait_group`".to_owned(), None, lane);
    }
}
