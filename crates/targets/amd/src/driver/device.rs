//! One GPU, and what its runtime does otherwise than other drivers.

use super::api::{Api, Handle, PROPERTY_BYTES, Properties};
use super::log_memory::LogMemory;
use super::terms::TERMS;
use super::{Driver, Gpu, Module, launch, load};
use amdgcn_isa::Arch;
use gpu::driver::{Refused, Shape, Status, Terms, Vendor, check};
use std::ffi::{CStr, c_char};
use target::{Artifact, DeviceFacts, DeviceProperties, Grid, Launch, TargetError};

/// The oldest version that has all functions used here: 6.0.
const OLDEST: i32 = 60_000_000;

/// A GPU.
#[derive(Debug)]
pub struct Hip {
    pub(super) driver: &'static Driver,
    pub(super) ordinal: u32,
    properties: Box<Properties>,
}

/// What is kept of a kernel.
#[derive(Debug)]
pub struct HipKernel {
    pub(super) cooperative: bool,
    /// For kernels that print.
    pub(super) log: Option<LogMemory>,
}

/// Keeps a device the current one of this thread; the one of before comes back at the end.
#[derive(Debug)]
pub struct Entered {
    driver: &'static Driver,
    before: Option<u32>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // It was the current one of this thread a moment ago.
            let _ = set_current(self.driver, before);
        }
    }
}

/// The number of the device that this thread works with.
pub(super) fn current(driver: &Driver) -> Result<u32, Refused> {
    let mut ordinal = 0;
    // SAFETY: `ordinal` is a place for the answer.
    check(unsafe { (driver.api.get_device)(&raw mut ordinal) }, "read the current device")?;
    Ok(ordinal.unsigned_abs())
}

/// Makes a device the one that this thread works with.
pub(super) fn set_current(driver: &Driver, ordinal: u32) -> Result<(), Refused> {
    // SAFETY: any number may be given.
    check(unsafe { (driver.api.set_device)(ordinal as i32) }, "change the current device")
}

impl Hip {
    /// What the runtime calls its architecture, without features.
    pub fn arch_name(&self) -> String {
        self.properties.arch_name()
    }

    /// Its architecture, if kernels are compiled for it.
    pub fn arch(&self) -> Option<Arch> {
        Arch::named(&self.arch_name())
    }
}

impl Vendor for Hip {
    const TERMS: Terms = TERMS;
    const OLDEST: i32 = OLDEST;
    type Api = Api;
    type Process = ();
    type Kernel = HipKernel;
    type Entered = Entered;

    fn version_text(version: i32) -> String {
        format!("HIP {}.{}.{}", version / 10_000_000, version / 100_000 % 100, version % 100_000)
    }

    fn texts(api: &Api, status: Status) -> [Option<String>; 2] {
        let ask = |function: unsafe extern "C" fn(Status) -> *const c_char| {
            // SAFETY: any number may be asked for.
            let text = unsafe { function(status) };
            // SAFETY: what the runtime gives is a C string that it keeps.
            (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
        };
        [ask(api.get_error_name), ask(api.get_error_string)]
    }

    fn process(_version: i32) {}

    fn open(driver: &'static Driver, ordinal: u32) -> Result<Hip, Refused> {
        let mut properties = Box::new(Properties([0; PROPERTY_BYTES]));
        // SAFETY: the place is larger than the structure.
        let status = unsafe { (driver.api.get_device_properties)(&raw mut *properties, ordinal as i32) };
        check(status, "read the properties of a device")?;
        Ok(Hip { driver, ordinal, properties })
    }

    #[inline]
    fn driver(&self) -> &'static Driver {
        self.driver
    }

    fn ordinal(&self) -> u32 {
        self.ordinal
    }

    fn name(&self) -> String {
        self.properties.device_name()
    }

    fn describe(&self) -> DeviceProperties {
        DeviceProperties { name: self.name(), numbers: self.properties.numbers() }
    }

    fn most_shared(&self) -> Result<u64, Refused> {
        Ok(self.properties.lds())
    }

    fn registers(&self) -> Result<u64, Refused> {
        Ok(u64::from(crate::machine::registers(self.arch())))
    }

    /// With one device there is nothing to be done.
    #[inline]
    fn enter(&self) -> Result<Entered, Refused> {
        let driver = self.driver;
        if driver.gpus().len() == 1 {
            return Ok(Entered { driver, before: None });
        }
        let current = current(driver)?;
        if current == self.ordinal {
            return Ok(Entered { driver, before: None });
        }
        set_current(driver, self.ordinal)?;
        Ok(Entered { driver, before: Some(current) })
    }

    /// Along x the runtime counts lanes.
    fn largest(shape: &Shape) -> Grid {
        [u32::MAX / shape.threads.max(1), 65_535, 65_535]
    }

    fn load(
        gpu: &Gpu,
        artifact: &Artifact,
        facts: &DeviceFacts,
        symbol: &CStr,
    ) -> Result<(Handle, HipKernel), TargetError> {
        let function = load::load(gpu, artifact, facts, symbol)?;
        let log = (facts.log_bytes > 0).then(|| LogMemory::new(gpu)).transpose()?;
        Ok((function, HipKernel { cooperative: facts.cooperative, log }))
    }

    #[inline]
    unsafe fn launch(kernel: &Module, blocks: Grid, launch: &Launch<'_>) -> Result<(), TargetError> {
        // SAFETY: as the caller promises.
        unsafe {
            match &kernel.own.log {
                None => launch::submit(kernel, blocks, launch, 0),
                Some(log) => launch::submit_and_read(kernel, blocks, launch, log),
            }
        }
    }
}
