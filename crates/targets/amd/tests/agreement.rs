//! Every fixture of the language gives on the emulator what it says, on waves of 64 and of 32 lanes.

use amd::lower::Lanes;
use amd::pipeline;
use amd_emulator::{Argument as Parameter, Checks, Launch, Memory, Program};
use amdgcn_isa::Arch;
use std::path::Path;
use ttir::testing::{Argument, Engine, Ran, check_file, isolate, order_writes};

/// Compiled code on the emulator.
struct Emulated {
    arch: Arch,
    warps: u32,
}

impl Emulated {
    /// A kernel as llir.
    fn lowered(&self, module: &ir::Module, kernel: &str) -> Result<lanes::Lowered, String> {
        let mut module = module.clone();
        isolate(&mut module, kernel);
        ir::pass::run(&mut module, ttir::passes::pipeline(), ir::pass::Verify::Each, &mut ())
            .map_err(|errors| format!("{errors:?}"))?;
        order_writes(&mut module);
        let machine = amd::machine::machine(self.arch);
        let launch = gpu::Launch { num_warps: self.warps, num_ctas: 1, num_stages: 2 };
        gpu::to_ttgir(&mut module, pipeline::PASSES, machine, &launch, ir::pass::Verify::Each, &mut ())
            .map_err(|errors| errors[0].to_string())?;
        // The interpreter rounds every product.
        let options = lanes::Options { fuse_multiply_add: false, ..lanes::Options::default() };
        let target = Lanes::new(self.arch);
        let mut lowered = lanes::lower(&module, &target, &options).map_err(|errors| errors[0].to_string())?;
        llir::passes::optimize(&mut lowered.module, &[], &mut |_, _| {});
        llir::verify(&lowered.module).map_err(|errors| errors[0].to_string())?;
        Ok(lowered)
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
        let lowered = self.lowered(module, kernel)?;
        let facts = lowered.kernels.first().ok_or("no kernel")?;
        let program = Program::new(&lowered.module, self.arch).map_err(|error| error.to_string())?;
        let params = program.params(&facts.name).ok_or("no parameters")?;
        let mut memory = Memory::new();
        let (mut addresses, mut arguments) = (Vec::new(), Vec::<Parameter>::new());
        for (arg, param) in args.iter().zip(params) {
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
        let programs = u64::from(grid[0]) * u64::from(grid[1]) * u64::from(grid[2]);
        let scratch = facts.global_scratch.bytes * programs;
        arguments.push(memory.allocate(scratch.max(16) as usize).into());
        arguments.push(0u64.into());
        let launch = Launch {
            grid,
            warps: facts.num_warps,
            dynamic_lds: facts.shared_bytes as usize,
            arguments,
            threads: 1,
        };
        let checks = Checks { counters: false, ..Checks::default() };
        let report =
            program.launch(&facts.name, &launch, &mut memory, checks).map_err(|fault| fault.to_string())?;
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

/// What does not agree: files, each with what all of its failures say.
const KNOWN: &[(&str, &str)] = &[
    // Kernels do not print on these GPUs yet.
    ("debug.ttir", "prints []"),
    // The least integer divided by -1 wraps; LLVM's `sdiv`, which the kernel becomes, says nothing of it.
    ("undefined.ttir", "Uninitialised"),
];

const WAYS: [(Arch, u32); 3] = [(Arch::Gfx942, 4), (Arch::Gfx1100, 2), (Arch::Gfx942, 1)];

#[test]
fn fixtures_run_as_they_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/run");
    let only = std::env::var("ONLY").unwrap_or_default();
    let (mut wrong, mut calls) = (Vec::new(), 0);
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.contains(&only) {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("it is there");
        let known = KNOWN.iter().find(|(file, _)| *file == name).map(|(_, reason)| *reason);
        for (arch, warps) in WAYS {
            let outcome = check_file(&text, &mut Emulated { arch, warps });
            calls += outcome.calls;
            if known.is_some() && outcome.failures.is_empty() {
                wrong.push(format!("{name}, {arch}, {warps}: agrees now: take it off the list"));
            }
            let new = outcome.failures.iter().filter(|text| known.is_none_or(|known| !text.contains(known)));
            wrong.extend(new.map(|failure| format!("{name}, {arch}, {warps}: {failure}")));
        }
    }
    assert!(calls > 0);
    assert!(wrong.is_empty(), "{} of {calls}\n{}", wrong.len(), wrong.join("\n"));
}
