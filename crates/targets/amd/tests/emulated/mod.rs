//! Kernels on the emulated device, as fixtures and random programs run them.

use amd::lower::Lanes;
use amd::machine::{Copies, Loops, machine_for};
use amd::pipeline;
use amd_emulator::{Argument as Parameter, Checks, Launch, Memory, Program};
use amdgcn_isa::Arch;
use ttir::ops::func::{POINTER_RANGE, kernels};
use ttir::testing::{Argument, Engine, Ran, isolate, order_writes};

/// Compiled code on the emulator.
pub(crate) struct Emulated {
    pub(crate) arch: Arch,
    pub(crate) warps: u32,
    /// Whether kernels are compiled for arrays of less than 2 GiB, which all of them are.
    pub(crate) near: bool,
}

impl Emulated {
    /// A kernel as llir.
    fn lowered(&self, module: &ir::Module, kernel: &str) -> Result<lanes::Lowered, String> {
        let mut module = module.clone();
        isolate(&mut module, kernel);
        if self.near {
            say_near(&mut module);
        }
        ir::pass::run(&mut module, ttir::passes::pipeline(), ir::pass::Verify::Each, &mut ())
            .map_err(|errors| format!("{errors:?}"))?;
        order_writes(&mut module);
        let machine = machine_for(self.arch, Loops { copies: Copies::Always, ..Loops::DEFAULT });
        let launch = gpu::Launch { num_warps: self.warps, num_ctas: 1, num_stages: 2 };
        gpu::to_ttgir(&mut module, pipeline::PASSES, machine, &launch, ir::pass::Verify::Each, &mut ())
            .map_err(|errors| errors[0].to_string())?;
        // The interpreter rounds every product.
        let options = lanes::Options { fuse_multiply_add: false, ..lanes::Options::default() };
        let target = Lanes::new(self.arch);
        let mut lowered = lanes::lower(&module, &target, &options).map_err(|errors| errors[0].to_string())?;
        llir::passes::optimize(&mut lowered.module, &[], &mut |_, _| {});
        amd::lower::arrange(&mut lowered.module, self.arch);
        llir::verify(&lowered.module).map_err(|errors| errors[0].to_string())?;
        Ok(lowered)
    }
}

/// Says of all parameters that 32-bit offsets reach all of the memory behind them.
fn say_near(module: &mut ir::Module) {
    let entries: Vec<ir::Block> = kernels(module).map(|kernel| kernel.entry()).collect();
    for entry in entries {
        for index in 0..module.args(entry).len() {
            module.set_arg_attr(entry, index, POINTER_RANGE.key(), Some(ir::Attr::i32(32)));
        }
    }
}

impl Engine for Emulated {
    fn name(&self) -> &str {
        "emulator"
    }

    fn notices(&self, failure: &str) -> bool {
        failure.starts_with("device-side assertion failed")
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
        let log = memory.allocate_with(&amd::log::empty());
        arguments.push(log.into());
        let launch = Launch {
            grid,
            warps: facts.num_warps,
            dynamic_lds: facts.shared_bytes as usize,
            arguments,
            threads: 1,
        };
        let checks = Checks { counters: false, ..Checks::default() };
        let report = program.launch(&facts.name, &launch, &mut memory, checks);
        let mut bytes = amd::log::empty();
        memory.read(log, &mut bytes).map_err(|error| error.to_string())?;
        let log = amd::log::read(&bytes);
        if let Some(failure) = log.failures.into_iter().next() {
            return Err(failure);
        }
        let report = report.map_err(|fault| fault.to_string())?;
        if let Some(finding) = report.findings.first() {
            return Err(format!("{:?}: {finding}", finding.kind));
        }
        let mut ran = Ran { lines: log.output.lines().map(str::to_owned).collect(), ..Ran::default() };
        for (address, bytes) in addresses {
            let mut buffer = vec![0; bytes];
            memory.read(address, &mut buffer).map_err(|error| error.to_string())?;
            ran.buffers.push(buffer);
        }
        Ok(ran)
    }
}
