//! One GPU, and what its driver does otherwise than others.

use super::api::{Api, DeviceHandle, Handle, LaunchAttribute};
use super::context::{self, Entered};
use super::launch_maps::Maps;
use super::properties::{MAJOR, MINOR, REGISTERS, SHARED_OPTIN, SMS};
use super::replay::{Replays, is_wanted};
use super::terms::TERMS;
use super::{Driver, Gpu, Module, launch, load};
use gpu::driver::{Loaded, Refused, Shape, Status, Terms, Vendor, check, status};
use smallvec::SmallVec;
use std::ffi::{CStr, c_char};
use std::sync::OnceLock;
use std::sync::atomic::AtomicU32;
use target::{Artifact, DeviceFacts, DeviceProperties, Grid, Launch, Residency, TargetError};

/// The oldest version of the driver's interface that has all functions used here: CUDA 12.0, driver 525.
const OLDEST: i32 = 12_000;

/// A GPU, with the primary context that it shares with every other user of the CUDA runtime in the process.
#[derive(Debug)]
pub struct Cuda {
    pub(super) driver: &'static Driver,
    pub(super) ordinal: u32,
    pub(super) handle: DeviceHandle,
    capability: u32,
    /// The address of the context, retained when it is first needed and never released.
    pub(super) context: OnceLock<Result<usize, Refused>>,
    pub(super) replays: Replays,
    /// The address of a few zeros, taken when they are first needed and never given back.
    pub(super) zeros: OnceLock<u64>,
}

/// What is kept of a kernel.
#[derive(Debug)]
pub struct CudaKernel {
    /// The tensor maps that it takes behind its parameters.
    pub(super) maps: Maps,
    pub(super) attributes: SmallVec<[LaunchAttribute; 3]>,
    /// Whether it loops over the programs of a launch.
    pub(super) persistent: target::ProgramLoop,
    /// How many programs the device runs at a time, once that was asked.
    residency: OnceLock<Option<Residency>>,
    /// Launches since it was last asked whether a graph is worth it.
    pub(super) waited: AtomicU32,
}

impl Cuda {
    /// The compute capability: 90 for 9.0.
    pub fn capability(&self) -> u32 {
        self.capability
    }
}

unsafe extern "C" {
    /// Of C's library: writes out what it has kept back; all streams for null.
    fn fflush(stream: *mut std::ffi::c_void) -> std::ffi::c_int;
}

impl Vendor for Cuda {
    const TERMS: Terms = TERMS;
    const OLDEST: i32 = OLDEST;
    type Api = Api;
    /// Whether kernels may be launched by graphs.
    type Process = bool;
    type Kernel = CudaKernel;
    type Entered = Entered<'static>;

    fn version_text(version: i32) -> String {
        format!("for CUDA {}.{}", version / 1000, version % 1000 / 10)
    }

    fn texts(api: &Api, status: Status) -> [Option<String>; 2] {
        let ask = |function: unsafe extern "C" fn(Status, *mut *const c_char) -> Status| {
            let mut text = std::ptr::null();
            // SAFETY: `text` is a place for the answer.
            let known = unsafe { function(status, &raw mut text) } == status::SUCCESS && !text.is_null();
            // SAFETY: what the driver gives is a C string that it keeps.
            known.then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
        };
        [ask(api.get_error_name), ask(api.get_error_string)]
    }

    fn process(version: i32) -> bool {
        is_wanted(version, std::env::vars_os())
    }

    fn open(driver: &'static Driver, ordinal: u32) -> Result<Cuda, Refused> {
        let mut handle = 0;
        // SAFETY: `handle` is a place for the answer.
        check(unsafe { (driver.api.device_get)(&raw mut handle, ordinal as i32) }, "open a device")?;
        let mut cuda = Cuda {
            driver,
            ordinal,
            handle,
            capability: 0,
            context: OnceLock::new(),
            replays: Replays::default(),
            zeros: OnceLock::new(),
        };
        cuda.capability = (10 * cuda.attribute(MAJOR)? + cuda.attribute(MINOR)?) as u32;
        Ok(cuda)
    }

    #[inline]
    fn driver(&self) -> &'static Driver {
        self.driver
    }

    fn ordinal(&self) -> u32 {
        self.ordinal
    }

    fn name(&self) -> String {
        self.device_name()
    }

    fn describe(&self) -> DeviceProperties {
        self.all_properties()
    }

    fn most_shared(&self) -> Result<u64, Refused> {
        self.attribute(SHARED_OPTIN).map(i64::unsigned_abs)
    }

    fn registers(&self) -> Result<u64, Refused> {
        self.attribute(REGISTERS).map(i64::unsigned_abs)
    }

    #[inline]
    fn enter(&self) -> Result<Entered<'static>, Refused> {
        context::enter(self)
    }

    fn finished() {
        // What kernels print comes through the C library, which keeps it back where the output is no terminal.
        // SAFETY: null means all streams.
        unsafe { fflush(std::ptr::null_mut()) };
    }

    fn largest(_shape: &Shape) -> Grid {
        [i32::MAX as u32, 65_535, 65_535]
    }

    fn load(
        gpu: &Gpu,
        artifact: &Artifact,
        facts: &DeviceFacts,
        symbol: &CStr,
    ) -> Result<(Handle, CudaKernel), TargetError> {
        let function = load::load(gpu, artifact, facts, symbol)?;
        let kernel = CudaKernel {
            maps: Maps::of(facts),
            attributes: launch::attributes(facts),
            persistent: facts.persistent,
            residency: OnceLock::new(),
            waited: AtomicU32::new(0),
        };
        Ok((function, kernel))
    }

    fn prepare(&self, loaded: &Loaded<'_>) -> Result<(), Refused> {
        load::prepare(&self.driver.api, loaded)
    }

    #[inline]
    fn residency(kernel: &Module) -> Option<Residency> {
        *kernel.own.residency.get_or_init(|| residency(kernel))
    }

    #[inline]
    unsafe fn launch(kernel: &Module, blocks: Grid, launch: &Launch<'_>) -> Result<(), TargetError> {
        // SAFETY: as the caller promises.
        unsafe { launch::launch(kernel, blocks, launch) }
    }
}

/// How many programs of a kernel the device runs at a time; none where the driver does not say.
fn residency(kernel: &Module) -> Option<Residency> {
    let Shape { threads, shared, .. } = kernel.shape;
    let mut of_each = 0;
    let function = kernel.function as Handle;
    let asked = kernel.gpu.with(|api| {
        // SAFETY: the function is loaded, and `of_each` is a place for the answer.
        let status = unsafe { (api.occupancy)(&raw mut of_each, function, threads as i32, shared as usize) };
        check(status, "tell how many programs an SM runs")?;
        kernel.gpu.attribute(SMS)
    });
    let sms = u32::try_from(asked.ok()?).ok()?;
    let of_each = u32::try_from(of_each).ok().filter(|&of_each| of_each > 0)?;
    Some(Residency { sms, of_each })
}
