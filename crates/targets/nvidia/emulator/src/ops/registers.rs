//! `setmaxnreg`: groups of four warps hand registers to each other, by way of what the program has left.

use crate::decode::site::Site;
use crate::diagnostic::Diagnostic;
use crate::machine::Execute;
use crate::machine::flow::{Flow, Wait};
use crate::machine::registers::{GROUP, RANGE};
use crate::machine::step::Step;
use emulation::Fault;

/// `setmaxnreg`.
struct SetRegisters {
    count: u32,
    more: bool,
}

/// `setmaxnreg.inc`, `setmaxnreg.dec`.
pub(crate) fn set(site: &mut Site<'_>) -> Result<Box<dyn Execute>, Diagnostic> {
    let Some(more) = site.choice(&[("inc", true), ("dec", false)]) else {
        return site.error("one of `.inc`, `.dec` is missing");
    };
    site.flags(&["sync", "aligned", "u32"]);
    site.arity(1, 1)?;
    let count = site.immediate(0)?;
    let count = u32::try_from(count).ok().filter(|count| RANGE.contains(count) && count % 8 == 0);
    let Some(count) = count else {
        return site.error("the number of registers is a multiple of 8 from 24 to 256");
    };
    if site.assembly.code.max_registers.is_none() {
        return site.error("the entry must say with `.maxnreg` how many registers its lanes begin with");
    }
    Ok(Box::new(SetRegisters { count, more }))
}

impl Execute for SetRegisters {
    fn run(&self, step: &mut Step<'_, '_>) -> Result<Flow, Box<Fault>> {
        if step.resumed {
            return Ok(Flow::Next);
        }
        if let Some(flow) = step.aligned() {
            return Ok(flow);
        }
        let group = step.warp.index as usize / GROUP;
        let pc = step.pc;
        let pool = &mut step.team.blocks[step.warp.block].registers;
        let phase = match pool.ask(group, self.count, self.more, pc) {
            Ok(phase) => phase,
            Err(message) => return Err(step.misuse(message)),
        };
        let pool = &step.team.blocks[step.warp.block].registers;
        Ok(if pool.is_past(group, phase) { Flow::Next } else { Flow::Wait(Wait::Registers { group, phase }) })
    }
}
