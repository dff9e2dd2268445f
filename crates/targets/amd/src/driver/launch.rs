//! Launching: the arguments as the runtime wants them.
//!
//! A kernel takes its parameters in the order of its signature, then the addresses of its global scratch memory and of
//! its log (`crate::log`). Nothing here waits but for kernels that print, and nothing takes memory, so that launches
//! may be captured into graphs. No graphs are kept for single launches: that is worth what a driver's call for one
//! saves over its call for a launch, which nobody has measured here.

use super::Module;
use super::api::Handle;
use super::log_memory::LogMemory;
use gpu::driver::{Vendor, check, slots, status};
use std::io::Write;
use target::{Grid, Launch, TargetError};

/// The one call of a launch.
///
/// # Safety
/// As for [`target::LoadedKernel::launch`].
#[inline]
pub(super) unsafe fn submit(
    kernel: &Module,
    blocks: Grid,
    launch: &Launch<'_>,
    log: u64,
) -> Result<(), TargetError> {
    let behind = [launch.scratch, log];
    let mut params = slots::<u64>(launch.args, &[], &behind);
    let driver = kernel.gpu.driver();
    let _entered = kernel.gpu.enter().map_err(|refused| driver.report(refused))?;
    // SAFETY: there is one pointer for each parameter of the kernel, and its device is the current one.
    let status = unsafe {
        if kernel.own.cooperative {
            let (call, [x, y, z]) = (driver.api.launch_cooperative_kernel, blocks);
            let (function, stream) = (kernel.function as Handle, launch.stream as Handle);
            let (threads, shared) = (kernel.shape.threads, kernel.shape.shared);
            call(function, x, y, z, threads, 1, 1, shared, stream, params.as_mut_ptr())
        } else {
            kernel.submit(blocks, launch.stream, &mut params)
        }
    };
    if status == status::SUCCESS { Ok(()) } else { Err(kernel.failed(status, launch.grid)) }
}

/// A launch of a kernel that prints: waits for it and says what it wrote.
///
/// # Safety
/// As for [`submit`].
pub(super) unsafe fn submit_and_read(
    kernel: &Module,
    blocks: Grid,
    launch: &Launch<'_>,
    log: &LogMemory,
) -> Result<(), TargetError> {
    let mut capturing = 0;
    let stream = launch.stream as Handle;
    kernel.gpu.with(|api| {
        // SAFETY: the stream is the caller's, and `capturing` is a place for the answer.
        let status = unsafe { (api.stream_is_capturing)(stream, &raw mut capturing) };
        check(status, "ask whether a graph is captured")
    })?;
    if capturing != 0 {
        return Err(TargetError::Launch(format!(
            "kernel `{}` prints or has assertions, and such kernels cannot be part of a graph: what they write is read when they are over",
            kernel.name
        )));
    }
    let (written, done) = log.during(|address| {
        // SAFETY: as the caller promises.
        unsafe { submit(kernel, blocks, launch, address) }?;
        Ok(kernel.gpu.with(|api| {
            // SAFETY: the stream is the caller's.
            check(unsafe { (api.stream_synchronize)(stream) }, "finish a kernel that prints")
        }))
    })?;
    let mut out = std::io::stdout().lock();
    // Where nobody reads the output there is nobody to tell.
    let _ = out.write_all(written.output.as_bytes()).and_then(|()| out.flush());
    match written.failures.first() {
        Some(failure) => Err(TargetError::Launch(format!("kernel `{}`: {failure}", kernel.name))),
        None => done,
    }
}
