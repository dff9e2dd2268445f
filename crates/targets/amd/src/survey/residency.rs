//! How many programs a compute unit holds at once, and what limits that: the formula of AMD's tuning guide.
//!
//! Registers of a wave come in granules out of those of its SIMD; LDS in pieces of 512 bytes. Four SIMDs make a compute
//! unit.

use super::listing;
use crate::compile;
use crate::machine::machine;
use crate::object::note::KernelFacts;
use amdgcn_isa::{Arch, CDNA};
use target::survey::{ResidentLimit, Resources};
use target::{Artifact, CompileOptions};

/// Registers of the SIMDs of a family of architectures, for one lane.
struct Simd {
    /// Vector registers that its waves share, accumulators among them.
    registers: u32,
    /// Registers of a wave come in pieces of so many.
    granule: u32,
    /// Waves at most.
    waves: u32,
}

const CDNA_SIMD: Simd = Simd { registers: 512, granule: 8, waves: 8 };
const RDNA_SIMD: Simd = Simd { registers: 1536, granule: 24, waves: 16 };

/// SIMDs of a compute unit.
const SIMDS: u32 = 4;
/// LDS comes in pieces of so many bytes.
const LDS_PIECE: u32 = 512;

impl Simd {
    /// Waves that fit with so many registers each.
    fn fitting(&self, registers: u32) -> u32 {
        let taken = registers.max(1).next_multiple_of(self.granule);
        (self.registers / taken).min(self.waves)
    }
}

/// What a kernel takes of a compute unit.
pub(crate) fn resources(artifact: &Artifact, arch: Arch, options: &CompileOptions) -> Option<Resources> {
    let warps = artifact.launch.device()?.num_warps;
    let code = compile::machine_code(artifact, arch, options).map_err(|error| {
        let text = error.to_string();
        text.lines().next().unwrap_or_default().to_owned()
    });
    let facts = code.as_ref().map(|(_, facts)| facts).map_err(Clone::clone);
    let lds = u32::try_from(artifact.shared).unwrap_or(u32::MAX);
    let registers = facts.clone().map(|facts| facts.vgprs);
    Some(Resources {
        limits: limits(arch, warps.max(1), lds, registers.as_ref().ok().copied()),
        registers,
        spill_bytes: facts.map(|facts| facts.private_bytes),
        resident_warps: machine(arch).resident_warps,
        code: code.map(|(text, facts)| rows(&text, &facts)).unwrap_or_default(),
    })
}

/// What the machine code is, for people.
fn rows(text: &str, facts: &KernelFacts) -> Vec<(String, String)> {
    let KernelFacts { vgprs, agprs, sgprs, vgpr_spills, sgpr_spills, .. } = facts;
    let mut rows = vec![
        ("vector registers".to_owned(), format!("{vgprs}, {agprs} of them accumulators (AGPR)")),
        ("scalar registers".to_owned(), format!("{sgprs}")),
        ("spills".to_owned(), format!("{vgpr_spills} vector registers, {sgpr_spills} scalar registers")),
    ];
    rows.extend(listing::main_loop(text).rows());
    rows
}

fn limits(arch: Arch, warps: u32, lds: u32, registers: Option<u32>) -> Vec<ResidentLimit> {
    let (machine, simd) = (machine(arch), if CDNA.has(arch) { &CDNA_SIMD } else { &RDNA_SIMD });
    let mut limits = vec![
        ResidentLimit {
            what: "waves",
            programs: machine.resident_warps / warps,
            because: format!("{} waves of {SIMDS} SIMDs / {warps} of a program", machine.resident_warps),
        },
        ResidentLimit {
            what: "programs",
            programs: machine.resident_programs,
            because: format!("a compute unit holds {} programs at most", machine.resident_programs),
        },
    ];
    if let Some(registers) = registers {
        let waves = simd.fitting(registers);
        limits.push(ResidentLimit {
            what: "vector registers",
            programs: waves * SIMDS / warps,
            because: format!(
                "{} of a SIMD / {registers} of a wave, in granules of {}: {waves} waves a SIMD, {SIMDS} SIMDs, {warps} waves of a \
                 program",
                simd.registers, simd.granule
            ),
        });
    }
    if lds > 0 {
        let taken = lds.next_multiple_of(LDS_PIECE);
        limits.push(ResidentLimit {
            what: "LDS",
            programs: machine.sm_shared_bytes / taken,
            because: format!("{} bytes / {taken} of a program", machine.sm_shared_bytes),
        });
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::limits;
    use amdgcn_isa::Arch;

    #[test]
    fn residency_is_that_of_the_guide() {
        let programs = |arch, warps, lds, registers| -> Vec<(&str, u32)> {
            let all = limits(arch, warps, lds, Some(registers));
            all.iter().map(|limit| (limit.what, limit.programs)).collect()
        };
        // 160 registers: 3 waves a SIMD; 32 KiB of LDS: 2 programs.
        assert_eq!(
            programs(Arch::Gfx942, 4, 32 << 10, 160),
            [("waves", 8), ("programs", 16), ("vector registers", 3), ("LDS", 2)]
        );
        // 129 registers take 136.
        assert_eq!(programs(Arch::Gfx942, 4, 0, 129)[2].1, 3);
        assert_eq!(programs(Arch::Gfx942, 8, 64 << 10, 252)[2..], [("vector registers", 1), ("LDS", 1)]);
        assert_eq!(programs(Arch::Gfx950, 4, 68 << 10, 136)[2..], [("vector registers", 3), ("LDS", 2)]);
        assert_eq!(programs(Arch::Gfx1100, 4, 0, 256)[2].1, 5);
        assert_eq!(programs(Arch::Gfx1100, 4, 0, 96)[2].1, 16);
    }
}
