//! NVIDIA GPUs as a target: what the front end and the runtime must know.

use crate::assemble::choose;
use crate::compile;
use crate::driver::{self, Driver, Gpu};
use crate::emulated::EmulatedGpu;
use crate::knobs;
use crate::machine;
use crate::options::{BACKEND, OPTIONS, option};
use crate::stage;
use crate::survey;
use ptx_isa::Arch;
use std::sync::{Arc, OnceLock};
use target::knobs::{FoundTool, KnobRow};
use target::survey::{Peaks, Resources, Survey};
use target::{
    Artifact, Clusters, CompileOptions, Device, GivenStage, HostCode, OptionRow, OptionValue, Stage,
    StageObserver, Target, TargetError, TargetFacts, Tool,
};

/// What code is made for on a machine without a GPU, where no architecture is named.
const USUAL_CAPABILITY: u16 = 90;

/// The target for the GPUs of this machine, or for one architecture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Nvidia {
    /// None for that of this machine's first GPU.
    named: Option<Arch>,
    emulated: bool,
}

/// The target, for the architecture of this machine's first GPU.
pub fn target() -> Arc<dyn Target> {
    Arc::new(Nvidia { named: None, emulated: false })
}

impl Nvidia {
    /// The architecture that is compiled for.
    pub(crate) fn arch(&self) -> Arch {
        self.named.or_else(own_arch).unwrap_or(Arch::new(USUAL_CAPABILITY))
    }

    /// The architecture that the options of a compile name, else the target's.
    fn arch_with(&self, options: &CompileOptions) -> Result<Arch, TargetError> {
        match options.extra.get(option::ARCH) {
            Some(OptionValue::Str(text)) => parse(text),
            Some(OptionValue::Int(number)) => parse(&number.to_string()),
            _ => Ok(self.arch()),
        }
    }
}

/// The architecture of this machine's first GPU.
fn own_arch() -> Option<Arch> {
    static OWN: OnceLock<Option<Arch>> = OnceLock::new();
    *OWN.get_or_init(|| {
        let capability = driver::driver().ok()?.gpus().first()?.capability();
        Arch::of_capability(u16::try_from(capability).ok()?)
    })
}

/// Reads an architecture: `90` is what devices of that capability run best, `90a` or `sm_90` exactly that.
fn parse(text: &str) -> Result<Arch, TargetError> {
    let unknown = |message: String| TargetError::Compile { message, location: None };
    let plain = text.trim();
    let written = plain.strip_prefix("sm").map_or(plain, |rest| rest.trim_start_matches('_'));
    let arch = match written.parse::<u16>() {
        Ok(number) => Arch::of_capability(number),
        Err(_) => None,
    };
    let arch = match arch {
        Some(arch) => arch,
        None => written.parse::<Arch>().map_err(|error| unknown(error.to_string()))?,
    };
    if machine::machine(u32::from(arch.number)).is_none() {
        return Err(unknown(format!(
            "{arch} is too old: sm_80 is the oldest architecture that kernels are compiled for"
        )));
    }
    Ok(arch)
}

/// Whether a GPU runs code for an architecture.
fn runs(gpu: &Gpu, arch: Arch) -> bool {
    let (own, wanted) = (gpu.capability(), u32::from(arch.number));
    if arch.specific { own == wanted } else { own / 10 == wanted / 10 && own >= wanted }
}

/// What the reference says of a dot of fp8e4b15 from Hopper on.
const FP8E4B15_WARNING: &str =
    "the use of fp8e4b15 is deprecated on Hopper and later architectures and can cause significant slow down";

impl Target for Nvidia {
    fn facts(&self) -> TargetFacts {
        let arch = self.arch();
        // What no instruction converts is converted by arithmetic, exactly.
        let fp8_dtypes = ["fp8e4b15", "fp8e4nv", "fp8e5", "fp8e4b8", "fp8e5b16"].map(String::from).into();
        TargetFacts {
            backend: BACKEND.into(),
            arch: arch.number.to_string(),
            warp_size: 32,
            default_dot_precision: "tf32".into(),
            allowed_dot_precisions: ["tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"].map(String::from).into(),
            fp8_dtypes,
            fp8e4b15_warning: (arch.number >= 90).then(|| FP8E4B15_WARNING.into()),
        }
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["nvidia"]
    }

    fn machine(&self) -> String {
        let arch = self.arch();
        let facts = machine::text(u32::from(arch.number));
        let assembler = if self.emulated { "none: emulated".to_owned() } else { choose::identity(arch) };
        format!("architecture: {arch}\n{facts}assembler: {assembler}\n")
    }

    fn options(&self) -> &'static [OptionRow] {
        &OPTIONS
    }

    fn clusters(&self, options: &CompileOptions) -> Result<Option<Clusters>, TargetError> {
        let arch = self.arch_with(options)?;
        let largest = machine::machine(u32::from(arch.number)).map_or(1, |machine| machine.cluster);
        let rule = match largest {
            1 => {
                let needed = "num_ctas > 1 requires NVIDIA SM90+ (Hopper)";
                format!("{needed}, as the blocks of a program form a cluster, and {arch} has none")
            }
            most => format!("clusters of {arch} have at most {most} blocks"),
        };
        Ok(Some(Clusters { largest, rule }))
    }

    fn knobs(&self) -> &'static [KnobRow] {
        knobs::ROWS
    }

    fn find_tool(&self, knob: &str) -> Result<FoundTool, TargetError> {
        choose::find_tool(knob)
    }

    fn compile(
        &self,
        module: ir::Module,
        options: &CompileOptions,
        observer: &mut dyn StageObserver,
    ) -> Result<Artifact, TargetError> {
        compile::compile(module, self.arch_with(options)?, self.emulated, options, observer)
    }

    fn stages(&self) -> &'static [&'static str] {
        compile::STAGES
    }

    fn compile_given(
        &self,
        given: &GivenStage,
        options: &CompileOptions,
        observer: &mut dyn StageObserver,
    ) -> Result<Artifact, TargetError> {
        compile::compile_given(given, self.arch_with(options)?, self.emulated, options, observer)
    }

    fn derived_stages(&self) -> &'static [&'static str] {
        if self.emulated { &[] } else { &[stage::CUBIN, stage::SASS] }
    }

    fn derive_stage(
        &self,
        artifact: &Artifact,
        options: &CompileOptions,
        name: &str,
    ) -> Result<Stage, TargetError> {
        choose::derive(artifact, self.arch_with(options)?, options, name)
    }

    fn host_code(&self) -> Option<HostCode> {
        Some(HostCode {
            kernel: include_str!("../host/kernel.c"),
            types: include_str!("../host/types.h"),
            address: "CUdeviceptr",
        })
    }

    fn for_arch(&self, arch: &str) -> Result<Option<Arc<dyn Target>>, TargetError> {
        let named = parse(arch)?;
        // The machine's own architecture stays the machine's own target: one cache of devices and of kernels.
        let named = (own_arch() != Some(named)).then_some(named);
        Ok(Some(Arc::new(Nvidia { named, ..*self })))
    }

    fn emulated(&self) -> Result<Option<Arc<dyn Target>>, TargetError> {
        Ok(Some(Arc::new(Nvidia { emulated: true, ..*self })))
    }

    fn arrays(&self) -> &'static str {
        if self.emulated { "cpu" } else { "cuda" }
    }

    fn checks_memory(&self) -> bool {
        self.emulated
    }

    fn needs_alignment(&self) -> bool {
        true
    }

    fn current_device(&self) -> Result<u32, TargetError> {
        if self.emulated {
            return Ok(0);
        }
        let driver = driver::driver()?;
        driver::current_ordinal(driver).map_err(|refused| driver.report(refused))
    }

    fn set_current_device(&self, ordinal: u32) -> Result<(), TargetError> {
        let count = self.devices().len();
        let missing = || TargetError::Launch(format!("there is no device {ordinal}; there are {count}"));
        if self.emulated {
            return if ordinal == 0 { Ok(()) } else { Err(missing()) };
        }
        let driver = driver::driver()?;
        let gpu = driver.gpus().get(ordinal as usize).ok_or_else(missing)?;
        gpu.make_current().map_err(|refused| driver.report(refused))
    }

    fn surveyed_stage(&self) -> &'static str {
        "ttgir"
    }

    fn surveyed_registry(&self) -> Option<&'static ir::Registry> {
        Some(ttgir::registry())
    }

    fn survey(&self, module: ir::Module, options: &CompileOptions) -> Result<Survey, TargetError> {
        survey::survey(module, self.arch_with(options)?, options)
    }

    fn resources(&self, artifact: &Artifact, options: &CompileOptions) -> Option<Resources> {
        survey::resources(artifact, self.arch_with(options).ok()?, options)
    }

    fn peaks(&self) -> Vec<Peaks> {
        let gpu = driver::driver().ok().and_then(|driver| driver.gpus().first());
        let name = gpu.map(|gpu| gpu.properties().name);
        survey::peaks(self.arch(), name.as_deref())
    }

    fn binary(&self) -> &'static str {
        if self.emulated { stage::PTX } else { stage::CUBIN }
    }

    fn tools(&self) -> Vec<Tool> {
        let version = |number: i32| format!("CUDA {}.{}", number / 1000, number % 1000 / 10);
        let driver =
            driver::driver().map(|driver| version(driver.version())).map_err(|error| error.to_string());
        [Tool { name: "driver", found: driver }].into_iter().chain(choose::tools(self.arch())).collect()
    }

    fn devices(&self) -> Vec<Arc<dyn Device>> {
        if self.emulated {
            return vec![Arc::new(EmulatedGpu::new(self.arch()))];
        }
        let arch = self.arch();
        let gpus = driver::driver().map(Driver::gpus).unwrap_or_default();
        // Numbers stay those of the driver: either all of them are the target's, or there is none.
        if !gpus.iter().any(|gpu| runs(gpu, arch)) {
            return Vec::new();
        }
        gpus.iter().map(|gpu| Arc::clone(gpu) as Arc<dyn Device>).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{parse, runs, target};
    use crate::driver::testing;
    use ptx_isa::Arch;

    #[test]
    fn architectures_as_people_write_them() {
        for (text, arch) in [
            ("90", "sm_90a"),
            ("sm90", "sm_90a"),
            ("sm_80", "sm_80"),
            ("90a", "sm_90a"),
            ("sm_120a", "sm_120a"),
        ] {
            assert_eq!(parse(text).map(|arch| arch.to_string()), Ok(arch.to_owned()), "{text}");
        }
        for text in ["", "gfx942", "75", "9000"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_named_architecture_has_its_own_facts() {
        let ampere = target().for_arch("80").expect("known").expect("there are several");
        let hopper = target().for_arch("90").expect("known").expect("there are several");
        assert_eq!((ampere.facts().arch.as_str(), hopper.facts().arch.as_str()), ("80", "90"));
        assert_ne!(ampere.machine(), hopper.machine());
        let emulated = hopper.emulated().expect("it can be").expect("it can be");
        assert_eq!((emulated.arrays(), emulated.devices().len(), emulated.binary()), ("cpu", 1, "ptx"));
        assert!(emulated.checks_memory() && emulated.machine() != hopper.machine());
    }

    #[test]
    fn code_runs_on_newer_devices_of_its_family_alone() {
        let driver = testing::driver();
        let gpu = &driver.gpus()[0];
        assert!(runs(gpu, Arch::new(90)) && runs(gpu, Arch { number: 90, specific: true }));
        assert!(!runs(gpu, Arch::new(80)) && !runs(gpu, Arch::new(100)));
    }
}
