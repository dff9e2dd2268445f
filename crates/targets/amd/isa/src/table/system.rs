//! Where a lane is, barriers, waiting, scheduling, clocks.

use super::pure;
use crate::arch::Arch::{Gfx90a, Gfx942, Gfx950, Gfx1100, Gfx1200};
use crate::arch::{Archs, CDNA, EVERY, RDNA};
use crate::row::Row;

const TO_GFX11: Archs = Archs::of(&[Gfx90a, Gfx942, Gfx950, Gfx1100]);
const GFX12: Archs = Archs::of(&[Gfx1200]);

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    pure("llvm.amdgcn.workgroup.id.x", "i32 ()", EVERY, "The position of the thread block in the grid, first axis."),
    pure("llvm.amdgcn.workgroup.id.y", "i32 ()", EVERY, "The same, second axis."),
    pure("llvm.amdgcn.workgroup.id.z", "i32 ()", EVERY, "The same, third axis."),
    pure("llvm.amdgcn.workitem.id.x", "i32 ()", EVERY, "The number of the lane in its thread block, first axis."),
    pure("llvm.amdgcn.workitem.id.y", "i32 ()", EVERY, "The same, second axis."),
    pure("llvm.amdgcn.workitem.id.z", "i32 ()", EVERY, "The same, third axis."),
    pure("llvm.amdgcn.implicitarg.ptr", "ptr addrspace(4) ()", EVERY,
        "Where the hidden arguments are: the counts of thread blocks of the grid, i32 each, come first."),
    pure("llvm.amdgcn.wavefrontsize", "i32 ()", EVERY, "Lanes of a wave."),
    pure("llvm.amdgcn.s.barrier", "void ()", EVERY, "All waves of the thread block wait for each other.").writes().together(),
    pure("llvm.amdgcn.s.barrier.signal", "void (imm i32)", GFX12, "Arrives at a barrier (-1: of the thread block).").writes().together(),
    pure("llvm.amdgcn.s.barrier.wait", "void (imm i16)", GFX12, "Waits at a barrier.").writes().together(),
    pure("llvm.amdgcn.wave.barrier", "void ()", EVERY, "No instruction: accesses are not moved across it.").writes().together(),
    pure("llvm.amdgcn.s.waitcnt", "void (imm i32)", TO_GFX11, "Waits until at most so many accesses of each kind are under way.").writes(),
    pure("llvm.amdgcn.s.wait.loadcnt", "void (imm i16)", GFX12, "Waits until at most so many loads are under way.").writes(),
    pure("llvm.amdgcn.s.wait.dscnt", "void (imm i16)", GFX12, "Waits until at most so many accesses to LDS are under way.").writes(),
    pure("llvm.amdgcn.sched.barrier", "void (imm i32)", EVERY, "What the scheduler may move across: a mask of kinds.").writes().together(),
    pure("llvm.amdgcn.sched.group.barrier", "void (imm i32, imm i32, imm i32)", EVERY,
        "Asks the scheduler for a group: a mask of kinds, how many, which pipeline.").writes().together(),
    pure("llvm.amdgcn.iglp.opt", "void (imm i32)", EVERY, "Asks the scheduler for one of its ready orders.").writes().together(),
    pure("llvm.amdgcn.s.setprio", "void (imm i16)", EVERY, "The priority of the wave, 0 to 3.").writes(),
    pure("llvm.amdgcn.s.sleep", "void (imm i32)", EVERY, "Waits for 64 times so many cycles.").writes(),
    pure("llvm.amdgcn.s.getreg", "i32 (imm i32)", EVERY, "A hardware register: number, offset and width in one constant.").reads(),
    pure("llvm.amdgcn.s.memrealtime", "i64 ()", CDNA, "A counter of constant frequency.").writes(),
    pure("llvm.amdgcn.s.memtime", "i64 ()", CDNA, "A counter of cycles.").writes(),
    pure("llvm.amdgcn.s.sendmsg.rtn", "T (imm i32)", RDNA, "What the hardware answers to a message: 131 asks for the time.")
        .over(&["i32", "i64"]).writes(),
    pure("llvm.amdgcn.endpgm", "void ()", EVERY, "Ends the wave.").writes().together(),
];
