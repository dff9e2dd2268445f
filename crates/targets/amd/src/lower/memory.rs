//! Loads and stores of neighbouring elements: through a buffer where the memory is near, else llir's own, behind a
//! branch where there is a mask.

use super::access::{is_streamed, joined};
use super::buffer;
use amdgcn_isa::Arch;
use lanes::Access;
use llir::{Flags, FunctionBuilder, Memory, Type, Value, Values};
use ttir::ops::memory::CacheModifier;

/// The address with its constant.
fn pointer_of(b: &mut FunctionBuilder<'_>, access: &Access) -> Value {
    if access.offset == 0 {
        return access.pointer;
    }
    let by = b.i64(access.offset);
    b.offset(access.pointer, by)
}

/// The type of all elements together.
fn together(access: &Access) -> Type {
    access.element.with_lanes(access.count as u32)
}

/// How memory is touched: what is used once does not stay in the caches.
fn memory(access: &Access) -> Memory {
    let align = access.element.lane_bytes() * access.count as u32;
    Memory { nontemporal: is_streamed(access), ..Memory::aligned(align) }
}

fn flags(access: &Access) -> Flags {
    if access.volatile || access.cache == CacheModifier::Cv { Flags::VOLATILE } else { Flags::NONE }
}

/// Loads; where the mask is off the elements are `other`, or undefined without it.
pub(super) fn load(b: &mut FunctionBuilder<'_>, arch: Arch, access: &Access, other: &[Value]) -> Values {
    if let Some(near) = buffer::near(access) {
        return buffer::load(b, arch, (access, near), other);
    }
    let ty = together(access);
    let whole = |b: &mut FunctionBuilder<'_>| {
        let pointer = pointer_of(b, access);
        b.load_with(ty, pointer, memory(access), flags(access))
    };
    let all = match access.mask {
        None => whole(b),
        Some(mask) => {
            let other = if other.len() == access.count { joined(b, other) } else { b.zero(ty) };
            let mut branch = b.begin_if(mask);
            let loaded = whole(b);
            b.begin_else(&mut branch, &[loaded]);
            b.end_if(branch, &[other])[0]
        }
    };
    if access.count == 1 {
        return [all].into_iter().collect();
    }
    (0..access.count as u32).map(|index| b.extract(all, index)).collect()
}

/// Stores.
pub(super) fn store(b: &mut FunctionBuilder<'_>, arch: Arch, access: &Access, values: &[Value]) {
    if let Some(near) = buffer::near(access) {
        return buffer::store(b, arch, (access, near), values);
    }
    let all = joined(b, values);
    let branch = access.mask.map(|mask| b.begin_if(mask));
    let pointer = pointer_of(b, access);
    b.store_with(all, pointer, memory(access), flags(access));
    if let Some(branch) = branch {
        b.end_if(branch, &[]);
    }
}
