//! What differs between drivers of GPUs.

use super::{Calls, Driver, Gpu, Handle, Kernel, Refused, Shape, Status, Terms};
use crate::driver::Loaded;
use std::ffi::CStr;
use std::fmt::Debug;
use std::ops::Deref;
use target::{Artifact, DeviceFacts, DeviceProperties, Grid, Launch, Residency, TargetError};

/// A vendor's device: what it keeps beyond what all have, and what it does in its own way.
pub trait Vendor: Debug + Send + Sync + Sized + 'static {
    /// How its driver is spoken of.
    const TERMS: Terms;
    /// The oldest version of the driver that will do.
    const OLDEST: i32;
    /// The table of the driver's functions.
    type Api: Deref<Target = Calls> + Debug + Send + Sync;
    /// What is kept for the process.
    type Process: Debug + Send + Sync;
    /// What is kept of a kernel.
    type Kernel: Debug + Send + Sync;
    /// Keeps a device the current one of a thread; what was before comes back at its end.
    type Entered;

    /// A version as people write it.
    fn version_text(version: i32) -> String;
    /// The driver's name and meaning of a status.
    fn texts(api: &Self::Api, status: Status) -> [Option<String>; 2];
    /// What is kept for the process, with a driver of this version.
    fn process(version: i32) -> Self::Process;
    /// A device by its number.
    ///
    /// # Errors
    /// What the driver says.
    fn open(driver: &'static Driver<Self>, ordinal: u32) -> Result<Self, Refused>;
    /// The driver.
    fn driver(&self) -> &'static Driver<Self>;
    /// Its number.
    fn ordinal(&self) -> u32;
    /// What it is called.
    fn name(&self) -> String;
    /// What it is and can do.
    fn describe(&self) -> DeviceProperties;
    /// Bytes of shared memory that a thread block may have at most.
    ///
    /// # Errors
    /// What the driver says.
    fn most_shared(&self) -> Result<u64, Refused>;
    /// Registers of a multiprocessor.
    ///
    /// # Errors
    /// What the driver says.
    fn registers(&self) -> Result<u64, Refused>;
    /// Makes the device the current one of this thread until the result is dropped.
    ///
    /// # Errors
    /// What the driver says.
    fn enter(&self) -> Result<Self::Entered, Refused>;
    /// Does something with the device as the current one.
    ///
    /// # Errors
    /// What the driver says.
    fn with<T>(&self, work: impl FnOnce(&Self::Api) -> Result<T, Refused>) -> Result<T, TargetError> {
        let driver = self.driver();
        let run = || {
            let _entered = self.enter()?;
            work(&driver.api)
        };
        run().map_err(|refused| driver.report(refused))
    }
    /// What is to be done behind a wait for all launches.
    fn finished() {}

    /// The most thread blocks along each axis.
    fn largest(shape: &Shape) -> Grid;
    /// Loads the code of an artifact and finds the kernel in it. The device is the current one, and memory may be taken
    /// even while a graph is captured.
    ///
    /// # Errors
    /// What the driver says; that the code is not for this device.
    fn load(
        gpu: &Gpu<Self>,
        artifact: &Artifact,
        facts: &DeviceFacts,
        symbol: &CStr,
    ) -> Result<(Handle, Self::Kernel), TargetError>;
    /// Asks for what a loaded kernel may not have without asking.
    ///
    /// # Errors
    /// What the driver says.
    fn prepare(&self, loaded: &Loaded<'_>) -> Result<(), Refused> {
        let _ = loaded;
        Ok(())
    }
    /// How many programs of a kernel the device runs at a time; none where that is not known.
    fn residency(kernel: &Kernel<Self>) -> Option<Residency> {
        let _ = kernel;
        None
    }
    /// Launches a kernel: as many arguments as it takes, a grid that is neither empty nor too large.
    ///
    /// # Safety
    /// As for [`target::LoadedKernel::launch`].
    ///
    /// # Errors
    /// What the driver says.
    unsafe fn launch(kernel: &Kernel<Self>, blocks: Grid, launch: &Launch<'_>) -> Result<(), TargetError>;
}
