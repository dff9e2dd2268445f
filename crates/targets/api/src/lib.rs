//! The two traits a target fills in: [`Target`] compiles ttir, [`Device`] runs what was compiled.
//!
//! The runtime sees targets through this crate alone. It assumes nothing about how a target compiles; a target
//! assumes nothing about Python, caches or launch keys. Left out: reading the environment and files, which is
//! the business of the runtime and of each target's loader.

mod aligned_copies;
mod arg_expr;
mod artifact;
mod device;
mod error;
mod extents;
mod guards;
mod host;
mod host_code;
pub mod knobs;
mod launch;
mod options;
pub mod survey;

pub use aligned_copies::{AlignedCopies, AlignedCopy, CopyPlan, Unaligned};
pub use arg_expr::{ArgExpr, Combine};
pub use artifact::{Artifact, GivenStage, KernelParam, ParamKind, Stage, StageObserver};
pub use device::{
    Device, DeviceProperties, Grid, INTERRUPT_INTERVAL, Launch, LoadedKernel, ProgramLoop, Residency,
};
pub use error::TargetError;
pub use extents::{Extent, extents, pieces, with_extents};
pub use guards::{Arith, Clear, Condition, Guards, Number, Piece};
pub use host_code::HostCode;
pub use launch::{DeviceFacts, HostFacts, LaunchFacts, MapElement, MapRecipe, PairFacts, ScratchFacts};
pub use options::{
    ALIGNED_COPIES, COOPERATIVE, COPIED, CompileOptions, DEEP, OVERLAPPING, OptionRow, OptionValue, PAIRED,
    PAIRS, PERSISTENT,
};

/// What the front end must know of a target before it can build ttir for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct TargetFacts {
    /// The name that `get_current_target().backend` answers: `"cpu"`, ….
    pub backend: String,
    /// The architecture as users write it: `"x86_64"`, ….
    pub arch: String,
    /// Lanes per warp; 1 where there are no warps.
    pub warp_size: u32,
    /// The `input_precision` that an fp32 `dot` has when none is given.
    pub default_dot_precision: String,
    /// Every `input_precision` that a `dot` may ask for.
    pub allowed_dot_precisions: Vec<String>,
    /// Names of the fp8 types that may be used.
    pub fp8_dtypes: Vec<String>,
    /// What to say of a `dot` of fp8e4b15, if anything.
    pub fp8e4b15_warning: Option<String>,
}

/// The clusters of thread blocks that a machine has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clusters {
    /// The most blocks of one.
    pub largest: u32,
    /// What the number of blocks may be, for whoever asks for more.
    pub rule: String,
}

/// A library or a program that a target works with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// What it is.
    pub name: &'static str,
    /// Its version and where it was found; or why not.
    pub found: Result<String, String>,
}

/// A compiler from ttir to something that a [`Device`] loads.
pub trait Target: Send + Sync {
    /// What the front end must know.
    fn facts(&self) -> TargetFacts;

    /// Every fact of the machine that the generated code depends on (processor, features, vector width, version of
    /// the code generator), printable, one per line. It is part of the cache key.
    fn machine(&self) -> String;

    /// The launch options that this target reads beyond the common ones, with their defaults.
    fn options(&self) -> &'static [OptionRow];

    /// The clusters of the architecture that the options choose; `None` where `num_ctas` means nothing.
    ///
    /// # Errors
    /// When there is no such architecture.
    fn clusters(&self, options: &CompileOptions) -> Result<Option<Clusters>, TargetError> {
        let _ = options;
        Ok(None)
    }

    /// The knobs that concern this target alone.
    fn knobs(&self) -> &'static [knobs::KnobRow] {
        &[]
    }

    /// The program that one of [`Target::knobs`] names, searched for where none is named.
    ///
    /// # Errors
    /// Where it was looked for in vain.
    fn find_tool(&self, knob: &str) -> Result<knobs::FoundTool, TargetError> {
        Err(TargetError::Missing(format!("this target knows no program `{knob}`")))
    }

    /// Compiles a verified ttir module that holds exactly one kernel (`tt.func public`).
    ///
    /// `observer` sees every stage as it is finished, so that dumping and timing live in one place, and may give
    /// another text for it, from which the later stages are then made.
    ///
    /// # Errors
    /// Says what could not be compiled or which tool is missing, and what to do about it.
    fn compile(
        &self,
        module: ir::Module,
        options: &CompileOptions,
        observer: &mut dyn StageObserver,
    ) -> Result<Artifact, TargetError>;

    /// The stages behind ttir that [`StageObserver::given`] is asked for.
    fn stages(&self) -> &'static [&'static str] {
        &[]
    }

    /// Compiles from a stage behind ttir that is given as text.
    ///
    /// # Errors
    /// What is wrong with it, and where; or that no compile begins with this stage.
    fn compile_given(
        &self,
        given: &GivenStage,
        options: &CompileOptions,
        observer: &mut dyn StageObserver,
    ) -> Result<Artifact, TargetError> {
        let _ = (options, observer);
        let backend = self.facts().backend;
        Err(given.wrong(format!(
            "a compile for target `{backend}` cannot begin with a .{} file; it can with .ttir",
            given.name
        )))
    }

    /// The names of stages that no launch needs, which [`Target::derive_stage`] makes when somebody asks for them.
    fn derived_stages(&self) -> &'static [&'static str] {
        &[]
    }

    /// Makes one of [`Target::derived_stages`] from what a compile with the same options left behind.
    ///
    /// # Errors
    /// When there is no such stage, or a tool that it needs is missing.
    fn derive_stage(
        &self,
        artifact: &Artifact,
        options: &CompileOptions,
        name: &str,
    ) -> Result<Stage, TargetError> {
        let _ = (artifact, options);
        Err(TargetError::Internal(format!("this target derives no stage `{name}`")))
    }

    /// Sources in C that launch kernels through the driver; `None` where there are none.
    fn host_code(&self) -> Option<HostCode> {
        None
    }

    /// The same target for another of its architectures, as users write them (`"90"`, …); `None` where it has but one.
    ///
    /// # Errors
    /// Names the architectures that there are.
    fn for_arch(&self, arch: &str) -> Result<Option<std::sync::Arc<dyn Target>>, TargetError> {
        let _ = arch;
        Ok(None)
    }

    /// This target with one device that is emulated on the host's cores, in the host's memory; `None` where there
    /// is no emulator.
    ///
    /// # Errors
    /// When this architecture cannot be emulated.
    fn emulated(&self) -> Result<Option<std::sync::Arc<dyn Target>>, TargetError> {
        Ok(None)
    }

    /// Further names of the back end that people may write.
    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }

    /// What array libraries call the devices whose memory kernels take: `"cpu"` for the host's.
    fn arrays(&self) -> &'static str {
        "cpu"
    }

    /// Whether every access of a kernel is checked, so that launches must say how far the memory of their arguments
    /// goes: see [`with_extents`].
    fn checks_memory(&self) -> bool {
        false
    }

    /// Whether accesses of several elements need an alignment that is known when a kernel is compiled, so that it pays
    /// to compile for what sizes and strides are multiples of.
    fn needs_alignment(&self) -> bool {
        false
    }

    /// Whether code is better where the memory of an argument is known to be less than 2 GiB, so that it pays to look.
    fn looks_at_extents(&self) -> bool {
        false
    }

    /// The number of the device that this thread works with.
    ///
    /// # Errors
    /// What the driver says.
    fn current_device(&self) -> Result<u32, TargetError> {
        Ok(0)
    }

    /// Makes this thread work with another device.
    ///
    /// # Errors
    /// When there is no such device.
    fn set_current_device(&self, ordinal: u32) -> Result<(), TargetError> {
        match self.devices().len() {
            count if (ordinal as usize) < count => Ok(()),
            count => Err(TargetError::Launch(format!("there is no device {ordinal}; there are {count}"))),
        }
    }

    /// The stage that [`Target::survey`] looks at.
    fn surveyed_stage(&self) -> &'static str {
        "ttir"
    }

    /// What a compile of the stage [`Target::surveyed_stage`] decides.
    ///
    /// # Errors
    /// As [`Target::compile`]; that this target does not tell.
    fn survey(&self, module: ir::Module, options: &CompileOptions) -> Result<survey::Survey, TargetError> {
        let _ = (module, options);
        Err(TargetError::Internal("this target does not tell what its compiles decide".into()))
    }

    /// The rows that this target has for what a module at the stage [`Target::surveyed_stage`] may hold.
    fn surveyed_registry(&self) -> Option<&'static ir::Registry> {
        None
    }

    /// What machine code takes of an SM.
    fn resources(&self, artifact: &Artifact, options: &CompileOptions) -> Option<survey::Resources> {
        let _ = (artifact, options);
        None
    }

    /// What its devices can do at most, the likeliest first.
    fn peaks(&self) -> Vec<survey::Peaks> {
        Vec::new()
    }

    /// The name of the stage that its devices load.
    fn binary(&self) -> &'static str {
        "obj"
    }

    /// The libraries and programs that it works with, looked for now.
    fn tools(&self) -> Vec<Tool> {
        Vec::new()
    }

    /// The devices of this target on this machine; empty where there is none.
    fn devices(&self) -> Vec<std::sync::Arc<dyn Device>>;
}
