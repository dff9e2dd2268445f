//! Loading the code of a kernel on a GPU.

use super::api::{Api, Handle};
use super::link::option;
use super::{Gpu, LinkOptions};
use crate::assemble::again::{Program, Taken};
use crate::ptx::Effort;
use crate::stage::{CUBIN, PTX};
use gpu::driver::{Loaded, Refused, Vendor, check, registers_and_stack};
use std::ffi::{CStr, c_void};
use target::{Artifact, DeviceFacts, TargetError};

/// Shared memory that every kernel may use without asking.
const USUAL_SHARED: u32 = 48 << 10;

/// Numbers of function attributes.
mod attribute {
    pub(super) const MAX_DYNAMIC_SHARED: i32 = 8;
    pub(super) const NON_PORTABLE_CLUSTER: i32 = 14;
}

/// `CU_FUNC_CACHE_PREFER_SHARED`.
const PREFER_SHARED: i32 = 1;
/// Clusters up to this size run on every device that has any.
const PORTABLE_CLUSTER: u32 = 8;

/// Loads the cubin of an artifact, or its PTX where it has no cubin, and finds the kernel in it.
pub(super) fn load(
    gpu: &Gpu,
    artifact: &Artifact,
    facts: &DeviceFacts,
    symbol: &CStr,
) -> Result<Handle, TargetError> {
    let (image, driver) = (image(artifact)?, gpu.driver());
    let level = facts.assembler_level;
    let first = open(&driver.api, &image, symbol, level)
        .map_err(|refused| complaint(gpu, artifact).unwrap_or_else(|| driver.report(refused)))?;
    let full = Effort::Full.level();
    let program = Program::of(facts, artifact.shared, level.unwrap_or(full), gpu.capability());
    let text = str::from_utf8(&image).ok().filter(|_| artifact.stage(CUBIN).is_none());
    let (Some(program), Some(text)) = (program, text) else { return Ok(first) };
    let taken = |&function: &Handle| {
        let [registers, stack] = registers_and_stack(&driver.api, function).ok()?;
        Some(Taken { registers, stack })
    };
    Ok(program.best(text, first, taken, |text| open(&driver.api, text.as_bytes(), symbol, level).ok()))
}

/// The bytes to load: a cubin, or PTX with a zero behind it.
fn image(artifact: &Artifact) -> Result<Vec<u8>, TargetError> {
    if let Some(cubin) = artifact.stage(CUBIN) {
        return Ok(cubin.to_vec());
    }
    let ptx = artifact.stage(PTX).ok_or_else(|| {
        TargetError::Load(format!("kernel `{}` has no stage `{CUBIN}` or `{PTX}`", artifact.name))
    })?;
    Ok([ptx, &[0]].concat())
}

/// What the driver's assembler says against the PTX of a kernel, if that is why it could not be loaded: only the linker
/// gives reasons.
fn complaint(gpu: &Gpu, artifact: &Artifact) -> Option<TargetError> {
    let ptx = artifact.stage(PTX).filter(|_| artifact.stage(CUBIN).is_none())?;
    gpu.link(&String::from_utf8_lossy(ptx), &LinkOptions::default()).err()
}

/// Loads an image and finds the kernel in it. As a library and not as a module: the driver assembles libraries of
/// several threads at the same time, and lets other threads launch meanwhile; of modules it does one at a time, and
/// nothing beside it.
fn open(api: &Api, image: &[u8], name: &CStr, level: Option<u32>) -> Result<Handle, Refused> {
    let (mut library, mut kernel) = (std::ptr::null_mut(), std::ptr::null_mut());
    let (mut function, none) = (std::ptr::null_mut(), std::ptr::null_mut());
    // The driver takes the number in place of a pointer; without one it does all it can.
    let low = Effort::Low.level();
    let mut names = [option::OPTIMIZATION_LEVEL];
    let mut values = [std::ptr::without_provenance_mut::<c_void>(low as usize)];
    let count = u32::from(level == Some(low));
    // SAFETY: the image is a whole cubin, or text that ends with a zero, which the driver checks and copies; there are
    // as many values as names of options, and at most `count` are read; the name is a C string.
    unsafe {
        let status = (api.library_load_data)(
            &raw mut library,
            image.as_ptr().cast(),
            names.as_mut_ptr(),
            values.as_mut_ptr(),
            count,
            none,
            std::ptr::null_mut(),
            0,
        );
        check(status, "load the module")?;
        check(
            (api.library_get_kernel)(&raw mut kernel, library, name.as_ptr()),
            "find the kernel in its module",
        )?;
        check((api.kernel_get_function)(&raw mut function, kernel), "bring the kernel to the device")?;
    }
    Ok(function)
}

/// Asks for what a kernel may not have without asking.
pub(super) fn prepare(api: &Api, loaded: &Loaded<'_>) -> Result<(), Refused> {
    let (function, shape) = (loaded.function, loaded.shape);
    let set = |number, value| {
        // SAFETY: the function is loaded.
        let status = unsafe { (api.func_set_attribute)(function, number, value) };
        check(status, "give a kernel what it asks for")
    };
    if shape.shared.saturating_add(loaded.static_shared) > USUAL_SHARED {
        // SAFETY: the function is loaded.
        let status = unsafe { (api.func_set_cache_config)(function, PREFER_SHARED) };
        check(status, "prefer shared memory over the cache")?;
        set(attribute::MAX_DYNAMIC_SHARED, shape.shared as i32)?;
    }
    if shape.ctas > PORTABLE_CLUSTER {
        set(attribute::NON_PORTABLE_CLUSTER, 1)?;
    }
    Ok(())
}
