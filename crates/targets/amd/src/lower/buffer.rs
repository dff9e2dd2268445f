//! Loads, stores and atomics of memory that 32-bit offsets reach, through buffers: no address of 64 bits for each lane,
//! and no branch for a mask.
//!
//! A buffer begins [`BEHIND`] bytes in front of the parameter, so that offsets in it are not negative even where those
//! from the parameter are: an array is less than 2 GiB and a parameter may point into it. Lanes that are masked off
//! access bytes that are out of bounds: loads give zeros there, stores and atomics do nothing.

use super::access::{is_streamed, joined};
use amdgcn_isa::{Arch, Archs, CDNA, Row, memory};
use lanes::{Access, AtomicAccess, Near};
use llir::{FunctionBuilder, Type, Value, Values};
use std::borrow::Cow;
use ttir::ops::atomic::{Rmw, Scope};
use ttir::ops::memory::CacheModifier;

/// How far in front of a parameter its buffer begins.
const BEHIND: i64 = 1 << 30;
/// Bytes of a buffer: 2 GiB from the parameter on.
const BYTES: i64 = BEHIND + (1 << 31);
/// An offset behind the end, from which on there is room for constants.
const OUTSIDE: i32 = 0xe000_0000_u32 as i32;
/// The constants that instructions of every architecture add to an offset.
const CONSTANTS: i64 = (1 << 12) - 1;

/// What is used once does not stay in the caches, on gfx12 and before.
const STREAMED: [i32; 2] = [1, 2];

/// Words of a buffer that say how it is read: 32-bit elements, and on RDNA that bounds are those of bytes.
fn flags(arch: Arch) -> i32 {
    let raw = 7 << 12 | 4 << 15;
    if CDNA.has(arch) { raw } else { raw | 1 << 24 | 3 << 28 }
}

/// What makes an access one of a buffer: the memory is near, and the instruction moves as many bytes.
pub(super) fn near(access: &Access) -> Option<Near> {
    let bits = access.element.lane_bits() * access.count as u32;
    let moves = matches!(bits, 8 | 16 | 32 | 64 | 128) && access.element.lane_bits() >= 8;
    let plain = !access.volatile && access.cache != CacheModifier::Cv;
    access.near.filter(|_| moves && plain)
}

/// The integers that an access moves.
fn words(access: &Access) -> Type {
    match access.element.lane_bits() * access.count as u32 {
        bits @ (8 | 16 | 32) => Type::int(bits as u16),
        bits => Type::I32.vector(bits / 32),
    }
}

/// The operands behind the value: buffer, offset of a lane, offset of all lanes, how it is cached.
pub(super) fn place(b: &mut FunctionBuilder<'_>, arch: Arch, access: &Access, near: Near) -> [Value; 4] {
    let back = b.i64(-BEHIND);
    let base = b.offset(near.base, back);
    let (stride, bytes, flags) = (b.int(Type::int(16), 0), b.i64(BYTES), b.i32(flags(arch)));
    let buffer =
        b.intrinsic(&memory::MAKE_BUFFER_RSRC_P8_P1, Type::pointer(8), &[base, stride, bytes, flags]);
    let size = b.i32(near.element_bytes as i32);
    let offset = b.mul(near.index, size);
    let low = access.offset & CONSTANTS;
    let high = b.i32((BEHIND + access.offset - low) as i32);
    let mut offset = b.add(offset, high);
    if let Some(mask) = access.mask {
        let outside = b.i32(OUTSIDE);
        offset = b.select(mask, offset, outside);
    }
    let low = b.i32(low as i32);
    let offset = b.add(offset, low);
    let cached =
        if is_streamed(access) { STREAMED[usize::from(!Archs::of(&[Arch::Gfx1200]).has(arch))] } else { 0 };
    let (zero, cached) = (b.i32(0), b.i32(cached));
    [buffer, offset, zero, cached]
}

/// The text as an LLVM of some version takes it: before 21, the bytes of a buffer are 32 bits.
pub(crate) fn dialect(text: &str, version: u32) -> Cow<'_, str> {
    let make = memory::MAKE_BUFFER_RSRC_P8_P1.name;
    if version >= 21 || !text.contains(make) {
        return Cow::Borrowed(text);
    }
    let declared = format!("@{make}(ptr addrspace(1), i16, i64, i32)");
    let text = text.replace(&declared, &format!("@{make}(ptr addrspace(1), i16, i32, i32)"));
    Cow::Owned(text.replace(&format!("i16 0, i64 {BYTES}, "), &format!("i16 0, i32 {}, ", BYTES as i32)))
}

/// Loads; where the mask is off the elements are `other`.
pub(super) fn load(
    b: &mut FunctionBuilder<'_>,
    arch: Arch,
    (access, near): (&Access, Near),
    other: &[Value],
) -> Values {
    let words = words(access);
    let operands = place(b, arch, access, near);
    let loaded = b.intrinsic(&memory::RAW_PTR_BUFFER_LOAD, words, &operands);
    let ty = access.element.with_lanes(access.count as u32);
    let mut all = if ty == words { loaded } else { b.bitcast(loaded, ty) };
    if let Some(mask) = access.mask
        && other.len() == access.count
        && !other.iter().all(|&value| b.is_zero(value))
    {
        let other = joined(b, other);
        all = b.select(mask, all, other);
    }
    if access.count == 1 {
        return [all].into_iter().collect();
    }
    (0..access.count as u32).map(|index| b.extract(all, index)).collect()
}

/// Stores.
pub(super) fn store(
    b: &mut FunctionBuilder<'_>,
    arch: Arch,
    (access, near): (&Access, Near),
    values: &[Value],
) {
    let words = words(access);
    let all = joined(b, values);
    let all = if b.ty(all) == words { all } else { b.bitcast(all, words) };
    let [buffer, offset, zero, cached] = place(b, arch, access, near);
    b.intrinsic_void(&memory::RAW_PTR_BUFFER_STORE, &[all, buffer, offset, zero, cached]);
}

/// What combines a value into memory without a branch for a mask, if there is an instruction for the memory, the
/// operation and the type, and it is atomic among all who may look.
pub(super) fn atomic_row(arch: Arch, rmw: Rmw, access: &AtomicAccess, ty: Type) -> Option<&'static Row> {
    // Others than this device see what its caches hold only where an atomic of llir says so.
    access.near.filter(|_| access.scope != Scope::Sys)?;
    let row = match rmw {
        Rmw::Fadd if ty.is_vector() => &memory::RAW_PTR_BUFFER_ATOMIC_FADD_PAIRS,
        Rmw::Fadd => &memory::RAW_PTR_BUFFER_ATOMIC_FADD,
        Rmw::Exch => &memory::RAW_PTR_BUFFER_ATOMIC_SWAP,
        Rmw::Add => &memory::RAW_PTR_BUFFER_ATOMIC_ADD,
        Rmw::And => &memory::RAW_PTR_BUFFER_ATOMIC_AND,
        Rmw::Or => &memory::RAW_PTR_BUFFER_ATOMIC_OR,
        Rmw::Xor => &memory::RAW_PTR_BUFFER_ATOMIC_XOR,
        Rmw::Max => &memory::RAW_PTR_BUFFER_ATOMIC_SMAX,
        Rmw::Min => &memory::RAW_PTR_BUFFER_ATOMIC_SMIN,
        Rmw::Umax => &memory::RAW_PTR_BUFFER_ATOMIC_UMAX,
        Rmw::Umin => &memory::RAW_PTR_BUFFER_ATOMIC_UMIN,
    };
    (row.is_on(arch) && row.takes(words_of(row, ty))).then_some(row)
}

/// The type of what such an instruction takes for a value: exchanges are of integers.
fn words_of(row: &Row, ty: Type) -> Type {
    if *row == memory::RAW_PTR_BUFFER_ATOMIC_SWAP { ty.as_int() } else { ty }
}

/// Combines a value into memory by such an instruction; what was there before.
pub(super) fn atomic(
    b: &mut FunctionBuilder<'_>,
    (arch, row): (Arch, &'static Row),
    atomic: &AtomicAccess,
    value: Value,
) -> Value {
    let ty = b.ty(value);
    let near = atomic.near.expect("the instruction is for memory that is near");
    let access = Access::new(atomic.pointer, atomic.offset, ty.lane(), ty.lanes() as usize);
    let access = Access { mask: atomic.mask, near: atomic.near, ..access };
    let [buffer, offset, zero, cached] = place(b, arch, &access, near);
    let words = words_of(row, ty);
    let given = if words == ty { value } else { b.bitcast(value, words) };
    let old = b.intrinsic(row, words, &[given, buffer, offset, zero, cached]);
    if words == ty { old } else { b.bitcast(old, ty) }
}

#[cfg(test)]
mod tests {
    use super::dialect;

    #[test]
    fn older_versions_count_bytes_in_32_bits() {
        let text = "declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)
%r = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %p, i16 0, i64 3221225472, i32 1)";
        assert_eq!(dialect(text, 22), text);
        let old = dialect(text, 19);
        assert!(old.contains("i16, i32, i32)") && old.contains("i16 0, i32 -1073741824, i32 1"), "{old}");
    }
}
