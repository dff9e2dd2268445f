//! Copies to shared memory that go on while the lanes do: `cp.async`, since sm_80.

use super::memory;
use lanes::Access;
use llir::{Asm, FunctionBuilder, Type, Value, Values};
use ttir::ops::memory::CacheModifier;

/// Begins a copy of 4, 8 or 16 bytes; `false` for other sizes, which have no instruction. Where the mask is off, no byte
/// is read and zeros are written.
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
    let mut args = Values::from_slice(&[to, source]);
    let mut constraints = vec!["r", "l"];
    let mut size = String::new();
    if let Some(mask) = from.mask {
        let (all, none) = (b.i32(bytes as i32), b.i32(0));
        args.push(b.select(mask, all, none));
        size = format!(", ${}", constraints.len());
        constraints.push("r");
    }
    let mut guard = String::new();
    if let Some(only) = only {
        guard = format!("@${} ", constraints.len());
        args.push(only);
        constraints.push("b");
    }
    // Only whole 16 bytes can pass by the first level of the cache.
    let level = if bytes == 16 && from.cache != CacheModifier::Ca { "cg" } else { "ca" };
    let text = format!(
        "{guard}cp.async.{level}.shared.global [ $0 + {to_offset} ], [ $1 + {from_offset} ], {bytes}{size};"
    );
    let constraints = format!("{},~{{memory}}", constraints.join(","));
    b.inline_asm(Asm::effect(&text, &constraints), Type::VOID, &args);
    true
}

/// Ends a group of copies.
pub(super) fn commit(b: &mut FunctionBuilder<'_>) {
    b.inline_asm(Asm::effect("cp.async.commit_group;", "~{memory}"), Type::VOID, &[]);
}

/// Waits for all but so many groups.
pub(super) fn wait(b: &mut FunctionBuilder<'_>, pending: u32) {
    let text = format!("cp.async.wait_group {pending};");
    b.inline_asm(Asm::effect(&text, "~{memory}"), Type::VOID, &[]);
}
