//! Launches: programs of a grid on the cores of the host, each warp a time slice at a time.

use crate::machine::lds::Group;
use crate::machine::slice::SliceEnd;
use crate::machine::wave::Wave;
use crate::machine::world::{Request, World};
use emulation::{Fault, FaultKind, Findings, INTERVAL, Interrupts, Memory, Report};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle, Thread};

/// Instructions of a warp's time slice.
const SLICE: u32 = 4_000;
/// Time slices after which a program that has not ended gets another beside it, since it may wait for that one.
const LONELY: u32 = 128;
/// As many programs run beside one another at most.
const BESIDE: usize = 64;

/// Runs all programs of a launch.
pub(crate) fn run(request: Request<'_>, memory: &Memory) -> Result<Report, Box<Fault>> {
    let total = request.grid.iter().map(|size| u64::from(*size)).product::<u64>();
    let mut world = World::new(request, memory);
    let mut idle = Vec::new();
    let is_given_up = AtomicBool::new(false);
    let mut interrupts = Interrupts::new(&request.checks, &is_given_up);
    if request.code.is_sequential {
        beside((&mut world, &mut interrupts), &mut idle, total)?;
    } else if request.threads < 2 || total < 2 {
        for number in 0..total {
            alone((&mut world, &mut interrupts), &mut idle, number)?;
        }
    } else {
        for other in on_threads(request, memory, total)? {
            world.findings.merge(other.findings);
            world.lane_instructions += other.lane_instructions;
            world.warp_instructions += other.warp_instructions;
        }
    }
    Ok(Report {
        output: String::new(),
        findings: world.findings.sorted(),
        counters: Vec::new(),
        lane_instructions: world.lane_instructions,
        warp_instructions: world.warp_instructions,
    })
}

/// Runs programs on threads. Of several that fault, the first in order of the grid is reported, whichever came first.
fn on_threads<'w>(
    request: Request<'w>,
    memory: &'w Memory,
    total: u64,
) -> Result<Vec<World<'w>>, Box<Fault>> {
    let (next, faulty) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
    let threads = request.threads.min(total as usize);
    let (is_given_up, at_work) = (AtomicBool::new(false), AtomicUsize::new(threads));
    let launching = thread::current();
    let work = || {
        let _left = Left { at_work: &at_work, launching: &launching };
        let mut world = World::new(request, memory);
        let mut idle = Vec::new();
        let mut interrupts = Interrupts::of_helper(&is_given_up);
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= total || number > faulty.load(Ordering::Relaxed) {
                return Ok(Ended {
                    findings: world.findings,
                    counts: [world.lane_instructions, world.warp_instructions],
                });
            }
            if let Err(fault) = alone((&mut world, &mut interrupts), &mut idle, number) {
                faulty.fetch_min(number, Ordering::Relaxed);
                return Err((number, fault));
            }
        }
    };
    let results: Vec<Result<Ended, (u64, Box<Fault>)>> = thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut interrupts = Interrupts::new(&request.checks, &is_given_up);
        while interrupts.look().is_ok() && at_work.load(Ordering::Relaxed) > 0 {
            thread::park_timeout(INTERVAL);
        }
        let join = |handle: ScopedJoinHandle<'_, _>| {
            handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        handles.into_iter().map(join).collect()
    });
    let first = results.iter().filter_map(|result| result.as_ref().err()).min_by_key(|(number, _)| *number);
    if let Some((_, fault)) = first {
        return Err(fault.clone());
    }
    Interrupts::of_helper(&is_given_up).look()?;
    let world = |ended: Ended| {
        let mut world = World::new(request, memory);
        world.findings = ended.findings;
        [world.lane_instructions, world.warp_instructions] = ended.counts;
        world
    };
    Ok(results.into_iter().flatten().map(world).collect())
}

/// A thread at work; wakes the one that launches when it ends, also by a panic.
struct Left<'a> {
    at_work: &'a AtomicUsize,
    launching: &'a Thread,
}

impl Drop for Left<'_> {
    fn drop(&mut self) {
        self.at_work.fetch_sub(1, Ordering::Relaxed);
        self.launching.unpark();
    }
}

/// What is left of the programs of a thread.
struct Ended {
    findings: Findings,
    counts: [u64; 2],
}

/// Runs one program to its end. Warps of programs that have ended are kept for the next ones.
fn alone(
    (world, interrupts): (&mut World<'_>, &mut Interrupts<'_>),
    idle: &mut Vec<Wave>,
    number: u64,
) -> Result<(), Box<Fault>> {
    world.left = world.checks.max_instructions;
    let mut resident = Resident::new(world, idle, number);
    while !resident.done {
        resident.run_slices(world)?;
        interrupts.look()?;
    }
    idle.append(&mut resident.waves);
    Ok(())
}

/// Runs programs in order, some beside one another where one does not end alone.
fn beside(
    (world, interrupts): (&mut World<'_>, &mut Interrupts<'_>),
    idle: &mut Vec<Wave>,
    total: u64,
) -> Result<(), Box<Fault>> {
    let mut next = 0;
    let mut residents: Vec<Resident> = Vec::new();
    let mut lonely = 0;
    while next < total || !residents.is_empty() {
        lonely += 1;
        if residents.is_empty() || (lonely >= LONELY && residents.len() < BESIDE && next < total) {
            residents.push(Resident::new(world, idle, next));
            next += 1;
            lonely = 0;
        }
        for resident in &mut residents {
            resident.run_slices(world)?;
            interrupts.look()?;
        }
        for resident in residents.iter_mut().filter(|resident| resident.done) {
            idle.append(&mut resident.waves);
        }
        residents.retain(|resident| !resident.done);
    }
    Ok(())
}

/// A program that runs.
struct Resident {
    group: Group,
    waves: Vec<Wave>,
    done: bool,
}

impl Resident {
    fn new(world: &World<'_>, idle: &mut Vec<Wave>, number: u64) -> Resident {
        let Request { grid, warps, lds, checks, .. } = world.request;
        let (x, y) = (u64::from(grid[0]), u64::from(grid[1]));
        let id = [(number % x) as u32, (number / x % y) as u32, (number / x / y) as u32];
        let waves = (0..warps).map(|index| {
            let mut wave = idle.pop().unwrap_or_else(|| Wave::new(world.code));
            wave.start(world, index);
            wave
        });
        let waves = waves.collect();
        Resident { group: Group::new(id, warps, lds, checks.races), waves, done: false }
    }

    /// Gives every warp a time slice.
    fn run_slices(&mut self, world: &mut World<'_>) -> Result<(), Box<Fault>> {
        let (mut ran, mut done) = (false, true);
        for wave in &mut self.waves {
            let end = wave.run_slice(&mut self.group, world, SLICE)?;
            ran |= end == SliceEnd::Ran;
            done &= end == SliceEnd::Done;
        }
        self.done = done;
        if ran || done {
            return Ok(());
        }
        // The last warps may just have ended, which frees those that wait.
        let freed = |wave: &Wave| wave.waiting.is_some_and(|(phase, _)| self.group.barrier.phase != phase);
        if self.waves.iter().any(freed) { Ok(()) } else { Err(self.deadlock(world)) }
    }

    /// Everything waits: says for what.
    fn deadlock(&self, world: &World<'_>) -> Box<Fault> {
        let waiting = self.waves.iter().find_map(|wave| wave.waiting.map(|(_, site)| (wave, site)));
        let Some((wave, site)) = waiting else { return Box::new(Fault::launch("no warp can go on")) };
        let (arrived, live) = (self.group.barrier.arrived, self.group.live);
        let message = format!("everything waits: at the barrier stand {arrived} of {live} warps");
        world.fault(FaultKind::Deadlock, message, site, wave.who(&self.group), None)
    }
}
