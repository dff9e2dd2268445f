//! A GPU that is emulated on the processors: kernels run from their llir, lane by lane, on arrays of the host.
//!
//! Every access is checked: against the arrays that the launch was given, for races in LDS, for values that nobody wrote. What is found
//! is an error of the launch. Slow, and meant for small inputs. The code that LLVM makes takes no part.

use crate::log::{self, Log};
use amd_emulator::{Argument, Checks, Memory, Program};
use amdgcn_isa::Arch;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use target::{
    Artifact, Device, DeviceFacts, DeviceProperties, Launch, LoadedKernel, ParamKind, TargetError, pieces,
};

/// How many findings of one launch are told.
const MOST_FINDINGS: usize = 5;

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
            ("max_num_regs", i64::from(machine.processor_registers)),
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
        let name = &artifact.name;
        let llir = artifact.stage(gpu::LLIR).ok_or_else(|| {
            let stage = gpu::LLIR;
            TargetError::Load(format!("kernel `{name}` has no stage `{stage}`, which the emulator runs"))
        })?;
        let program = Program::parse(&String::from_utf8_lossy(llir), self.arch)
            .map_err(|error| TargetError::Load(format!("kernel `{name}` cannot be emulated: {error}")))?;
        let facts = artifact.device_facts()?.clone();
        Ok(Arc::new(Emulated { program, facts, artifact: artifact.clone() }))
    }

    fn synchronize(&self) -> Result<(), TargetError> {
        Ok(())
    }
}

/// A kernel that is run from its llir.
struct Emulated {
    program: Program,
    facts: DeviceFacts,
    artifact: Artifact,
}

impl Emulated {
    fn error(&self, text: impl std::fmt::Display) -> TargetError {
        TargetError::Launch(format!("kernel `{}`, emulated: {text}", self.artifact.name))
    }

    /// The slots as bytes, as many as each parameter has, with the addresses of scratch memory and of the log behind them.
    fn arguments(&self, launch: &Launch<'_>, log: u64) -> Result<Vec<Argument>, TargetError> {
        let params = self.program.params(&self.artifact.name);
        let params = params.ok_or_else(|| self.error("its llir has no kernel of that name"))?;
        let slots = launch.args.iter().copied().chain([launch.scratch, log]);
        let bytes = |(param, slot): (&amd_emulator::Param, u64)| {
            Argument(slot.to_le_bytes().into_iter().take(param.bytes).collect())
        };
        Ok(params.iter().zip(slots).map(bytes).collect())
    }
}

impl Emulated {
    /// What the launch has printed, which is now on the standard output, and why it failed.
    fn printed(&self, memory: &mut Memory, log: u64) -> Result<Log, TargetError> {
        let mut bytes = vec![0; log::BYTES];
        memory.read(log, &mut bytes).map_err(|error| self.error(error))?;
        let log = log::read(&bytes);
        let mut out = std::io::stdout().lock();
        // Where nobody reads the output there is nobody to tell.
        let _ = out.write_all(log.output.as_bytes()).and_then(|()| out.flush());
        Ok(log)
    }
}

impl LoadedKernel for Emulated {
    unsafe fn launch(&self, launch: &Launch<'_>) -> Result<(), TargetError> {
        if launch.grid.contains(&0) {
            return Ok(());
        }
        let params = self.artifact.params.iter().zip(launch.args);
        let pointers = params.filter(|(param, _)| param.kind == ParamKind::Pointer).map(|(_, slot)| *slot);
        let mut memory = Memory::new();
        for piece in pieces(pointers.chain((launch.scratch != 0).then_some(launch.scratch))) {
            // SAFETY: whoever launches vouches for the memory behind the arguments and says how far it goes; pieces are apart
            // from each other.
            unsafe { memory.register(piece.base as *mut u8, piece.len as usize) };
        }
        let prints = self.facts.log_bytes > 0;
        let log = if prints { memory.allocate_with(&log::empty()) } else { 0 };
        let how = amd_emulator::Launch {
            grid: launch.grid,
            warps: self.facts.num_warps,
            dynamic_lds: self.artifact.shared as usize,
            arguments: self.arguments(launch, log)?,
            ..amd_emulator::Launch::default()
        };
        let checks = Checks { counters: false, ..Checks::default() };
        let result = self.program.launch(&self.artifact.name, &how, &mut memory, checks);
        let log = if prints { self.printed(&mut memory, log)? } else { Log::default() };
        if let Some(failure) = log.failures.first() {
            return Err(self.error(failure));
        }
        let report = result.map_err(|fault| self.error(fault))?;
        if report.findings.is_empty() {
            return Ok(());
        }
        let told: Vec<String> =
            report.findings.iter().take(MOST_FINDINGS).map(|finding| format!("\n  {finding}")).collect();
        Err(self.error(format!("{} findings:{}", report.findings.len(), told.concat())))
    }

    fn n_regs(&self) -> u32 {
        0
    }

    fn n_spills(&self) -> u32 {
        0
    }

    fn n_max_threads(&self) -> u32 {
        1024
    }
}
