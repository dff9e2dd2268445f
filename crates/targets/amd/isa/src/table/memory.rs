//! Buffers: memory with bounds, 32-bit offsets; copies to LDS; reads that transpose.

use super::pure;
use crate::arch::Arch::{Gfx90a, Gfx942, Gfx950, Gfx1200};
use crate::arch::{Archs, CDNA, EVERY};
use crate::row::Role;

const GFX950: Archs = Archs::of(&[Gfx950]);
const GFX12: Archs = Archs::of(&[Gfx1200]);
const FLOAT_ADD: Archs = Archs::of(&[Gfx90a, Gfx942, Gfx950, Gfx1200]);

/// What one access moves.
const WORDS: &[&str] = &["i8", "i16", "i32", "<2 x i32>", "<3 x i32>", "<4 x i32>"];
const INTEGERS: &[&str] = &["i32", "i64"];

#[rustfmt::skip]
rows! {
    MAKE_BUFFER_RSRC_P8_P1: pure("llvm.amdgcn.make.buffer.rsrc.p8.p1", "ptr addrspace(8) (ptr addrspace(1), i16, i64, i32)", EVERY,
        "A buffer: its base, bytes of a record (0), how many there are, flags. Before LLVM 21 the third operand is i32."),
    RAW_PTR_BUFFER_LOAD: pure("llvm.amdgcn.raw.ptr.buffer.load", "T (ptr addrspace(8), i32, i32, imm i32)", EVERY,
        "Loads at a lane's offset plus one of all lanes; zeros out of bounds. The last operand says how it is cached.").over(WORDS).reads(),
    RAW_PTR_BUFFER_STORE: pure("llvm.amdgcn.raw.ptr.buffer.store", "void (T, ptr addrspace(8), i32, i32, imm i32)", EVERY,
        "Stores there; nothing out of bounds.").over(WORDS).writes(),
    RAW_PTR_BUFFER_ATOMIC_ADD: pure("llvm.amdgcn.raw.ptr.buffer.atomic.add", "T (T, ptr addrspace(8), i32, i32, imm i32)", EVERY, "Sum; what was there before.").over(INTEGERS).writes(),
    RAW_PTR_BUFFER_ATOMIC_SMIN: pure("llvm.amdgcn.raw.ptr.buffer.atomic.smin", "T (T, ptr addrspace(8), i32, i32, imm i32)", EVERY, "Signed minimum.").over(INTEGERS).writes(),
    RAW_PTR_BUFFER_ATOMIC_SMAX: pure("llvm.amdgcn.raw.ptr.buffer.atomic.smax", "T (T, ptr addrspace(8), i32, i32, imm i32)", EVERY, "Signed maximum.").over(INTEGERS).writes(),
    RAW_PTR_BUFFER_ATOMIC_UMIN: pure("llvm.amdgcn.raw.ptr.buffer.atomic.umin", "T (T, ptr addrspace(8), i32, i32, imm i32)", EVERY, "Unsigned minimum.").over(INTEGERS).writes(),
    RAW_PTR_BUFFER_ATOMIC_UMAX: pure("llvm.amdgcn.raw.ptr.buffer.atomic.umax", "T (T, ptr addrspace(8), i32, i32, imm i32)", EVERY, "Unsigned maximum.").over(INTEGERS).writes(),
    RAW_PTR_BUFFER_ATOMIC_AND: pure("llvm.amdgcn.raw.ptr.buffer.atomic.and", "T (T, ptr addrspace(8), i32, i32, imm i32)", EVERY, "Bitwise and.").over(INTEGERS).writes(),
    RAW_PTR_BUFFER_ATOMIC_OR: pure("llvm.amdgcn.raw.ptr.buffer.atomic.or", "T (T, ptr addrspace(8), i32, i32, imm i32)", EVERY, "Bitwise or.").over(INTEGERS).writes(),
    RAW_PTR_BUFFER_ATOMIC_XOR: pure("llvm.amdgcn.raw.ptr.buffer.atomic.xor", "T (T, ptr addrspace(8), i32, i32, imm i32)", EVERY, "Bitwise exclusive or.").over(INTEGERS).writes(),
    RAW_PTR_BUFFER_ATOMIC_SWAP: pure("llvm.amdgcn.raw.ptr.buffer.atomic.swap", "T (T, ptr addrspace(8), i32, i32, imm i32)", EVERY, "Exchange.").over(INTEGERS).writes(),
    RAW_PTR_BUFFER_ATOMIC_FADD: pure("llvm.amdgcn.raw.ptr.buffer.atomic.fadd", "T (T, ptr addrspace(8), i32, i32, imm i32)", EVERY, "Sum of floats.").over(&["float"]).writes(),
    RAW_PTR_BUFFER_ATOMIC_FADD_PAIRS: pure("llvm.amdgcn.raw.ptr.buffer.atomic.fadd", "T (T, ptr addrspace(8), i32, i32, imm i32)", FLOAT_ADD, "Sum of pairs of halves.")
        .over(&["<2 x half>"]).writes(),
    RAW_PTR_BUFFER_ATOMIC_CMPSWAP: pure("llvm.amdgcn.raw.ptr.buffer.atomic.cmpswap", "T (T, T, ptr addrspace(8), i32, i32, imm i32)", EVERY,
        "Writes the first operand where the second is; what was there before.").over(INTEGERS).writes(),
    RAW_PTR_BUFFER_LOAD_LDS: pure("llvm.amdgcn.raw.ptr.buffer.load.lds", "void (ptr addrspace(8), ptr addrspace(3), imm i32, i32, i32, imm i32, imm i32)", CDNA,
        "Copies to LDS: 4 bytes a lane (16 on gfx950), lane after lane from an address of all lanes.").writes(),
    GLOBAL_LOAD_LDS: pure("llvm.amdgcn.global.load.lds", "void (ptr addrspace(1), ptr addrspace(3), imm i32, imm i32, imm i32)", CDNA,
        "The same from an address.").writes(),
    DS_READ_TR16_B64: pure("llvm.amdgcn.ds.read.tr16.b64", "T (ptr addrspace(3))", GFX950,
        "Four 16-bit elements of a column of a block of 16 by 4, which 16 lanes read together.").over(&["<4 x i16>"]).reads().together().counted(Role::MatrixLoad),
    DS_READ_TR8_B64: pure("llvm.amdgcn.ds.read.tr8.b64", "T (ptr addrspace(3))", GFX950,
        "The same of eight 8-bit elements.").over(&["<2 x i32>"]).reads().together().counted(Role::MatrixLoad),
    GLOBAL_LOAD_TR_B128: pure("llvm.amdgcn.global.load.tr.b128", "T (ptr addrspace(1))", GFX12,
        "Eight 16-bit elements of a column, which lanes read together.").over(&["<8 x i16>"]).reads().together(),
}
