//! Bulk copies of boxes of tensors, and the editing of tensor maps.

use crate::decode::site::Site;
use crate::diagnostic::Diagnostic;
use crate::machine::Execute;
use crate::machine::asynchronous::{Incoming, begin_load, begin_store};
use crate::machine::block::Piece;
use crate::machine::code::Slot;
use crate::machine::flow::Flow;
use crate::machine::lanes::run;
use crate::machine::place::Address;
use crate::machine::place::RANK_SHIFT;
use crate::machine::step::Step;
use crate::numeric::reduce::Reduce;
use crate::ops::memory::take_hints;
use crate::ops::reduction::reduction;
use crate::syntax::Operand;
use crate::syntax::types::{Space, Type};
use crate::tensor_map::{BYTES, FIELDS, Field, TensorMap};
use emulation::{Fault, FaultKind};

type Decoded = Result<Box<dyn Execute>, Diagnostic>;

const RANKS: &[(&str, usize)] = &[("1d", 1), ("2d", 2), ("3d", 3), ("4d", 4), ("5d", 5)];

/// `[map, {coordinates}]`.
#[derive(Clone)]
struct Corner {
    map: Address,
    coordinates: Vec<Slot>,
}

fn corner(site: &mut Site<'_>, index: usize, rank: usize) -> Result<Corner, Diagnostic> {
    let Operand::Tensor(map, parts) = site.operand(index)? else {
        return site.error("`[map, {coordinates}]` is expected");
    };
    let [coordinates] = &parts[..] else { return site.error("offsets of im2col cannot be run") };
    if coordinates.len() != rank {
        return site.error(format!("{} coordinates of {rank}", coordinates.len()));
    }
    let (map, _) = site.address_of(map)?;
    let mut slots = Vec::new();
    for coordinate in coordinates {
        slots.push(site.source_of(coordinate, Type::S32)?);
    }
    site.sink(&slots.clone());
    Ok(Corner { map, coordinates: slots })
}

/// The map at a generic address, and a lane's corner.
fn read_corner(
    step: &mut Step<'_, '_>,
    corner: &Corner,
    lane: u32,
    stores: bool,
) -> Result<(TensorMap, Vec<i32>), Box<Fault>> {
    let address = step.effective(corner.map, lane);
    let place = step.place(Space::Generic, address, lane, BYTES, 64)?;
    let mut bytes = [0; BYTES];
    step.load_place(place, lane, &mut bytes);
    let map = TensorMap::decode(&bytes).map_err(|message| step.fault(FaultKind::Misuse, lane, message))?;
    if map.dims.len() != corner.coordinates.len() {
        let message = format!("the map has rank {}, the copy {}", map.dims.len(), corner.coordinates.len());
        return Err(step.fault(FaultKind::Misuse, lane, message));
    }
    let coordinates: Vec<i32> = corner.coordinates.iter().map(|slot| step.get(*slot, lane) as i32).collect();
    match map.refused(&coordinates, stores) {
        Some(message) => Err(step.fault(FaultKind::Misuse, lane, message)),
        None => Ok((map, coordinates)),
    }
}

/// The pieces of a box at an address of shared memory.
fn pieces(
    step: &mut Step<'_, '_>,
    map: &TensorMap,
    coordinates: &[i32],
    (shared, stores): (u64, bool),
    lane: u32,
) -> Result<Vec<Piece>, Box<Fault>> {
    step.place(Space::Shared, shared, lane, map.box_bytes(), 128)?;
    let base = shared & ((1 << RANK_SHIFT) - 1);
    let mut out = Vec::new();
    map.runs(coordinates, stores, |offset, bytes, global| {
        let at = map.swizzle.apply(base + offset as u64);
        out.push(Piece { global, shared: at as u32, bytes: bytes as u32 });
    });
    Ok(out)
}

/// `cp.async.bulk.tensor`, after the modifiers that all bulk copies share.
pub(crate) fn copy(site: &mut Site<'_>, reduces: bool, multicast: bool) -> Decoded {
    let Some(rank) = site.choice(RANKS) else { return site.error("a rank from `.1d` to `.5d` is missing") };
    site.flag("tile");
    let policy = take_hints(site);
    let (to, from) = (site.space(), site.space());
    let reduce = if reduces { Some(reduction(site)?) } else { None };
    match (to, from) {
        (Space::Shared, Space::Global) if reduce.is_none() => {
            let count = 3 + usize::from(multicast) + usize::from(policy);
            site.arity(count, count)?;
            let (target, corner, mbarrier) = (site.address(0)?, corner(site, 1, rank)?, site.address(2)?);
            let mask = if multicast { Some(site.wide_source_of(site.operand(3)?, Type::B16)?) } else { None };
            Ok(run(move |step| load(step, target, &corner, mbarrier, mask)))
        }
        (Space::Global, Space::Shared) => {
            let count = 2 + usize::from(policy);
            site.arity(count, count)?;
            let (corner, source) = (corner(site, 0, rank)?, site.address(1)?);
            Ok(run(move |step| store(step, &corner, source, reduce)))
        }
        _ => site.error("copies go between global and shared memory"),
    }
}

fn load(
    step: &mut Step<'_, '_>,
    target: Address,
    corner: &Corner,
    mbarrier: Address,
    mask: Option<Slot>,
) -> Result<Flow, Box<Fault>> {
    for lane in step.lanes() {
        let (map, coordinates) = read_corner(step, corner, lane, false)?;
        let shared = step.effective(target, lane);
        let pieces = pieces(step, &map, &coordinates, (shared, false), lane)?;
        let mbarrier = step.effective(mbarrier, lane);
        let mask = mask.map(|mask| step.get(mask, lane) as u32);
        let bytes = map.box_bytes() as u32;
        begin_load(step, lane, Incoming { shared, mbarrier, mask, pieces, bytes })?;
    }
    Ok(Flow::Next)
}

fn store(
    step: &mut Step<'_, '_>,
    corner: &Corner,
    source: Address,
    reduce: Option<Reduce>,
) -> Result<Flow, Box<Fault>> {
    for lane in step.lanes() {
        let (map, coordinates) = read_corner(step, corner, lane, true)?;
        let shared = step.effective(source, lane);
        let mut pieces = pieces(step, &map, &coordinates, (shared, true), lane)?;
        pieces.retain(|piece| piece.global.is_some());
        if let Some(message) = reduce.and_then(|reduce| map.refused_reduction(reduce.operation)) {
            return Err(step.fault(FaultKind::Misuse, lane, message));
        }
        let ty = Type::named(map.element_type()).expect("the table has types of PTX");
        let reduce = reduce.map(|reduce| Reduce { ty, ..reduce });
        begin_store(step, lane, pieces, reduce);
    }
    Ok(Flow::Next)
}

/// `tensormap.replace` and `tensormap.cp_fenceproxy`.
pub(crate) fn tensormap(site: &mut Site<'_>) -> Decoded {
    if site.flag("cp_fenceproxy") {
        return copy_map(site);
    }
    if !site.flag("replace") {
        return site.error("the operation is unknown");
    }
    site.flag("tile");
    let Some(field) = site.choice(FIELDS) else { return site.error("the field is unknown") };
    let space = site.space();
    site.flag("b1024");
    let ty = site.ty()?;
    let Field { offset, bytes, indexed, constant } = field;
    let count = 2 + usize::from(indexed);
    site.arity(count, count)?;
    let address = site.address(0)?;
    let ordinal = if indexed { site.immediate(1)? as usize } else { 0 };
    if ordinal > 4 {
        return site.error(format!("the dimension {ordinal}"));
    }
    if constant {
        site.immediate(count - 1)?;
    }
    let value = site.source(count - 1, ty)?;
    site.sink(&[value]);
    Ok(run(move |step| {
        for lane in step.lanes() {
            let at = step.effective(address, lane).wrapping_add((offset + ordinal * bytes) as u64);
            let value = step.get(value, lane).to_le_bytes();
            step.store(space, at, lane, &value[..bytes])?;
        }
        Ok(Flow::Next)
    }))
}

/// Copies a map from shared to global memory, all lanes together.
fn copy_map(site: &mut Site<'_>) -> Decoded {
    let (to, from) = (site.space(), site.space());
    site.flags(&[
        "tensormap::generic",
        "release",
        "acquire",
        "cta",
        "cluster",
        "gpu",
        "sys",
        "sync",
        "aligned",
    ]);
    site.arity(3, 3)?;
    let (target, source) = (site.address(0)?, site.address(1)?);
    if site.immediate(2)? != BYTES as i64 {
        return site.error("a tensor map has 128 bytes");
    }
    Ok(run(move |step| {
        if let Some(flow) = step.aligned() {
            return Ok(flow);
        }
        if step.world.checks.races {
            step.team.clocks.tick(step.warp.number);
        }
        let lane = step.mask.trailing_zeros();
        let mut bytes = [0; BYTES];
        let address = step.effective(source, lane);
        let place = step.place(from, address, lane, BYTES, BYTES)?;
        step.load_place(place, lane, &mut bytes);
        let address = step.effective(target, lane);
        let place = step.place(to, address, lane, BYTES, BYTES)?;
        step.store_place(place, lane, &bytes)?;
        Ok(Flow::Next)
    }))
}
