//! The machines: facts of each architecture, from the ISA manuals of CDNA 2 to 4 and RDNA 3 and 4.
//!
//! Each names what it has beyond another one. Vector registers are counted for one lane of a SIMD and for a compute
//! unit of four SIMDs, as lanes times registers.

mod matrix;

use amdgcn_isa::Arch;
use ir::FloatKind::{self, BF16, F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F16, F32, F64};
use std::sync::{Mutex, OnceLock, PoisonError};
use ttgir::machine::Machine;

const CONVERSIONS: &[(FloatKind, FloatKind)] = &[(F32, F16), (F16, F32), (F32, F64), (F64, F32)];
const WITH_FNUZ: &[(FloatKind, FloatKind)] =
    &[(F32, F16), (F16, F32), (F32, F64), (F64, F32), (F8E4M3FNUZ, F32), (F8E5M2FNUZ, F32)];
const WITH_OCP: &[(FloatKind, FloatKind)] =
    &[(F32, F16), (F16, F32), (F32, F64), (F64, F32), (F8E4M3FN, F32), (F8E5M2, F32)];
const WITH_OCP_AND_BF16: &[(FloatKind, FloatKind)] =
    &[(F32, F16), (F16, F32), (F32, BF16), (F32, F64), (F64, F32), (F8E4M3FN, F32), (F8E5M2, F32)];

/// CDNA2. A wave has 256 vector registers and as many for accumulators; 4 SIMDs hold up to 8 waves each.
const GFX90A: Machine = Machine {
    name: "hip:gfx90a",
    warp_size: 64,
    max_warps: 16,
    resident_warps: 32,
    resident_programs: 16,
    lane_registers: 512,
    sm_registers: 4 * 512 * 64,
    shared_bytes: 64 << 10,
    sm_shared_bytes: 64 << 10,
    staged_loads: true,
    stores_fragments: true,
    matrix: matrix::GFX90A,
    conversions: CONVERSIONS,
    ..Machine::BASE
};

/// CDNA3.
const GFX942: Machine = Machine {
    name: "hip:gfx942",
    matrix: matrix::GFX942,
    conversions: WITH_FNUZ,
    ping_pong: PING_PONG,
    ..GFX90A
};

/// CDNA4.
const GFX950: Machine = Machine {
    name: "hip:gfx950",
    shared_bytes: 160 << 10,
    sm_shared_bytes: 160 << 10,
    async_copy_bytes: &[16],
    direct_stages: 3,
    ping_pong: PING_PONG,
    matrix: matrix::GFX950,
    scaled_matrix: matrix::GFX950_SCALED,
    conversions: WITH_OCP_AND_BF16,
    ..GFX90A
};

/// RDNA3. A wave has 256 vector registers; 4 SIMDs hold up to 16 waves each.
const GFX1100: Machine = Machine {
    name: "hip:gfx1100",
    warp_size: 32,
    max_warps: 32,
    resident_warps: 64,
    resident_programs: 32,
    lane_registers: 256,
    sm_registers: 4 * 1536 * 32,
    shared_bytes: 64 << 10,
    sm_shared_bytes: 128 << 10,
    staged_loads: true,
    stores_fragments: true,
    matrix: matrix::GFX1100,
    conversions: CONVERSIONS,
    ..Machine::BASE
};

/// RDNA4.
const GFX1200: Machine =
    Machine { name: "hip:gfx1200", matrix: matrix::GFX1200, conversions: WITH_OCP, ..GFX1100 };

/// Every machine with its architecture.
pub static MACHINES: &[(Arch, Machine)] = &[
    (Arch::Gfx90a, GFX90A),
    (Arch::Gfx942, GFX942),
    (Arch::Gfx950, GFX950),
    (Arch::Gfx1100, GFX1100),
    (Arch::Gfx1200, GFX1200),
];

/// The machine of an architecture.
///
/// # Panics
/// Never: a test sees to it that every architecture has one.
pub fn machine(arch: Arch) -> &'static Machine {
    let found = MACHINES.iter().find(|(own, _)| *own == arch).map(|(_, machine)| machine);
    found.expect("every architecture has a machine")
}

/// Which loops copy to LDS past the registers, where an architecture does that 16 bytes a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Copies {
    /// Those of three stages and more.
    Asked,
    /// Those of two stages as well.
    Always,
    /// None.
    Never,
}

/// What a launch decides about loops with dots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loops {
    /// Which of them copy.
    pub copies: Copies,
    /// Whether two groups of warps run large ones half an iteration apart; by default those of CDNA3, and those of
    /// CDNA4 that copy.
    pub ping_pong: Option<bool>,
}

impl Loops {
    /// As without any setting.
    pub const DEFAULT: Loops = Loops { copies: Copies::Asked, ping_pong: None };
}

/// The work of 256 × 128 × 64 halves, from which on the reference does the same.
const PING_PONG: Option<u64> = Some(256 * 128 * 64 * 16);

/// An architecture with what is decided about loops, and its machine.
type Changed = (Arch, Loops, &'static Machine);

/// The machine of an architecture for a launch that decides about loops.
pub fn machine_for(arch: Arch, loops: Loops) -> &'static Machine {
    if loops == Loops::DEFAULT {
        return machine(arch);
    }
    static ALL: OnceLock<Mutex<Vec<Changed>>> = OnceLock::new();
    // A thread that panics leaves a list as good as before.
    let mut all = ALL.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((.., machine)) = all.iter().find(|(own, of, _)| (*own, *of) == (arch, loops)) {
        return machine;
    }
    let made: &'static Machine = Box::leak(Box::new(changed(*machine(arch), loops)));
    all.push((arch, loops, made));
    made
}

/// A machine with what is decided about loops.
fn changed(machine: Machine, loops: Loops) -> Machine {
    let direct_stages = match loops.copies {
        _ if machine.direct_stages == u32::MAX => u32::MAX,
        Copies::Asked => machine.direct_stages,
        Copies::Always => 2,
        Copies::Never => u32::MAX,
    };
    // A SIMD of RDNA holds more warps, which take turns by themselves.
    let can = machine.warp_size == 64;
    let ping_pong = match loops.ping_pong {
        // CDNA4 does so where it copies.
        None => {
            machine.ping_pong.filter(|_| (direct_stages == u32::MAX) == (machine.direct_stages == u32::MAX))
        }
        Some(on) => PING_PONG.filter(|_| on && can),
    };
    Machine { direct_stages, ping_pong, ..machine }
}

/// Vector registers of a compute unit, as lanes times registers; 0 for an architecture that is not known.
pub(crate) fn registers(arch: Option<Arch>) -> u32 {
    arch.map_or(0, |arch| machine(arch).sm_registers)
}

/// The machine of a name as programs have it: `hip:gfx942`.
pub fn named(name: &str) -> Option<&'static Machine> {
    Arch::named(name.strip_prefix("hip:")?).map(machine)
}

#[cfg(test)]
mod tests {
    use super::{MACHINES, machine, named};
    use amdgcn_isa::ARCHS;

    #[test]
    fn every_architecture_has_its_own_facts() {
        let mut texts = Vec::new();
        for arch in ARCHS {
            let machine = machine(arch);
            assert_eq!(machine.name, format!("hip:{arch}"));
            assert_eq!(machine.warp_size, arch.wave().lanes());
            assert!(machine.shared_bytes <= machine.sm_shared_bytes);
            assert_eq!(named(machine.name), Some(machine));
            texts.push(machine.to_string());
        }
        texts.sort();
        texts.dedup();
        assert_eq!((texts.len(), MACHINES.len()), (ARCHS.len(), ARCHS.len()));
        assert!(named("hip:gfx900").is_none() && named("cuda:90").is_none());
    }
}
