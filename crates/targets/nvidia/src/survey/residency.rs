//! How many programs an SM holds at once, and what limits that.

use crate::assemble;
use crate::assemble::choose;
use crate::machine;
use crate::resident::{by_registers, by_shared, of_program, of_warp};
use ptx_isa::Arch;
use target::survey::{ResidentLimit, Resources};
use target::{Artifact, CompileOptions};
use ttgir::Machine;

/// What a kernel takes of an SM.
pub(crate) fn resources(artifact: &Artifact, arch: Arch, options: &CompileOptions) -> Option<Resources> {
    let machine = machine::machine(u32::from(arch.number))?;
    let code = code(artifact, arch, options);
    let warps = artifact.launch.device()?.num_warps;
    let registers = code.clone().map(|code| code.registers);
    let shared = u32::try_from(artifact.shared).unwrap_or(u32::MAX);
    let limits = limits(machine, warps, shared, registers.as_ref().ok().copied());
    Some(Resources {
        registers,
        spill_bytes: code.map(|code| code.stack),
        limits,
        resident_warps: machine.resident_warps,
        code: Vec::new(),
    })
}

/// Facts about the machine code.
fn code(artifact: &Artifact, arch: Arch, options: &CompileOptions) -> Result<assemble::Facts, String> {
    let code = choose::machine_code(artifact, arch, options).map_err(|error| {
        let text = error.to_string();
        text.lines().next().unwrap_or_default().to_owned()
    })?;
    let all = assemble::facts(&code).map_err(|error| error.to_string())?;
    all.into_iter().next().ok_or_else(|| "the machine code holds no kernel".to_owned())
}

fn limits(machine: &Machine, warps: u32, shared: u32, registers: Option<u32>) -> Vec<ResidentLimit> {
    let warps = warps.max(1);
    let mut limits = vec![
        ResidentLimit {
            what: "warps",
            programs: machine.resident_warps / warps,
            because: format!("{} warps of an SM / {warps} of a program", machine.resident_warps),
        },
        ResidentLimit {
            what: "programs",
            programs: machine.resident_programs,
            because: format!("an SM holds {} programs at most", machine.resident_programs),
        },
    ];
    if let Some(registers) = registers.filter(|registers| *registers > 0) {
        limits.push(ResidentLimit {
            what: "registers",
            programs: by_registers(machine, warps, registers),
            because: format!(
                "{} registers of an SM / ({registers} of a lane, {} of a warp, {warps} warps)",
                machine.sm_registers,
                of_warp(machine, registers)
            ),
        });
    }
    if shared > 0 {
        limits.push(ResidentLimit {
            what: "shared memory",
            programs: by_shared(machine, shared),
            because: format!(
                "{} bytes of an SM / {} of a program ({} of them the system's)",
                machine.sm_shared_bytes,
                of_program(machine, shared),
                machine.reserved_shared_bytes
            ),
        });
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::limits;
    use crate::machine::machine;

    #[test]
    fn residency_is_that_of_the_calculator() {
        let hopper = machine(90).expect("known");
        let programs = |warps, shared, registers| -> Vec<(&str, u32)> {
            let all = limits(hopper, warps, shared, Some(registers));
            all.iter().map(|limit| (limit.what, limit.programs)).collect()
        };
        assert_eq!(programs(4, 0, 32), [("warps", 16), ("programs", 32), ("registers", 16)]);
        assert_eq!(programs(8, 0, 168), [("warps", 8), ("programs", 32), ("registers", 1)]);
        // 65 registers take the room of 72.
        assert_eq!(programs(4, 0, 65)[2], ("registers", 7));
        assert_eq!(programs(8, 147_456, 168)[3], ("shared memory", 1));
        assert_eq!(programs(4, 16 << 10, 64)[3], ("shared memory", 13));
    }
}
