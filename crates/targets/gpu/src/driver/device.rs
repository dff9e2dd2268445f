//! A driver and its devices: memory, events, loading.

use super::error::{Refused, check, status};
use super::{Calls, Handle, Kernel, Names, Status, Vendor};
use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use target::{Artifact, Device, DeviceProperties, LoadedKernel, TargetError};

/// The number of the attribute of an address that is the address on the device.
const DEVICE_POINTER: i32 = 3;

/// A driver of this machine.
#[derive(Debug)]
pub struct Driver<V: Vendor> {
    /// Its functions.
    pub api: V::Api,
    /// Its version, as it says.
    version: i32,
    gpus: OnceLock<Vec<Arc<Gpu<V>>>>,
    /// The kernels that were launched last.
    pub launched: Names,
    /// What the vendor keeps.
    pub own: V::Process,
}

impl<V: Vendor> Driver<V> {
    /// The driver behind a table of functions. It lives as long as the process, as kernels and buffers refer to it.
    ///
    /// # Errors
    /// When it does not start, has no device, or is too old.
    pub fn with_api(api: V::Api) -> Result<&'static Driver<V>, TargetError> {
        let name = V::TERMS.name;
        let describe = |api: &V::Api, status| V::TERMS.describe(status, V::texts(api, status));
        let missing = |api: &V::Api, refused: Refused| {
            let text = describe(api, refused.status);
            TargetError::Missing(format!("the {name} could not {}: {text}", refused.doing))
        };
        let (version, count) = start(&api).map_err(|refused| missing(&api, refused))?;
        if version < V::OLDEST {
            let (own, needed) = (V::version_text(version), V::TERMS.needed);
            return Err(TargetError::Missing(format!("the {name} here is {own}; {needed}")));
        }
        if count == 0 {
            let text = describe(&api, status::NO_DEVICE);
            return Err(TargetError::Missing(format!("the {name} sees no device: {text}")));
        }
        let own = V::process(version);
        let driver = Driver { api, version, gpus: OnceLock::new(), launched: Names::new(), own };
        let driver: &'static Driver<V> = Box::leak(Box::new(driver));
        let open = |ordinal| V::open(driver, ordinal).map(|own| Arc::new(Gpu { own }));
        let gpus = (0..count).map(open).collect::<Result<Vec<_>, _>>();
        let gpus = gpus.map_err(|refused| missing(&driver.api, refused))?;
        driver.gpus.get_or_init(|| gpus);
        Ok(driver)
    }

    /// Its version, as it says.
    pub fn version(&self) -> i32 {
        self.version
    }

    /// The devices that the process may use.
    pub fn gpus(&self) -> &[Arc<Gpu<V>>] {
        self.gpus.get().map_or(&[], Vec::as_slice)
    }

    /// The words for a status.
    pub fn describe(&self, status: Status) -> String {
        V::TERMS.describe(status, V::texts(&self.api, status))
    }

    /// The error for a call that was refused.
    #[cold]
    pub fn report(&self, refused: Refused) -> TargetError {
        V::TERMS.report(refused, &self.describe(refused.status), &self.launched.newest())
    }
}

/// Starts a driver: its version and the number of its devices.
fn start(calls: &Calls) -> Result<(i32, u32), Refused> {
    let (mut version, mut count) = (0, 0);
    // SAFETY: the functions are the driver's, and the places for the answers are valid.
    unsafe {
        check((calls.init)(0), "start")?;
        check((calls.driver_get_version)(&raw mut version), "tell its version")?;
        let counted = (calls.device_get_count)(&raw mut count);
        if counted != status::NO_DEVICE {
            check(counted, "count its devices")?;
        }
    }
    Ok((version, u32::try_from(count).unwrap_or(0)))
}

/// A device: the vendor's part of it, which can be reached through this, and what all devices do alike.
#[derive(Debug)]
pub struct Gpu<V> {
    own: V,
}

impl<V> Deref for Gpu<V> {
    type Target = V;

    #[inline]
    fn deref(&self) -> &V {
        &self.own
    }
}

impl<V: Vendor> Gpu<V> {
    fn call(&self, doing: &'static str, call: impl FnOnce(&Calls) -> Status) -> Result<(), TargetError> {
        self.with(|api| check(call(api), doing))
    }
}

impl<V: Vendor> Device for Gpu<V> {
    fn ordinal(&self) -> u32 {
        self.own.ordinal()
    }

    fn properties(&self) -> DeviceProperties {
        self.describe()
    }

    fn load(&self, artifact: &Artifact) -> Result<Arc<dyn LoadedKernel>, TargetError> {
        let gpu = self.driver().gpus().get(Device::ordinal(self) as usize);
        let gpu =
            gpu.ok_or_else(|| TargetError::Internal("a device that its driver does not list".into()))?;
        Ok(Arc::new(Kernel::load(gpu, artifact)?))
    }

    fn synchronize(&self) -> Result<(), TargetError> {
        // SAFETY: the device is the current one.
        let done = self.call("finish all launches", |calls| unsafe { (calls.synchronize)() });
        V::finished();
        done
    }

    fn uses_host_memory(&self) -> bool {
        false
    }

    fn reachable(&self, host: u64) -> Option<u64> {
        let mut address = 0u64;
        let place = (&raw mut address).cast();
        // SAFETY: the attribute is an address, for which there is a place.
        let ask = |calls: &Calls| unsafe { (calls.pointer_get_attribute)(place, DEVICE_POINTER, host) };
        self.call("look up an address", ask).ok().map(|()| address)
    }

    fn alloc(&self, bytes: u64) -> Result<u64, TargetError> {
        let mut address = 0;
        // Drivers refuse to give nothing.
        // SAFETY: `address` is a place for the answer.
        let alloc = |calls: &Calls| unsafe { (calls.mem_alloc)(&raw mut address, bytes.max(1) as usize) };
        self.call("allocate memory", alloc).map(|()| address).map_err(|error| match error {
            TargetError::Launch(text) => {
                TargetError::Launch(format!("{text} ({bytes} bytes were asked for)"))
            }
            other => other,
        })
    }

    unsafe fn free(&self, address: u64, _bytes: u64) -> Result<(), TargetError> {
        // SAFETY: the caller promises that the address is one of `alloc`.
        self.call("free memory", |calls| unsafe { (calls.mem_free)(address) })
    }

    unsafe fn copy_in(&self, to: u64, from: &[u8]) -> Result<(), TargetError> {
        // SAFETY: the caller promises that the device's memory is valid for so many bytes.
        let copy = |calls: &Calls| unsafe { (calls.memcpy_htod)(to, from.as_ptr().cast(), from.len()) };
        self.call("copy to the device", copy)
    }

    unsafe fn copy_out(&self, to: &mut [u8], from: u64) -> Result<(), TargetError> {
        // SAFETY: as above.
        let copy = |calls: &Calls| unsafe { (calls.memcpy_dtoh)(to.as_mut_ptr().cast(), from, to.len()) };
        self.call("copy from the device", copy)
    }

    unsafe fn fill(&self, address: u64, byte: u8, bytes: u64, stream: u64) -> Result<(), TargetError> {
        // SAFETY: as above.
        self.call("fill memory", |calls| unsafe {
            (calls.memset_d8_async)(address, byte, bytes as usize, stream as Handle)
        })
    }

    fn record_event(&self, stream: u64) -> Result<u64, TargetError> {
        let mut event: Handle = std::ptr::null_mut();
        self.with(|api| {
            // SAFETY: `event` is a place for the answer.
            check(unsafe { (api.event_create)(&raw mut event, 0) }, "make an event")?;
            // SAFETY: the event was made just now; the stream is the caller's.
            let recorded = unsafe { (api.event_record)(event, stream as Handle) };
            if recorded != status::SUCCESS {
                self.free_event(event as u64);
            }
            check(recorded, "record an event")
        })?;
        Ok(event as u64)
    }

    fn elapsed_ms(&self, start: u64, end: u64) -> Result<f64, TargetError> {
        let (mut elapsed, [start, end]) = (0f32, [start, end].map(|event| event as Handle));
        // SAFETY: the events are the caller's, made by `record_event`.
        self.call("wait for an event", |calls| unsafe { (calls.event_synchronize)(end) })?;
        // SAFETY: as above; `elapsed` is a place for the answer.
        self.call("time two events", |calls| unsafe {
            (calls.event_elapsed_time)(&raw mut elapsed, start, end)
        })?;
        Ok(f64::from(elapsed))
    }

    fn free_event(&self, event: u64) {
        // SAFETY: the event is the caller's, who gives it back. What the driver says can help nobody.
        let _ = unsafe { (self.driver().api.event_destroy)(event as Handle) };
    }
}
