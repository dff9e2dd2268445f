//! A GPU that is emulated on the processors: kernels run from their PTX, lane by lane, on arrays of the host.
//!
//! What a launch is checked for stands in [`gpu::emulated`].

use crate::maps;
use crate::stage;
use emulator::{Argument, Launch, Memory, Program};
use gpu::emulated::{Call, EmulatedKernel, Emulator, Ran, arguments};
use ptx_isa::Arch;
use std::collections::BTreeMap;
use std::sync::Arc;
use target::{Artifact, Device, DeviceProperties, LoadedKernel, Residency, TargetError};

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

/// Programs that it takes to run at a time: few enough that small launches loop over theirs.
const RESIDENT: Residency = Residency { sms: 1, of_each: 2 };

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
        let parse = |text: &str| Program::parse(text).map(Ptx);
        Ok(Arc::new(EmulatedKernel::load(artifact, stage::PTX, parse)?))
    }

    fn synchronize(&self) -> Result<(), TargetError> {
        Ok(())
    }
}

/// A kernel that is run from its PTX.
struct Ptx(Program);

impl Ptx {
    /// The slots as bytes, as many as each parameter has, with the tensor maps and the scratch addresses behind them.
    fn arguments(&self, call: &Call<'_>) -> Result<Vec<Argument>, String> {
        let entry = self.0.entry(&call.artifact.name).ok_or("its PTX has no entry of that name")?;
        let word = |slot: &u64| slot.to_le_bytes().to_vec();
        let mut values: Vec<Vec<u8>> = call.launch.args.iter().map(word).collect();
        let counts = call.facts.persistent.counts(&call.launch.grid);
        values.extend(counts.iter().map(|count| count.to_le_bytes().to_vec()));
        let copied = maps::copied(&call.facts.maps, call.launch.args, call.launch.copies)?;
        for recipe in &call.facts.maps {
            let map = maps::emulated(recipe, call.launch.args, copied.as_ref())?;
            values.push(map.encode().to_vec());
        }
        values.extend([call.launch.scratch, 0].iter().map(word));
        Ok(arguments(values, entry.params.iter().map(|param| param.bytes)))
    }
}

impl Emulator for Ptx {
    fn residency(&self) -> Option<Residency> {
        Some(RESIDENT)
    }

    fn run(&self, call: &Call<'_>, memory: &mut Memory) -> Result<Ran, String> {
        let ctas = call.facts.num_ctas;
        let [x, y, z] = call.facts.persistent.started(RESIDENT.of_each.into(), call.launch.grid);
        let how = Launch {
            grid: [x.saturating_mul(ctas), y, z],
            block: [call.facts.lanes(), 1, 1],
            cluster: [call.facts.cluster(), 1, 1],
            dynamic_shared: call.artifact.shared as usize,
            arguments: self.arguments(call)?,
            schedule: 0,
        };
        let report = self.0.launch(&call.artifact.name, &how, memory, call.checks);
        let report = report.map_err(|fault| fault.to_string())?;
        Ok(Ran { printed: report.output, failure: None, findings: report.findings })
    }
}
