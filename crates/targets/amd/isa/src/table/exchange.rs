//! Lanes of a wave reading each other's values.

use super::pure;
use crate::arch::Arch::Gfx950;
use crate::arch::{Archs, EVERY, RDNA};
use crate::row::Role;

const PERMLANE_SWAP: Archs = Archs::of(&[Gfx950]);

#[rustfmt::skip]
rows! {
    MBCNT_LO: pure("llvm.amdgcn.mbcnt.lo", "i32 (i32, i32)", EVERY, "The second operand plus the bits of the first below this lane, of lanes 0 to 31."),
    MBCNT_HI: pure("llvm.amdgcn.mbcnt.hi", "i32 (i32, i32)", EVERY, "The same of lanes 32 to 63."),
    READFIRSTLANE: pure("llvm.amdgcn.readfirstlane", "T (T)", EVERY, "What the first active lane has.").over(&["i32", "i64", "float"]).alike(),
    READLANE: pure("llvm.amdgcn.readlane", "T (T, i32)", EVERY, "What a lane has, the same for all.").over(&["i32", "i64", "float"]).together(),
    WRITELANE: pure("llvm.amdgcn.writelane", "T (T, i32, T)", EVERY, "The third operand, with the first in one lane.").over(&["i32"]).together(),
    BALLOT: pure("llvm.amdgcn.ballot", "T (i1)", EVERY, "One bit for each lane: whether it is active and its condition holds; zeros above lane 31 of a wave of 32.").over(&["i64"]).together(),
    BALLOT_32: pure("llvm.amdgcn.ballot", "T (i1)", RDNA, "The same for waves of 32 lanes.").over(&["i32"]).together(),
    DS_BPERMUTE: pure("llvm.amdgcn.ds.bpermute", "i32 (i32, i32)", EVERY, "What lane (first operand / 4) has in the second; 0 of inactive ones.").together().counted(Role::Shuffle),
    DS_PERMUTE: pure("llvm.amdgcn.ds.permute", "i32 (i32, i32)", EVERY, "Sends the second operand to lane (first operand / 4).").together(),
    DS_SWIZZLE: pure("llvm.amdgcn.ds.swizzle", "i32 (i32, imm i32)", EVERY,
        "A pattern within 32 lanes: lane = ((own & and) | or) ^ xor, five bits each at 0, 5, 10; bit 15: within 4 lanes.").together().counted(Role::Shuffle),
    MOV_DPP: pure("llvm.amdgcn.mov.dpp", "T (T, imm i32, imm i32, imm i32, imm i1)", EVERY,
        "A value through a pattern of lanes: control, mask of rows, mask of banks, zeros where no lane is.").over(&["i32"]).together(),
    UPDATE_DPP: pure("llvm.amdgcn.update.dpp", "T (T, T, imm i32, imm i32, imm i32, imm i1)", EVERY,
        "The same; the first operand where no lane is or a mask is off.").over(&["i32", "float", "i64", "double"]).together().counted(Role::Shuffle),
    MOV_DPP8: pure("llvm.amdgcn.mov.dpp8", "T (T, imm i32)", RDNA, "Each of 8 lanes names one of them, three bits each.").over(&["i32"]).together(),
    PERMLANE16: pure("llvm.amdgcn.permlane16", "T (T, T, i32, i32, imm i1, imm i1)", RDNA,
        "Within each row of 16: lanes name lanes, four bits each in the third and fourth operand.").over(&["i32"]).together().counted(Role::Permute),
    PERMLANEX16: pure("llvm.amdgcn.permlanex16", "T (T, T, i32, i32, imm i1, imm i1)", RDNA,
        "The same from the other row of each pair.").over(&["i32"]).together().counted(Role::Permute),
    PERMLANE16_SWAP: pure("llvm.amdgcn.permlane16.swap", "{ i32, i32 } (i32, i32, imm i1, imm i1)", PERMLANE_SWAP,
        "Exchanges odd rows of the first operand with even rows of the second.").together().counted(Role::Permute),
    PERMLANE32_SWAP: pure("llvm.amdgcn.permlane32.swap", "{ i32, i32 } (i32, i32, imm i1, imm i1)", PERMLANE_SWAP,
        "Exchanges the upper half of the first operand with the lower half of the second.").together().counted(Role::Permute),
    PERM: pure("llvm.amdgcn.perm", "i32 (i32, i32, i32)", EVERY, "Four bytes of eight, which the third operand names; the second operand has bytes 0 to 3."),
    ALIGNBYTE: pure("llvm.amdgcn.alignbyte", "i32 (i32, i32, i32)", EVERY, "Four of the eight bytes from the one that the third operand names."),
}
