//! Running what was compiled: devices, loaded kernels, launches.

use crate::{Artifact, TargetError};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Number of programs along each axis; x runs fastest.
pub type Grid = [u32; 3];

/// What `get_device_properties` answers, by the reference's names (`multiprocessor_count`, `max_shared_mem`, …).
#[derive(Clone, Debug, Default)]
pub struct DeviceProperties {
    /// A name for people.
    pub name: String,
    /// The numbers, by name.
    pub numbers: BTreeMap<String, i64>,
}

/// One launch. `args` holds one 8-byte slot per [`crate::KernelParam`], in order.
pub struct Launch<'a> {
    /// Programs along x, y and z. A launch with a zero does nothing.
    pub grid: Grid,
    /// The argument slots.
    pub args: &'a [u64],
    /// The stream to launch on; 0 is the default stream. A CPU has only that one, and a launch on it is finished
    /// when the call returns.
    pub stream: u64,
}

/// A device that kernels are loaded on.
pub trait Device: Send + Sync {
    /// Its number among the devices of its target.
    fn ordinal(&self) -> u32;
    /// What it is and can do.
    fn properties(&self) -> DeviceProperties;
    /// Makes a kernel ready to launch.
    ///
    /// # Errors
    /// When the binary is damaged or does not fit this device.
    fn load(&self, artifact: &Artifact) -> Result<Arc<dyn LoadedKernel>, TargetError>;
    /// Waits for everything launched so far.
    ///
    /// # Errors
    /// Reports what a launch left behind.
    fn synchronize(&self) -> Result<(), TargetError>;
}

/// A kernel that is ready to launch.
pub trait LoadedKernel: Send + Sync {
    /// Runs all programs of the grid.
    ///
    /// # Safety
    /// Every pointer among the arguments must be valid for what the kernel reads and writes through it, for as long
    /// as the launch runs; the slots must match the artifact's parameters.
    ///
    /// # Errors
    /// A failed `device_assert`, a missing argument, a refusal of the driver.
    unsafe fn launch(&self, launch: &Launch<'_>) -> Result<(), TargetError>;
    /// Registers per lane.
    fn n_regs(&self) -> u32;
    /// Bytes of register spills per lane.
    fn n_spills(&self) -> u32;
    /// The largest block that may be launched.
    fn n_max_threads(&self) -> u32;
}
