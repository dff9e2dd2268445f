//! A GPU that is emulated on the processors: kernels run from their PTX, lane by lane, on arrays of the host.
//!
//! Every access is checked: against the arrays that the launch was given, for races in shared memory, for values that nobody
//! wrote. What is found is an error of the launch. Slow, and meant for small inputs.

use crate::maps;
use crate::stage;
use emulator::{Argument, Checks, Memory, Program};
use ptx_isa::Arch;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use target::{
    Artifact, Device, DeviceFacts, DeviceProperties, Launch, LoadedKernel, ParamKind, TargetError, pieces,
};

/// How many findings of one launch are told.
const MOST_FINDINGS: usize = 5;

/// What an emulated GPU says about itself: that of a small one.
const NUMBERS: &[(&str, i64)] = &[
    ("max_num_regs", 65_536),
    ("multiprocessor_count", 1),
    ("warpSize", 32),
    ("sm_clock_rate", 0),
    ("mem_clock_rate", 0),
    ("mem_bus_width", 0),
    ("l2_cache_size", 0),
];

/// The emulated GPU of an architecture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EmulatedGpu {
    arch: Arch,
}

impl EmulatedGpu {
    pub(crate) fn new(arch: Arch) -> EmulatedGpu {
        EmulatedGpu { arch }
    }
}

impl Device for EmulatedGpu {
    fn ordinal(&self) -> u32 {
        0
    }

    fn properties(&self) -> DeviceProperties {
        let capability = i64::from(self.arch.number);
        let mut numbers: BTreeMap<String, i64> =
            NUMBERS.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect();
        let shared =
            crate::machine::machine(u32::from(self.arch.number)).map_or(0, |machine| machine.shared_bytes);
        numbers.insert("max_shared_mem".into(), i64::from(shared));
        numbers.insert("compute_capability_major".into(), capability / 10);
        numbers.insert("compute_capability_minor".into(), capability % 10);
        DeviceProperties { name: format!("emulated {}", self.arch), numbers }
    }

    fn load(&self, artifact: &Artifact) -> Result<Arc<dyn LoadedKernel>, TargetError> {
        let name = &artifact.name;
        let ptx = artifact.stage(stage::PTX).ok_or_else(|| {
            TargetError::Load(format!(
                "kernel `{name}` has no stage `{}`, which the emulator runs",
                stage::PTX
            ))
        })?;
        let program = Program::parse(&String::from_utf8_lossy(ptx))
            .map_err(|error| TargetError::Load(format!("kernel `{name}` cannot be emulated: {error}")))?;
        let facts = artifact.device_facts()?.clone();
        Ok(Arc::new(Emulated { program, facts, artifact: artifact.clone() }))
    }

    fn synchronize(&self) -> Result<(), TargetError> {
        Ok(())
    }
}

/// A kernel that is run from its PTX.
struct Emulated {
    program: Program,
    facts: DeviceFacts,
    artifact: Artifact,
}

impl Emulated {
    fn error(&self, text: impl std::fmt::Display) -> TargetError {
        TargetError::Launch(format!("kernel `{}`, emulated: {text}", self.artifact.name))
    }

    /// The slots as bytes, as many as each parameter has, with the tensor maps and the scratch addresses behind them.
    fn arguments(&self, launch: &Launch<'_>) -> Result<Vec<Argument>, TargetError> {
        let entry = self.program.entry(&self.artifact.name);
        let entry = entry.ok_or_else(|| self.error("its PTX has no entry of that name"))?;
        let word = |slot: &u64| slot.to_le_bytes().to_vec();
        let mut values: Vec<Vec<u8>> = launch.args.iter().map(word).collect();
        for recipe in &self.facts.maps {
            let map = maps::emulated(recipe, launch.args);
            let map = map.ok_or_else(|| self.error("a tensor map has no arguments"))?;
            values.push(map.encode().to_vec());
        }
        values.extend([launch.scratch, 0].iter().map(word));
        let cut = |(param, value): (&emulator::Param, Vec<u8>)| {
            Argument(value.into_iter().take(param.bytes).collect())
        };
        Ok(entry.params.iter().zip(values).map(cut).collect())
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
        let ctas = self.facts.num_ctas;
        let [x, y, z] = launch.grid;
        let how = emulator::Launch {
            grid: [x.saturating_mul(ctas), y, z],
            block: [self.facts.lanes(), 1, 1],
            cluster: [ctas, 1, 1],
            dynamic_shared: self.artifact.shared as usize,
            arguments: self.arguments(launch)?,
        };
        let checks = Checks { counters: false, ..Checks::default() };
        let report = self
            .program
            .launch(&self.artifact.name, &how, &mut memory, checks)
            .map_err(|fault| self.error(fault))?;
        let mut out = std::io::stdout().lock();
        // Where nobody reads the output there is nobody to tell.
        let _ = out.write_all(report.output.as_bytes()).and_then(|()| out.flush());
        if report.findings.is_empty() {
            return Ok(());
        }
        let told: Vec<String> =
            report.findings.iter().take(MOST_FINDINGS).map(|finding| format!("\n  {finding}")).collect();
        Err(self.error(format!("{} findings:{}", report.findings.len(), told.concat())))
    }

    fn n_regs(&self) -> u32 {
        1
    }

    fn n_spills(&self) -> u32 {
        0
    }

    fn n_max_threads(&self) -> u32 {
        1024
    }
}
