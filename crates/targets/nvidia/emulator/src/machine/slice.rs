//! A warp's time slice: which group of lanes runs next, what an instruction leads to, and what is checked of its
//! registers.

use crate::machine::asynchronous;
use crate::machine::block::Team;
use crate::machine::code::{Instr, Slot};
use crate::machine::flow::{Flow, Wait};
use crate::machine::step::Step;
use crate::machine::warp::{Busy, FULL, Group, State, Warp};
use crate::machine::world::World;
use emulation::{Fault, FindingKind};

/// Instructions one group runs while another stands by, before that has a time slice.
const PATIENCE: u32 = 10_000;
/// Instructions of each group's time slice then.
const SLICE: u32 = 64;

/// How a warp's time slice ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SliceEnd {
    Ran,
    Blocked,
    Done,
}

impl Warp {
    /// The group that runs next: the earliest in the text, unless that has run long.
    fn pick(&mut self) -> Option<usize> {
        let ready = |group: &Group| !matches!(group.state, State::Waiting(_));
        let candidates = || self.groups.iter().enumerate().filter(|(_, group)| ready(group));
        let first = candidates().min_by_key(|(_, group)| group.pc)?.0;
        if self.groups.len() == 1 {
            return Some(first);
        }
        self.patience += 1;
        if self.patience <= PATIENCE {
            return Some(first);
        }
        // Lanes that spin may wait for others of their warp: all get time slices for a while.
        let slice = ((self.patience - PATIENCE) / SLICE) as usize;
        let count = candidates().count();
        let picked = candidates().nth(slice % count).map(|(index, _)| index);
        if slice >= 2 * count {
            self.patience = 0;
        }
        picked
    }

    /// Ends waits that are over.
    fn wake(&mut self, team: &mut Team, world: &mut World<'_>) -> Result<(), Box<Fault>> {
        for index in 0..self.groups.len() {
            let State::Waiting(wait) = self.groups[index].state else { continue };
            let lanes = matches!(wait, Wait::Lanes(_));
            let over = match wait {
                Wait::Lanes(mask) => mask & self.live & !self.groups[index].mask == 0,
                Wait::Barrier { id, phase } => team.blocks[self.block].barriers[id].phase > phase,
                Wait::Cluster { phase } => team.cluster_barrier.phase > phase,
                Wait::Registers { group, phase } => team.blocks[self.block].registers.is_past(group, phase),
                Wait::Mbarrier { block, offset, parity } => {
                    asynchronous::deliver(team, world, (block, offset))?;
                    let mbarrier = team.blocks[block].mbarriers.get(&offset);
                    mbarrier.is_none_or(|mbarrier| mbarrier.is_complete(parity))
                }
            };
            if over {
                self.groups[index].state = if lanes { State::Ready } else { State::Resumed };
            }
        }
        Ok(())
    }

    /// Joins the group at `index` with others that stand at the same instruction.
    fn join(&mut self, index: usize) {
        let Group { pc, state, .. } = self.groups[index];
        if state != State::Ready {
            return;
        }
        let mut mask = 0;
        let mut other = 0;
        while other < self.groups.len() {
            let group = self.groups[other];
            let joins =
                group.pc == pc && matches!(group.state, State::Ready | State::Waiting(Wait::Lanes(_)));
            if joins {
                mask |= group.mask;
                self.groups.swap_remove(other);
            } else {
                other += 1;
            }
        }
        self.groups.push(Group { pc, mask, state });
    }

    /// Runs until everything waits, the budget is used up, or the warp yields.
    pub(crate) fn run_slice(
        &mut self,
        team: &mut Team,
        world: &mut World<'_>,
        mut budget: u32,
    ) -> Result<SliceEnd, Box<Fault>> {
        self.wake(team, world)?;
        let mut ran = false;
        while budget > 0 {
            let Some(index) = self.pick() else {
                // A warp that ended in this time slice may have let others go on.
                return Ok(match (ran, self.live) {
                    (true, _) => SliceEnd::Ran,
                    (false, 0) => SliceEnd::Done,
                    (false, _) => SliceEnd::Blocked,
                });
            };
            ran = true;
            budget -= 1;
            if self.advance(index, team, world)? {
                break;
            }
        }
        Ok(SliceEnd::Ran)
    }

    /// Executes one instruction of a group; true if the warp yields.
    fn advance(&mut self, index: usize, team: &mut Team, world: &mut World<'_>) -> Result<bool, Box<Fault>> {
        let group = self.groups[index];
        let code = world.code;
        let instr = &code.instructions[group.pc as usize];
        let mask = match instr.guard {
            Some(guard) => {
                if world.checks.uninitialised {
                    self.check_sink(guard.0, group.pc, group.mask, team, world);
                }
                self.truth(guard) & group.mask
            }
            None => group.mask,
        };
        if mask == 0 {
            self.proceed(index, group.pc + 1);
            return Ok(false);
        }
        world.count(group.pc, mask, self.who(team))?;
        if world.checks.uninitialised {
            self.check_known(instr, group.pc, mask, team, world);
        }
        if !self.flights.is_empty() && !instr.in_flight_allowed {
            self.check_flights(instr, group.pc, mask, team, world)?;
        }
        if !self.unfenced.is_empty() && !instr.in_flight_allowed {
            for slot in &instr.writes {
                self.unfenced[slot.index()] = true;
            }
        }
        let resumed = group.state == State::Resumed;
        let flow = instr.execute.run(&mut Step { warp: self, team, world, mask, resumed, pc: group.pc })?;
        self.follow(index, mask, flow, team, world)
    }

    /// Moves a group to another instruction.
    fn proceed(&mut self, index: usize, pc: u32) {
        self.groups[index].pc = pc;
        self.groups[index].state = State::Ready;
        if self.groups.len() > 1 {
            self.join(index);
        }
    }

    fn follow(
        &mut self,
        index: usize,
        mask: u32,
        flow: Flow,
        team: &mut Team,
        world: &mut World<'_>,
    ) -> Result<bool, Box<Fault>> {
        let group = self.groups[index];
        let next = group.pc + 1;
        match flow {
            Flow::Next | Flow::Yield => self.proceed(index, next),
            Flow::Jump(label) => {
                let target = world.code.labels[label as usize];
                self.split(index, mask, |_| target);
            }
            Flow::Scatter => {
                let targets = self.targets;
                let labels = &world.code.labels;
                self.split(index, mask, |lane| labels[targets[lane] as usize]);
            }
            Flow::Exit => self.exit(index, mask, team, world)?,
            Flow::Wait(wait) => {
                let rest = group.mask & !mask;
                self.groups[index] = Group { pc: group.pc, mask, state: State::Waiting(wait) };
                if rest != 0 {
                    self.groups.push(Group { pc: next, mask: rest, state: State::Ready });
                    self.join(self.groups.len() - 1);
                }
            }
        }
        Ok(flow == Flow::Yield)
    }

    /// Sends the lanes of a mask to their targets and the others on.
    fn split(&mut self, index: usize, mask: u32, target: impl Fn(usize) -> u32) {
        let group = self.groups.swap_remove(index);
        let mut add = |pc: u32, mask: u32| {
            let same = |group: &&mut Group| {
                group.pc == pc && matches!(group.state, State::Ready | State::Waiting(Wait::Lanes(_)))
            };
            match self.groups.iter_mut().find(same) {
                Some(group) => {
                    group.mask |= mask;
                    group.state = State::Ready;
                }
                None => self.groups.push(Group { pc, mask, state: State::Ready }),
            }
        };
        let rest = group.mask & !mask;
        if rest != 0 {
            add(group.pc + 1, rest);
        }
        for lane in 0..32 {
            if mask >> lane & 1 == 1 {
                add(target(lane), 1 << lane);
            }
        }
    }

    fn exit(
        &mut self,
        index: usize,
        mask: u32,
        team: &mut Team,
        world: &mut World<'_>,
    ) -> Result<(), Box<Fault>> {
        let group = self.groups[index];
        let mut step = Step { warp: self, team, world, mask, resumed: false, pc: group.pc };
        asynchronous::finish_lanes(&mut step)?;
        self.live &= !mask;
        let block = &mut team.blocks[self.block];
        block.live -= mask.count_ones();
        let live = block.live;
        for barrier in &mut block.barriers {
            barrier.settle(live);
        }
        let live = team.live();
        team.cluster_barrier.settle(live);
        let rest = group.mask & !mask;
        self.groups.swap_remove(index);
        if rest != 0 {
            self.groups.push(Group { pc: group.pc + 1, mask: rest, state: State::Ready });
            self.join(self.groups.len() - 1);
        }
        // Lanes that waited for these need not any more.
        for group in &mut self.groups {
            if matches!(group.state, State::Waiting(Wait::Lanes(_))) {
                group.state = State::Ready;
            }
        }
        Ok(())
    }

    /// Carries forward which values are known, and finds uses of values that are not.
    fn check_known(&mut self, instr: &Instr, pc: u32, mask: u32, team: &Team, world: &mut World<'_>) {
        for slot in &instr.sinks {
            self.check_sink(*slot, pc, mask, team, world);
        }
        if !instr.knows {
            let known = instr.reads.iter().fold(FULL, |known, slot| known & self.known[slot.index()]);
            for slot in &instr.writes {
                self.set_known(*slot, mask, known);
            }
        }
    }

    /// Finds lanes in which a value that is used was never written.
    fn check_sink(&mut self, slot: Slot, pc: u32, mask: u32, team: &Team, world: &mut World<'_>) {
        let unknown = mask & !self.known[slot.index()];
        if unknown == 0 {
            return;
        }
        let name = world.code.name_of(slot);
        let message = format!("`{name}` is used, but what it holds was never written");
        world.find(FindingKind::Uninitialised, message, pc, None, self.who(team), unknown.trailing_zeros());
        // Reported once; what follows from it is not reported again.
        self.known[slot.index()] |= unknown;
    }

    /// Faults if an instruction touches a register that a matrix instruction in flight uses.
    fn check_flights(
        &mut self,
        instr: &Instr,
        pc: u32,
        mask: u32,
        team: &Team,
        world: &World<'_>,
    ) -> Result<(), Box<Fault>> {
        let busy = |slot: &&Slot| self.busy[slot.index()] == Busy::Result;
        let clash = instr.reads.iter().chain(&instr.writes).find(busy);
        let clash = clash.or_else(|| instr.writes.iter().find(|slot| self.busy[slot.index()] != Busy::Free));
        let Some(slot) = clash else { return Ok(()) };
        let name = world.code.name_of(*slot);
        let message = format!(
            "`{name}` belongs to a `wgmma.mma_async` in flight: `wgmma.wait_group` must come before it is touched"
        );
        Err(world.fault(
            emulation::FaultKind::Misuse,
            message,
            pc,
            self.who(team),
            Some(mask.trailing_zeros()),
        ))
    }
}
