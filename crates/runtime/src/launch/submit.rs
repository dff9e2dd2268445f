//! The last step of a launch: the kernel is loaded where that has not been done, and the device is called.

use crate::compile::Kernel;
use crate::error::RuntimeError;
use target::{Grid, Launch};

/// Where one launch goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// The number of the device.
    pub ordinal: u32,
    /// The stream; 0 is the default one.
    pub stream: u64,
    /// Whether a profiler records this thread.
    pub observed: bool,
}

/// How much scratch memory a launch must bring along; `None` where the kernel needs none.
#[inline]
pub fn scratch_bytes(kernel: &Kernel, grid: Grid) -> Option<u64> {
    let programs = || grid.iter().map(|&size| u64::from(size)).product::<u64>();
    kernel.scratch().map(|scratch| programs() * u64::from(kernel.options.num_ctas) * scratch.bytes)
}

/// Compiles and loads what a launch takes.
///
/// # Errors
/// When that cannot be compiled, or the device refuses it.
pub fn prepare(kernel: &Kernel, ordinal: u32, launch: &Launch<'_>) -> Result<(), RuntimeError> {
    kernel.for_launch(launch)?.load_on(ordinal)?;
    if kernel.copy_bytes(launch).is_some() { kernel.prepare_copies(ordinal, launch) } else { Ok(()) }
}

/// Launches on a device. The launch brings the scratch memory that [`scratch_bytes`] asks for, and, where there is
/// some, memory for the copies that [`Kernel::copy_bytes`] speaks of.
///
/// # Safety
/// The slots must be made for this kernel's parameters, and the memory behind its pointers must be what the kernel
/// takes it for, for as long as the launch lasts.
///
/// # Errors
/// When the number of slots is not that of the kernel's parameters, or the device refuses.
#[inline]
pub unsafe fn submit(kernel: &Kernel, ordinal: u32, launch: &Launch<'_>) -> Result<(), RuntimeError> {
    if launch.args.len() != kernel.artifact.params.len() {
        return Err(wrong_count(kernel, launch.args.len()));
    }
    let chosen = kernel.for_launch(launch)?;
    let loaded = chosen.load_on(ordinal)?;
    if launch.copies.is_some() {
        // SAFETY: as the caller promises.
        unsafe { chosen.make_copies(ordinal, launch) }?;
    }
    // SAFETY: as the caller promises.
    unsafe { loaded.launch(launch) }.map_err(RuntimeError::from)
}

#[cold]
fn wrong_count(kernel: &Kernel, count: usize) -> RuntimeError {
    RuntimeError::Internal(format!(
        "{} takes {} arguments at run time and got {count}",
        kernel.artifact.name,
        kernel.artifact.params.len()
    ))
}
