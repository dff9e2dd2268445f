//! Barriers and fences.

use crate::decode::site::Site;
use crate::diagnostic::Diagnostic;
use crate::machine::Execute;
use crate::machine::code::Slot;
use crate::machine::flow::{Flow, Wait};
use crate::machine::lanes::run;
use crate::machine::proxies::Proxies;
use crate::machine::step::{Step, lanes_of};
use crate::syntax::types::{Space, Type};
use emulation::{Fault, FaultKind, Fenced};

type Decoded = Result<Box<dyn Execute>, Diagnostic>;

/// What a barrier does beyond waiting.
#[derive(Clone, Copy, PartialEq)]
enum Vote {
    Count,
    And,
    Or,
}

const VOTES: &[(&str, Vote)] = &[("popc", Vote::Count), ("and", Vote::And), ("or", Vote::Or)];

#[derive(Clone, Copy)]
struct Bar {
    id: Slot,
    count: Option<Slot>,
    waits: bool,
    vote: Option<(Vote, Slot, (Slot, bool))>,
}

/// `bar`, `barrier`.
pub(crate) fn bar(site: &mut Site<'_>) -> Decoded {
    if site.flag("warp") {
        return warp(site);
    }
    if site.flag("cluster") {
        return cluster(site);
    }
    site.flags(&["cta", "aligned"]);
    let waits = match site.choice(&[("sync", true), ("arrive", false), ("red", true)]) {
        Some(waits) => waits,
        None => return site.error("one of `.sync`, `.arrive`, `.red` is missing"),
    };
    let vote = site.choice(VOTES);
    let Some(vote) = vote else {
        site.arity(1, 2)?;
        let id = site.source(0, Type::U32)?;
        let count = if site.count() == 2 { Some(site.source(1, Type::U32)?) } else { None };
        site.sink(&[id]);
        return Ok(Box::new(Bar { id, count, waits, vote: None }));
    };
    let ty = site.ty()?;
    let dest = site.dest(0, ty)?;
    let id = site.source(1, Type::U32)?;
    let last = site.count() - 1;
    let count = if last == 3 { Some(site.source(2, Type::U32)?) } else { None };
    let predicate = site.predicate(last)?;
    site.sink(&[id, predicate.0]);
    Ok(Box::new(Bar { id, count, waits, vote: Some((vote, dest, predicate)) }))
}

impl Execute for Bar {
    fn run(&self, step: &mut Step<'_, '_>) -> Result<Flow, Box<Fault>> {
        let id = step.uniform(self.id) as usize;
        if id >= 16 || step.lanes().any(|lane| step.get(self.id, lane) as usize != id) {
            return Err(step.misuse(format!("the barrier {id}: lanes must agree on one of 0 to 15")));
        }
        let block = step.warp.block;
        if !step.resumed {
            // Barriers count whole warps: lanes that stand elsewhere are waited for.
            if let Some(flow) = step.aligned() {
                return Ok(flow);
            }
            return self.arrive(step, id);
        }
        let barrier = &step.team.blocks[block].barriers[id];
        let (votes, arrived) = barrier.result;
        if step.world.checks.races {
            step.team.clocks.acquire(step.warp.number, &barrier.completed_seen);
        }
        self.deliver(step, votes, arrived);
        Ok(Flow::Next)
    }
}

impl Bar {
    fn arrive(&self, step: &mut Step<'_, '_>, id: usize) -> Result<Flow, Box<Fault>> {
        let (block, number) = (step.warp.block, step.warp.number);
        let count = self.count.map(|count| step.uniform(count) as u32);
        if let Some(count) = count
            && (count == 0 || count % 32 != 0)
        {
            return Err(step.misuse(format!("a barrier for {count} threads: it must be a multiple of 32")));
        }
        let votes = self.vote.map_or(0, |(_, _, predicate)| step.warp.truth(predicate) & step.mask);
        let team = &mut *step.team;
        let block = &mut team.blocks[block];
        let barrier = &mut block.barriers[id];
        if step.world.checks.races {
            team.clocks.release(number, &mut barrier.seen);
        }
        if let (Some(old), Some(new)) = (barrier.expected, count)
            && old != new
        {
            let message = format!("barrier {id} is used for {new} threads while {old} are expected");
            return Err(step.fault(FaultKind::Misuse, 0, message));
        }
        if count.is_some() {
            barrier.expected = count;
        }
        // A warp whose lanes have partly ended still counts whole where a number is given.
        barrier.arrived += if count.is_some() { 32 } else { step.mask.count_ones() };
        barrier.votes += votes.count_ones();
        let phase = barrier.phase;
        barrier.is_waited |= self.waits;
        let is_waited = barrier.is_waited;
        if !barrier.settle(block.live) {
            return Ok(if self.waits { Flow::Wait(Wait::Barrier { id, phase }) } else { Flow::Next });
        }
        if !is_waited {
            let message = format!("barrier {id} is complete, and none of those that arrived waits at it");
            return Err(step.misuse(message));
        }
        if self.waits {
            let barrier = &step.team.blocks[step.warp.block].barriers[id];
            let (votes, arrived) = barrier.result;
            if step.world.checks.races {
                step.team.clocks.acquire(number, &barrier.completed_seen);
            }
            self.deliver(step, votes, arrived);
        }
        Ok(Flow::Next)
    }

    fn deliver(&self, step: &mut Step<'_, '_>, votes: u32, arrived: u32) {
        let Some((vote, dest, _)) = self.vote else { return };
        let value = match vote {
            Vote::Count => u64::from(votes),
            Vote::And => u64::from(votes == arrived),
            Vote::Or => u64::from(votes > 0),
        };
        let mask = step.mask;
        step.warp.set(dest, mask, &[value; 32]);
    }
}

/// `bar.warp.sync`: the lanes of a mask meet.
fn warp(site: &mut Site<'_>) -> Decoded {
    site.flag("sync");
    site.arity(1, 1)?;
    let member = site.source(0, Type::B32)?;
    site.sink(&[member]);
    Ok(run(move |step| Ok(step.members(member)?.err().unwrap_or(Flow::Next))))
}

/// `barrier.cluster`: programs of a cluster meet. Who arrives waits before it arrives again.
fn cluster(site: &mut Site<'_>) -> Decoded {
    site.flags(&["aligned", "release", "relaxed", "acquire"]);
    let waits = match site.choice(&[("arrive", false), ("wait", true)]) {
        Some(waits) => waits,
        None => return site.error("one of `.arrive`, `.wait` is missing"),
    };
    site.arity(0, 0)?;
    Ok(run(move |step| {
        if !step.resumed
            && let Some(flow) = step.aligned()
        {
            return Ok(flow);
        }
        let (number, first) = (step.warp.number, step.mask.trailing_zeros());
        let live = step.team.live();
        let arrived = step.warp.cluster_phases[first as usize];
        if waits != arrived.is_some() {
            let message = match waits {
                true => "waits at the barrier of the cluster, and has not arrived there",
                false => {
                    "arrives at the barrier of the cluster, and has not waited since it arrived there before"
                }
            };
            return Err(step.fault(FaultKind::Misuse, first, message.to_owned()));
        }
        let team = &mut *step.team;
        let barrier = &mut team.cluster_barrier;
        let Some(phase) = arrived else {
            team.clocks.release(number, &mut barrier.seen);
            for lane in lanes_of(step.mask) {
                step.warp.cluster_phases[lane as usize] = Some(barrier.phase);
            }
            barrier.arrived += step.mask.count_ones();
            barrier.settle(live);
            return Ok(Flow::Next);
        };
        if barrier.phase == phase {
            return Ok(Flow::Wait(Wait::Cluster { phase }));
        }
        team.clocks.acquire(number, &barrier.completed_seen);
        for lane in lanes_of(step.mask) {
            step.warp.cluster_phases[lane as usize] = None;
        }
        Ok(Flow::Next)
    }))
}

/// `fence`: only those between proxies are seen here.
pub(crate) fn fence(site: &mut Site<'_>) -> Decoded {
    let proxy = site.map_modifier(|word| word.starts_with("proxy").then(|| word.to_owned())).is_some();
    site.flags(&[
        "sc",
        "acq_rel",
        "acquire",
        "release",
        "mbarrier_init",
        "sync_restrict::shared::cta::cluster",
    ]);
    site.flags(&["sync_restrict::shared::cluster.cluster", "op_restrict", "cta", "cluster", "gpu", "sys"]);
    site.flags(&["sync_restrict::shared::cta", "sync_restrict::shared::cluster"]);
    site.flag("alias");
    let asynchronous =
        site.flag("async") | site.map_modifier(|word| (word == "async::generic").then_some(())).is_some();
    let tensormap = site.map_modifier(|word| word.starts_with("tensormap").then_some(())).is_some();
    let space = site.space();
    if tensormap && site.count() > 0 {
        site.arity(2, 2)?;
        site.address(0)?;
    }
    Ok(run(move |step| {
        if proxy && asynchronous && step.world.checks.races {
            let warp = step.warp.number;
            if space != Space::Global {
                step.team.clocks.fence(warp, Fenced::Shared);
            }
            if matches!(space, Space::Global | Space::Generic) {
                step.team.clocks.fence(warp, Fenced::Global);
                step.team.fenced[warp] = step.world.proxies.as_mut().map_or(0, Proxies::tick);
            }
        }
        Ok(Flow::Next)
    }))
}

/// `membar`.
pub(crate) fn membar(site: &mut Site<'_>) -> Decoded {
    if site.flag("proxy") {
        return fence(site);
    }
    site.flags(&["cta", "gl", "sys", "gpu", "cluster"]);
    Ok(run(|_: &mut Step<'_, '_>| Ok(Flow::Next)))
}
