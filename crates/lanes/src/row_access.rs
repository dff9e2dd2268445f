//! Loads and stores in which the lanes of a warp move rows for each other: a lane names the address of a row of 16
//! bytes, and each group of four lanes has a row, 4 bytes a lane (or, transposed, a column of eight rows of 16-bit
//! elements).
//!
//! Operands and results of matrix instructions lie so. Whether a block does is asked of the places in memory that each
//! bit of a register's, lane's and warp's number stands for; all is linear.

use crate::block_memory::Addresses;
use crate::context::Cx;
use crate::notes::note_rows;
use crate::ops::memory::to_memory;
use crate::shuffle_words::{from_words, to_words};
use crate::view::View;
use layout::convert::rows::{LANE_BITS, LANE_BYTES, LANES, ROW_BYTES};
use layout::convert::{Access, AccessStep};
use llir::Value;

/// Bytes that bits stand for in memory, combined by xor.
struct Places {
    register: Vec<u32>,
    thread: Vec<u32>,
    bytes: u32,
}

/// How a block is loaded or stored by rows.
struct RowPlan {
    /// Bits of the number of a register within the 4 bytes of a lane.
    inner: Vec<usize>,
    /// What the bits of a lane's number stand for when it names a row.
    rows: Vec<u32>,
    /// The bits that choose between the matrices of one access.
    chosen: Vec<usize>,
    /// The other bits.
    others: Vec<usize>,
    transposed: bool,
}

impl Places {
    /// Of single-element accesses.
    fn of(load: &Access, bytes: u32) -> Option<Places> {
        let count = load.same.len();
        let mut offsets = vec![None; count];
        for step in &load.steps {
            offsets[*step.registers.first()? as usize] = Some(step.offset);
        }
        let offset = |register: usize| offsets.get(load.same[register] as usize).copied().flatten();
        let first = offset(0)?;
        let register: Option<Vec<u32>> = (0..count.trailing_zeros())
            .map(|bit| offset(1 << bit).map(|offset| (offset ^ first) * bytes))
            .collect();
        let thread = load.thread.iter().map(|offset| offset * bytes).collect();
        (first == 0).then_some(Places { register: register?, thread, bytes })
    }

    /// The register bit that stands for a place.
    fn bit(&self, place: u32) -> Option<usize> {
        self.register.iter().position(|at| *at == place)
    }

    fn plan(&self) -> Option<RowPlan> {
        if self.thread.len() < LANE_BITS || self.bytes > LANE_BYTES {
            return None;
        }
        let lane = &self.thread[..LANE_BITS];
        let (inner, rows, transposed) = if lane[0] == LANE_BYTES && lane[1] == 2 * LANE_BYTES {
            let bits = (LANE_BYTES / self.bytes).trailing_zeros();
            let inner: Option<Vec<usize>> = (0..bits).map(|bit| self.bit(self.bytes << bit)).collect();
            (inner?, lane[2..].to_vec(), false)
        } else if self.bytes == 2 && lane[2..] == [2, 4, 8] {
            // The two elements of a lane are those of neighbouring rows.
            let next = self.register.iter().position(|at| *at >= ROW_BYTES)?;
            (vec![next], vec![self.register[next], lane[0], lane[1]], true)
        } else {
            return None;
        };
        let mut others: Vec<usize> =
            (0..self.register.len()).filter(|bit| !inner.contains(bit) && self.register[*bit] != 0).collect();
        let chosen: Vec<usize> = others.drain(..others.len().min(2)).collect();
        let apart = |place: &u32| place & (ROW_BYTES - 1) == 0;
        let outer = others.iter().chain(&chosen).map(|bit| &self.register[*bit]);
        let whole = rows.iter().chain(outer).chain(&self.thread[LANE_BITS..]).all(apart);
        whole.then_some(RowPlan { inner, rows, chosen, others, transposed })
    }
}

impl RowPlan {
    fn matrices(&self) -> usize {
        1 << self.chosen.len()
    }

    /// The register of each matrix and element of an access, among registers with bits that it names by its first.
    fn registers(&self, start: usize) -> Vec<Vec<usize>> {
        let held = |matrix: usize| {
            let at = start | spread(matrix, &self.chosen);
            (0..1 << self.inner.len()).map(|element| at | spread(element, &self.inner)).collect()
        };
        (0..self.matrices()).map(held).collect()
    }
}

/// An access by rows to a view.
struct RowAccess {
    plan: RowPlan,
    places: Places,
    addresses: Addresses,
}

impl RowAccess {
    /// By single-element accesses; `None` where the block does not lie so.
    fn of(cx: &mut Cx<'_>, view: &View, single: &Access, bytes: u32) -> Option<RowAccess> {
        if cx.lanes != LANES || view.offset != 0 {
            return None;
        }
        let places = Places::of(single, bytes)?;
        let plan = places.plan()?;
        let mut thread = plan.rows.clone();
        thread.extend(plan.chosen.iter().map(|bit| places.register[*bit]));
        thread.resize(LANE_BITS, 0);
        thread.extend_from_slice(&places.thread[LANE_BITS..]);
        let elements = |list: &[u32]| list.iter().map(|place| place / bytes).collect::<Vec<u32>>();
        let access = Access { thread: elements(&thread), ..single.clone() };
        let addresses = Addresses::new(cx, &access, view.region, bytes);
        Some(RowAccess { plan, places, addresses })
    }

    fn note(&self, cx: &mut Cx<'_>, writes: bool) {
        let rows: Vec<u64> = self.plan.rows.iter().map(|place| u64::from(place / ROW_BYTES)).collect();
        note_rows(cx, 1 << (self.plan.others.len() + self.plan.chosen.len()), &rows, writes);
    }

    /// The first register of each instruction, and its place.
    fn steps(&mut self, cx: &mut Cx<'_>) -> Vec<(usize, (Value, i64))> {
        let bytes = self.places.bytes;
        let mut steps = Vec::new();
        for number in 0..1usize << self.plan.others.len() {
            let start = spread(number, &self.plan.others);
            let place = self.plan.others.iter().filter(|bit| start >> **bit & 1 != 0);
            let place = place.fold(0, |place, bit| place ^ self.places.register[*bit]);
            let step = AccessStep { registers: vec![start as u32], offset: place / bytes, round: 0, far: 0 };
            steps.push((start, self.addresses.of(cx, &step)));
        }
        steps
    }
}

/// Loads the registers by rows, where the block lies so and the machine can; `None` otherwise.
pub(crate) fn load(cx: &mut Cx<'_>, view: &View, single: &Access, bytes: u32) -> Option<Vec<Option<Value>>> {
    if !cx.target.loads_rows() {
        return None;
    }
    let mut access = RowAccess::of(cx, view, single, bytes)?;
    access.note(cx, false);
    let ty = crate::types::memory(view.element);
    let mut registers = vec![None; single.same.len()];
    for (start, place) in access.steps(cx) {
        let plan = &access.plan;
        let words = cx.target.load_rows(&mut cx.b, place, plan.matrices(), plan.transposed);
        for (word, held) in words.iter().zip(plan.registers(start)) {
            for (register, value) in held.iter().zip(from_words(cx, ty, &[*word], held.len())) {
                registers[*register] = Some(value);
            }
        }
    }
    Some(registers)
}

/// Stores the registers by rows, where the block lies so, each lane has elements of its own, and the machine can.
/// Says whether it does.
pub(crate) fn store(
    cx: &mut Cx<'_>,
    view: &View,
    (single, copies): (&Access, u64),
    bytes: u32,
    registers: &[Value],
) -> bool {
    let is_near = single.far.is_empty() && single.steps.iter().all(|step| step.far == 0);
    if !cx.target.stores_rows() || copies != 0 || !is_near {
        return false;
    }
    let Some(mut access) = RowAccess::of(cx, view, single, bytes) else { return false };
    access.note(cx, true);
    for (start, place) in access.steps(cx) {
        let mut words = Vec::new();
        for held in access.plan.registers(start) {
            let values: Vec<Value> =
                held.iter().map(|&register| to_memory(cx, registers[register], view.element)).collect();
            let ty = cx.b.ty(values[0]);
            words.extend(to_words(cx, ty, &values));
        }
        cx.target.store_rows(&mut cx.b, place, &words, access.plan.transposed);
    }
    true
}

/// The bits of a number, put at places.
fn spread(number: usize, bits: &[usize]) -> usize {
    bits.iter().enumerate().fold(0, |word, (at, bit)| word | (number >> at & 1) << bit)
}
