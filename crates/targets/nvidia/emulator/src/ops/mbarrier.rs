//! `mbarrier`: barriers in shared memory that count arrivals and bytes.

use crate::decode::site::Site;
use crate::diagnostic::Diagnostic;
use crate::machine::Execute;
use crate::machine::asynchronous;
use crate::machine::code::Slot;
use crate::machine::flow::{Flow, Wait};
use crate::machine::lanes::run;
use crate::machine::mbarrier::Mbarrier;
use crate::machine::place::Address;
use crate::machine::step::Step;
use crate::syntax::types::{Space, Type};
use emulation::{Fault, FaultKind};

type Decoded = Result<Box<dyn Execute>, Diagnostic>;

/// Bytes of an mbarrier.
const BYTES: usize = 8;

/// What decodes an operation.
type Operation = fn(&mut Site<'_>) -> Decoded;

const OPERATIONS: &[(&str, Operation)] = &[
    ("init", init),
    ("inval", inval),
    ("arrive", arrive),
    ("arrive_drop", arrive_drop),
    ("expect_tx", expect),
    ("complete_tx", complete),
    ("test_wait", wait),
    ("try_wait", wait),
    ("pending_count", pending_count),
];

/// Every `mbarrier.…`.
pub(crate) fn mbarrier(site: &mut Site<'_>) -> Decoded {
    match site.choice(OPERATIONS) {
        Some(operation) => operation(site),
        None => site.error("the operation is unknown"),
    }
}

/// Takes what all operations may say, and the type.
fn common(site: &mut Site<'_>) -> Result<(), Diagnostic> {
    site.flags(&["acquire", "release", "relaxed", "cta", "cluster"]);
    let space = site.space();
    if !matches!(space, Space::Generic | Space::Shared) {
        return site.error("an mbarrier lies in shared memory");
    }
    site.ty().map(drop)
}

/// The block and offset of a lane's mbarrier.
fn place(step: &mut Step<'_, '_>, address: Address, lane: u32) -> Result<(usize, u32), Box<Fault>> {
    let value = step.effective(address, lane);
    let (block, offset) = step.shared_place(value, lane, BYTES)?;
    if offset % BYTES != 0 {
        return Err(step.fault(
            FaultKind::Misaligned,
            lane,
            format!("the mbarrier at {offset:#x} is not aligned to 8"),
        ));
    }
    Ok((block, offset as u32))
}

/// The state of a lane's mbarrier.
fn state<'s>(
    step: &'s mut Step<'_, '_>,
    at: (usize, u32),
    lane: u32,
) -> Result<&'s mut Mbarrier, Box<Fault>> {
    if !step.team.blocks[at.0].mbarriers.contains_key(&at.1) {
        let message = format!("there is no mbarrier at {:#x}: it was not initialised, or invalidated", at.1);
        return Err(step.fault(FaultKind::Misuse, lane, message));
    }
    Ok(step.team.blocks[at.0].mbarriers.get_mut(&at.1).expect("it was just found"))
}

fn init(site: &mut Site<'_>) -> Decoded {
    common(site)?;
    site.arity(2, 2)?;
    let (address, count) = (site.address(0)?, site.source(1, Type::U32)?);
    site.sink(&[count]);
    Ok(run(move |step| {
        for lane in step.lanes() {
            let (block, offset) = place(step, address, lane)?;
            let count = step.get(count, lane) as u32;
            if count == 0 || count >= 1 << 20 {
                return Err(step.fault(FaultKind::Misuse, lane, format!("an mbarrier for {count} arrivals")));
            }
            let number = step.warp.number;
            let mut barrier = Mbarrier::new(count);
            if step.world.checks.races {
                // Its own word is written like any other, so that using it without a barrier is found.
                step.note_write(block, offset as usize, &[0xa5; BYTES], lane);
                step.team.clocks.release(number, &mut barrier.completed_seen);
            }
            let block = &mut step.team.blocks[block];
            block.shared[offset as usize..offset as usize + BYTES].fill(0xa5);
            block.written[offset as usize..offset as usize + BYTES].fill(true);
            block.mbarriers.insert(offset, barrier);
        }
        Ok(Flow::Next)
    }))
}

fn inval(site: &mut Site<'_>) -> Decoded {
    common(site)?;
    site.arity(1, 1)?;
    let address = site.address(0)?;
    Ok(run(move |step| {
        for lane in step.lanes() {
            let at = place(step, address, lane)?;
            let number = step.warp.number;
            // Whoever ends it comes after those it counted.
            let seen = state(step, at, lane)?.completed_seen.clone();
            step.team.clocks.acquire(number, &seen);
            if step.world.checks.races {
                // Somebody may still ask for a phase that is complete.
                step.note_write(at.0, at.1 as usize, &[0xa5; BYTES], lane);
            }
            let block = &mut step.team.blocks[at.0];
            block.mbarriers.remove(&at.1);
            block.written[at.1 as usize..at.1 as usize + BYTES].fill(false);
        }
        Ok(Flow::Next)
    }))
}

/// Arrives so many times and expects so many bytes more.
pub(crate) fn arrive_at(
    step: &mut Step<'_, '_>,
    address: Address,
    lane: u32,
    count: u32,
    bytes: i64,
) -> Result<u32, Box<Fault>> {
    let at = place(step, address, lane)?;
    let number = step.warp.number;
    let mut seen = std::mem::take(&mut state(step, at, lane)?.seen);
    if step.world.checks.races {
        step.team.clocks.release(number, &mut seen);
    }
    let barrier = state(step, at, lane)?;
    barrier.seen = seen;
    let phase = barrier.phase;
    barrier.bytes += bytes;
    if count > barrier.pending {
        let pending = barrier.pending;
        let message = format!("{count} arrivals at an mbarrier that expects {pending} more in this phase");
        return Err(step.fault(FaultKind::Misuse, lane, message));
    }
    barrier.pending -= count;
    barrier.settle();
    Ok(phase)
}

fn arrive(site: &mut Site<'_>) -> Decoded {
    arrival(site, false)
}

fn arrive_drop(site: &mut Site<'_>) -> Decoded {
    arrival(site, true)
}

fn arrival(site: &mut Site<'_>, drops: bool) -> Decoded {
    let expects = site.flag("expect_tx");
    site.flag("noComplete");
    common(site)?;
    site.arity(1, 3)?;
    let has_state = !matches!(site.operand(0)?, crate::syntax::Operand::Address(..));
    let first = usize::from(has_state);
    let dest = if has_state { Some(site.dest(0, Type::B64)?) } else { None };
    let address = site.address(first)?;
    let number: Option<Slot> = match site.count() > first + 1 {
        true => Some(site.source(first + 1, Type::U32)?),
        false => None,
    };
    site.sink(number.as_slice());
    Ok(run(move |step| {
        for lane in step.lanes() {
            let number = number.map(|slot| step.get(slot, lane) as u32);
            let (count, bytes) = match (expects, number) {
                (true, Some(bytes)) => (1, i64::from(bytes)),
                (false, Some(count)) => (count, 0),
                _ => (1, 0),
            };
            if drops {
                let at = place(step, address, lane)?;
                let barrier = state(step, at, lane)?;
                barrier.expected = barrier.expected.saturating_sub(count);
            }
            let phase = arrive_at(step, address, lane, count, bytes)?;
            if let Some(dest) = dest {
                step.warp.set_lane(dest, lane, u64::from(phase));
            }
        }
        Ok(Flow::Next)
    }))
}

fn expect(site: &mut Site<'_>) -> Decoded {
    transaction(site, 1)
}

fn complete(site: &mut Site<'_>) -> Decoded {
    transaction(site, -1)
}

fn transaction(site: &mut Site<'_>, sign: i64) -> Decoded {
    common(site)?;
    site.arity(2, 2)?;
    let (address, bytes) = (site.address(0)?, site.source(1, Type::U32)?);
    site.sink(&[bytes]);
    Ok(run(move |step| {
        for lane in step.lanes() {
            let at = place(step, address, lane)?;
            let bytes = step.get(bytes, lane) as u32;
            let barrier = state(step, at, lane)?;
            barrier.bytes += sign * i64::from(bytes);
            barrier.settle();
        }
        Ok(Flow::Next)
    }))
}

/// `test_wait` asks, `try_wait` waits until the phase is complete.
fn wait(site: &mut Site<'_>) -> Decoded {
    let by_parity = site.flag("parity");
    let blocks = site.instruction.opcode.contains("try_wait");
    common(site)?;
    site.arity(3, 4)?;
    let dest = site.dest(0, Type::PRED)?;
    let address = site.address(1)?;
    let token = site.source(2, if by_parity { Type::U32 } else { Type::B64 })?;
    if site.count() == 4 {
        site.source(3, Type::U32)?;
    }
    site.sink(&[token]);
    Ok(run(move |step| {
        let mut complete = [0; 32];
        for lane in step.lanes() {
            let at = place(step, address, lane)?;
            if step.world.checks.races {
                step.note_read_at_once(at.0, at.1 as usize, BYTES, lane);
            }
            asynchronous::deliver(step.team, step.world, at)?;
            let token = step.get(token, lane);
            let parity = token & 1 == 1;
            let barrier = state(step, at, lane)?;
            let done =
                if by_parity { barrier.is_complete(parity) } else { u64::from(barrier.phase) != token };
            if !done && blocks {
                return Ok(Flow::Wait(Wait::Mbarrier { block: at.0, offset: at.1, parity }));
            }
            if done && step.world.checks.races {
                let seen = state(step, at, lane)?.completed_seen.clone();
                step.team.clocks.acquire(step.warp.number, &seen);
            }
            complete[lane as usize] = u64::from(done);
        }
        let mask = step.mask;
        step.warp.set(dest, mask, &complete);
        let waits = complete.iter().enumerate().any(|(lane, done)| mask >> lane & 1 == 1 && *done == 0);
        Ok(if waits { Flow::Yield } else { Flow::Next })
    }))
}

fn pending_count(site: &mut Site<'_>) -> Decoded {
    site.ty()?;
    site.error("the tokens of an mbarrier do not hold its count here")
}
