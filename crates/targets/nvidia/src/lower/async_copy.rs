//! Copies to shared memory that go on while the lanes do: `cp.async`, since sm_80.

use super::instruction::Instruction;
use super::memory;
use lanes::Access;
use llir::{FunctionBuilder, Value};
use ttir::ops::memory::CacheModifier;

/// Begins a copy of 4, 8 or 16 bytes; `false` for other sizes, which have no instruction. Where the mask is off, no
/// byte is read and zeros are written.
pub(super) fn copy(
    b: &mut FunctionBuilder<'_>,
    (to, to_offset): (Value, i64),
    from: &Access,
    only: Option<Value>,
) -> bool {
    let bytes = from.element.lane_bytes() as usize * from.count;
    if !matches!(bytes, 4 | 8 | 16) {
        return false;
    }
    let (source, from_offset) = memory::address(b, from.pointer, from.offset);
    // Only whole 16 bytes can pass by the first level of the cache.
    let level = if bytes == 16 && from.cache != CacheModifier::Ca { "cg" } else { "ca" };
    let copy = Instruction::new(format!("cp.async.{level}.shared.global"));
    let mut copy = copy.at_offset((to, to_offset)).at_offset((source, from_offset)).constant(bytes as i64);
    if let Some(mask) = from.mask {
        let (all, none) = (b.i32(bytes as i32), b.i32(0));
        copy = copy.register(b.select(mask, all, none));
    }
    copy.when(only).effect(b);
    true
}

/// Ends a group of copies.
pub(super) fn commit(b: &mut FunctionBuilder<'_>) {
    Instruction::new("cp.async.commit_group").effect(b);
}

/// Waits for all but so many groups.
pub(super) fn wait(b: &mut FunctionBuilder<'_>, pending: u32) {
    Instruction::new("cp.async.wait_group").constant(pending).effect(b);
}
