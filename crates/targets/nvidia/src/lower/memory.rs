//! Loads and stores of neighbouring elements.
//!
//! A plain access is llir's own; one with a mask or with words about the caches is a template. Elements narrower than a
//! register travel packed in 32-bit registers.

use super::instruction::Instruction;
use lanes::Access;
use llir::{Flags, FunctionBuilder, Memory, Type, Value, Values};
use ttir::ops::memory::{CacheModifier, EvictionPolicy};

/// PTX's word for the address space of a pointer type, with its dot; empty for a generic address.
pub(super) fn space(ty: Type) -> &'static str {
    match ty.kind() {
        llir::Scalar::Ptr(1) => ".global",
        llir::Scalar::Ptr(3) => ".shared",
        llir::Scalar::Ptr(7) => ".shared::cluster",
        _ => "",
    }
}

/// A pointer and a constant that fits an immediate.
pub(super) fn address(b: &mut FunctionBuilder<'_>, pointer: Value, offset: i64) -> (Value, i64) {
    if i32::try_from(offset).is_ok() {
        return (pointer, offset);
    }
    let by = b.i64(offset);
    (b.offset(pointer, by), 0)
}

/// The registers that an access of so many elements moves: their type, and how many elements are in each.
fn word(element: Type, count: usize) -> (Type, usize) {
    let bits = element.lane_bits() as usize;
    let each = (32 / bits).clamp(1, count);
    if each == 1 { (element, 1) } else { (element.vector(each as u32), each) }
}

/// Elements packed in the registers that an access moves.
fn pack(b: &mut FunctionBuilder<'_>, values: &[Value], each: usize) -> Values {
    if each == 1 {
        return values.iter().copied().collect();
    }
    values.chunks(each).map(|chunk| b.vector(chunk)).collect()
}

fn unpack(b: &mut FunctionBuilder<'_>, words: &[Value], each: usize) -> Values {
    if each == 1 {
        return words.iter().copied().collect();
    }
    words
        .iter()
        .flat_map(|word| (0..each as u32).map(|lane| b.extract(*word, lane)).collect::<Values>())
        .collect()
}

fn vector_word(count: usize) -> String {
    if count == 1 { String::new() } else { format!(".v{count}") }
}

/// The part of the mnemonic behind `ld` or `st`.
fn manner(access: &Access, space: &str) -> String {
    if access.volatile {
        return format!(".volatile{space}");
    }
    let cache = match access.cache {
        CacheModifier::None => "",
        CacheModifier::Ca => ".ca",
        CacheModifier::Cg => ".cg",
        CacheModifier::Wb => ".wb",
        CacheModifier::Cs => ".cs",
        CacheModifier::Wt => ".wt",
        CacheModifier::Cv => ".cv",
    };
    let eviction = match access.eviction {
        _ if !cache.is_empty() => "",
        EvictionPolicy::Normal => "",
        EvictionPolicy::First => ".L1::evict_first",
        EvictionPolicy::Last => ".L1::evict_last",
    };
    format!("{space}{cache}{eviction}")
}

/// Whether llir's own instruction says all there is to say.
fn is_plain(access: &Access) -> bool {
    access.mask.is_none() && access.cache == CacheModifier::None && access.eviction == EvictionPolicy::Normal
}

/// The type of all elements together.
fn together(access: &Access) -> Type {
    access.element.with_lanes(access.count as u32)
}

fn alignment(access: &Access) -> u32 {
    access.element.lane_bytes() * access.count as u32
}

fn flags(access: &Access) -> Flags {
    if access.volatile { Flags::VOLATILE } else { Flags::NONE }
}

/// The address with its constant.
fn pointer_of(b: &mut FunctionBuilder<'_>, access: &Access) -> Value {
    let by = b.i64(access.offset);
    b.offset(access.pointer, by)
}

/// Loads; where the mask is off the elements are `other`, or undefined without it.
pub(super) fn load(b: &mut FunctionBuilder<'_>, access: &Access, other: &[Value]) -> Values {
    if is_plain(access) {
        let pointer = pointer_of(b, access);
        let all = b.load_with(together(access), pointer, Memory::aligned(alignment(access)), flags(access));
        return (0..access.count as u32).map(|index| b.extract(all, index)).collect();
    }
    let (ty, each) = word(access.element, access.count);
    let count = access.count / each;
    let bits = ty.lane_bits() * ty.lanes();
    let place = address(b, access.pointer, access.offset);
    let how = manner(access, space(b.ty(place.0)));
    let load = Instruction::new(format!("ld{how}{}.b{bits}", vector_word(count)));
    let mut load = load.results(ty, count);
    if access.mask.is_some() && other.len() == access.count {
        load = load.kept(&pack(b, other, each));
    }
    let loaded = load.when(access.mask).at_offset(place).reads(b);
    let words = b.parts(loaded.expect("a load has results"));
    unpack(b, &words, each)
}

/// Stores.
pub(super) fn store(b: &mut FunctionBuilder<'_>, access: &Access, values: &[Value]) {
    if is_plain(access) {
        let pointer = pointer_of(b, access);
        let all = if values.len() == 1 { values[0] } else { b.vector(values) };
        return b.store_with(all, pointer, Memory::aligned(alignment(access)), flags(access));
    }
    let (ty, each) = word(access.element, access.count);
    let bits = ty.lane_bits() * ty.lanes();
    let place = address(b, access.pointer, access.offset);
    let words = pack(b, values, each);
    let how = manner(access, space(b.ty(place.0)));
    let store = Instruction::new(format!("st{how}{}.b{bits}", vector_word(words.len())));
    // Loads that are llir's own may not be moved over it.
    store.when(access.mask).at_offset(place).registers(&words).effect(b);
}

/// Loads matrices of 8 rows of 16 bytes whose addresses the lanes name: `ldmatrix`.
pub(super) fn load_rows(
    b: &mut FunctionBuilder<'_>,
    (pointer, offset): (Value, i64),
    count: usize,
    transposed: bool,
) -> Values {
    let transposed = if transposed { ".trans" } else { "" };
    let load = Instruction::new(format!("ldmatrix.sync.aligned.m8n8.x{count}{transposed}.shared.b16"));
    let loaded = load.tuple(Type::I32, count).at_offset((pointer, offset)).effect(b);
    b.parts(loaded.expect("a load has results"))
}

/// Stores matrices of 8 rows of 16 bytes to addresses that the lanes name: `stmatrix`.
pub(super) fn store_rows(
    b: &mut FunctionBuilder<'_>,
    (pointer, offset): (Value, i64),
    words: &[Value],
    transposed: bool,
) {
    let (count, transposed) = (words.len(), if transposed { ".trans" } else { "" });
    let store = Instruction::new(format!("stmatrix.sync.aligned.m8n8.x{count}{transposed}.shared.b16"));
    store.at_offset((pointer, offset)).tuple_of(words).effect(b);
}
