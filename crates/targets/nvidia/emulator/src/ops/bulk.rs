//! `cp.async.bulk`: copies between global and shared memory that run by themselves.
//!
//! Copies into shared memory land when somebody waits at their mbarrier; copies out of it read when their lane waits
//! for its groups, and write when it waits without `.read`, or ends. So whoever forgets to wait sees old bytes.

use crate::decode::site::Site;
use crate::diagnostic::Diagnostic;
use crate::machine::Execute;
use crate::machine::asynchronous::{Incoming, Until, begin_load, begin_store, write_out};
use crate::machine::block::Piece;
use crate::machine::code::Slot;
use crate::machine::flow::Flow;
use crate::machine::lanes::run;
use crate::machine::place::Address;
use crate::machine::place::{Place, RANK_SHIFT};
use crate::machine::step::Step;
use crate::numeric::reduce::Reduce;
use crate::ops::memory::take_hints;
use crate::ops::reduction::reduction;
use crate::ops::tensor;
use crate::syntax::types::{Space, Type};
use emulation::{Fault, FaultKind};

type Decoded = Result<Box<dyn Execute>, Diagnostic>;

/// Every `cp.async.bulk.…` and `cp.reduce.async.bulk.…`.
pub(crate) fn bulk(site: &mut Site<'_>, reduces: bool) -> Decoded {
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

fn prefetch(site: &mut Site<'_>) -> Decoded {
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
