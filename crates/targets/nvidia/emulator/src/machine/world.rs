//! What all programs of a launch share: its code and its memory, and what is reported of it.

use crate::machine::code::Code;
use crate::machine::proxies::Proxies;
use emulation::{
    Argument, Checks, Counter, Fault, FaultKind, Finding, FindingKind, Findings, Hint, Memory, Place, Report,
    Who,
};

/// How to launch an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Programs along x, y and z.
    pub grid: [u32; 3],
    /// Threads of a program along x, y and z.
    pub block: [u32; 3],
    /// Programs of a cluster along x, y and z; they divide the grid.
    pub cluster: [u32; 3],
    /// Bytes of shared memory beyond the static.
    pub dynamic_shared: usize,
    /// One argument for each parameter.
    pub arguments: Vec<Argument>,
    /// The order in which warps run, and when copies land, as far as that is open: a seed, or 0 for one warp after the
    /// other.
    pub schedule: u64,
}

impl Default for Launch {
    fn default() -> Launch {
        Launch {
            grid: [1; 3],
            block: [32, 1, 1],
            cluster: [1; 3],
            dynamic_shared: 0,
            arguments: Vec::new(),
            schedule: 0,
        }
    }
}

/// What a launch needs besides its code.
pub(crate) struct Request<'w> {
    pub(crate) code: &'w Code,
    pub(crate) files: &'w [(u32, String)],
    pub(crate) variables: Vec<u64>,
    pub(crate) params: Vec<u8>,
    pub(crate) launch: &'w Launch,
    pub(crate) checks: Checks,
}

/// What all programs of a launch share.
pub(crate) struct World<'w> {
    pub(crate) code: &'w Code,
    pub(crate) memory: &'w mut Memory,
    pub(crate) hint: Hint,
    pub(crate) params: Vec<u8>,
    pub(crate) checks: Checks,
    /// What is known of global memory, if it is touched by bulk copies and watched.
    pub(crate) proxies: Option<Proxies>,
    /// Addresses of the module's variables.
    pub(crate) variables: Vec<u64>,
    pub(crate) files: &'w [(u32, String)],
    pub(crate) launch: &'w Launch,
    pub(crate) output: String,
    pub(crate) counters: Vec<Counter>,
    pub(crate) lane_instructions: u64,
    pub(crate) warp_instructions: u64,
    findings: Findings,
}

impl<'w> World<'w> {
    pub(crate) fn new(request: Request<'w>, memory: &'w mut Memory) -> World<'w> {
        let Request { code, files, variables, params, launch, checks } = request;
        let counters = vec![Counter::default(); if checks.counters { code.instructions.len() } else { 0 }];
        World {
            code,
            memory,
            hint: Hint::default(),
            params,
            checks,
            proxies: (checks.races && code.has_bulk_copies()).then(Proxies::default),
            variables,
            files,
            launch,
            output: String::new(),
            counters,
            lane_instructions: 0,
            warp_instructions: 0,
            findings: Findings::default(),
        }
    }
}

impl World<'_> {
    /// Where an instruction stands.
    pub(crate) fn place(&self, pc: u32) -> Place {
        place_of(self.code, self.files, pc)
    }

    pub(crate) fn fault(
        &self,
        kind: FaultKind,
        message: String,
        pc: u32,
        who: Who,
        lane: Option<u32>,
    ) -> Box<Fault> {
        let Who { block, warp } = who;
        Box::new(Fault { kind, message, place: Some(self.place(pc)), block, warp, lane, address: None })
    }

    pub(crate) fn find(
        &mut self,
        kind: FindingKind,
        message: String,
        pc: u32,
        other: Option<u32>,
        who: Who,
        lane: u32,
    ) {
        let (code, files) = (self.code, self.files);
        self.findings.add(kind, pc, other, || Finding {
            kind,
            message,
            place: place_of(code, files, pc),
            other: other.map(|pc| place_of(code, files, pc)),
            block: who.block,
            warp: who.warp,
            lane,
            times: 1,
        });
    }

    /// Counts an instruction.
    pub(crate) fn count(&mut self, pc: u32, mask: u32, who: Who) -> Result<(), Box<Fault>> {
        let lanes = u64::from(mask.count_ones());
        self.lane_instructions += lanes;
        self.warp_instructions += 1;
        if self.warp_instructions > self.checks.max_instructions {
            let limit = self.checks.max_instructions;
            let message = format!("the launch did not end after {limit} instructions of warps");
            return Err(self.fault(FaultKind::TooLong, message, pc, who, None));
        }
        if self.checks.counters {
            let counter = &mut self.counters[pc as usize];
            counter.warps += 1;
            counter.lanes += lanes;
        }
        Ok(())
    }

    /// What is reported when all programs have ended.
    pub(crate) fn report(mut self) -> Report {
        let findings = std::mem::take(&mut self.findings).sorted();
        let counters = std::mem::take(&mut self.counters);
        let counters = counters
            .into_iter()
            .enumerate()
            .filter(|(_, counter)| counter.warps > 0)
            .map(|(pc, counter)| Counter { place: self.place(pc as u32), ..counter })
            .collect();
        Report {
            output: self.output,
            findings,
            counters,
            lane_instructions: self.lane_instructions,
            warp_instructions: self.warp_instructions,
        }
    }
}

/// Where an instruction stands.
fn place_of(code: &Code, files: &[(u32, String)], pc: u32) -> Place {
    let instr = &code.instructions[pc as usize];
    let file = files.iter().find(|(number, _)| *number == instr.loc.file);
    let source = match (file, instr.loc.line) {
        (Some((_, name)), line @ 1..) => Some((name.clone(), line, instr.loc.column)),
        _ => None,
    };
    Place { language: "PTX", line: instr.line, instruction: instr.opcode.to_string(), source }
}
