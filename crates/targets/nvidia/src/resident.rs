//! How many programs an SM holds at once.
//!
//! Registers are given to whole warps in pieces of 256, to four warps at a time; shared memory in pieces of 128 bytes,
//! after what the system keeps for itself. These are the rules of the vendor's occupancy calculator for all
//! architectures here.

use ttgir::Machine;

/// Registers of a warp come in pieces of so many.
const REGISTER_PIECE: u32 = 256;
/// Warps get registers so many at a time.
const WARP_PIECE: u32 = 4;
/// Shared memory comes in pieces of so many bytes.
const SHARED_PIECE: u32 = 128;

/// Registers that a warp takes whose lanes have so many, and one at least.
pub(crate) fn of_warp(machine: &Machine, registers: u32) -> u32 {
    (registers.max(1) * machine.warp_size).next_multiple_of(REGISTER_PIECE)
}

/// Programs for which an SM has registers, of so many warps with so many registers a lane.
pub(crate) fn by_registers(machine: &Machine, warps: u32, registers: u32) -> u32 {
    let fitting = machine.sm_registers / of_warp(machine, registers) / WARP_PIECE * WARP_PIECE;
    fitting / warps.next_multiple_of(WARP_PIECE)
}

/// The most registers of a lane with which an SM holds so many programs of so many warps.
pub(crate) fn registers_for(machine: &Machine, warps: u32, programs: u32) -> u32 {
    let each = machine.sm_registers / (programs * warps.next_multiple_of(WARP_PIECE));
    each / REGISTER_PIECE * REGISTER_PIECE / machine.warp_size
}

/// Bytes of shared memory that a program takes which asks for so many.
pub(crate) fn of_program(machine: &Machine, shared: u32) -> u32 {
    shared.saturating_add(machine.reserved_shared_bytes).next_multiple_of(SHARED_PIECE)
}

/// Programs for which an SM has shared memory.
pub(crate) fn by_shared(machine: &Machine, shared: u32) -> u32 {
    machine.sm_shared_bytes / of_program(machine, shared)
}

#[cfg(test)]
mod tests {
    use super::{by_registers, registers_for};
    use crate::machine::machine;

    #[test]
    fn the_most_registers_for_so_many_programs_are_the_most() {
        for arch in [80, 86, 89, 90, 100, 120] {
            let machine = machine(arch).expect("known");
            for (warps, programs) in [(1, 2), (4, 2), (4, 3), (6, 2), (8, 2), (12, 1), (16, 2), (32, 1)] {
                let most = registers_for(machine, warps, programs);
                assert!(
                    by_registers(machine, warps, most) >= programs,
                    "{arch}: {programs} of {warps} warps"
                );
                assert!(
                    by_registers(machine, warps, most + 1) < programs,
                    "{arch}: {programs} of {warps} warps"
                );
            }
        }
        assert_eq!(registers_for(machine(90).expect("known"), 8, 2), 128);
    }
}
