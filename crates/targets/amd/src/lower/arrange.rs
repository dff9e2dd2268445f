//! The order of loads from LDS, matrix instructions and stores to LDS: in groups, with waits for whole groups.
//!
//! Left to itself, LLVM loads each fragment just in front of its use and waits for it there.

use amdgcn_isa::{Arch, CDNA, Role, memory, system};
use llir::passes::{Group, Groups, Mark, MarkCall, interleave};
use llir::{Callee, Type};

/// The address space of LDS.
const LDS: u8 = 3;

/// Puts loads of fragments a step in front of the matrix instructions that use them.
pub fn arrange(module: &mut llir::Module, arch: Arch) {
    interleave(module, &Order { arch });
}

struct Order {
    arch: Arch,
}

impl Groups for Order {
    fn group(&self, callee: &Callee) -> Option<Group> {
        let row = amdgcn_isa::of(callee)?;
        match row.role {
            Some(Role::Multiply) => Some(Group::Dot),
            Some(Role::Permute) => Some(Group::Exchange),
            // Copies to LDS have no result to wait for.
            _ => (*row == memory::RAW_PTR_BUFFER_LOAD).then_some(Group::Load),
        }
    }

    fn shared(&self) -> u8 {
        LDS
    }

    fn loads_ahead(&self) -> bool {
        // Fragments of RDNA are twice as large or more, and a lane has half of the registers.
        CDNA.has(self.arch)
    }

    fn least_loads(&self) -> usize {
        // On gfx1100 two loads are one fragment, and with three of them a lane has no registers left.
        if self.arch == Arch::Gfx1100 { 2 } else { 4 }
    }

    fn mark(&self, mark: Mark) -> Option<MarkCall> {
        // Waits are written otherwise by each generation of RDNA, and LLVM places its own.
        let wait = |bits: i64| {
            let args = vec![(Type::I32, bits)];
            CDNA.has(self.arch).then_some(MarkCall { intrinsic: &system::S_WAITCNT, args })
        };
        match mark {
            Mark::Fence => Some(MarkCall { intrinsic: &system::SCHED_BARRIER, args: vec![(Type::I32, 0)] }),
            Mark::SharedLoads(count) => wait(counters(ANY_LOADS, count)),
            Mark::Loads(count) => wait(counters(count, ANY_SHARED)),
        }
    }
}

/// As many as a counter holds: nothing is waited for.
const ANY_LOADS: u32 = 63;
const ANY_SHARED: u32 = 15;

/// The operand of `s_waitcnt` on CDNA that waits for all accesses of LDS.
pub(super) const SHARED_DONE: i64 = 0xc07f;

/// The operand of `s_waitcnt` on CDNA that waits until at most so many loads are under way.
pub(super) fn loads_left(count: u32) -> i64 {
    counters(count, ANY_SHARED)
}

/// The operand of `s_waitcnt` on CDNA: accesses of memory and of LDS that may be under way; exports are not waited for.
fn counters(loads: u32, shared: u32) -> i64 {
    let (loads, shared) = (loads.min(ANY_LOADS), shared.min(ANY_SHARED));
    i64::from(loads & 15 | 7 << 4 | shared << 8 | loads >> 4 << 14)
}

#[cfg(test)]
mod tests {
    use super::counters;

    #[test]
    fn counters_as_llvm_writes_them() {
        // vmcnt(0), lgkmcnt(0), lgkmcnt(4), vmcnt(20).
        let found = [counters(0, 99), counters(99, 0), counters(99, 4), counters(20, 99)];
        assert_eq!(found, [0x0f70, super::SHARED_DONE, 0xc47f, 0x4f74]);
    }
}
