//! `cp.async`: copies from global to shared memory that land when their lane waits for them, and no earlier.

use crate::decode::site::Site;
use crate::diagnostic::Diagnostic;
use crate::machine::Execute;
use crate::machine::flow::Flow;
use crate::machine::lanes::run;
use crate::machine::place::RANK_SHIFT;
use crate::machine::step::Step;
use crate::machine::warp::Copy;
use crate::ops::memory::take_hints;
use crate::ops::{bulk, mbarrier};
use crate::syntax::types::{Space, Type};
use emulation::{Access, Fault, FaultKind};

type Decoded = Result<Box<dyn Execute>, Diagnostic>;

/// Every `cp.…`.
pub(crate) fn cp(site: &mut Site<'_>) -> Decoded {
    let reduce = site.flag("reduce");
    if !site.flag("async") {
        return site.error("`.async` is missing");
    }
    if site.flag("bulk") {
        return bulk::bulk(site, reduce);
    }
    if site.flag("commit_group") {
        site.arity(0, 0)?;
        return Ok(run(|step| {
            for lane in step.lanes() {
                step.warp.copies.committed[lane as usize] += 1;
            }
            Ok(Flow::Next)
        }));
    }
    if site.flag("wait_group") {
        site.arity(1, 1)?;
        let left = site.immediate(0)? as u32;
        return Ok(run(move |step| {
            for lane in step.lanes() {
                let committed = step.warp.copies.committed[lane as usize];
                land(step, lane, committed.saturating_sub(left))?;
            }
            Ok(Flow::Next)
        }));
    }
    if site.flag("wait_all") {
        site.arity(0, 0)?;
        return Ok(run(|step| {
            for lane in step.lanes() {
                land(step, lane, u32::MAX)?;
            }
            Ok(Flow::Next)
        }));
    }
    if site.flag("mbarrier") {
        return arrive(site);
    }
    copy(site)
}

fn copy(site: &mut Site<'_>) -> Decoded {
    let policy = take_hints(site);
    let (first, second) = (site.space(), site.space());
    if (first, second) != (Space::Shared, Space::Global) {
        return site.error("it copies from `.global` to `.shared`");
    }
    site.arity(3, 4 + usize::from(policy))?;
    let (to, from) = (site.address(0)?, site.address(1)?);
    let bytes = site.immediate(2)? as usize;
    if !matches!(bytes, 4 | 8 | 16) {
        return site.error(format!("{bytes} bytes: 4, 8 and 16 are possible"));
    }
    let (mut size, mut ignore) = (None, None);
    if site.count() > 3 + usize::from(policy) {
        // A predicate says to ignore the source; a number, how much of it to read.
        match site.predicate(3) {
            Ok(predicate) if is_predicate(site) => ignore = Some(predicate),
            _ => size = Some(site.source(3, Type::U32)?),
        }
    }
    Ok(run(move |step| {
        let addresses: Vec<u64> = step.lanes().map(|lane| step.effective(from, lane)).collect();
        step.count_traffic(Space::Global, &addresses, bytes);
        let targets: Vec<u64> = step.lanes().map(|lane| step.effective(to, lane)).collect();
        step.count_traffic(Space::Shared, &targets, bytes);
        let ignored = ignore.map_or(0, |predicate| step.warp.truth(predicate));
        for (lane, (global, shared)) in step.lanes().zip(addresses.into_iter().zip(targets)) {
            let from = match size {
                _ if ignored >> lane & 1 == 1 => 0,
                Some(size) => step.get(size, lane) as usize,
                None => bytes,
            };
            if from > bytes {
                return Err(step.fault(FaultKind::Misuse, lane, format!("{from} bytes are read of {bytes}")));
            }
            // Nothing is accessed otherwise: `ptxas` makes of it an instruction that reads under a condition.
            if from > 0 {
                step.place(Space::Global, global, lane, from, bytes)?;
            }
            step.place(Space::Shared, shared, lane, bytes, bytes)?;
            let (number, group) = (step.warp.number, step.warp.copies.committed[lane as usize]);
            let seen = step.team.clocks.snapshot(number);
            step.warp.copies.pending.push(Copy {
                lane,
                group,
                global,
                shared: shared as u32,
                bytes: bytes as u32,
                from: from as u32,
                seen,
                instruction: step.pc,
            });
        }
        Ok(Flow::Next)
    }))
}

/// Whether the fourth operand is a predicate register.
fn is_predicate(site: &Site<'_>) -> bool {
    use crate::decode::scope::Symbol;
    use crate::syntax::Operand;
    let name = match site.operand(3) {
        Ok(Operand::Name(name)) => name,
        Ok(Operand::Not(inner)) => match &**inner {
            Operand::Name(name) => name,
            _ => return false,
        },
        _ => return false,
    };
    matches!(site.assembly.scopes.find(name), Some(Symbol::Register(_, ty)) if *ty == Type::PRED)
}

/// Lands a lane's copies of the groups before `end`.
pub(crate) fn land(step: &mut Step<'_, '_>, lane: u32, end: u32) -> Result<(), Box<Fault>> {
    let mut index = 0;
    while index < step.warp.copies.pending.len() {
        let copy = &step.warp.copies.pending[index];
        if copy.lane != lane || (copy.group >= end && end != u32::MAX) {
            index += 1;
            continue;
        }
        let copy = step.warp.copies.pending.remove(index);
        land_one(step, &copy)?;
    }
    Ok(())
}

fn land_one(step: &mut Step<'_, '_>, copy: &Copy) -> Result<(), Box<Fault>> {
    let mut data = [0; 16];
    let bytes = copy.bytes as usize;
    if copy.from > 0 && step.world.memory.read(copy.global, &mut data[..copy.from as usize]).is_err() {
        return Err(step.fault(
            FaultKind::OutOfBounds,
            copy.lane,
            "the source of a copy in flight was freed",
        ));
    }
    let block = match copy.shared >> RANK_SHIFT {
        0 => step.warp.block,
        rank => rank as usize - 1,
    };
    let offset = (copy.shared & ((1 << RANK_SHIFT) - 1)) as usize;
    let number = step.warp.number;
    let clock = step.team.clocks.row(number)[number];
    let target = &mut step.team.blocks[block];
    if let Some(shadow) = &mut target.shadow {
        let access = Access {
            column: number,
            lane: copy.lane,
            clock,
            seen: &copy.seen,
            instruction: copy.instruction,
        };
        let clash = shadow.write(offset..offset + bytes, &access, |_| false);
        step.report_clash_at(clash, offset, copy.lane, copy.instruction);
    }
    let target = &mut step.team.blocks[block];
    target.shared[offset..offset + bytes].copy_from_slice(&data[..bytes]);
    target.written[offset..offset + bytes].fill(true);
    Ok(())
}

/// `cp.async.mbarrier.arrive`: arrives once the lane's copies so far have landed.
fn arrive(site: &mut Site<'_>) -> Decoded {
    site.flag("arrive");
    let no_increment = site.flag("noinc");
    site.space();
    site.ty()?;
    site.arity(1, 1)?;
    let address = site.address(0)?;
    Ok(run(move |step| {
        for lane in step.lanes() {
            land(step, lane, u32::MAX)?;
            if no_increment {
                mbarrier::arrive_at(step, address, lane, 1, 0)?;
            }
        }
        Ok(Flow::Next)
    }))
}
