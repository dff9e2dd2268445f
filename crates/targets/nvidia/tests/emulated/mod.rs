//! Compiled code as an engine for fixtures and random programs: to PTX, which the emulator runs.

use crate::support::ways::{Way, lowered};
use emulator::{Argument as Parameter, Checks, Launch, Memory, Program};
use nvidia::ptx;
use ptx_isa::Arch;
use ttir::testing::{Argument, Engine, Ran};

/// Compiled code on the emulator.
pub(crate) struct Emulated {
    /// Ten times the compute capability.
    pub(crate) capability: u32,
    /// How blocks get their layouts.
    pub(crate) way: Way,
    /// What is watched.
    pub(crate) checks: Checks,
}

impl Emulated {
    /// Watches everything but counters.
    pub(crate) fn new(capability: u32, way: Way) -> Emulated {
        let checks = Checks { counters: false, max_instructions: 50_000_000, ..Checks::default() };
        Emulated { capability, way, checks }
    }
}

impl Engine for Emulated {
    fn name(&self) -> &str {
        "emulator"
    }

    fn run(
        &mut self,
        module: &ir::Module,
        kernel: &str,
        grid: [u32; 3],
        args: &[Argument],
    ) -> Result<Ran, String> {
        let mut lowered = lowered(module, kernel, self.capability, self.way)?;
        let raw = lowered.module.to_string();
        ptx::optimize(&mut lowered.module, &mut |_, _| {});
        llir::verify(&lowered.module)
            .map_err(|errors| format!("{}\n{raw}\n{}", errors[0], lowered.module))?;
        let text = lowered.module.to_string();
        let again = llir::parse(&text, &lowered.module).map_err(|error| format!("{error}\n{text}"))?;
        llir::verify(&again).map_err(|errors| format!("read back: {}\n{text}", errors[0]))?;
        let again = again.to_string();
        if again != text {
            return Err(format!("what is read back differs:\n{text}\n{again}"));
        }
        let facts = lowered.kernels.first().ok_or("no kernel")?;
        let arch = Arch::of_capability(self.capability as u16).ok_or("no such architecture")?;
        let emitted = ptx::emit(&lowered.module, &ptx::Options::new(arch))
            .map_err(|errors| format!("{}\n{}", errors[0], lowered.module))?;
        if std::env::var_os("SHOW").is_some() {
            println!("{}\n{}", lowered.module, emitted.text);
        }
        let program = Program::parse(&emitted.text).map_err(|error| format!("{error}\n{}", emitted.text))?;
        let entry = program.entry(&emitted.kernels[0]).ok_or("no entry")?;
        let mut memory = Memory::new();
        let mut addresses = Vec::new();
        let mut arguments: Vec<Parameter> = Vec::new();
        for (arg, param) in args.iter().zip(entry.params) {
            let bits = match arg {
                Argument::Bits(bits) => *bits,
                Argument::Buffer(bytes) => {
                    let address = memory.allocate_with(bytes);
                    addresses.push((address, bytes.len()));
                    address
                }
            };
            arguments.push(Parameter(bits.to_le_bytes()[..param.bytes].to_vec()));
        }
        let num_ctas = self.way.num_ctas();
        let programs = u64::from(grid[0]) * u64::from(grid[1]) * u64::from(grid[2]);
        let scratch = facts.global_scratch.bytes * programs;
        arguments.push(memory.allocate(scratch.max(16) as usize).into());
        arguments.push(0u64.into());
        let launch = Launch {
            grid: [grid[0] * num_ctas, grid[1], grid[2]],
            cluster: [num_ctas, 1, 1],
            block: [facts.lanes * facts.total_warps, 1, 1],
            dynamic_shared: facts.shared_bytes as usize,
            arguments,
            schedule: 0,
        };
        let report = program
            .launch(entry.name, &launch, &mut memory, self.checks)
            .map_err(|fault| fault.to_string())?;
        if let Some(finding) = report.findings.first() {
            return Err(format!("{:?}: {finding}", finding.kind));
        }
        let mut ran = Ran { lines: report.output.lines().map(str::to_owned).collect(), ..Ran::default() };
        for (address, bytes) in addresses {
            let mut buffer = vec![0; bytes];
            memory.read(address, &mut buffer).map_err(|error| error.to_string())?;
            ran.buffers.push(buffer);
        }
        Ok(ran)
    }
}
