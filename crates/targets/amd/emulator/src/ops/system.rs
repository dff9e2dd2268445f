//! Where a lane is, barriers, waiting, scheduling, clocks, traps.

use super::copy;
use crate::decode::site::{Decoded, Rows, Site};
use crate::machine::code::{Flow, LANES};
use crate::machine::lanes::run;
use crate::machine::step::Step;
use crate::machine::wave::merge;
use amdgcn_isa::system;
use emulation::{Fault, FaultKind};
use llir::intrinsics;

/// Intrinsics of LLVM that compute nothing.
pub(super) static GENERAL: super::General = &[
    (&intrinsics::ASSUME, nothing),
    (&intrinsics::LIFETIME_START, nothing),
    (&intrinsics::LIFETIME_END, nothing),
    (&intrinsics::PREFETCH, nothing),
    (&intrinsics::EXPECT, super::convert::alias),
    (&intrinsics::TRAP, trap),
];

pub(super) static INTRINSICS: super::Own = &[
    (&system::WORKGROUP_ID_X, |site| group_id(site, 0)),
    (&system::WORKGROUP_ID_Y, |site| group_id(site, 1)),
    (&system::WORKGROUP_ID_Z, |site| group_id(site, 2)),
    (&system::WORKITEM_ID_X, item_id),
    (&system::WORKITEM_ID_Y, zero),
    (&system::WORKITEM_ID_Z, zero),
    (&system::IMPLICITARG_PTR, hidden),
    (&system::WAVEFRONTSIZE, wave_size),
    (&system::S_BARRIER, barrier),
    (&system::S_BARRIER_SIGNAL, signal),
    (&system::S_BARRIER_WAIT, wait),
    (&system::WAVE_BARRIER, wave_barrier),
    (&system::S_WAITCNT, waitcnt),
    (&system::S_WAIT_LOADCNT, |site| {
        let left = site.constant(0)? as usize;
        copy::wait(site, left)
    }),
    (&system::S_WAIT_DSCNT, nothing),
    (&system::SCHED_BARRIER, nothing),
    (&system::SCHED_GROUP_BARRIER, nothing),
    (&system::IGLP_OPT, nothing),
    (&system::S_SETPRIO, nothing),
    (&system::S_SLEEP, nothing),
    (&system::S_GETREG, zero),
    (&system::S_MEMREALTIME, clock),
    (&system::S_MEMTIME, clock),
    (&system::S_SENDMSG_RTN, clock),
    (&system::ENDPGM, |site| {
        site.push(run(|_| Ok(Flow::Exit)), &[], &[]);
        Ok(())
    }),
];

/// Intrinsics of the table that are not run.
#[cfg(test)]
#[cfg(test)]
pub(super) static REFUSED: &[&amdgcn_isa::Row] = &[&amdgcn_isa::memory::GLOBAL_LOAD_TR_B128];

fn nothing(_: &mut Site<'_, '_>) -> Decoded {
    Ok(())
}

fn zero(site: &mut Site<'_, '_>) -> Decoded {
    let row = site.bits(0);
    site.result.push(row);
    Ok(())
}

fn wave_size(site: &mut Site<'_, '_>) -> Decoded {
    let lanes = u64::from(site.wave());
    let row = site.bits(lanes);
    site.result.push(row);
    Ok(())
}

/// A result that the machine knows.
fn value(
    site: &mut Site<'_, '_>,
    f: impl Fn(&Step<'_, '_>, usize) -> u64 + Send + Sync + 'static,
) -> Decoded {
    let dest = site.dest()?;
    let execute = run(move |step| {
        let mut out = [0; LANES];
        for lane in step.lanes() {
            out[lane] = f(step, lane);
        }
        step.set(dest, &out);
        Ok(Flow::Next)
    });
    site.push(execute, &[], &[dest]);
    Ok(())
}

fn group_id(site: &mut Site<'_, '_>, axis: usize) -> Decoded {
    value(site, move |step, _| u64::from(step.group.id[axis]))
}

fn item_id(site: &mut Site<'_, '_>) -> Decoded {
    let wave = site.wave();
    value(site, move |step, lane| u64::from(step.wave.index * wave) + lane as u64)
}

fn hidden(site: &mut Site<'_, '_>) -> Decoded {
    value(site, |step, _| step.world.hidden)
}

/// Instructions count as time.
fn clock(site: &mut Site<'_, '_>) -> Decoded {
    value(site, |step, _| step.world.time())
}

fn trap(site: &mut Site<'_, '_>) -> Decoded {
    let execute = run(|step| {
        let lane = step.mask.trailing_zeros() as usize;
        Err(step.fault(FaultKind::Trap, lane, "the kernel ends itself by a trap"))
    });
    site.push(execute, &[], &[]);
    Ok(())
}

/// All lanes of the warp must take part.
fn together(step: &Step<'_, '_>, what: &str) -> Result<(), Box<Fault>> {
    if step.is_whole() {
        return Ok(());
    }
    let (mask, live) = (step.mask, step.wave.live);
    Err(step.misuse(format!("{what} is executed by the lanes {mask:#x} only, of {live:#x}: others skip it")))
}

/// The warp comes to the barrier; the phase that it has to see end.
fn arrive(step: &mut Step<'_, '_>) -> u32 {
    let phase = step.group.barrier.phase;
    if let Some(released) = &step.wave.released {
        merge(&mut step.group.barrier.seen, released);
    }
    step.wave.arrived = (step.wave.arrived.0 + 1, step.site);
    step.group.barrier.arrived += 1;
    step.group.barrier.settle(step.group.live);
    phase
}

fn barrier(site: &mut Site<'_, '_>) -> Decoded {
    let execute = run(|step| {
        together(step, "a barrier")?;
        let phase = arrive(step);
        step.wave.waiting = Some((phase, step.site));
        Ok(Flow::Barrier)
    });
    site.push(execute, &[], &[]);
    Ok(())
}

fn signal(site: &mut Site<'_, '_>) -> Decoded {
    the_programs(site)?;
    let execute = run(|step| {
        together(step, "a barrier")?;
        if step.wave.signalled.is_some() {
            return Err(step.misuse("the warp signals at the barrier twice without waiting there"));
        }
        step.wave.signalled = Some(arrive(step));
        Ok(Flow::Next)
    });
    site.push(execute, &[], &[]);
    Ok(())
}

fn wait(site: &mut Site<'_, '_>) -> Decoded {
    the_programs(site)?;
    let execute = run(|step| {
        together(step, "a barrier")?;
        let Some(phase) = step.wave.signalled.take() else {
            return Err(step.misuse("the warp waits at the barrier without having signalled there"));
        };
        step.wave.waiting = Some((phase, step.site));
        Ok(Flow::Barrier)
    });
    site.push(execute, &[], &[]);
    Ok(())
}

/// Only the barrier of the program is there.
fn the_programs(site: &Site<'_, '_>) -> Decoded {
    let bits = site.ty(0).lane_bits();
    match super::cells::signed(site.constant(0)?, bits) {
        -1 => Ok(()),
        other => Err(format!("the barrier {other} is not there: only that of the program (-1) is")),
    }
}

/// Lanes of the warp have met: what they do next comes after what they did.
fn wave_barrier(site: &mut Site<'_, '_>) -> Decoded {
    let execute = run(|step| {
        step.group.clocks.tick(step.wave.index as usize);
        Ok(Flow::Next)
    });
    site.add(execute, Rows::default());
    Ok(())
}

/// Counts of device memory, LDS and exports in one number; only copies to LDS wait here.
fn waitcnt(site: &mut Site<'_, '_>) -> Decoded {
    let bits = site.constant(0)?;
    let is_rdna3 = site.wave() == 32;
    // gfx9: vmcnt in bits 3:0 and 15:14. gfx11: in bits 15:10.
    let left = if is_rdna3 { bits >> 10 & 0x3f } else { bits & 0xf | (bits >> 14 & 3) << 4 };
    let none = 0x3f;
    if left == none { Ok(()) } else { copy::wait(site, left as usize) }
}
