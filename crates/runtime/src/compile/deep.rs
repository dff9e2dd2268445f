//! Kernels whose loops over dots have more stages than they ask for, for launches with few programs for an SM: shared
//! memory that no other program takes is worth more in stages (`docs/notes/gpu.md`).

use super::Kernel;
use super::again::compile_again;
use crate::error::RuntimeError;
use std::sync::{Arc, OnceLock};
use target::{Artifact, DEEP, DeviceFacts, Launch, OptionValue};

/// The most programs on an SM, all of a launch running at a time, for which there is a kernel.
const MOST: usize = 4;

/// The name of the number of SMs among the properties of a device.
const SMS: &str = "multiprocessor_count";

/// The kernels with deeper loops.
#[derive(Default)]
pub(super) struct Deep {
    has_spare_stages: bool,
    /// SMs of the device.
    sms: OnceLock<Option<u64>>,
    /// For one program on an SM, two, and so on; none where it cannot be compiled, or is no deeper.
    kernels: [OnceLock<Option<Arc<Kernel>>>; MOST],
}

impl Deep {
    pub(super) fn of(artifact: &Artifact) -> Deep {
        let has_spare_stages = artifact.launch.device().is_some_and(|facts| facts.spare_stages);
        Deep { has_spare_stages, ..Deep::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.has_spare_stages
    }

    /// The programs that an SM has of a launch, if those are few.
    ///
    /// # Errors
    /// When there is no device.
    pub(super) fn gain(&self, kernel: &Kernel, launch: &Launch<'_>) -> Result<Option<usize>, RuntimeError> {
        if self.is_empty() {
            return Ok(None);
        }
        let Some(sms) = self.sms(kernel)? else { return Ok(None) };
        let cluster = kernel.artifact.launch.device().map_or(1, DeviceFacts::cluster);
        let blocks =
            launch.grid.iter().fold(u64::from(cluster), |all, &along| all.saturating_mul(along.into()));
        let programs = usize::try_from(blocks.div_ceil(sms)).unwrap_or(usize::MAX);
        Ok((1..=MOST).contains(&programs).then_some(programs))
    }

    fn sms(&self, kernel: &Kernel) -> Result<Option<u64>, RuntimeError> {
        if let Some(sms) = self.sms.get() {
            return Ok(*sms);
        }
        let number = kernel.device()?.properties().numbers.get(SMS).copied();
        let sms = number.and_then(|number| u64::try_from(number).ok()).filter(|&sms| sms > 0);
        Ok(*self.sms.get_or_init(|| sms))
    }

    /// The kernel for so many programs on an SM; the kernel itself where there is none.
    pub(super) fn kernel<'k>(&'k self, kernel: &'k Kernel, programs: usize) -> &'k Kernel {
        let compiled = || compile_deep(kernel, programs);
        self.kernels[programs - 1].get_or_init(compiled).as_deref().unwrap_or(kernel)
    }
}

/// Compiles a kernel again, with deeper loops.
fn compile_deep(kernel: &Kernel, programs: usize) -> Option<Arc<Kernel>> {
    let mut options = kernel.options.clone();
    options.extra.insert(DEEP.to_owned(), OptionValue::Int(i64::try_from(programs).ok()?));
    let deep = compile_again(kernel, options).ok()?;
    let is_alike = deep.artifact.launch.guards() == kernel.artifact.launch.guards();
    (is_alike && deep.artifact.shared > kernel.artifact.shared).then_some(deep)
}
