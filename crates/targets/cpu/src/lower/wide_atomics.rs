//! Atomic sums of neighbours, sixteen bytes at a time.
//!
//! What is added to neighbouring addresses, with nobody asking what was there, is added to whole groups of sixteen
//! bytes by one comparison with exchange where they are aligned and all lanes of a group are active. All such
//! instructions on a cache line come one after the other, whatever their width. Other groups are added to lane by lane.

use super::atomics::ordering;
use super::chunk::Chunks;
use super::error::Result;
use super::memory::Target;
use super::types;
use super::value::At;
use ir::{Op, Type as IrType};
use llir::{IntCompare, Op as Inst, Ordering, Type, Value, intrinsics};
use ttir::ops::atomic::{AtomicRmwOp, Rmw};

/// The bits that are exchanged at once.
const WIDTH: u32 = 128;

impl Chunks<'_, '_> {
    /// Adds a chunk to neighbouring addresses; answers whether it is such a sum.
    pub(crate) fn add_to_neighbours(&mut self, op: Op, at: &At) -> Result<bool> {
        let module = self.module;
        let Some(rmw) = AtomicRmwOp::of(module, op) else { return Ok(false) };
        let elem = ttir::types::elem(module.ty(rmw.value()));
        let lane = types::memory(elem);
        let group = WIDTH / lane.lane_bits();
        // Every x86-64 processor with vectors of 32 bytes exchanges 16 bytes.
        let has_instruction = self.machine.is_x86 && self.machine.vector_bytes >= 32;
        let is_sum = matches!(rmw.kind(), Rmw::Add | Rmw::Fadd) && module.uses(rmw.result()).is_empty();
        let fits = (16..=64).contains(&lane.lane_bits()) && self.lanes.is_multiple_of(group);
        if !has_instruction || !is_sum || !fits {
            return Ok(false);
        }
        let pointer = self.eval(rmw.ptr(), at)?;
        let Target::Run(address) = self.target(rmw.ptr(), &pointer) else { return Ok(false) };
        let value = self.eval_vector(rmw.value(), at)?;
        let mask = match rmw.mask() {
            Some(mask) => self.eval_vector(mask, at)?,
            None => self.all(),
        };
        let number = self.b.cast(Inst::PTRTOINT, address, Type::I64);
        let (below, zero) = (self.b.i64(i64::from(WIDTH) / 8 - 1), self.b.i64(0));
        let rest = self.b.and(number, below);
        let is_aligned = self.b.icmp(IntCompare::Eq, rest, zero);
        for first in (0..self.lanes).step_by(group as usize) {
            let active = self.b.slice(mask, first, group);
            let all = self.b.intrinsic(&intrinsics::VECTOR_REDUCE_AND, Type::I1, &[active]);
            let is_whole = self.b.and(all, is_aligned);
            let offset = self.b.i64(i64::from(first));
            let place = self.b.gep(lane, address, offset);
            let by = self.b.slice(value, first, group);
            let mut branch = self.b.begin_if(is_whole);
            self.add_at_once(elem, place, by, ordering(rmw.sem()));
            self.b.begin_else(&mut branch, &[]);
            for index in 0..group {
                let offset = self.b.i64(i64::from(index));
                let place = self.b.gep(lane, place, offset);
                let (by, active) = (self.b.extract(by, index), self.b.extract(active, index));
                self.atomic_if(op, active, &[place, by])?;
            }
            self.b.end_if(branch, &[]);
        }
        Ok(true)
    }

    /// Adds a vector to aligned memory: compares and exchanges until nobody came between. What is read first may be
    /// torn, and is not stored then.
    fn add_at_once(&mut self, elem: IrType, place: Value, by: Value, ordering: Ordering) {
        let (vector, all) = (self.b.ty(by), Type::int(WIDTH as u16));
        let first = self.b.load(vector, place, WIDTH / 8);
        let first = self.b.bitcast(first, all);
        let opened = self.b.begin_while(&[first]);
        let seen = opened.carried[0];
        let old = self.b.bitcast(seen, vector);
        let sum = match (types::small_float(elem), vector.is_float()) {
            (Some(kind), _) => {
                let [old, by] = [old, by].map(|bits| self.widen(kind, bits));
                let sum = self.b.fadd(old, by);
                self.narrow(kind, sum)
            }
            (None, true) => self.b.fadd(old, by),
            (None, false) => self.b.add(old, by),
        };
        let sum = self.b.bitcast(sum, all);
        let (before, stored) = self.b.cmpxchg(place, seen, sum, ordering);
        let again = self.b.not(stored);
        self.b.do_while(&opened, again, &[]);
        self.b.end_while(opened, &[before]);
    }
}
