//! Stores past the caches, for launches that write more than the last cache holds beside other things.
//!
//! A group that stores whole vectors is made twice. Which one runs is decided where it starts, by the bytes that all
//! programs will write there against the size of the last cache. The processor has such stores for aligned vectors
//! only, so that the other version starts with as many elements as lead to the first whole cache line, and ends with a
//! chunk that is cut off at the end of the block.

use super::accesses;
use super::chunk::{Assumed, Chunks, Memo};
use super::emitter::Emitter;
use super::error::Result;
use super::nest::Nest;
use super::plan::{Group, Root};
use super::value::{Affine, Linear, Val};
use crate::abi::offsets;
use ir::{Op, Value as IrValue};
use llir::{IntCompare, Type, Value};
use rustc_hash::FxHashSet;
use ttir::ops::access::AccessOp;

/// The largest group that is made twice.
const MOST: usize = 45;

/// The part of the last cache that holds other things, as a power of two: an eighth. From about there on, a kernel that
/// reads what a launch wrote finds as much of it in memory as in the cache.
const OTHERS: i64 = 3;

/// Parameters that a kernel only writes.
pub(crate) fn only_written(module: &ir::Module, kernel: Op) -> FxHashSet<IrValue> {
    let (mut written, mut other) = (FxHashSet::default(), FxHashSet::default());
    for op in module.walk(kernel) {
        let Some(access) = AccessOp::of(module, op) else { continue };
        let is_store = AccessOp::store(module, op).is_some();
        match (accesses::param_of(module, access.ptr()), is_store) {
            (Some(param), true) => written.insert(param),
            (Some(param), false) => other.insert(param),
            // It may be anywhere.
            (None, _) => return FxHashSet::default(),
        };
    }
    written.retain(|param| !other.contains(param));
    written
}

impl Emitter<'_> {
    /// The condition under which the stores of a group go past the caches, and how many elements come before the first
    /// aligned one; `None` if they never do. Where chunks begin at the first element, that is an aligned one.
    pub(crate) fn wants_stream(
        &mut self,
        group: &Group,
        nest: &Nest,
        (assumed, begins_first): (&Assumed, bool),
    ) -> Result<Option<(Value, Value)>> {
        let module = self.module;
        let Some(repeats) = self.here().repeats.filter(|_| self.machine.is_x86) else { return Ok(None) };
        let is_plain = group.shape.len() == 1 && nest.lanes >= self.machine.lanes();
        if !is_plain || group.size(module) > MOST || self.reads_tables(group) {
            return Ok(None);
        }
        let (mut bytes, mut addresses) = (0, Vec::new());
        for root in group.roots.iter().filter(|root| !matches!(root, Root::Scan(_))) {
            let Root::Store(op) = root else { return Ok(None) };
            let pointer = AccessOp::new(module, *op).ptr();
            let is_written =
                accesses::param_of(module, pointer).is_some_and(|param| self.written.contains(&param));
            let lane = self.pointee(module.ty(pointer));
            let size = i64::from(lane.lane_bytes());
            if !is_written || size * i64::from(nest.lanes) < 16 {
                return Ok(None);
            }
            bytes += group.shape[0] * size;
            let linears = vec![Linear::default(); nest.offsets.len()];
            let mut memo = Memo::default();
            let val = Chunks::new(self, &mut memo, assumed, nest.lanes).scoped(|chunks| {
                let at = chunks.position(nest, &linears);
                chunks.eval(pointer, &at)
            });
            // The address may be a scan's result, which is not known in front of the loop.
            let Ok(val) = val else { return Ok(None) };
            match val {
                Val::Affine(affine) if affine.lanes.stride() == Some(1) => {
                    let affine = Affine { linear: Linear::default(), ..affine };
                    addresses.push((self.scalar_of(&affine, lane), size));
                }
                _ => return Ok(None),
            }
        }
        if addresses.is_empty() {
            return Ok(None);
        }
        let bytes = self.b.i64(bytes);
        let total = self.b.mul(repeats, bytes);
        let place = self.b.i64(offsets::LAST_LEVEL_CACHE as i64);
        let place = self.b.offset(self.frame.context, place);
        let cache = self.b.load(Type::I64, place, 8);
        let shift = self.b.i64(OTHERS);
        let others = self.b.lshr(cache, shift);
        let most = self.b.sub(cache, others);
        let mut wanted = self.b.icmp(IntCompare::Sgt, total, most);
        let mut peel: Option<Value> = None;
        for (address, size) in addresses {
            let number = self.b.cast(llir::Op::PTRTOINT, address, Type::I64);
            // Whole cache lines: one that is written in both ways costs more than is gained.
            let (below, part) = (self.b.i64(super::memory::LINE - 1), self.b.i64(size - 1));
            let zero = self.b.i64(0);
            let missing = self.b.sub(zero, number);
            let missing = self.b.and(missing, below);
            let odd = self.b.and(missing, part);
            let is_natural = self.b.icmp(IntCompare::Eq, odd, zero);
            wanted = self.b.and(wanted, is_natural);
            let shift = self.b.i64(i64::from(size.trailing_zeros()));
            let elements = self.b.lshr(missing, shift);
            match peel {
                Some(first) => {
                    let agrees = self.b.icmp(IntCompare::Eq, first, elements);
                    wanted = self.b.and(wanted, agrees);
                }
                None => peel = Some(elements),
            }
        }
        if let Some(peel) = peel.filter(|_| begins_first) {
            let zero = self.b.i64(0);
            let is_aligned = self.b.icmp(IntCompare::Eq, peel, zero);
            wanted = self.b.and(wanted, is_aligned);
        }
        Ok(peel.map(|peel| (wanted, peel)))
    }

    /// Whether a group may read a table of constants, behind whose end nothing may be read.
    fn reads_tables(&self, group: &Group) -> bool {
        let module = self.module;
        let mut work: Vec<IrValue> =
            group.members.iter().flat_map(|&op| module.operands(op).iter().copied()).collect();
        let mut seen = FxHashSet::default();
        while let Some(value) = work.pop() {
            if !ttir::types::is_tensor(module.ty(value)) || !seen.insert(value) {
                continue;
            }
            if let Some(attr) = module.constant(value)
                && ttir::ops::constant::splat_bits(attr).is_none()
            {
                return true;
            }
            if let Some(op) = module.def_op(value).filter(|op| module.regions(*op).is_empty()) {
                work.extend(module.operands(op));
            }
        }
        false
    }

    /// Stores past the caches are seen by other threads only after a fence.
    pub(crate) fn fence_streams(&mut self) {
        if self.has_streams {
            self.b.call_symbol("llvm.x86.sse.sfence", Type::VOID, &[], llir::Purity::Impure);
        }
    }
}
