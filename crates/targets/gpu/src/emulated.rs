//! Kernels of emulated devices: which memory a launch may touch, what is printed, and what is said of what was found.
//!
//! Every access is checked: against the arrays that the launch was given, for races, for values that nobody wrote. What
//! is found is an error of the launch. How code runs is an emulator's ([`Emulator`]). Slow, and meant for small inputs.

use emulation::{Argument, Checks, Finding, Memory};
use std::fmt::Display;
use std::io::Write;
use target::{Artifact, DeviceFacts, Launch, LoadedKernel, ParamKind, Residency, TargetError, pieces};

/// How many findings of one launch are reported.
const MOST_FINDINGS: usize = 5;
/// Lanes of a thread block at most.
const MOST_LANES: u32 = 1024;

/// A program that an emulator runs.
pub trait Emulator: Send + Sync {
    /// How many programs it takes to run at a time; none where nobody asks.
    fn residency(&self) -> Option<Residency> {
        None
    }

    /// Runs all programs of a launch. `memory` holds what its arguments point to.
    ///
    /// # Errors
    /// Why they stopped, where nothing else is to be reported.
    fn run(&self, call: &Call<'_>, memory: &mut Memory) -> Result<Ran, String>;
}

/// A launch of a kernel.
pub struct Call<'a> {
    /// The kernel.
    pub artifact: &'a Artifact,
    /// What its launches need.
    pub facts: &'a DeviceFacts,
    /// The launch: a grid that is not empty.
    pub launch: &'a Launch<'a>,
    /// What is watched.
    pub checks: Checks,
}

/// What a launch did.
#[derive(Debug, Default)]
pub struct Ran {
    /// What it printed.
    pub printed: String,
    /// Why it stopped.
    pub failure: Option<String>,
    /// What the checks found.
    pub findings: Vec<Finding>,
}

/// Values as parameters take them: so many bytes of each.
pub fn arguments(
    values: impl IntoIterator<Item = Vec<u8>>,
    bytes: impl IntoIterator<Item = usize>,
) -> Vec<Argument> {
    let cut = |(value, bytes): (Vec<u8>, usize)| Argument(value.into_iter().take(bytes).collect());
    values.into_iter().zip(bytes).map(cut).collect()
}

/// A kernel on an emulated device.
pub struct EmulatedKernel<E> {
    program: E,
    facts: DeviceFacts,
    artifact: Artifact,
}

impl<E: Emulator> EmulatedKernel<E> {
    /// The kernel of an artifact; `parse` reads a stage of it.
    ///
    /// # Errors
    /// That the stage is missing, or cannot be run.
    pub fn load<D: Display>(
        artifact: &Artifact,
        stage: &str,
        parse: impl FnOnce(&str) -> Result<E, D>,
    ) -> Result<EmulatedKernel<E>, TargetError> {
        let name = &artifact.name;
        let text = artifact.stage(stage).ok_or_else(|| {
            TargetError::Load(format!("kernel `{name}` has no stage `{stage}`, which the emulator runs"))
        })?;
        let program = parse(&String::from_utf8_lossy(text))
            .map_err(|error| TargetError::Load(format!("kernel `{name}` cannot be emulated: {error}")))?;
        Ok(EmulatedKernel { program, facts: artifact.device_facts()?.clone(), artifact: artifact.clone() })
    }

    fn error(&self, text: impl Display) -> TargetError {
        TargetError::Launch(format!("kernel `{}`, emulated: {text}", self.artifact.name))
    }

    /// The memory that a launch may touch.
    ///
    /// # Safety
    /// As for [`LoadedKernel::launch`].
    unsafe fn memory(&self, launch: &Launch<'_>) -> Memory {
        let params = self.artifact.params.iter().zip(launch.args);
        let pointers = params.filter(|(param, _)| param.kind == ParamKind::Pointer).map(|(_, slot)| *slot);
        let mut memory = Memory::new();
        let brought = (launch.scratch != 0).then_some(launch.scratch);
        let brought = brought.into_iter().chain(launch.copies.map(|copies| copies.address));
        for piece in pieces(pointers.chain(brought)) {
            // SAFETY: whoever launches vouches for the memory behind the arguments and says how far it goes; pieces are
            // apart from each other.
            unsafe { memory.register(piece.base as *mut u8, piece.len as usize) };
        }
        memory
    }
}

impl<E: Emulator> LoadedKernel for EmulatedKernel<E> {
    unsafe fn launch(&self, launch: &Launch<'_>) -> Result<(), TargetError> {
        if launch.grid.contains(&0) {
            return Ok(());
        }
        // SAFETY: as the caller promises.
        let mut memory = unsafe { self.memory(launch) };
        let checks = Checks { counters: false, interrupt: launch.interrupt, ..Checks::default() };
        let call = Call { artifact: &self.artifact, facts: &self.facts, launch, checks };
        let ran = self.program.run(&call, &mut memory).map_err(|text| self.error(text))?;
        let mut out = std::io::stdout().lock();
        // Where nobody reads the output there is nobody to tell.
        let _ = out.write_all(ran.printed.as_bytes()).and_then(|()| out.flush());
        if let Some(failure) = ran.failure {
            return Err(self.error(failure));
        }
        if ran.findings.is_empty() {
            return Ok(());
        }
        let texts: Vec<String> =
            ran.findings.iter().take(MOST_FINDINGS).map(|finding| format!("\n  {finding}")).collect();
        Err(self.error(format!("{} findings:{}", ran.findings.len(), texts.concat())))
    }

    fn residency(&self) -> Option<Residency> {
        self.program.residency()
    }

    fn n_regs(&self) -> u32 {
        1
    }

    fn n_spills(&self) -> u32 {
        0
    }

    fn n_max_threads(&self) -> u32 {
        MOST_LANES
    }
}
