//! AMD GPUs as a target: what the front end and the runtime must know.

use crate::driver::{self, Driver};
use crate::emulated::EmulatedGpu;
use crate::options::{AMDGCN, BACKEND, HSACO, OPTIONS, option};
use crate::survey;
use crate::{compile, knobs, machine};
use amdgcn_isa::{ARCHS, Arch};
use llvm::Llvm;
use std::sync::Arc;
use target::knobs::KnobRow;
use target::survey::{Peaks, Resources, Survey};
use target::{
    Artifact, Clusters, CompileOptions, Device, GivenStage, HostCode, OptionRow, Stage, StageObserver,
    Target, TargetError, TargetFacts, Tool,
};

/// What code is made for on a machine without such a GPU, where no architecture is named.
const USUAL: Arch = Arch::Gfx942;

/// The target for one architecture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Gpus {
    /// The architecture that was asked for; else that of the first device.
    arch: Option<Arch>,
    emulated: bool,
}

/// The target.
pub fn target() -> Arc<dyn Target> {
    Arc::new(Gpus { arch: None, emulated: false })
}

/// Reads an architecture: `gfx942`, also with features behind colons, as drivers write them.
fn parse(text: &str) -> Result<Arch, TargetError> {
    let name = text.trim().split(':').next().unwrap_or_default();
    Arch::named(name).ok_or_else(|| {
        let names = ARCHS.map(Arch::name).join(", ");
        let message = format!("`{text}` is no architecture that kernels are compiled for; there are {names}");
        TargetError::Compile { message, location: None }
    })
}

/// The architecture of the first device that kernels are compiled for.
fn of_device() -> Option<Arch> {
    driver::driver().ok()?.gpus().iter().find_map(|gpu| gpu.arch())
}

impl Gpus {
    fn arch(&self) -> Arch {
        self.arch.or_else(of_device).unwrap_or(USUAL)
    }

    /// The architecture that the options of a compile name, else the target's.
    fn arch_with(&self, options: &CompileOptions) -> Result<Arch, TargetError> {
        gpu::text(options, option::ARCH).map_or_else(|| Ok(self.arch()), parse)
    }
}

impl Target for Gpus {
    fn facts(&self) -> TargetFacts {
        let precisions: &[&str] = match self.arch() {
            Arch::Gfx942 => &["ieee", "tf32", "tf32x3", "bf16x3", "bf16x6"],
            _ => &["ieee", "tf32x3", "bf16x3", "bf16x6"],
        };
        TargetFacts {
            backend: BACKEND.into(),
            arch: self.arch().name().into(),
            warp_size: self.arch().wave().lanes(),
            default_dot_precision: "ieee".into(),
            allowed_dot_precisions: precisions.iter().map(|name| (*name).to_owned()).collect(),
            fp8_dtypes: ["fp8e4b15", "fp8e4nv", "fp8e5", "fp8e4b8", "fp8e5b16"].map(String::from).into(),
            fp8e4b15_warning: None,
        }
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["amd"]
    }

    fn machine(&self) -> String {
        let facts = machine::machine(self.arch());
        let llvm = match self.emulated {
            true => "none: emulated".to_owned(),
            false => Llvm::identity().to_owned(),
        };
        format!("architecture: {}\n{facts}llvm: {llvm}\n", self.arch())
    }

    fn options(&self) -> &'static [OptionRow] {
        &OPTIONS
    }

    fn clusters(&self, options: &CompileOptions) -> Result<Option<Clusters>, TargetError> {
        let arch = self.arch_with(options)?;
        let largest = machine::machine(arch).cluster;
        let rule = match largest {
            1 => format!("num_ctas > 1 not supported, as {arch} has no clusters of thread blocks"),
            most => format!("clusters of {arch} have at most {most} blocks"),
        };
        Ok(Some(Clusters { largest, rule }))
    }

    fn knobs(&self) -> &'static [KnobRow] {
        knobs::ROWS
    }

    fn compile(
        &self,
        module: ir::Module,
        options: &CompileOptions,
        observer: &mut dyn StageObserver,
    ) -> Result<Artifact, TargetError> {
        let how = compile::How { arch: self.arch_with(options)?, emulated: self.emulated };
        compile::compile(module, how, options, observer)
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
        let how = compile::How { arch: self.arch_with(options)?, emulated: self.emulated };
        compile::compile_given(given, how, options, observer)
    }

    fn derived_stages(&self) -> &'static [&'static str] {
        &[AMDGCN]
    }

    fn derive_stage(
        &self,
        artifact: &Artifact,
        options: &CompileOptions,
        name: &str,
    ) -> Result<Stage, TargetError> {
        compile::derive(artifact, self.arch_with(options)?, options, name)
    }

    fn host_code(&self) -> Option<HostCode> {
        Some(HostCode {
            kernel: include_str!("../host/kernel.c"),
            types: include_str!("../host/types.h"),
            address: "hipDeviceptr_t",
        })
    }

    fn for_arch(&self, arch: &str) -> Result<Option<Arc<dyn Target>>, TargetError> {
        Ok(Some(Arc::new(Gpus { arch: Some(parse(arch)?), ..*self })))
    }

    fn emulated(&self) -> Result<Option<Arc<dyn Target>>, TargetError> {
        Ok(Some(Arc::new(Gpus { emulated: true, ..*self })))
    }

    fn arrays(&self) -> &'static str {
        // What torch calls these devices as well.
        if self.emulated { "cpu" } else { "cuda" }
    }

    fn checks_memory(&self) -> bool {
        self.emulated
    }

    fn needs_alignment(&self) -> bool {
        true
    }

    fn looks_at_extents(&self) -> bool {
        true
    }

    fn current_device(&self) -> Result<u32, TargetError> {
        if self.emulated { Ok(0) } else { driver::current(driver::driver()?) }
    }

    fn set_current_device(&self, ordinal: u32) -> Result<(), TargetError> {
        let count = self.devices().len();
        if ordinal as usize >= count {
            return Err(TargetError::Launch(format!("there is no device {ordinal}; there are {count}")));
        }
        if self.emulated { Ok(()) } else { driver::set_current(driver::driver()?, ordinal) }
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
        survey::peaks(self.arch())
    }

    fn binary(&self) -> &'static str {
        if self.emulated { gpu::LLIR } else { HSACO }
    }

    fn tools(&self) -> Vec<Tool> {
        let found = Llvm::load().map_err(|error| error.to_string());
        let found = found.and_then(|llvm| match llvm.has_target(crate::lower::TRIPLE) {
            true => Ok(format!("{} from {}", llvm.version(), llvm.path().display())),
            false => Err(format!("the one at {} makes no code for AMD GPUs", llvm.path().display())),
        });
        let runtime = driver::driver().map(driver::version).map_err(|error| error.to_string());
        // Settings matter where kernels are launched.
        let settings = if runtime.is_ok() { driver::settings() } else { Vec::new() };
        let mut tools = vec![Tool { name: "HIP runtime", found: runtime }, Tool { name: "LLVM", found }];
        tools.extend(settings);
        tools
    }

    fn devices(&self) -> Vec<Arc<dyn Device>> {
        let arch = self.arch();
        if self.emulated {
            return vec![Arc::new(EmulatedGpu { arch })];
        }
        let gpus = driver::driver().map(Driver::gpus).unwrap_or_default();
        // Numbers stay those of the runtime: either all of them are the target's, or there is none.
        if !gpus.iter().any(|gpu| gpu.arch() == Some(arch)) {
            return Vec::new();
        }
        gpus.iter().map(|gpu| Arc::clone(gpu) as Arc<dyn Device>).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{parse, target};

    #[test]
    fn architectures_as_people_and_drivers_write_them() {
        for text in ["gfx942", "gfx942:sramecc+:xnack-", " gfx942 "] {
            assert_eq!(parse(text).map(|arch| arch.name()), Ok("gfx942"), "{text}");
        }
        let error = parse("gfx900").expect_err("it is too old").to_string();
        assert!(error.contains("gfx900") && error.contains("gfx1200"), "{error}");
    }

    #[test]
    fn a_named_architecture_has_its_own_facts() {
        let rdna = target().for_arch("gfx1100").expect("known").expect("there are several");
        assert_eq!((rdna.facts().warp_size, target().facts().warp_size), (32, 64));
        assert_ne!(rdna.machine(), target().machine());
    }
}
