//! Launching: the arguments as the driver wants them.
//!
//! A kernel takes its parameters in the order of its signature, then the tensor maps that are made of them
//! ([`super::launch_maps`]), then the addresses of its global scratch memory and of the memory of a profiler. Nothing
//! here waits. Device memory is taken for graphs alone (see [`super::replay`]), outside of captures.

use super::api::{Handle, LaunchAttribute, LaunchConfig, attribute};
use super::{Module, replay};
use gpu::driver::{Pointers, Vendor, slots, status};
use smallvec::SmallVec;
use target::{DeviceFacts, Grid, Launch, TargetError};

/// What the driver gets beyond the sizes of a launch.
pub(super) fn attributes(facts: &DeviceFacts) -> SmallVec<[LaunchAttribute; 3]> {
    let mut attributes = SmallVec::new();
    if facts.num_ctas > 1 {
        attributes.push(LaunchAttribute::new(attribute::CLUSTER_DIMENSION, &[facts.num_ctas, 1, 1]));
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
    let maps = kernel.own.maps.make(&kernel.gpu, launch.args)?;
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
