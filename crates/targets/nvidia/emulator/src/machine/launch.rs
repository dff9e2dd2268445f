//! Launches: programs of a grid, cluster after cluster, each warp a turn at a time.

use crate::machine::block::{Block, Team};
use crate::machine::code::{Code, Fill, Special};
use crate::machine::flow::Wait;
use crate::machine::warp::{FULL, Group, Queue, State, Turn, Warp};
use crate::program::Launch;
use emulation::{
    Barrier, Checks, Clocks, Counter, Fault, FaultKind, Finding, FindingKind, Findings, Hint, Memory, Place,
    Report, Shadow, Who,
};
use rustc_hash::FxHashMap;
use smallvec::smallvec;

/// Instructions of a warp's turn.
const TURN: u32 = 2_000;
/// Turns after which a cluster that has not ended gets another beside it, since it may wait for that one.
const LONELY: u32 = 256;
/// Multiprocessors that programs are told of.
const MULTIPROCESSORS: u32 = 132;
/// As many clusters run beside one another at most.
const BESIDE: usize = 64;

/// What all programs of a launch share.
pub(crate) struct World<'w> {
    pub(crate) code: &'w Code,
    pub(crate) memory: &'w mut Memory,
    pub(crate) hint: Hint,
    pub(crate) params: Vec<u8>,
    pub(crate) checks: Checks,
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

    fn report(mut self) -> Report {
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

/// What a launch needs besides its code.
pub(crate) struct Request<'w> {
    pub(crate) code: &'w Code,
    pub(crate) files: &'w [(u32, String)],
    pub(crate) variables: Vec<u64>,
    pub(crate) params: Vec<u8>,
    pub(crate) launch: &'w Launch,
    pub(crate) checks: Checks,
}

/// Runs all programs of a launch.
pub(crate) fn run(request: Request<'_>, memory: &mut Memory) -> Result<Report, Box<Fault>> {
    let Request { code, files, variables, params, launch, checks } = request;
    let counters = vec![Counter::default(); if checks.counters { code.instructions.len() } else { 0 }];
    let mut world = World {
        code,
        memory,
        hint: Hint::default(),
        params,
        checks,
        variables,
        files,
        launch,
        output: String::new(),
        counters,
        lane_instructions: 0,
        warp_instructions: 0,
        findings: Findings::default(),
    };
    let clusters: Vec<u32> = launch.grid.iter().zip(launch.cluster).map(|(grid, size)| grid / size).collect();
    let total = clusters.iter().map(|count| u64::from(*count)).product::<u64>();
    let mut next = 0;
    let mut residents: Vec<Resident> = Vec::new();
    let mut lonely = 0;
    while next < total || !residents.is_empty() {
        lonely += 1;
        if residents.is_empty() || (lonely >= LONELY && residents.len() < BESIDE && next < total) {
            let id = [
                (next % u64::from(clusters[0])) as u32,
                (next / u64::from(clusters[0]) % u64::from(clusters[1])) as u32,
                (next / u64::from(clusters[0]) / u64::from(clusters[1])) as u32,
            ];
            residents.push(Resident::new(&world, id));
            next += 1;
            lonely = 0;
        }
        for resident in &mut residents {
            resident.round(&mut world)?;
        }
        residents.retain(|resident| !resident.done);
    }
    Ok(world.report())
}

/// A cluster that runs.
struct Resident {
    team: Team,
    warps: Vec<Warp>,
    done: bool,
}

impl Resident {
    fn new(world: &World<'_>, cluster: [u32; 3]) -> Resident {
        let launch = world.launch;
        let size = launch.cluster;
        let threads = launch.block.iter().product::<u32>();
        let per_block = threads.div_ceil(32) as usize;
        let programs = size.iter().product::<u32>() as usize;
        let clocks = Clocks::new(per_block * programs);
        let bytes = world.code.dynamic.unwrap_or(world.code.shared) + launch.dynamic_shared;
        let mut team = Team {
            blocks: Vec::with_capacity(programs),
            clocks,
            cluster_barrier: Barrier::default(),
            deliveries: Vec::new(),
            published: FxHashMap::default(),
        };
        let mut warps = Vec::new();
        for rank in 0..programs as u32 {
            let within = [rank % size[0], rank / size[0] % size[1], rank / size[0] / size[1]];
            let id = std::array::from_fn(|axis| cluster[axis] * size[axis] + within[axis]);
            let shadow = world.checks.races.then(|| Shadow::new(bytes, team.clocks.columns()));
            team.blocks.push(Block {
                id,
                shared: vec![0xcd; bytes],
                written: vec![false; bytes],
                barriers: Default::default(),
                mbarriers: FxHashMap::default(),
                live: threads,
                shadow,
                first_warp: rank as usize * per_block,
            });
            for index in 0..per_block as u32 {
                warps.push(new_warp(world, &team, rank as usize, index, within));
            }
        }
        Resident { team, warps, done: false }
    }

    /// Gives every warp a turn.
    fn round(&mut self, world: &mut World<'_>) -> Result<(), Box<Fault>> {
        let mut ran = false;
        let mut done = true;
        for warp in &mut self.warps {
            match warp.turn(&mut self.team, world, TURN)? {
                Turn::Ran => {
                    ran = true;
                    done = false;
                }
                Turn::Blocked => done = false,
                Turn::Done => {}
            }
        }
        self.done = done;
        if done {
            crate::ops::bulk::finish_team(&mut self.team, world)?;
        }
        if ran || done { Ok(()) } else { Err(self.deadlock(world)) }
    }

    /// Everything waits: says for what.
    fn deadlock(&self, world: &World<'_>) -> Box<Fault> {
        let mut lines = Vec::new();
        let mut first = None;
        for warp in &self.warps {
            for group in &warp.groups {
                let State::Waiting(wait) = group.state else { continue };
                first.get_or_insert((warp, group.pc));
                let block = &self.team.blocks[warp.block];
                let what = match wait {
                    Wait::Lanes(mask) => {
                        let missing = mask & warp.live & !group.mask;
                        format!("lanes {missing:#010x} of its warp")
                    }
                    Wait::Barrier { id, .. } => {
                        let barrier = &block.barriers[id];
                        let expected = barrier.expected.unwrap_or(block.live);
                        format!("barrier {id}, at which {} of {expected} threads stand", barrier.arrived)
                    }
                    Wait::Cluster { .. } => "the barrier of the cluster".to_owned(),
                    Wait::Mbarrier { block, offset, parity } => {
                        let state = self.team.blocks[block].mbarriers.get(&offset);
                        let (pending, bytes) = state.map_or((0, 0), |m| (m.pending, m.bytes));
                        let parity = u32::from(parity);
                        format!(
                            "the mbarrier at {offset:#x} (parity {parity}), which misses {pending} arrivals and {bytes} bytes"
                        )
                    }
                };
                let place = world.place(group.pc);
                let [x, y, z] = block.id;
                lines.push(format!(
                    "program ({x}, {y}, {z}) warp {} lanes {:#010x} at {place} wait for {what}",
                    warp.index, group.mask
                ));
            }
        }
        let count = lines.len();
        lines.truncate(8);
        if count > 8 {
            lines.push(format!("and {} more", count - 8));
        }
        let message = format!("everything waits: {}", lines.join("; "));
        match first {
            Some((warp, pc)) => world.fault(FaultKind::Deadlock, message, pc, warp.who(&self.team), None),
            None => Box::new(Fault::launch(message)),
        }
    }
}

fn new_warp(world: &World<'_>, team: &Team, block: usize, index: u32, within: [u32; 3]) -> Warp {
    let launch = world.launch;
    let threads = launch.block.iter().product::<u32>();
    let lanes = (threads - index * 32).min(32);
    let live = if lanes == 32 { FULL } else { (1 << lanes) - 1 };
    let code = world.code;
    let mut rows = vec![[0; 32]; code.slots];
    let mut known = vec![0; code.slots];
    for (slot, fill) in &code.fills {
        known[slot.index()] = FULL;
        for lane in 0..32u32 {
            rows[slot.index()][lane as usize] = match *fill {
                Fill::Bits(bits) => bits,
                Fill::Variable(index, offset) => world.variables[index].wrapping_add_signed(offset),
                Fill::Special(special) => {
                    let thread = index * 32 + lane;
                    u64_of(
                        special,
                        world,
                        &team.blocks[block],
                        Thread { thread, lane, rank: block as u32, within },
                    )
                }
            };
        }
    }
    Warp {
        block,
        index,
        number: team.blocks[block].first_warp + index as usize,
        rows,
        known,
        groups: smallvec![Group { pc: 0, mask: live, state: State::Ready }],
        live,
        targets: [0; 32],
        local: vec![0; code.local * 32],
        cluster_phases: [0; 32],
        carry: 0,
        copies: Queue::default(),
        stores: Queue::default(),
        matrix_groups: 0,
        flights: Vec::new(),
        busy: Vec::new(),
        unfenced: vec![false; if code.has_matrix_flights() { code.slots } else { 0 }],
        patience: 0,
    }
}

/// Who asks for a special register.
struct Thread {
    thread: u32,
    lane: u32,
    rank: u32,
    within: [u32; 3],
}

fn u64_of(special: Special, world: &World<'_>, block: &Block, who: Thread) -> u64 {
    let launch = world.launch;
    let [x, y, _] = launch.block;
    let threads = launch.block.iter().product::<u32>();
    let programs = launch.cluster.iter().product::<u32>();
    let value = match special {
        Special::Tid(axis) => [who.thread % x, who.thread / x % y, who.thread / x / y][axis],
        Special::Ntid(axis) => launch.block[axis],
        Special::Ctaid(axis) => block.id[axis],
        Special::Nctaid(axis) => launch.grid[axis],
        Special::Laneid => who.lane,
        Special::Warpid => who.thread / 32,
        Special::Nwarpid => threads.div_ceil(32),
        Special::Smid => block.id[0].wrapping_add(block.id[1]).wrapping_add(block.id[2]) % MULTIPROCESSORS,
        Special::Nsmid => MULTIPROCESSORS,
        Special::Gridid => 1,
        Special::LanemaskEq => 1 << who.lane,
        Special::LanemaskLt => (1 << who.lane) - 1,
        Special::LanemaskLe => ((2u64 << who.lane) - 1) as u32,
        Special::LanemaskGe => FULL << who.lane,
        Special::LanemaskGt => ((u64::from(FULL) << who.lane) << 1) as u32,
        Special::Clusterid(axis) => block.id[axis] / launch.cluster[axis],
        Special::Nclusterid(axis) => launch.grid[axis] / launch.cluster[axis],
        Special::ClusterCtaid(axis) => who.within[axis],
        Special::ClusterNctaid(axis) => launch.cluster[axis],
        Special::ClusterCtarank => who.rank,
        Special::ClusterNctarank => programs,
        Special::IsExplicitCluster => u32::from(programs > 1),
        Special::DynamicSmemSize => launch.dynamic_shared as u32,
        Special::TotalSmemSize => block.shared.len() as u32,
    };
    u64::from(value)
}
