//! A GPU that is emulated on the cores of the host: kernels run from their llir, lane by lane, on arrays of the host.
//!
//! What a launch is checked for stands in [`gpu::emulated`]. The code that LLVM makes takes no part.

use crate::log::{self, Log};
use amd_emulator::{Argument, Launch, Memory, Program};
use amdgcn_isa::Arch;
use gpu::emulated::{Call, EmulatedKernel, Emulator, Ran, arguments};
use std::collections::BTreeMap;
use std::sync::Arc;
use target::{Artifact, Device, DeviceProperties, LoadedKernel, TargetError};

/// The emulated GPU of an architecture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EmulatedGpu {
    pub(crate) arch: Arch,
}

impl Device for EmulatedGpu {
    fn ordinal(&self) -> u32 {
        0
    }

    fn properties(&self) -> DeviceProperties {
        let machine = crate::machine::machine(self.arch);
        let numbers = [
            ("max_shared_mem", i64::from(machine.shared_bytes)),
            ("max_num_regs", i64::from(machine.sm_registers)),
            ("max_threads_per_block", i64::from(machine.max_warps * machine.warp_size)),
            ("max_threads_per_sm", i64::from(machine.resident_warps * machine.warp_size)),
            ("multiprocessor_count", 1),
            ("warpSize", i64::from(machine.warp_size)),
            ("sm_clock_rate", 0),
            ("mem_clock_rate", 0),
            ("mem_bus_width", 0),
            ("l2_cache_size", 0),
        ];
        let numbers: BTreeMap<String, i64> =
            numbers.into_iter().map(|(name, number)| (name.to_owned(), number)).collect();
        DeviceProperties { name: format!("emulated {}", self.arch), numbers }
    }

    fn load(&self, artifact: &Artifact) -> Result<Arc<dyn LoadedKernel>, TargetError> {
        let parse = |text: &str| Program::parse(text, self.arch).map(Llir);
        Ok(Arc::new(EmulatedKernel::load(artifact, gpu::LLIR, parse)?))
    }

    fn synchronize(&self) -> Result<(), TargetError> {
        Ok(())
    }
}

/// A kernel that is run from its llir.
struct Llir(Program);

impl Llir {
    /// The slots as bytes, as many as each parameter has, with the addresses of scratch memory and of the log behind
    /// them.
    fn arguments(&self, call: &Call<'_>, log: u64) -> Result<Vec<Argument>, String> {
        let params = self.0.params(&call.artifact.name).ok_or("its llir has no kernel of that name")?;
        let slots = call.launch.args.iter().copied().chain([call.launch.scratch, log]);
        Ok(arguments(slots.map(|slot| slot.to_le_bytes().to_vec()), params.iter().map(|param| param.bytes)))
    }
}

/// What a launch has written to its log.
fn written(memory: &mut Memory, log: u64) -> Result<Log, String> {
    let mut bytes = vec![0; log::BYTES];
    memory.read(log, &mut bytes).map_err(|error| error.to_string())?;
    Ok(log::read(&bytes))
}

impl Emulator for Llir {
    fn run(&self, call: &Call<'_>, memory: &mut Memory) -> Result<Ran, String> {
        let prints = call.facts.log_bytes > 0;
        let log = if prints { memory.allocate_with(&log::empty()) } else { 0 };
        let how = Launch {
            grid: call.launch.grid,
            warps: call.facts.num_warps,
            dynamic_lds: call.artifact.shared as usize,
            arguments: self.arguments(call, log)?,
            ..Launch::default()
        };
        let result = self.0.launch(&call.artifact.name, &how, memory, call.checks);
        let log = if prints { written(memory, log)? } else { Log::default() };
        let failure = log.failures.into_iter().next();
        let (fault, findings) = match result {
            Ok(report) => (None, report.findings),
            Err(fault) => (Some(fault.to_string()), Vec::new()),
        };
        Ok(Ran { printed: log.output, failure: failure.or(fault), findings })
    }
}

#[cfg(test)]
mod tests {
    use super::EmulatedGpu;
    use amdgcn_isa::Arch;
    use target::Device;

    #[test]
    fn an_emulated_device_says_how_many_lanes_it_holds() {
        let numbers = |arch| EmulatedGpu { arch }.properties().numbers;
        let (wide, narrow) = (numbers(Arch::Gfx942), numbers(Arch::Gfx1100));
        assert_eq!((wide["max_threads_per_sm"], narrow["max_threads_per_sm"]), (2048, 2048));
        assert_eq!((wide["max_threads_per_block"], narrow["max_threads_per_block"]), (1024, 1024));
    }
}
