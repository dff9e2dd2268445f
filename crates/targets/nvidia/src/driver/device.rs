//! One GPU.

use super::Driver;
use super::api::{DeviceHandle, Handle};
use super::error::{Refused, check, status};
use super::module::{Module, relaxed};
use super::properties::{MAJOR, MINOR};
use super::replay::Replays;
use std::sync::{Arc, OnceLock};
use target::{Artifact, Device, DeviceProperties, LoadedKernel, TargetError};

/// `CU_POINTER_ATTRIBUTE_DEVICE_POINTER`.
const DEVICE_POINTER: i32 = 3;

/// Bytes that a device keeps for tensors without elements.
const ZEROS: usize = 512;
/// Those from here on are written; the others are zeros.
pub(super) const WRITTEN_FROM: u64 = 256;

/// A GPU, with the primary context that it shares with every other user of the CUDA runtime in the process.
#[derive(Debug)]
pub struct Gpu {
    pub(crate) driver: &'static Driver,
    pub(crate) ordinal: u32,
    pub(crate) handle: DeviceHandle,
    capability: u32,
    /// The address of the context, retained when it is first needed and never released.
    context: OnceLock<Result<usize, Refused>>,
    pub(super) replays: Replays,
    /// The address of a few zeros, taken when they are first needed and never given back.
    zeros: OnceLock<u64>,
}

impl Gpu {
    pub(super) fn new(driver: &'static Driver, ordinal: u32) -> Result<Gpu, Refused> {
        let mut handle = 0;
        // SAFETY: `handle` is a place for the answer.
        check(unsafe { (driver.api.device_get)(&raw mut handle, ordinal as i32) }, "open a device")?;
        let mut gpu = Gpu {
            driver,
            ordinal,
            handle,
            capability: 0,
            context: OnceLock::new(),
            replays: Replays::default(),
            zeros: OnceLock::new(),
        };
        gpu.capability = (10 * gpu.attribute(MAJOR)? + gpu.attribute(MINOR)?) as u32;
        Ok(gpu)
    }

    /// The compute capability: 90 for 9.0.
    pub fn capability(&self) -> u32 {
        self.capability
    }

    #[inline]
    pub(super) fn context(&self) -> Result<Handle, Refused> {
        let retain = || {
            let mut context: Handle = std::ptr::null_mut();
            // SAFETY: the handle is the driver's, and `context` is a place for the answer.
            let status =
                unsafe { (self.driver.api.device_primary_ctx_retain)(&raw mut context, self.handle) };
            check(status, "open the device's context").map(|()| context as usize)
        };
        self.context.get_or_init(retain).map(|address| address as Handle)
    }

    /// Whether a context is this device's.
    pub(super) fn is_context(&self, context: Handle) -> bool {
        matches!(self.context.get(), Some(Ok(address)) if *address == context as usize)
    }

    /// The address of [`ZEROS`] bytes, zeros up to [`WRITTEN_FROM`].
    pub(super) fn zeros(&self) -> Result<u64, TargetError> {
        if let Some(&address) = self.zeros.get() {
            return Ok(address);
        }
        let make = |driver: &Driver| {
            let mut address = 0;
            // SAFETY: `address` is a place for the answer, and then memory of so many bytes.
            unsafe {
                check((driver.api.mem_alloc)(&raw mut address, ZEROS), "allocate memory")?;
                check(
                    (driver.api.memcpy_htod)(address, [0u8; ZEROS].as_ptr().cast(), ZEROS),
                    "copy to the device",
                )?;
            }
            Ok(address)
        };
        let address = self.with(|driver| relaxed(driver, make))?;
        Ok(*self.zeros.get_or_init(|| address))
    }

    /// Does something with the device's context as the current one.
    pub(super) fn with<T>(&self, work: impl FnOnce(&Driver) -> Result<T, Refused>) -> Result<T, TargetError> {
        let run = || {
            let _entered = self.enter()?;
            work(self.driver)
        };
        run().map_err(|refused| self.driver.report(refused))
    }
}

unsafe extern "C" {
    /// Of C's library: writes out what it has kept back; all streams for null.
    fn fflush(stream: *mut std::ffi::c_void) -> std::ffi::c_int;
}

impl Device for Gpu {
    fn ordinal(&self) -> u32 {
        self.ordinal
    }

    fn properties(&self) -> DeviceProperties {
        self.describe()
    }

    fn load(&self, artifact: &Artifact) -> Result<Arc<dyn LoadedKernel>, TargetError> {
        let gpu = self.driver.gpus().get(self.ordinal as usize);
        let gpu =
            gpu.ok_or_else(|| TargetError::Internal("a device that its driver does not list".into()))?;
        Ok(Arc::new(Module::load(gpu, artifact)?))
    }

    fn synchronize(&self) -> Result<(), TargetError> {
        // SAFETY: there is a current context.
        let done =
            self.with(|driver| check(unsafe { (driver.api.ctx_synchronize)() }, "finish all launches"));
        // What kernels print comes through the C library, which keeps it back where the output is no terminal.
        // SAFETY: null means all streams.
        unsafe { fflush(std::ptr::null_mut()) };
        done
    }

    fn uses_host_memory(&self) -> bool {
        false
    }

    fn reachable(&self, host: u64) -> Option<u64> {
        let mut address = 0u64;
        let ask = |driver: &Driver| {
            // SAFETY: the attribute is an address, for which there is a place.
            let status = unsafe {
                (driver.api.pointer_get_attribute)((&raw mut address).cast(), DEVICE_POINTER, host)
            };
            check(status, "look up an address")
        };
        self.with(ask).ok().map(|()| address)
    }

    fn alloc(&self, bytes: u64) -> Result<u64, TargetError> {
        let mut address = 0;
        let alloc = |driver: &Driver| {
            // The driver refuses to give nothing.
            // SAFETY: `address` is a place for the answer.
            let status = unsafe { (driver.api.mem_alloc)(&raw mut address, bytes.max(1) as usize) };
            check(status, "allocate memory")
        };
        self.with(alloc).map(|()| address).map_err(|error| match error {
            TargetError::Launch(text) => {
                TargetError::Launch(format!("{text} ({bytes} bytes were asked for)"))
            }
            other => other,
        })
    }

    unsafe fn free(&self, address: u64, _bytes: u64) -> Result<(), TargetError> {
        // SAFETY: the caller promises that the address is one of `alloc`.
        self.with(|driver| check(unsafe { (driver.api.mem_free)(address) }, "free memory"))
    }

    unsafe fn copy_in(&self, to: u64, from: &[u8]) -> Result<(), TargetError> {
        // SAFETY: the caller promises that the device's memory is valid for so many bytes.
        let copy =
            |driver: &Driver| unsafe { (driver.api.memcpy_htod)(to, from.as_ptr().cast(), from.len()) };
        self.with(|driver| check(copy(driver), "copy to the device"))
    }

    unsafe fn copy_out(&self, to: &mut [u8], from: u64) -> Result<(), TargetError> {
        self.with(|driver| {
            // SAFETY: as above.
            let status = unsafe { (driver.api.memcpy_dtoh)(to.as_mut_ptr().cast(), from, to.len()) };
            check(status, "copy from the device")
        })
    }

    unsafe fn fill(&self, address: u64, byte: u8, bytes: u64, stream: u64) -> Result<(), TargetError> {
        let fill = |driver: &Driver| {
            // SAFETY: as above.
            unsafe { (driver.api.memset_d8_async)(address, byte, bytes as usize, stream as Handle) }
        };
        self.with(|driver| check(fill(driver), "fill memory"))
    }

    fn record_event(&self, stream: u64) -> Result<u64, TargetError> {
        let mut event: Handle = std::ptr::null_mut();
        self.with(|driver| {
            // SAFETY: `event` is a place for the answer.
            check(unsafe { (driver.api.event_create)(&raw mut event, 0) }, "make an event")?;
            // SAFETY: the event was made just now; the stream is the caller's.
            let status = unsafe { (driver.api.event_record)(event, stream as Handle) };
            if status != status::SUCCESS {
                self.free_event(event as u64);
            }
            check(status, "record an event")
        })?;
        Ok(event as u64)
    }

    fn elapsed_ms(&self, start: u64, end: u64) -> Result<f64, TargetError> {
        let mut elapsed = 0f32;
        self.with(|driver| {
            // SAFETY: the events are the caller's, made by `record_event`.
            unsafe {
                check((driver.api.event_synchronize)(end as Handle), "wait for an event")?;
                check(
                    (driver.api.event_elapsed_time)(&raw mut elapsed, start as Handle, end as Handle),
                    "time two events",
                )
            }
        })?;
        Ok(f64::from(elapsed))
    }

    fn free_event(&self, event: u64) {
        // SAFETY: the event is the caller's, who gives it back. What the driver says can help nobody.
        let _ = unsafe { (self.driver.api.event_destroy)(event as Handle) };
    }
}
