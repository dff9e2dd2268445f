//! Where a lane is, barriers, waiting, scheduling, clocks.

use super::pure;
use crate::arch::Arch::{Gfx90a, Gfx942, Gfx950, Gfx1100, Gfx1200};
use crate::arch::{Archs, CDNA, EVERY, RDNA};
use crate::row::Role;

const TO_GFX11: Archs = Archs::of(&[Gfx90a, Gfx942, Gfx950, Gfx1100]);
const GFX12: Archs = Archs::of(&[Gfx1200]);

#[rustfmt::skip]
rows! {
    WORKGROUP_ID_X: pure("llvm.amdgcn.workgroup.id.x", "i32 ()", EVERY, "The position of the thread block in the grid, first axis."),
    WORKGROUP_ID_Y: pure("llvm.amdgcn.workgroup.id.y", "i32 ()", EVERY, "The same, second axis."),
    WORKGROUP_ID_Z: pure("llvm.amdgcn.workgroup.id.z", "i32 ()", EVERY, "The same, third axis."),
    WORKITEM_ID_X: pure("llvm.amdgcn.workitem.id.x", "i32 ()", EVERY, "The number of the lane in its thread block, first axis."),
    WORKITEM_ID_Y: pure("llvm.amdgcn.workitem.id.y", "i32 ()", EVERY, "The same, second axis."),
    WORKITEM_ID_Z: pure("llvm.amdgcn.workitem.id.z", "i32 ()", EVERY, "The same, third axis."),
    IMPLICITARG_PTR: pure("llvm.amdgcn.implicitarg.ptr", "ptr addrspace(4) ()", EVERY,
        "Where the hidden arguments are: the counts of thread blocks of the grid, i32 each, come first."),
    WAVEFRONTSIZE: pure("llvm.amdgcn.wavefrontsize", "i32 ()", EVERY, "Lanes of a wave."),
    S_BARRIER: pure("llvm.amdgcn.s.barrier", "void ()", EVERY, "All waves of the thread block wait for each other.").writes().together().counted(Role::Barrier),
    S_BARRIER_SIGNAL: pure("llvm.amdgcn.s.barrier.signal", "void (imm i32)", GFX12, "Arrives at a barrier (-1: of the thread block).").writes().together(),
    S_BARRIER_WAIT: pure("llvm.amdgcn.s.barrier.wait", "void (imm i16)", GFX12, "Waits at a barrier.").writes().together(),
    WAVE_BARRIER: pure("llvm.amdgcn.wave.barrier", "void ()", EVERY, "No instruction: accesses are not moved across it.").writes().together().counted(Role::WaveBarrier),
    S_WAITCNT: pure("llvm.amdgcn.s.waitcnt", "void (imm i32)", TO_GFX11, "Waits until at most so many accesses of each kind are under way.").writes(),
    S_WAIT_LOADCNT: pure("llvm.amdgcn.s.wait.loadcnt", "void (imm i16)", GFX12, "Waits until at most so many loads are under way.").writes(),
    S_WAIT_DSCNT: pure("llvm.amdgcn.s.wait.dscnt", "void (imm i16)", GFX12, "Waits until at most so many accesses to LDS are under way.").writes(),
    SCHED_BARRIER: pure("llvm.amdgcn.sched.barrier", "void (imm i32)", EVERY, "What the scheduler may move across: a mask of kinds.").writes().together(),
    SCHED_GROUP_BARRIER: pure("llvm.amdgcn.sched.group.barrier", "void (imm i32, imm i32, imm i32)", EVERY,
        "Asks the scheduler for a group: a mask of kinds, how many, which pipeline.").writes().together(),
    IGLP_OPT: pure("llvm.amdgcn.iglp.opt", "void (imm i32)", EVERY, "Asks the scheduler for one of its ready orders.").writes().together(),
    S_SETPRIO: pure("llvm.amdgcn.s.setprio", "void (imm i16)", EVERY, "The priority of the wave, 0 to 3.").writes(),
    S_SLEEP: pure("llvm.amdgcn.s.sleep", "void (imm i32)", EVERY, "Waits for 64 times so many cycles.").writes(),
    S_GETREG: pure("llvm.amdgcn.s.getreg", "i32 (imm i32)", EVERY, "A hardware register: number, offset and width in one constant.").reads(),
    S_MEMREALTIME: pure("llvm.amdgcn.s.memrealtime", "i64 ()", CDNA, "A counter of constant frequency.").writes(),
    S_MEMTIME: pure("llvm.amdgcn.s.memtime", "i64 ()", CDNA, "A counter of cycles.").writes(),
    S_SENDMSG_RTN: pure("llvm.amdgcn.s.sendmsg.rtn", "T (imm i32)", RDNA, "What the hardware answers to a message: 131 asks for the time.")
        .over(&["i32", "i64"]).writes(),
    ENDPGM: pure("llvm.amdgcn.endpgm", "void ()", EVERY, "Ends the wave.").writes().together(),
}
