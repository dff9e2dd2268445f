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
    /// How far approximate instructions are off.
    pub(crate) approximate: Approximate,
}

/// How far approximate instructions are off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(dead_code)]
pub(crate) enum Approximate {
    /// Rounded once, which is what the emulator does.
    Rounded,
    /// As far as the manual allows: upwards, or downwards where it says -1.
    Worst(i32),
}

impl Emulated {
    /// Watches everything but counters.
    pub(crate) fn new(capability: u32, way: Way) -> Emulated {
        let checks = Checks { counters: false, max_instructions: 50_000_000, ..Checks::default() };
        Emulated { capability, way, checks, approximate: Approximate::Rounded }
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
        let text = match self.approximate {
            Approximate::Rounded => emitted.text,
            Approximate::Worst(direction) => worst(&emitted.text, direction),
        };
        let program = Program::parse(&text).map_err(|error| format!("{error}\n{text}"))?;
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

/// PTX whose approximate instructions are moved as far as the manual allows: powers by two units in the last place,
/// reciprocals and roots by one, logarithms by 2^-22 or, where they are above one, two units. What is zero, denormal,
/// infinite or NaN stays, and so do ends of the range.
fn worst(text: &str, direction: i32) -> String {
    let mut moved = String::new();
    for line in text.lines() {
        moved += line;
        moved += "\n";
        let code = line.trim().trim_end_matches(';');
        let Some((name, operands)) = code.split_once(' ') else { continue };
        let units = match name {
            "ex2.approx.ftz.f32" | "lg2.approx.ftz.f32" => 2 * direction,
            "rcp.approx.ftz.f32" | "sqrt.approx.ftz.f32" | "rsqrt.approx.ftz.f32" => direction,
            _ => continue,
        };
        let result = operands.split(',').next().expect("an instruction has a result").trim();
        // Units of a number near zero are smaller than what a logarithm of a number near one may be off.
        let step = if name.starts_with("lg2") {
            let step = if direction < 0 { "0fB4800000" } else { "0f34800000" };
            format!(
                "abs.f32 %mr0, {result}; setp.lt.f32 %mp1, %mr0, 0f3F800000; @%mp1 add.f32 %mr1, {result}, {step};"
            )
        } else {
            String::new()
        };
        moved += &format!(
            "{{ .reg .b32 %mr<2>; .reg .pred %mp<2>; testp.normal.f32 %mp0, {result}; add.s32 %mr1, {result}, {units}; \
             {step} @%mp0 mov.b32 {result}, %mr1; }}\n"
        );
    }
    moved
}
