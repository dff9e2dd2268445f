//! Atomics: through a buffer where the memory is near, else llir's own, with the scope of the access, behind a branch
//! where there is a mask. Where nobody asks what was there before, one fence orders all of an operation.

use super::access::joined;
use super::{Lanes, buffer};
use amdgcn_isa::Arch::{self, Gfx90a, Gfx942, Gfx950, Gfx1200};
use amdgcn_isa::Archs;
use lanes::{AtomicAccess, CompareSwap, Reductions};
use llir::{Flags, FunctionBuilder, Memory, Ordering, SyncScope, Type, Value, Values};
use ttir::ops::atomic::{Rmw, Scope, Sem};

/// The narrowest compare-and-swap.
pub(super) const NARROWEST_SWAP: u32 = 32;

/// Where sums of two neighbouring 16-bit floats are one instruction.
const PAIRS: &[(Type, Archs)] = &[
    (Type::F16, Archs::of(&[Gfx90a, Gfx942, Gfx950, Gfx1200])),
    (Type::BF16, Archs::of(&[Gfx942, Gfx950, Gfx1200])),
];

fn ordering(order: Sem) -> Ordering {
    match order {
        Sem::Relaxed => Ordering::Monotonic,
        Sem::Acquire => Ordering::Acquire,
        Sem::Release => Ordering::Release,
        Sem::AcqRel => Ordering::AcqRel,
    }
}

fn scope(scope: Scope) -> SyncScope {
    match scope {
        Scope::Gpu => SyncScope::Agent,
        Scope::Cta => SyncScope::Workgroup,
        Scope::Sys => SyncScope::System,
    }
}

fn memory(access: &AtomicAccess, order: Ordering, ty: Type) -> Memory {
    let align = ty.lane_bytes() * ty.lanes();
    Memory { ordering: Some(order), scope: scope(access.scope), ..Memory::aligned(align) }
}

/// Does something behind the mask, with the address; zero where the mask is off.
fn guarded(
    b: &mut FunctionBuilder<'_>,
    access: &AtomicAccess,
    ty: Type,
    work: impl FnOnce(&mut FunctionBuilder<'_>, Value) -> Value,
) -> Value {
    let zero = b.zero(ty);
    let branch = access.mask.map(|mask| b.begin_if(mask));
    let by = b.i64(access.offset);
    let pointer = b.offset(access.pointer, by);
    let result = work(b, pointer);
    let Some(mut branch) = branch else { return result };
    b.begin_else(&mut branch, &[result]);
    b.end_if(branch, &[zero])[0]
}

/// How many neighbours one instruction combines.
pub(super) fn width(arch: Arch, rmw: Rmw, element: Type) -> usize {
    let has = PAIRS.iter().any(|(ty, archs)| *ty == element && archs.has(arch));
    if rmw == Rmw::Fadd && has { 2 } else { 1 }
}

/// What llir calls it; `None` where there is no instruction for the type.
fn kind(arch: Arch, rmw: Rmw, ty: Type) -> Option<llir::Rmw> {
    let is_word = ty.lane_bits() >= 32 && !ty.is_vector();
    let found = match rmw {
        Rmw::Fadd if ty.is_vector() => (width(arch, rmw, ty.lane()) == 2).then_some(llir::Rmw::FAdd),
        Rmw::Fadd => (is_word && ty.is_float()).then_some(llir::Rmw::FAdd),
        Rmw::Exch => is_word.then_some(llir::Rmw::Xchg),
        _ if ty.is_float() || !is_word => None,
        Rmw::And => Some(llir::Rmw::And),
        Rmw::Or => Some(llir::Rmw::Or),
        Rmw::Xor => Some(llir::Rmw::Xor),
        Rmw::Add => Some(llir::Rmw::Add),
        Rmw::Max => Some(llir::Rmw::Max),
        Rmw::Min => Some(llir::Rmw::Min),
        Rmw::Umax => Some(llir::Rmw::UMax),
        Rmw::Umin => Some(llir::Rmw::UMin),
    };
    found.filter(|_| ty.lane_bits() * ty.lanes() <= 64)
}

/// Combines values into memory; `None` where there is no instruction for it.
pub(super) fn rmw(
    b: &mut FunctionBuilder<'_>,
    lanes: &Lanes,
    rmw: Rmw,
    access: &AtomicAccess,
    values: &[Value],
) -> Option<Values> {
    let arch = lanes.arch;
    let ty = b.ty(*values.first()?).with_lanes(values.len() as u32);
    let kind = kind(arch, rmw, ty)?;
    let value = joined(b, values);
    let by_buffer = buffer::atomic_row(arch, rmw, access, ty).filter(|_| !lanes.tuning.plain_atomics);
    let old = match by_buffer {
        Some(row) => ordered(b, access, |b| buffer::atomic(b, (arch, row), access, value)),
        None => {
            let memory = memory(access, ordering(access.order), ty);
            guarded(b, access, ty, |b, pointer| b.atomic_rmw_with(kind, pointer, value, memory))
        }
    };
    if values.len() == 1 {
        return Some([old].into_iter().collect());
    }
    Some((0..values.len() as u32).map(|index| b.extract(old, index)).collect())
}

/// Does something relaxed that orders other accesses as it says.
fn ordered(
    b: &mut FunctionBuilder<'_>,
    access: &AtomicAccess,
    work: impl FnOnce(&mut FunctionBuilder<'_>) -> Value,
) -> Value {
    if access.order.releases() {
        b.fence_among(Ordering::Release, scope(access.scope));
    }
    let result = work(b);
    if access.order.acquires() {
        b.fence_among(Ordering::Acquire, scope(access.scope));
    }
    result
}

impl Reductions for Lanes {
    fn width(&self, rmw: Rmw, element: Type) -> Option<usize> {
        let width = width(self.arch, rmw, element);
        kind(self.arch, rmw, element.with_lanes(width as u32)).map(|_| width)
    }

    fn reduce(
        &self,
        b: &mut FunctionBuilder<'_>,
        operation: Rmw,
        access: &AtomicAccess,
        values: &[Value],
    ) -> bool {
        rmw(b, self, operation, access, values).is_some()
    }

    fn fence(&self, b: &mut FunctionBuilder<'_>, among: Scope) {
        b.fence_among(Ordering::AcqRel, scope(among));
    }
}

/// Writes where memory holds what is expected.
pub(super) fn compare_swap(b: &mut FunctionBuilder<'_>, swap: &CompareSwap) -> Value {
    let ty = b.ty(swap.expected);
    let memory = memory(&swap.access, ordering(swap.access.order), ty);
    guarded(b, &swap.access, ty, |b, pointer| b.cmpxchg_with(pointer, swap.expected, swap.new, memory).0)
}

/// Loads atomically; there are acquiring and relaxed loads.
pub(super) fn load(b: &mut FunctionBuilder<'_>, access: &AtomicAccess, element: Type) -> Value {
    let order = match access.order {
        Sem::Acquire | Sem::AcqRel => Ordering::Acquire,
        Sem::Relaxed | Sem::Release => Ordering::Monotonic,
    };
    let memory = memory(access, order, element);
    guarded(b, access, element, |b, pointer| b.load_with(element, pointer, memory, Flags::NONE))
}

/// Stores atomically; there are releasing and relaxed stores.
pub(super) fn store(b: &mut FunctionBuilder<'_>, access: &AtomicAccess, value: Value) {
    let order = match access.order {
        Sem::Release | Sem::AcqRel => Ordering::Release,
        Sem::Relaxed | Sem::Acquire => Ordering::Monotonic,
    };
    let memory = memory(access, order, b.ty(value));
    let branch = access.mask.map(|mask| b.begin_if(mask));
    let by = b.i64(access.offset);
    let pointer = b.offset(access.pointer, by);
    b.store_with(value, pointer, memory, Flags::NONE);
    if let Some(branch) = branch {
        b.end_if(branch, &[]);
    }
}
