//! What the programs of a launch share that run on one thread: memory, arguments, findings, counts.

use crate::machine::code::Code;
use emulation::{Checks, Fault, FaultKind, Finding, FindingKind, Findings, Hint, Memory, Place, Who};

/// Says where instructions stand.
pub(crate) trait Places: Sync {
    /// Where an instruction stands.
    fn place(&self, site: u32) -> Place;
}

/// What a launch needs besides memory.
#[derive(Clone, Copy)]
pub(crate) struct Request<'w> {
    pub(crate) code: &'w Code,
    pub(crate) places: &'w dyn Places,
    pub(crate) grid: [u32; 3],
    /// Warps of a program.
    pub(crate) warps: u32,
    /// Bytes of LDS of a program.
    pub(crate) lds: usize,
    pub(crate) arguments: &'w [u8],
    /// Addresses of the module's variables.
    pub(crate) variables: &'w [u64],
    /// Address of the hidden arguments.
    pub(crate) hidden: u64,
    pub(crate) checks: Checks,
    /// Threads at most.
    pub(crate) threads: usize,
}

/// What the programs of a launch share that run on one thread.
pub(crate) struct World<'w> {
    pub(crate) code: &'w Code,
    pub(crate) memory: &'w Memory,
    pub(crate) hint: Hint,
    pub(crate) arguments: &'w [u8],
    pub(crate) variables: &'w [u64],
    pub(crate) hidden: u64,
    pub(crate) checks: Checks,
    pub(crate) request: Request<'w>,
    pub(crate) findings: Findings,
    pub(crate) lane_instructions: u64,
    pub(crate) warp_instructions: u64,
    /// What the program that runs may still execute.
    pub(crate) left: u64,
}

impl<'w> World<'w> {
    pub(crate) fn new(request: Request<'w>, memory: &'w Memory) -> World<'w> {
        World {
            code: request.code,
            memory,
            hint: Hint::default(),
            arguments: request.arguments,
            variables: request.variables,
            hidden: request.hidden,
            checks: request.checks,
            request,
            findings: Findings::default(),
            lane_instructions: 0,
            warp_instructions: 0,
            left: request.checks.max_instructions,
        }
    }

    /// Something that grows with what is executed.
    pub(crate) fn time(&self) -> u64 {
        self.warp_instructions
    }

    pub(crate) fn fault(
        &self,
        kind: FaultKind,
        message: String,
        site: u32,
        who: Who,
        lane: Option<u32>,
    ) -> Box<Fault> {
        let place = Some(self.request.places.place(site));
        Box::new(Fault { kind, message, place, block: who.block, warp: who.warp, lane, address: None })
    }

    pub(crate) fn find(
        &mut self,
        kind: FindingKind,
        message: String,
        site: u32,
        other: Option<u32>,
        who: Who,
        lane: u32,
    ) {
        let places = self.request.places;
        self.findings.add(kind, site, other, || Finding {
            kind,
            message,
            place: places.place(site),
            other: other.map(|site| places.place(site)),
            block: who.block,
            warp: who.warp,
            lane,
            times: 1,
        });
    }

    /// Counts an instruction.
    pub(crate) fn count(&mut self, site: u32, mask: u64, who: Who) -> Result<(), Box<Fault>> {
        self.lane_instructions += u64::from(mask.count_ones());
        self.warp_instructions += 1;
        if self.left == 0 {
            let limit = self.checks.max_instructions;
            let message = format!("the program did not end after {limit} instructions of warps");
            return Err(self.fault(FaultKind::TooLong, message, site, who, None));
        }
        self.left -= 1;
        Ok(())
    }
}
