//! Launching: the arguments as the driver wants them.
//!
//! A kernel takes its parameters in the order of its signature, then, if it loops over them, the number of programs
//! along x, then the tensor maps that are made of its parameters ([`super::launch_maps`]), then the addresses of its
//! global scratch memory and of the memory of a profiler. Nothing here waits. Device memory is taken for graphs alone
//! (see [`super::replay`]), outside of captures.

use super::api::{Handle, LaunchAttribute, LaunchConfig, attribute};
use super::{Cuda, Module, replay};
use gpu::driver::{Pointers, Vendor, slots, status};
use smallvec::SmallVec;
use target::{DeviceFacts, Grid, Launch, Residency, TargetError};

/// What the driver gets beyond the sizes of a launch.
pub(super) fn attributes(facts: &DeviceFacts) -> SmallVec<[LaunchAttribute; 3]> {
    let mut attributes = SmallVec::new();
    if facts.cluster() > 1 {
        attributes.push(LaunchAttribute::new(attribute::CLUSTER_DIMENSION, &[facts.cluster(), 1, 1]));
    }
    if facts.cooperative {
        attributes.push(LaunchAttribute::new(attribute::COOPERATIVE, &[1]));
    }
    if facts.overlaps {
        attributes.push(LaunchAttribute::new(attribute::PROGRAMMATIC_STREAM_SERIALIZATION, &[1]));
    }
    attributes
}

/// A launch by a graph that is kept, or by a call of its own.
///
/// # Safety
/// As for [`target::LoadedKernel::launch`].
#[inline]
pub(super) unsafe fn launch(kernel: &Module, blocks: Grid, launch: &Launch<'_>) -> Result<(), TargetError> {
    let looped = kernel.own.persistent;
    if !looped.is_some() {
        // SAFETY: as the caller promises.
        return unsafe { start(kernel, blocks, launch) };
    }
    let counts = looped.counts(&blocks).iter().copied().map(u64::from);
    let args: SmallVec<[u64; 16]> = launch.args.iter().copied().chain(counts).collect();
    let resident = Cuda::residency(kernel).map_or(u64::MAX, Residency::programs);
    let fewer = looped.started(resident, blocks);
    let programs = looped.looped(blocks);
    if programs.saturating_add(fewer[0].into()) > i32::MAX as u64 {
        return Err(too_many(programs));
    }
    // SAFETY: as the caller promises; the words behind the arguments are the parameters behind those of the signature.
    unsafe { start(kernel, fewer, &Launch { args: &args, ..*launch }) }
}

/// The error for programs whose count and that of those started besides do not fit 32 bits. The runtime takes a kernel
/// without a loop for them, where it may choose.
#[cold]
fn too_many(programs: u64) -> TargetError {
    TargetError::Launch(format!(
        "{programs} programs are too many for a kernel that loops over them: launch it without DEUTERON_PERSISTENCE=1"
    ))
}

/// Starts the programs.
///
/// # Safety
/// As for [`launch`].
#[inline]
unsafe fn start(kernel: &Module, blocks: Grid, launch: &Launch<'_>) -> Result<(), TargetError> {
    let maps = kernel.own.maps.make(&kernel.gpu, launch.args, launch.copies)?;
    let behind = [launch.scratch, 0u64];
    let mut params = slots(launch.args, &maps, &behind);
    let driver = kernel.gpu.driver();
    let _entered = kernel.gpu.enter().map_err(|refused| driver.report(refused))?;
    // SAFETY: there is one pointer for each parameter of the kernel, and its device is the current one.
    unsafe {
        if !replay::replay(kernel, blocks, launch, &mut params) {
            let status = submit(kernel, blocks, launch.stream, &mut params);
            if status != status::SUCCESS {
                return Err(kernel.failed(status, launch.grid));
            }
        }
    }
    Ok(())
}

/// The call of its own.
///
/// # Safety
/// As for [`gpu::driver::Kernel::submit`].
#[inline]
unsafe fn submit(kernel: &Module, blocks: Grid, stream: u64, params: &mut Pointers) -> i32 {
    let attributes = &kernel.own.attributes;
    if attributes.is_empty() {
        // SAFETY: as the caller promises.
        return unsafe { kernel.submit(blocks, stream, params) };
    }
    let config = LaunchConfig {
        grid: blocks,
        block: [kernel.shape.threads, 1, 1],
        shared: kernel.shape.shared,
        stream: stream as Handle,
        attributes: attributes.as_ptr(),
        attribute_count: attributes.len() as u32,
    };
    let (call, function) = (kernel.gpu.driver().api.launch_kernel_ex, kernel.function as Handle);
    // SAFETY: as the caller promises; the attributes live as long as the kernel.
    unsafe { call(&raw const config, function, params.as_mut_ptr(), std::ptr::null_mut()) }
}
