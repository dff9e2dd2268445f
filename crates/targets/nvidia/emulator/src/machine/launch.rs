//! Launches: programs of a grid, cluster after cluster, each warp a time slice at a time.

use crate::machine::asynchronous;
use crate::machine::block::{Block, Team};
use crate::machine::code::{Fill, Special};
use crate::machine::flow::Wait;
use crate::machine::registers::Registers;
use crate::machine::schedule::Schedule;
use crate::machine::slice::SliceEnd;
use crate::machine::warp::{FULL, Group, Queue, State, Warp};
use crate::machine::world::{Request, World};
use emulation::{Barrier, Clocks, Fault, FaultKind, Interrupts, Memory, Report, Shadow};
use rustc_hash::FxHashMap;
use smallvec::smallvec;
use std::sync::atomic::AtomicBool;

/// Time slices after which a cluster that has not ended gets another beside it, since it may wait for that one.
const LONELY: u32 = 256;
/// Multiprocessors that programs see.
const MULTIPROCESSORS: u32 = 132;
/// As many clusters run beside one another at most.
const BESIDE: usize = 64;

/// Runs all programs of a launch.
pub(crate) fn run(request: Request<'_>, memory: &mut Memory) -> Result<Report, Box<Fault>> {
    let mut world = World::new(request, memory);
    let launch = world.launch;
    let clusters: Vec<u32> = launch.grid.iter().zip(launch.cluster).map(|(grid, size)| grid / size).collect();
    let total = clusters.iter().map(|count| u64::from(*count)).product::<u64>();
    let mut next = 0;
    let mut residents: Vec<Resident> = Vec::new();
    let mut lonely = 0;
    let mut schedule = Schedule::new(launch.schedule);
    let is_given_up = AtomicBool::new(false);
    let mut interrupts = Interrupts::new(&world.checks, &is_given_up);
    while next < total || !residents.is_empty() {
        lonely += 1;
        if residents.is_empty() || (lonely >= LONELY && residents.len() < BESIDE && next < total) {
            let id = [
                (next % u64::from(clusters[0])) as u32,
                (next / u64::from(clusters[0]) % u64::from(clusters[1])) as u32,
                (next / u64::from(clusters[0]) / u64::from(clusters[1])) as u32,
            ];
            next += 1;
            residents.push(Resident::new(&world, id, next as u32));
            lonely = 0;
        }
        for resident in &mut residents {
            resident.round(&mut world, &mut schedule)?;
            interrupts.look()?;
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
    fn new(world: &World<'_>, cluster: [u32; 3], number: u32) -> Resident {
        let launch = world.launch;
        let size = launch.cluster;
        let threads = launch.block.iter().product::<u32>();
        let per_block = threads.div_ceil(32) as usize;
        let programs = size.iter().product::<u32>() as usize;
        let clocks = Clocks::new(per_block * programs);
        let bytes = world.code.dynamic.unwrap_or(world.code.shared) + launch.dynamic_shared;
        let mut team = Team {
            number,
            blocks: Vec::with_capacity(programs),
            clocks,
            cluster_barrier: Barrier::default(),
            deliveries: Vec::new(),
            fenced: vec![0; per_block * programs],
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
                registers: Registers::new(per_block, world.code.max_registers.unwrap_or_default()),
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

    /// Gives every warp a time slice, but for those that the schedule leaves out.
    fn round(&mut self, world: &mut World<'_>, schedule: &mut Schedule) -> Result<(), Box<Fault>> {
        let mut ran = false;
        let mut done = true;
        if let Some(index) = schedule.lands(self.team.deliveries.len()) {
            let at = self.team.deliveries[index].mbarrier;
            asynchronous::deliver(&mut self.team, world, at)?;
            ran = true;
        }
        for index in schedule.order(self.warps.len()) {
            let Some(budget) = schedule.slice() else {
                (ran, done) = (true, false);
                continue;
            };
            match self.warps[index].run_slice(&mut self.team, world, budget)? {
                SliceEnd::Ran => {
                    ran = true;
                    done = false;
                }
                SliceEnd::Blocked => done = false,
                SliceEnd::Done => {}
            }
        }
        self.done = done;
        if done {
            asynchronous::finish_team(&mut self.team, world)?;
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
                    Wait::Registers { group, .. } => block.registers.describe(group),
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
        cluster_phases: [None; 32],
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
