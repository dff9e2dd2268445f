//! One GPU.

use super::Driver;
use super::api::{Handle, Properties};
use super::error::{Refused, check, status};
use super::module::Module;
use amdgcn_isa::Arch;
use std::collections::BTreeMap;
use std::sync::Arc;
use target::{Artifact, Device, DeviceProperties, LoadedKernel, TargetError};

/// `HIP_POINTER_ATTRIBUTE_DEVICE_POINTER`.
const DEVICE_POINTER: i32 = 3;

/// Offsets in `hipDeviceProp_tR0600`.
mod offset {
    pub(super) const NAME: usize = 0;
    pub(super) const TOTAL_MEMORY: usize = 288;
    pub(super) const LDS: usize = 296;
    pub(super) const ARCH: usize = 1160;
}

/// Bytes of the texts in it.
const TEXT_BYTES: usize = 256;

/// Names of properties, with the offset of the 32-bit number behind each.
const NUMBERS: &[(&str, usize)] = &[
    ("max_num_regs", 304),
    ("warpSize", 308),
    ("max_threads_per_block", 320),
    ("sm_clock_rate", 348),
    ("multiprocessor_count", 388),
    ("mem_clock_rate", 608),
    ("mem_bus_width", 612),
    ("l2_cache_size", 616),
    ("max_threads_per_sm", 624),
    ("cooperative_launch", 688),
];

/// A GPU.
#[derive(Debug)]
pub struct Gpu {
    pub(crate) driver: &'static Driver,
    pub(crate) ordinal: u32,
    properties: Box<Properties>,
}

/// Keeps a device the current one of this thread; the one of before comes back at the end.
pub(super) struct Entered<'a> {
    driver: &'a Driver,
    before: Option<u32>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // It was the current one of this thread a moment ago.
            let _ = self.driver.set_current(before);
        }
    }
}

impl Gpu {
    pub(super) fn new(driver: &'static Driver, ordinal: u32, properties: Box<Properties>) -> Gpu {
        Gpu { driver, ordinal, properties }
    }

    fn text(&self, offset: usize) -> String {
        let bytes = &self.properties.0[offset..offset + TEXT_BYTES];
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(TEXT_BYTES);
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    }

    fn bytes<const N: usize>(&self, offset: usize) -> [u8; N] {
        self.properties.0[offset..offset + N].try_into().expect("offsets lie inside")
    }

    /// What the runtime calls its architecture, without features.
    pub fn arch_name(&self) -> String {
        self.text(offset::ARCH).split(':').next().unwrap_or_default().to_owned()
    }

    /// Its architecture, if kernels are compiled for it.
    pub fn arch(&self) -> Option<Arch> {
        Arch::named(&self.arch_name())
    }

    /// Bytes of LDS of a program at most.
    pub(super) fn lds(&self) -> u64 {
        u64::from_le_bytes(self.bytes(offset::LDS))
    }

    /// Its name.
    pub(super) fn name(&self) -> String {
        self.text(offset::NAME)
    }

    /// Makes the device the current one until the result is dropped. With one device there is nothing to be done.
    #[inline]
    pub(super) fn enter(&self) -> Result<Entered<'static>, TargetError> {
        let driver = self.driver;
        if driver.gpus().len() == 1 {
            return Ok(Entered { driver, before: None });
        }
        let current = driver.current()?;
        if current == self.ordinal {
            return Ok(Entered { driver, before: None });
        }
        driver.set_current(self.ordinal)?;
        Ok(Entered { driver, before: Some(current) })
    }

    /// Does something with the device as the current one.
    pub(super) fn with<T>(&self, work: impl FnOnce(&Driver) -> Result<T, Refused>) -> Result<T, TargetError> {
        let _entered = self.enter()?;
        work(self.driver).map_err(|refused| refused.report(&self.driver.api))
    }
}

impl Device for Gpu {
    fn ordinal(&self) -> u32 {
        self.ordinal
    }

    fn properties(&self) -> DeviceProperties {
        let number = |offset| i64::from(i32::from_le_bytes(self.bytes(offset)));
        let mut numbers: BTreeMap<String, i64> =
            NUMBERS.iter().map(|(name, offset)| ((*name).to_owned(), number(*offset))).collect();
        let wide = |offset| i64::try_from(u64::from_le_bytes(self.bytes(offset))).unwrap_or(i64::MAX);
        numbers.insert("max_shared_mem".into(), wide(offset::LDS));
        numbers.insert("total_memory".into(), wide(offset::TOTAL_MEMORY));
        DeviceProperties { name: self.name(), numbers }
    }

    fn load(&self, artifact: &Artifact) -> Result<Arc<dyn LoadedKernel>, TargetError> {
        let gpu = self.driver.gpus().get(self.ordinal as usize);
        let gpu =
            gpu.ok_or_else(|| TargetError::Internal("a device that its driver does not list".into()))?;
        Ok(Arc::new(Module::load(gpu, artifact)?))
    }

    fn synchronize(&self) -> Result<(), TargetError> {
        // SAFETY: the device is the current one.
        self.with(|driver| check(unsafe { (driver.api.device_synchronize)() }, "finish all launches"))
    }

    fn uses_host_memory(&self) -> bool {
        false
    }

    fn reachable(&self, host: u64) -> Option<u64> {
        let mut address = 0u64;
        self.with(|driver| {
            let place = (&raw mut address).cast();
            // SAFETY: the attribute is an address, for which there is a place.
            check(
                unsafe { (driver.api.pointer_get_attribute)(place, DEVICE_POINTER, host) },
                "look up an address",
            )
        })
        .ok()
        .map(|()| address)
    }

    fn alloc(&self, bytes: u64) -> Result<u64, TargetError> {
        let mut address = 0;
        let made = self.with(|driver| {
            // SAFETY: `address` is a place for the answer.
            check(unsafe { (driver.api.malloc)(&raw mut address, bytes.max(1) as usize) }, "allocate memory")
        });
        made.map(|()| address).map_err(|error| match error {
            TargetError::Launch(text) => {
                TargetError::Launch(format!("{text} ({bytes} bytes were asked for)"))
            }
            other => other,
        })
    }

    unsafe fn free(&self, address: u64, _bytes: u64) -> Result<(), TargetError> {
        // SAFETY: the caller promises that the address is one of `alloc`.
        self.with(|driver| check(unsafe { (driver.api.free)(address) }, "free memory"))
    }

    unsafe fn copy_in(&self, to: u64, from: &[u8]) -> Result<(), TargetError> {
        self.with(|driver| {
            // SAFETY: the caller promises that the device's memory is valid for so many bytes.
            let status = unsafe { (driver.api.memcpy_htod)(to, from.as_ptr().cast(), from.len()) };
            check(status, "copy to the device")
        })
    }

    unsafe fn copy_out(&self, to: &mut [u8], from: u64) -> Result<(), TargetError> {
        self.with(|driver| {
            // SAFETY: as above.
            let status = unsafe { (driver.api.memcpy_dtoh)(to.as_mut_ptr().cast(), from, to.len()) };
            check(status, "copy from the device")
        })
    }

    unsafe fn fill(&self, address: u64, byte: u8, bytes: u64, stream: u64) -> Result<(), TargetError> {
        self.with(|driver| {
            // SAFETY: as above.
            let status =
                unsafe { (driver.api.memset_d8_async)(address, byte, bytes as usize, stream as Handle) };
            check(status, "fill memory")
        })
    }

    fn record_event(&self, stream: u64) -> Result<u64, TargetError> {
        let mut event: Handle = std::ptr::null_mut();
        self.with(|driver| {
            // SAFETY: `event` is a place for the answer.
            check(unsafe { (driver.api.event_create)(&raw mut event) }, "make an event")?;
            // SAFETY: the event was made just now; the stream is the caller's.
            let recorded = unsafe { (driver.api.event_record)(event, stream as Handle) };
            if recorded != status::SUCCESS {
                self.free_event(event as u64);
            }
            check(recorded, "record an event")
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
        // SAFETY: the event is the caller's, who gives it back. What the runtime says can help nobody.
        let _ = unsafe { (self.driver.api.event_destroy)(event as Handle) };
    }
}
