//! Loading a kernel on a GPU.
//!
//! Modules are never unloaded: a graph that was captured earlier, or a launch that is still running, may refer to them.

use super::api::Handle;
use super::error::{Refused, check};
use super::launch::Shape;
use super::launch_maps::Maps;
use super::link::option;
use super::properties::SHARED_OPTIN;
use super::trail::{Name, Trail};
use super::{Driver, Gpu, LinkOptions};
use crate::ptx::Effort;
use std::ffi::{CString, c_void};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use target::{Artifact, TargetError};

/// The stage of an artifact that the device loads.
pub(crate) const CUBIN: &str = "cubin";
/// The stage that is loaded where no assembler made a cubin: the driver does it then.
pub(crate) const PTX: &str = "ptx";

/// Shared memory that every kernel may use without asking.
const USUAL_SHARED: u64 = 48 << 10;

/// Numbers of function attributes.
mod attribute {
    pub(super) const MAX_THREADS: i32 = 0;
    pub(super) const STATIC_SHARED: i32 = 1;
    pub(super) const LOCAL_BYTES: i32 = 3;
    pub(super) const REGISTERS: i32 = 4;
    pub(super) const MAX_DYNAMIC_SHARED: i32 = 8;
    pub(super) const NON_PORTABLE_CLUSTER: i32 = 14;
}

/// `CU_FUNC_CACHE_PREFER_SHARED`.
const PREFER_SHARED: i32 = 1;
/// Clusters up to this size run on every device that has any.
const PORTABLE_CLUSTER: u32 = 8;
/// `CU_STREAM_CAPTURE_MODE_RELAXED`: calls that allocate are let through while a graph is captured.
const RELAXED: i32 = 2;

/// A kernel on a GPU.
#[derive(Debug)]
pub(crate) struct Module {
    pub(super) gpu: Arc<Gpu>,
    pub(super) function: usize,
    pub(super) name: &'static Name,
    pub(super) params: usize,
    /// The tensor maps that it takes behind its parameters.
    pub(super) maps: Maps,
    pub(super) shape: Shape,
    pub(super) registers: u32,
    pub(super) spills: u32,
    pub(super) max_threads: u32,
    /// Launches since it was last asked whether a graph is worth it.
    pub(super) waited: AtomicU32,
}

impl Module {
    /// Loads the cubin of an artifact, or its PTX where it has no cubin.
    pub(super) fn load(gpu: &Arc<Gpu>, artifact: &Artifact) -> Result<Module, TargetError> {
        let facts = artifact.device_facts()?;
        let shape = Shape::of(facts, artifact.shared);
        let limit = gpu.attribute(SHARED_OPTIN).map_err(|refused| gpu.driver.report(refused))?;
        let limit = limit.unsigned_abs();
        if shape.shared > limit {
            return Err(TargetError::OutOfResources {
                name: "shared memory".into(),
                required: shape.shared,
                limit,
            });
        }
        let maps = Maps::of(facts);
        let image = image(artifact)?;
        let name = CString::new(artifact.name.as_str())
            .map_err(|_| TargetError::Load("the name of the kernel holds a zero byte".into()))?;
        let loaded =
            gpu.with(|driver| relaxed(driver, |driver| open(driver, &image, &name, facts.assembler_level)));
        let function = loaded.map_err(|error| {
            let reason = complaint(gpu, artifact).unwrap_or(error);
            TargetError::Load(format!(
                "kernel `{}` cannot be loaded on {}: {reason}",
                artifact.name,
                gpu.describe().name
            ))
        })?;
        let module = gpu.with(|driver| {
            let ask = |number| function_attribute(driver, function, number);
            let (max_threads, static_shared) = (ask(attribute::MAX_THREADS)?, ask(attribute::STATIC_SHARED)?);
            let (local, registers) = (ask(attribute::LOCAL_BYTES)?, ask(attribute::REGISTERS)?);
            prepare(driver, function, &shape, u64::from(static_shared))?;
            Ok(Module {
                gpu: Arc::clone(gpu),
                function: function as usize,
                name: Trail::name(&artifact.name),
                params: artifact.params.len(),
                maps,
                shape,
                registers,
                // Registers are four bytes.
                spills: local / 4,
                max_threads,
                waited: AtomicU32::new(0),
            })
        })?;
        let threads = module.shape.threads();
        if threads > module.max_threads {
            return Err(TargetError::OutOfResources {
                name: "threads".into(),
                required: u64::from(threads),
                limit: u64::from(module.max_threads),
            });
        }
        Ok(module)
    }
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

/// Does what takes or frees memory while this thread or another one captures a graph, which would otherwise be the end of the
/// capture.
pub(super) fn relaxed<T>(driver: &Driver, work: impl FnOnce(&Driver) -> T) -> T {
    let mut mode = RELAXED;
    // SAFETY: `mode` is read and gets the mode of before.
    unsafe { (driver.api.thread_exchange_stream_capture_mode)(&raw mut mode) };
    let result = work(driver);
    // SAFETY: as above.
    unsafe { (driver.api.thread_exchange_stream_capture_mode)(&raw mut mode) };
    result
}

/// Loads an image and finds the kernel in it. As a library and not as a module: the driver assembles libraries of several
/// threads at the same time, and lets other threads launch meanwhile; of modules it does one at a time, and nothing beside it.
fn open(driver: &Driver, image: &[u8], name: &CString, level: Option<u32>) -> Result<Handle, Refused> {
    let (mut library, mut kernel) = (std::ptr::null_mut(), std::ptr::null_mut());
    let (mut function, none) = (std::ptr::null_mut(), std::ptr::null_mut());
    // The driver takes the number in place of a pointer; without one it does all it can.
    let mut names = [option::OPTIMIZATION_LEVEL];
    let low = Effort::Low.level();
    let mut values = [std::ptr::without_provenance_mut::<c_void>(low as usize)];
    let count = u32::from(level == Some(low));
    // SAFETY: the image is a whole cubin, or text that ends with a zero, which the driver checks and copies; there are as
    // many values as names of options, and at most `count` are read; the name is a C string.
    unsafe {
        let image = image.as_ptr().cast();
        let load = driver.api.library_load_data;
        let status = load(
            &raw mut library,
            image,
            names.as_mut_ptr(),
            values.as_mut_ptr(),
            count,
            none,
            std::ptr::null_mut(),
            0,
        );
        check(status, "load the module")?;
        check(
            (driver.api.library_get_kernel)(&raw mut kernel, library, name.as_ptr()),
            "find the kernel in its module",
        )?;
        check((driver.api.kernel_get_function)(&raw mut function, kernel), "bring the kernel to the device")?;
    }
    Ok(function)
}

fn function_attribute(driver: &Driver, function: Handle, number: i32) -> Result<u32, Refused> {
    let mut value = 0;
    // SAFETY: the function is loaded, and `value` is a place for the answer.
    let status = unsafe { (driver.api.func_get_attribute)(&raw mut value, number, function) };
    check(status, "tell an attribute of a kernel")?;
    Ok(value.unsigned_abs())
}

/// Asks for what a kernel may not have without asking.
fn prepare(driver: &Driver, function: Handle, shape: &Shape, static_shared: u64) -> Result<(), Refused> {
    let set = |number, value| {
        // SAFETY: the function is loaded.
        let status = unsafe { (driver.api.func_set_attribute)(function, number, value) };
        check(status, "give a kernel what it asks for")
    };
    if shape.shared + static_shared > USUAL_SHARED {
        // SAFETY: the function is loaded.
        let status = unsafe { (driver.api.func_set_cache_config)(function, PREFER_SHARED) };
        check(status, "prefer shared memory over the cache")?;
        set(attribute::MAX_DYNAMIC_SHARED, shape.shared as i32)?;
    }
    if shape.cluster.iter().product::<u32>() > PORTABLE_CLUSTER {
        set(attribute::NON_PORTABLE_CLUSTER, 1)?;
    }
    Ok(())
}
