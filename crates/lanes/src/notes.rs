//! Notes of what handlers decide, for those who ask: accesses, layout conversions, traffic of shared memory.
//!
//! Nothing here decides anything.

use crate::access::AccessPlan;
use crate::context::Cx;
use crate::error::Result;
use crate::free_bits::FreeBits;
use crate::types;
use ir::{Op, Type, Value};
use layout::convert::rows::ROW_BYTES;
use layout::convert::{self, Staged};
use layout::{Dim, LinearLayout};
use rustc_hash::FxHashSet;
use std::rc::Rc;
use target::survey::{AccessFacts, MoveFacts, MoveWay, SharedBy, SharedFacts, SharedMove, WidthBounds};
use ttgir::Machine;
use ttgir::ops::async_copy::AsyncCopyOp;
use ttir::ops::access::AccessOp;

/// The positions of the first element of a register in each lane of the first warp; none for lanes that hold copies,
/// where only owners act.
fn positions(layout: &LinearLayout, register: usize, free: &FreeBits, owners: bool) -> Vec<Option<Vec<u32>>> {
    let lanes = 1u32 << layout.ins().bits(Dim::LANE);
    let rank = layout.outs().iter().count();
    let at = |lane: u32| {
        let places = layout.apply(&[(Dim::REGISTER, register as u32), (Dim::LANE, lane)]);
        let place =
            |dim: usize| places.iter().find(|place| place.0 == Dim::block(dim)).map_or(0, |place| place.1);
        (0..rank).map(place).collect()
    };
    (0..lanes).map(|lane| (!owners || lane & free.lane == 0).then(|| at(lane))).collect()
}

fn positions_of(
    cx: &mut Cx<'_>,
    pointer: Value,
    register: usize,
    free: &FreeBits,
    owners: bool,
) -> Result<Vec<Option<Vec<u32>>>> {
    let ty = cx.module.ty(pointer);
    if ttir::types::is_tensor(ty) {
        return Ok(positions(&*cx.layout(ty)?, register, free, owners));
    }
    // All lanes at one address: one lane stands for them.
    Ok((0..cx.lanes).map(|lane| (lane == 0).then(Vec::new)).collect())
}

/// A load or store as planned.
pub(crate) fn note_access(cx: &mut Cx<'_>, op: Op, plan: &AccessPlan, is_store: bool) -> Result<()> {
    if cx.notes.is_none() {
        return Ok(());
    }
    let first = plan.groups.first().and_then(|group| group.first()).copied().unwrap_or(0);
    let positions = positions_of(cx, AccessOp::new(cx.module, op).ptr(), first, &plan.free, is_store)?;
    let vector = plan.groups.first().map_or(1, Vec::len) as u64;
    let way = match vector {
        1 => "single",
        _ if (plan.part as u64) < vector => "vector, or parts of it where the mask ends",
        _ => "vector",
    };
    add(
        cx,
        AccessFacts {
            op,
            way,
            vector,
            instructions: plan.groups.len() as u64,
            bounds: plan.bounds,
            positions,
            asynchronous: false,
        },
    );
    Ok(())
}

fn add(cx: &mut Cx<'_>, facts: AccessFacts) {
    if let Some(notes) = &mut cx.notes {
        notes.accesses.push(facts);
    }
}

/// An asynchronous copy; `done` of its steps are asynchronous, the others loads and stores of single elements.
pub(crate) fn note_copy(
    cx: &mut Cx<'_>,
    op: Op,
    plan: &AccessPlan,
    store: &convert::Access,
    done: usize,
) -> Result<()> {
    if cx.notes.is_none() {
        return Ok(());
    }
    let first = store.steps.first().and_then(|step| step.registers.first()).copied().unwrap_or(0) as usize;
    let positions = positions_of(cx, AsyncCopyOp::new(cx.module, op).ptr(), first, &plan.free, true)?;
    let all = store.steps.len() == done;
    let vector = if all { u64::from(store.vector) } else { 1 };
    add(
        cx,
        AccessFacts {
            op,
            way: if all { "asynchronous copy" } else { "load, then store to shared memory" },
            vector,
            instructions: store.steps.iter().map(|step| step.registers.len() as u64).sum::<u64>()
                / vector.max(1),
            bounds: WidthBounds { layout: plan.bounds.layout.min(u64::from(store.vector)), ..plan.bounds },
            positions,
            asynchronous: all,
        },
    );
    Ok(())
}

/// Atomics as planned.
pub(crate) fn note_atomics(cx: &mut Cx<'_>, op: Op, plan: &AccessPlan) -> Result<()> {
    if cx.notes.is_none() {
        return Ok(());
    }
    let first = plan.groups.first().and_then(|group| group.first()).copied().unwrap_or(0);
    let positions = positions_of(cx, AccessOp::new(cx.module, op).ptr(), first, &plan.free, true)?;
    add(
        cx,
        AccessFacts {
            op,
            way: "atomic",
            vector: plan.groups.first().map_or(1, Vec::len) as u64,
            instructions: plan.groups.len() as u64,
            bounds: plan.bounds,
            positions,
            asynchronous: false,
        },
    );
    Ok(())
}

/// A layout conversion as planned.
pub(crate) fn note_move(cx: &mut Cx<'_>, op: Op, ty: Type, plan: &Rc<convert::Conversion>) {
    let facts = cx.planner.facts;
    let bits = types::memory_bits(ty);
    let Some(notes) = &mut cx.notes else { return };
    let way = match &**plan {
        convert::Conversion::Registers(_) => MoveWay::Registers,
        convert::Conversion::Exchange(exchange) => MoveWay::Shuffles {
            shuffles: u64::from(exchange.shuffles(bits, facts.shuffle_bits)),
            selects: u64::from(exchange.selects()),
        },
        convert::Conversion::Shared(staged) => MoveWay::Shared(shared_move(staged, bits / 8)),
    };
    let bytes = ttir::types::numel(ty) as u64 * u64::from(bits) / 8;
    notes.moves.push(MoveFacts { op, way, bytes });
}

fn shared_move(staged: &Staged, element_bytes: u32) -> SharedMove {
    SharedMove {
        bytes: u64::from(staged.bytes),
        stores: staged.store.steps.len() as u64,
        loads: staged.load.steps.len() as u64,
        store_bytes: u64::from(staged.store.vector * element_bytes),
        load_bytes: u64::from(staged.load.vector * element_bytes),
        store_passes: (staged.store.wavefronts, staged.store.ideal),
        load_passes: (staged.load.wavefronts, staged.load.ideal),
        barriers: if staged.within_warp { 0 } else { u64::from(2 * staged.rounds - 1) },
    }
}

/// Bytes that a pass over all banks moves.
pub(crate) fn pass_bytes(machine: &Machine) -> u64 {
    u64::from(machine.banks * machine.bank_bytes)
}

/// Instructions that all warps of the program carry out, each of which moves as much.
struct Passes {
    by: SharedBy,
    writes: bool,
    instructions: u64,
    /// Bytes of each.
    bytes: u64,
    /// Passes over the banks of each, and how few would do.
    passes: (u64, u64),
}

/// What the current operation moves through shared memory.
fn note_passes(cx: &mut Cx<'_>, noted: &Passes) {
    let blocks = u64::from(cx.num_blocks);
    let (Some(notes), Some(op)) = (&mut cx.notes, cx.current) else { return };
    let like = |facts: &&mut SharedFacts| (facts.op, facts.by, facts.writes) == (op, noted.by, noted.writes);
    let times = noted.instructions * blocks;
    let (bytes, passes, ideal) = (times * noted.bytes, times * noted.passes.0, times * noted.passes.1);
    match notes.shared.iter_mut().find(like) {
        Some(facts) => {
            facts.bytes += bytes;
            facts.passes += passes;
            facts.ideal += ideal;
        }
        None => {
            let (by, writes) = (noted.by, noted.writes);
            notes.shared.push(SharedFacts { op, by, writes, bytes, passes, ideal });
        }
    }
}

/// The steps of one round of an access to shared memory.
pub(crate) fn note_block(
    cx: &mut Cx<'_>,
    access: &convert::Access,
    round: u32,
    element_bytes: u32,
    (by, writes): (SharedBy, bool),
) {
    if cx.notes.is_none() {
        return;
    }
    // Copies of what other threads hold are not stored; what several lanes read is read once.
    let warp_copies = (access.copies / u64::from(cx.lanes)) & u64::from(cx.num_warps - 1);
    let places: FxHashSet<u32> = (0..cx.lanes)
        .filter(|lane| u64::from(*lane) & access.copies == 0)
        .map(|lane| {
            let bits = access.thread.iter().enumerate().filter(|(bit, _)| lane >> bit & 1 != 0);
            bits.fold(0, |place, (_, by)| place ^ by)
        })
        .collect();
    let bytes = places.len() as u64 * u64::from(access.vector * element_bytes);
    // Lanes of one place may be served together, so that fewer passes do than their number says.
    let all = u64::from(access.ideal.max(1));
    let ideal = bytes.div_ceil(pass_bytes(cx.target.machine())).min(all);
    let noted = Passes {
        by,
        writes,
        instructions: u64::from(cx.num_warps >> warp_copies.count_ones())
            * access.steps.iter().filter(|step| step.round == round).count() as u64,
        bytes,
        passes: ((u64::from(access.wavefronts) * ideal).div_ceil(all), ideal),
    };
    note_passes(cx, &noted);
}

/// Loads or stores of a warp of so many matrices of 8 rows, each of 16 bytes; what each bit of the number of a row
/// contributes to its place, in rows.
pub(crate) fn note_rows(cx: &mut Cx<'_>, matrices: u64, rows: &[u64], writes: bool) {
    let (passes, ideal) = convert::wavefronts(rows, ROW_BYTES, ROW_BYTES, &cx.planner.facts);
    let noted = Passes {
        by: SharedBy::Rows,
        writes,
        instructions: matrices * u64::from(cx.num_warps),
        bytes: u64::from(ROW_BYTES) << rows.len(),
        passes: (u64::from(passes), u64::from(ideal)),
    };
    note_passes(cx, &noted);
}

impl Cx<'_> {
    /// Writes down that the current operation is so many matrix instructions of all warps together, each of which reads
    /// so many bytes of shared memory, laid out so that no banks collide.
    pub fn note_matrix_reads(&mut self, instructions: u64, bytes: u64) {
        let passes = bytes.div_ceil(pass_bytes(self.target.machine()));
        let noted =
            Passes { by: SharedBy::Matrix, writes: false, instructions, bytes, passes: (passes, passes) };
        note_passes(self, &noted);
    }
}
