//! The least time that a kernel takes, by each thing that is limited: the roofline, and what lies below it.
//!
//! Every bound is one that no execution beats: rates are peaks, latency is hidden as far as loads in flight can hide
//! it.

use crate::loops::Loop;
use crate::report::BoundRow;
use crate::traffic::{Stream, Traffic};
use crate::work::{Kind, Work, touch};
use ir::{Block, Module, Op, Traits};
use std::collections::BTreeMap;
use target::survey::Peaks;
use ttgir::ops::async_copy::{ASYNC_COMMIT_GROUP, ASYNC_COPY, AsyncWaitOp};

/// What an elementary function costs where there is no instruction for it.
const SPECIAL_AS_ARITHMETIC: f64 = 20.0;

/// What bounds are computed from.
pub(crate) struct Ground<'a> {
    pub(crate) peaks: &'a Peaks,
    pub(crate) traffic: &'a Traffic,
    /// Operations of one program, by rate.
    pub(crate) operations: &'a BTreeMap<String, f64>,
    /// Bytes through shared memory that its passes over the banks could move.
    pub(crate) shared_bytes: f64,
    /// Instructions that access memory, of one program.
    pub(crate) instructions: f64,
    /// Programs that are counted: those of the grid, or one.
    pub(crate) programs: f64,
    /// Whether they are all.
    pub(crate) has_grid: bool,
    /// Programs that an SM or a core holds at once.
    pub(crate) resident: f64,
    /// Bytes of loads in flight of one program.
    pub(crate) in_flight: f64,
}

/// Names of bounds.
pub(crate) const MEMORY: &str = "memory";
pub(crate) const CACHE: &str = "last cache";
pub(crate) const LINES: &str = "lines of the first cache";
pub(crate) const SHARED: &str = "shared memory";
pub(crate) const ARITHMETIC: &str = "arithmetic: ";
pub(crate) const LATENCY: &str = "latency of loads";
pub(crate) const INSTRUCTIONS: &str = "access instructions";

impl Ground<'_> {
    /// Programs that run at the same time.
    fn concurrent(&self) -> f64 {
        let most = self.resident.max(1.0) * f64::from(self.peaks.units);
        if self.has_grid { most.min(self.programs) } else { most }
    }

    /// The most programs that one unit has to run, and how many it has on average. No program runs on two.
    pub(crate) fn shares(&self) -> (f64, f64) {
        let average = self.programs / f64::from(self.peaks.units.max(1));
        (average.ceil(), average)
    }

    /// The share of units that have something to do while the one runs that has most.
    pub(crate) fn busy(&self) -> f64 {
        let (most, average) = self.shares();
        if self.has_grid && most > 0.0 { average / most } else { 1.0 }
    }

    /// Bytes that come from memory for one that a stream wants.
    pub(crate) fn overfetch(&self, stream: &Stream) -> f64 {
        stream.overfetch(self.peaks.near_cache_bytes, self.peaks.line_bytes)
    }

    /// Bytes of one program that come from memory rather than from a cache.
    pub(crate) fn memory_bytes(&self) -> f64 {
        let traffic = self.traffic;
        let first = traffic.first_time(|stream| self.overfetch(stream));
        // What is read again is still in the cache as far as that holds what all programs work on.
        let again = (traffic.asked() - traffic.unique()).max(0.0);
        let set = traffic.unique() * self.concurrent();
        let kept = if set > 0.0 { (self.peaks.cache_bytes as f64 / set).min(1.0) } else { 1.0 };
        first + again * (1.0 - kept)
    }

    /// All bounds, the tightest first.
    pub(crate) fn bounds(&self) -> Vec<BoundRow> {
        let (peaks, busy) = (self.peaks, self.busy());
        let mut rows = Vec::new();
        let mut add = |what: &str, amount: f64, rate: f64, unit: &'static str| {
            if amount > 0.0 && rate > 0.0 {
                let amount = amount * self.programs;
                rows.push(BoundRow { what: what.to_owned(), amount, rate, unit, seconds: amount / rate });
            }
        };
        add(MEMORY, self.memory_bytes(), peaks.memory, "B");
        add(CACHE, self.traffic.moved(), peaks.cache * busy, "B");
        add(LINES, self.traffic.lines(), peaks.lines * busy, "lines");
        add(SHARED, self.shared_bytes, peaks.shared * busy, "B");
        for (name, amount) in self.operations {
            add(
                &format!("{ARITHMETIC}{name}"),
                *amount,
                peaks.rates.get(name).map_or(0.0, |rate| rate * busy),
                "op",
            );
        }
        let accesses = peaks.rates.get("accesses").copied().unwrap_or(0.0);
        add(INSTRUCTIONS, self.instructions, accesses * busy, "instructions");
        if self.in_flight > 0.0 && peaks.latency_ns > 0.0 {
            let rate = self.in_flight * self.concurrent() / (peaks.latency_ns * 1e-9);
            add(LATENCY, self.traffic.loaded(), rate, "B");
        }
        rows.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        rows
    }
}

/// Operations of one program by rate: dots go to the rates that their instructions have, elementary functions to
/// arithmetic where there is no rate for them.
pub(crate) fn operations(
    work: &Work,
    loops: &[Loop],
    rate_of: impl Fn(Op) -> String,
    peaks: &Peaks,
) -> BTreeMap<String, f64> {
    let mut all: BTreeMap<String, f64> = BTreeMap::new();
    for (name, amount) in &work.arithmetic {
        let value = amount.value(loops);
        if name == "special" && !peaks.rates.contains_key(name) {
            *all.entry("f32".to_owned()).or_default() += value * SPECIAL_AS_ARITHMETIC;
        } else {
            *all.entry(name.clone()).or_default() += value;
        }
    }
    for (op, amount) in &work.dots {
        *all.entry(rate_of(*op)).or_default() += amount.value(loops);
    }
    // Formats that have no arithmetic of their own are computed in 32 bits.
    let strange: Vec<String> = all.keys().filter(|name| !peaks.rates.contains_key(*name)).cloned().collect();
    for name in strange {
        let amount = all.remove(&name).unwrap_or_default();
        *all.entry("f32".to_owned()).or_default() += amount;
    }
    all
}

/// Bytes of loads that a program has in flight where it has most: those of one iteration of a loop, with the iterations
/// ahead that asynchronous copies run, or those outside all loops.
pub(crate) fn in_flight(module: &Module, kernel: Op) -> f64 {
    let mut most: f64 = 0.0;
    let mut open = vec![module.entry_of(kernel)];
    while let Some(block) = open.pop() {
        let mut level = Level::default();
        level.block(module, block, &mut open);
        most = most.max(level.bytes());
    }
    most
}

/// What happens in one iteration of a loop.
#[derive(Default)]
struct Level {
    loaded: f64,
    copied: f64,
    groups: f64,
    pending: f64,
}

impl Level {
    fn bytes(&self) -> f64 {
        let ahead = if self.groups > 0.0 { self.pending / self.groups + 1.0 } else { 1.0 };
        self.loaded + self.copied * ahead
    }

    fn block(&mut self, module: &Module, block: Block, open: &mut Vec<Block>) {
        for op in module.ops(block) {
            let is_loop = module.has(op, Traits::LOOP);
            for &region in module.regions(op) {
                for &inner in module.blocks(region) {
                    if is_loop { open.push(inner) } else { self.block(module, inner, open) }
                }
            }
            if module.is(op, &ASYNC_COMMIT_GROUP) {
                self.groups += 1.0;
            } else if let Some(wait) = AsyncWaitOp::of(module, op) {
                self.pending = self.pending.max(f64::from(wait.num()));
            } else if let Some(touch) = touch(module, op).filter(|touch| touch.kind == Kind::Load) {
                let bytes = touch.bytes() as f64;
                if module.is(op, &ASYNC_COPY) { self.copied += bytes } else { self.loaded += bytes }
            }
        }
    }
}
