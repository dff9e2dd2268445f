//! A compiled kernel.

use super::guarded::Guarded;
use super::watch::Report;
use crate::cache::Key;
use crate::error::RuntimeError;
use std::sync::{Arc, OnceLock};
use target::{
    Artifact, CompileOptions, Launch, LaunchFacts, LoadedKernel, ScratchFacts, Target, TargetFacts,
};

/// Where a kernel came from.
pub(super) enum Source {
    /// It was on disk.
    Cache,
    /// It was compiled just now.
    Compiled(Report),
}

/// The kernel on one device.
type Slot = OnceLock<Result<Arc<dyn LoadedKernel>, RuntimeError>>;

/// A compiled kernel; loaded on a device at its first launch there.
pub struct Kernel {
    /// The name of its function, or of the file it was read from, by which files stand for its stages; the symbol may
    /// have another.
    pub function: String,
    /// The stages and the facts that a launch needs.
    pub artifact: Artifact,
    /// The name of its content.
    pub hash: Key,
    /// The options it was compiled with.
    pub options: CompileOptions,
    /// What it was compiled for.
    pub facts: TargetFacts,
    /// Whether it came from the disk.
    pub from_cache: bool,
    /// Warnings of the compile; none if it came from the disk.
    pub warnings: Vec<String>,
    /// How long each step of the compile took, in order.
    pub times: Vec<(String, std::time::Duration)>,
    target: Arc<dyn Target>,
    scratch: Option<ScratchFacts>,
    /// Where not every launch will do.
    guarded: Option<Box<Guarded>>,
    /// One for each device of the target.
    loaded: OnceLock<Box<[Slot]>>,
    /// One for each of the target's derived stages.
    derived: Box<[OnceLock<Result<target::Stage, RuntimeError>>]>,
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Kernel({} {})", self.artifact.name, self.hash)
    }
}

impl Kernel {
    pub(super) fn new(
        function: &str,
        target: &Arc<dyn Target>,
        options: &CompileOptions,
        artifact: Artifact,
        hash: Key,
        source: Source,
    ) -> Kernel {
        let from_cache = matches!(source, Source::Cache);
        let report = match source {
            Source::Cache => Report::default(),
            Source::Compiled(report) => report,
        };
        let device = artifact.launch.device();
        let mut options = options.clone();
        if let Some(facts) = device {
            // An overridden stage may differ from the options of the launch.
            (options.num_warps, options.num_ctas) = (facts.asked_warps(), facts.num_ctas);
        }
        Kernel {
            function: function.to_owned(),
            guarded: Guarded::of(&artifact),
            scratch: device.map(|facts| facts.global_scratch).filter(|scratch| scratch.bytes > 0),
            artifact,
            hash,
            options,
            facts: target.facts(),
            from_cache,
            warnings: report.warnings,
            times: report.times,
            target: Arc::clone(target),
            loaded: OnceLock::new(),
            derived: target.derived_stages().iter().map(|_| OnceLock::new()).collect(),
        }
    }

    /// The kernel on a device of its target. Loading is tried once: a kernel that cannot be loaded now cannot be loaded
    /// later.
    ///
    /// # Errors
    /// When there is no such device here, or it refuses the kernel.
    pub fn load_on(&self, ordinal: u32) -> Result<&Arc<dyn LoadedKernel>, RuntimeError> {
        let slots = self.loaded.get_or_init(|| self.target.devices().iter().map(|_| Slot::new()).collect());
        let Some(slot) = slots.get(ordinal as usize) else {
            return Err(self.no_device(slots.len(), ordinal));
        };
        let load = || {
            let device = self.target.devices().into_iter().nth(ordinal as usize);
            let device = device.ok_or_else(|| self.no_device(slots.len(), ordinal))?;
            device.load(&self.artifact).map_err(RuntimeError::from)
        };
        slot.get_or_init(load).as_ref().map_err(Clone::clone)
    }

    /// Whether a launch with these slots must say how far the memory of its arguments goes ([`Launch::extents`]):
    /// without, those count as one piece of memory.
    #[inline]
    pub fn asks_extents(&self, slots: &[u64]) -> bool {
        self.guarded.as_ref().is_some_and(|guarded| guarded.asks_extents(slots))
    }

    /// The kernel that a launch takes: this one; where a launch is not as this one needs it, the same without what it
    /// was compiled for; where it gains by it, the same as a loop over its programs, with these in pairs, or with
    /// deeper loops. The others are compiled when they are first needed.
    ///
    /// # Errors
    /// When that cannot be compiled.
    #[inline]
    pub fn for_launch(&self, launch: &Launch<'_>) -> Result<&Kernel, RuntimeError> {
        match &self.guarded {
            Some(guarded) => guarded.choose(self, launch),
            None => Ok(self),
        }
    }

    /// Whether some launches make copies of what the kernel loads.
    #[inline]
    pub fn may_copy(&self) -> bool {
        self.guarded.as_ref().is_some_and(|guarded| guarded.may_copy())
    }

    /// Bytes of memory with which a launch makes copies of what the kernel loads ([`Launch::copies`]), where it gains
    /// by that; none where it does not. Such memory begins at a multiple of 128 bytes and is free once the launch is
    /// over.
    #[inline]
    pub fn copy_bytes(&self, launch: &Launch<'_>) -> Option<u64> {
        self.guarded.as_ref().and_then(|guarded| guarded.copy_bytes(self, launch))
    }

    /// Makes the copies that this kernel loads, in front of its launch.
    ///
    /// # Safety
    /// As for the launch.
    pub(crate) unsafe fn make_copies(&self, ordinal: u32, launch: &Launch<'_>) -> Result<(), RuntimeError> {
        match &self.guarded {
            // SAFETY: as the caller promises.
            Some(guarded) if self.loads_copies() => unsafe { guarded.copiers().copy(self, ordinal, launch) },
            _ => Ok(()),
        }
    }

    /// Compiles and loads what a launch with copies takes.
    pub(crate) fn prepare_copies(&self, ordinal: u32, launch: &Launch<'_>) -> Result<(), RuntimeError> {
        let copied = self.guarded.as_ref().and_then(|guarded| guarded.aligned_kernel(self));
        let Some(copied) = copied else { return Ok(()) };
        let chosen = copied.for_launch(launch)?;
        chosen.load_on(ordinal)?;
        match &chosen.guarded {
            Some(guarded) => guarded.copiers().prepare(chosen, ordinal, launch.args),
            None => Ok(()),
        }
    }

    fn loads_copies(&self) -> bool {
        self.artifact.launch.device().is_some_and(|facts| facts.maps.iter().any(|map| map.is_copied))
    }

    /// The kernel that every launch takes: this one, or the same without what it was compiled for.
    ///
    /// # Errors
    /// When that cannot be compiled.
    pub fn for_any_launch(&self) -> Result<&Kernel, RuntimeError> {
        match &self.guarded {
            Some(guarded) => guarded.plain(self),
            None => Ok(self),
        }
    }

    /// Whether it is on a device already, or was refused there.
    pub fn is_loaded_on(&self, ordinal: u32) -> bool {
        let slot = self.loaded.get().and_then(|slots| slots.get(ordinal as usize));
        slot.is_some_and(|slot| slot.get().is_some())
    }

    /// The kernel on the device that this thread works with.
    ///
    /// # Errors
    /// As [`Kernel::load_on`].
    pub fn load(&self) -> Result<&Arc<dyn LoadedKernel>, RuntimeError> {
        self.load_on(self.target.current_device().map_err(RuntimeError::from)?)
    }

    /// The device that this thread works with.
    ///
    /// # Errors
    /// When there is no such device here.
    pub fn device(&self) -> Result<Arc<dyn target::Device>, RuntimeError> {
        let ordinal = self.target.current_device().map_err(RuntimeError::from)?;
        let devices = self.target.devices();
        let count = devices.len();
        devices.into_iter().nth(ordinal as usize).ok_or_else(|| self.no_device(count, ordinal))
    }

    #[cold]
    fn no_device(&self, count: usize, ordinal: u32) -> RuntimeError {
        let (name, backend, arch) = (&self.artifact.name, &self.facts.backend, &self.facts.arch);
        RuntimeError::Runtime(match count {
            0 => format!(
                "kernel `{name}` is compiled for {backend} {arch}, and there is no such device in this machine"
            ),
            _ => format!("there is no device {ordinal} of {backend} {arch}; there are {count}"),
        })
    }

    /// What its launches must be, where not every launch will do.
    pub(super) fn guarded(&self) -> Option<&Guarded> {
        self.guarded.as_deref()
    }

    /// The scratch memory that a launch must bring along.
    pub fn scratch(&self) -> Option<ScratchFacts> {
        self.scratch
    }

    /// Whether the interpreter runs it.
    pub fn interpreted(&self) -> bool {
        self.artifact.launch == LaunchFacts::Interpreted
    }

    /// What it was compiled for, as something that compiles and has devices.
    pub fn target(&self) -> &Arc<dyn Target> {
        &self.target
    }

    /// A stage. Those that no launch needs are made when they are first asked for.
    ///
    /// # Errors
    /// Names the stages that there are; says why one could not be made.
    pub fn stage(&self, name: &str) -> Result<&target::Stage, RuntimeError> {
        if let Some(stage) = self.artifact.stages.iter().find(|stage| stage.name == name) {
            return Ok(stage);
        }
        let position = self.target.derived_stages().iter().position(|derived| *derived == name);
        let Some(slot) = position.and_then(|position| self.derived.get(position)) else {
            let names = self.stage_names().join(", ");
            return Err(RuntimeError::Key(format!("there is no stage `{name}`; there are {names}")));
        };
        let derive =
            || self.target.derive_stage(&self.artifact, &self.options, name).map_err(RuntimeError::from);
        slot.get_or_init(derive).as_ref().map_err(Clone::clone)
    }

    /// The names of all stages: those of the compile in order, then those that are made when asked for.
    pub fn stage_names(&self) -> Vec<&str> {
        let compiled: Vec<_> = self.artifact.stages.iter().map(|stage| stage.name.as_str()).collect();
        let derived = self.target.derived_stages().iter().copied();
        let derived: Vec<_> = derived.filter(|name| !compiled.contains(name)).collect();
        compiled.into_iter().chain(derived).collect()
    }
}
