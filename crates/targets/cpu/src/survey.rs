//! What a compile decided, and what this machine can do: for people who ask why a kernel is as fast as it is.
//!
//! What memory gives is measured, by copying more of it than the caches hold; rates of arithmetic are derived from the
//! clock, the cores and the width of vectors, two fused multiply-adds a clock.

use crate::host::Processor;
use crate::lower::{Kept, Lowered, Note};
use crate::topology;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::OnceLock;
use std::time::Instant;
use target::survey::{AccessFacts, BufferFacts, DotFacts, Peaks, Survey, WidthBounds};
use ttir::ops::access::AccessOp;
use ttir::ops::dot::MatmulOp;

/// Bytes of a line of the cache, which move together.
const LINE: u64 = 64;
/// Vector multiply-adds that a core begins in a clock.
const UNITS: f64 = 2.0;
/// Multiplications of an elementary function, of which the exponential is among the shortest: without a table and with
/// one.
const EXP: f64 = 11.0;
const EXP_BY_TABLE: f64 = 8.0;
/// Bytes that each core copies to measure memory.
const MEASURED: usize = 32 << 20;
/// How often; the fastest counts.
const TIMES: usize = 4;

/// What lowering decided.
pub(crate) fn survey(lowered: Lowered, machine: &Processor) -> Survey {
    let Lowered { notes, kept_blocks, source, scratch, .. } = lowered;
    let accesses = notes.iter().map(|note| access(&source, note, machine)).collect();
    let ops = source.walk(source.top()).into_iter();
    let dots = ops.filter_map(|op| MatmulOp::of(&source, op)).map(|op| dot(&source, op)).collect();
    let mut buffers: Vec<BufferFacts> = Vec::new();
    for facts in kept_blocks.iter().map(|kept| buffer(&source, kept)) {
        if !buffers.contains(&facts) {
            buffers.push(facts);
        }
    }
    Survey {
        lanes: machine.vector_bytes / 4,
        warps: 1,
        accesses,
        moves: Vec::new(),
        dots,
        buffers,
        shared_bytes: scratch,
        shared: Vec::new(),
        pass_bytes: 0,
        events: Vec::new(),
        module: source,
    }
}

/// A block that goes through memory between loops.
fn buffer(module: &ir::Module, kept: &Kept) -> BufferFacts {
    let ty = module.ty(module.result(kept.op, 0));
    BufferFacts {
        op: kept.op,
        scratch: false,
        offset: kept.offset,
        bytes: ttir::types::numel(ty) as u64 * ttir::types::elem_bytes(ttir::types::elem(ty)),
        alive: Vec::new(),
        why: Some(kept.why.to_string()),
    }
}

fn access(module: &ir::Module, note: &Note, machine: &Processor) -> AccessFacts {
    let pointer = AccessOp::new(module, note.op).ptr();
    let ty = module.ty(pointer);
    let bytes = ttir::types::pointee(ty).map_or(1, ttir::types::elem_bytes).max(1);
    let (vector, elements) = (u64::from(note.lanes), ttir::types::numel(ty) as u64);
    let whole = u64::from(machine.vector_bytes) / bytes;
    // Vectors have as many lanes as 32-bit elements fit, also of narrower elements.
    let lanes_of_all = u64::from(machine.vector_bytes) / 4;
    let bounds = WidthBounds {
        dim: ttir::types::shape(ty).len().saturating_sub(1),
        machine: whole.min(lanes_of_all.max(vector)),
        contiguity: vector,
        alignment: whole,
        mask: u64::MAX,
        layout: u64::MAX,
    };
    AccessFacts {
        op: note.op,
        way: note.way,
        vector,
        instructions: elements.div_ceil(vector.max(1)),
        bounds,
        positions: lanes(ttir::types::shape(ty), if vector > 1 { 1 } else { whole }),
        asynchronous: false,
    }
}

/// Where neighbouring lanes of a vector are: one behind the other along the innermost dimension.
fn lanes(shape: &[i64], count: u64) -> Vec<Option<Vec<u32>>> {
    let Some((last, outer)) = shape.split_last() else { return vec![Some(Vec::new())] };
    let at = |lane: u64| outer.iter().map(|_| 0).chain([lane as u32]).collect();
    (0..count.min(*last as u64)).map(|lane| Some(at(lane))).collect()
}

fn dot(module: &ir::Module, dot: MatmulOp<'_>) -> DotFacts {
    let [a, c] = [dot.a(), dot.c()].map(|value| ttir::types::shape(module.ty(value)));
    let rank = c.len();
    let batch: i64 = c[..rank - 2].iter().product();
    DotFacts {
        op: dot.op,
        shape: [c[rank - 2], c[rank - 1], a[rank - 1], batch].map(|size| size as u64),
        matrix: false,
        rate: ttir::types::elem(module.ty(dot.d())).to_string(),
        operands: ["tiles in scratch memory"; 2],
        why_not: None,
    }
}

/// What this machine can do at most.
pub(crate) fn peaks(machine: &Processor) -> Peaks {
    let threads = topology::thread_count() as u32;
    let clock = topology::clock_khz() as f64 * 1e3;
    let lanes = f64::from(machine.vector_bytes) / 4.0;
    let fused = if machine.has("fma") || machine.arch == "aarch64" { 2.0 } else { 1.0 };
    let f32 = f64::from(threads) * clock * lanes * fused * UNITS;
    let accesses = f64::from(threads) * clock;
    let special = f32 / fused / if machine.vector_bytes == 64 { EXP_BY_TABLE } else { EXP };
    let rates = [
        ("f32", f32),
        ("f64", f32 / 2.0),
        ("i32", f32 / fused),
        ("special", special),
        ("accesses", accesses),
    ];
    Peaks {
        device: topology::cpu_name(),
        source: format!(
            "memory measured here by copying with {threads} threads; arithmetic from {:.2} GHz, {threads} cores, vectors of \
             {} bytes, two a clock",
            clock / 1e9,
            machine.vector_bytes
        ),
        units: threads,
        unit: "core",
        memory: measured(threads as usize),
        cache: 0.0,
        cache_bytes: machine.caches.last_of(topology::allowed_cpus().len()),
        near_cache_bytes: machine.caches.l2,
        shared: 0.0,
        latency_ns: 0.0,
        sector_bytes: LINE,
        line_bytes: LINE,
        lines: 0.0,
        rates: rates.into_iter().map(|(name, rate)| (name.to_owned(), rate)).collect::<BTreeMap<_, _>>(),
    }
}

/// Bytes that memory gives in a second, measured once.
fn measured(threads: usize) -> f64 {
    static MEASURED_ONCE: OnceLock<f64> = OnceLock::new();
    *MEASURED_ONCE.get_or_init(|| {
        let mut parts: Vec<[Vec<u8>; 2]> =
            (0..threads.max(1)).map(|part| [vec![part as u8; MEASURED], vec![1; MEASURED]]).collect();
        let mut once = || {
            let start = Instant::now();
            std::thread::scope(|scope| {
                for [from, to] in &mut parts {
                    scope.spawn(|| to.copy_from_slice(black_box(from)));
                }
            });
            (2 * parts.len() * MEASURED) as f64 / start.elapsed().as_secs_f64()
        };
        (0..TIMES).map(|_| once()).fold(0.0, f64::max)
    })
}

#[cfg(test)]
mod tests {
    use super::peaks;
    use crate::host::Processor;

    #[test]
    fn this_machine_reads_and_computes() {
        let peaks = peaks(Processor::host());
        assert!(peaks.memory > 1e8 && peaks.rates["f32"] > 1e8, "{peaks:?}");
        assert!(peaks.rates["f64"] < peaks.rates["f32"]);
    }
}
