//! Running what was compiled: devices, loaded kernels, launches.

use crate::{AlignedCopies, Artifact, Extent, TargetError, host};
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
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// Programs along x, y and z. A launch with a zero does nothing.
    pub grid: Grid,
    /// The argument slots.
    pub args: &'a [u64],
    /// The stream to launch on; 0 is the default stream. A CPU has only that one, and a launch on it is finished
    /// when the call returns.
    pub stream: u64,
    /// The address of the memory that the kernel asks for: [`crate::DeviceFacts::global_scratch`]; 0 for none.
    pub scratch: u64,
    /// The memory for copies of tensors, where the launch brings some: a kernel that takes them may be launched then,
    /// once they are made.
    pub copies: Option<AlignedCopies>,
    /// Whether a profiler records the launches of this thread: then each is a call of its own that names its kernel,
    /// even where there is a quicker way.
    pub observed: bool,
    /// Whether the launch is to be given up. A device whose launches are finished when the call returns asks it on the
    /// launching thread, between programs and in those that spin, every [`INTERRUPT_INTERVAL`] or so; `true` ends the
    /// launch with an error.
    pub interrupt: Option<fn() -> bool>,
    /// How far the memory of arguments goes, where [`crate::Guards::ask_extents`] asks for it.
    pub extents: &'a [Extent],
}

/// How long a launch runs before it asks again whether it is to be given up.
pub const INTERRUPT_INTERVAL: std::time::Duration = std::time::Duration::from_millis(20);

impl<'a> Launch<'a> {
    /// A launch on the default stream without scratch memory.
    pub fn new(grid: Grid, args: &'a [u64]) -> Launch<'a> {
        Launch {
            grid,
            args,
            stream: 0,
            scratch: 0,
            copies: None,
            observed: false,
            interrupt: None,
            extents: &[],
        }
    }
}

/// How many programs of a kernel a device runs at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Residency {
    /// SMs of the device.
    pub sms: u32,
    /// Programs that each of them runs.
    pub of_each: u32,
}

impl Residency {
    /// Those of all SMs.
    pub fn programs(self) -> u64 {
        u64::from(self.sms) * u64::from(self.of_each)
    }
}

/// Which programs of a launch a kernel loops over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub enum ProgramLoop {
    /// None: each is started.
    #[default]
    None,
    /// Those along x; along the others each is started.
    AlongX,
    /// All.
    All,
}

impl ProgramLoop {
    /// Whether it loops over any.
    pub fn is_some(self) -> bool {
        self != ProgramLoop::None
    }

    /// The numbers that a launch says behind its arguments, of 32 bits each: how many programs there are along x, or
    /// along each axis.
    pub fn counts(self, grid: &Grid) -> &[u32] {
        match self {
            ProgramLoop::None => &[],
            ProgramLoop::AlongX => &grid[..1],
            ProgramLoop::All => grid,
        }
    }

    /// How many programs one loop counts.
    pub fn looped(self, grid: Grid) -> u64 {
        self.counts(&grid).iter().copied().map(u64::from).product()
    }

    /// The programs that are started where so many run at a time and each goes on with later ones.
    pub fn started(self, resident: u64, grid: Grid) -> Grid {
        let [_, y, z] = match self {
            ProgramLoop::None => return grid,
            ProgramLoop::AlongX => grid,
            ProgramLoop::All => [1; 3],
        };
        let most = resident.div_ceil((u64::from(y) * u64::from(z)).max(1)).max(1);
        let x = self.looped(grid).min(most);
        [u32::try_from(x).unwrap_or(u32::MAX), y, z]
    }
}

/// A device that kernels are loaded on.
///
/// Memory, events and streams have answers here that are right for a device which works in the host's own memory and
/// whose launches are finished when they return; a device of another kind gives its own.
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

    /// Whether kernels take addresses of the host's memory.
    fn uses_host_memory(&self) -> bool {
        true
    }
    /// The address by which kernels reach memory of the host, if they can.
    fn reachable(&self, host: u64) -> Option<u64> {
        Some(host)
    }
    /// Memory of so many bytes, aligned to at least 64; give it back with [`Device::free`].
    ///
    /// # Errors
    /// When there is not so much.
    fn alloc(&self, bytes: u64) -> Result<u64, TargetError> {
        host::alloc_bytes(bytes)
    }
    /// Gives memory back.
    ///
    /// # Safety
    /// The address and the size are those of an earlier [`Device::alloc`], and no launch uses the memory any more.
    ///
    /// # Errors
    /// What an earlier launch left behind.
    unsafe fn free(&self, address: u64, bytes: u64) -> Result<(), TargetError> {
        // SAFETY: the caller promises what is asked.
        unsafe { host::free_bytes(address, bytes) };
        Ok(())
    }
    /// Copies from the host's memory to the device's, and waits for it.
    ///
    /// # Safety
    /// The device's memory must be valid for so many bytes.
    ///
    /// # Errors
    /// What the driver says; what an earlier launch left behind.
    unsafe fn copy_in(&self, to: u64, from: &[u8]) -> Result<(), TargetError> {
        // SAFETY: as the caller promises.
        unsafe { std::ptr::copy(from.as_ptr(), to as *mut u8, from.len()) };
        Ok(())
    }
    /// Copies from the device's memory to the host's, after everything launched on the default stream.
    ///
    /// # Safety
    /// The device's memory must be valid for so many bytes.
    ///
    /// # Errors
    /// What the driver says; what an earlier launch left behind.
    unsafe fn copy_out(&self, to: &mut [u8], from: u64) -> Result<(), TargetError> {
        // SAFETY: as the caller promises.
        unsafe { std::ptr::copy(from as *const u8, to.as_mut_ptr(), to.len()) };
        Ok(())
    }
    /// Sets bytes in the order of the stream.
    ///
    /// # Safety
    /// The device's memory must be valid for so many bytes until that was done.
    ///
    /// # Errors
    /// What the driver says; what an earlier launch left behind.
    unsafe fn fill(&self, address: u64, byte: u8, bytes: u64, stream: u64) -> Result<(), TargetError> {
        let _ = stream;
        // SAFETY: as the caller promises.
        unsafe { std::ptr::write_bytes(address as *mut u8, byte, bytes as usize) };
        Ok(())
    }
    /// Marks a point in a stream; give it back with [`Device::free_event`].
    ///
    /// # Errors
    /// What the driver says.
    fn record_event(&self, stream: u64) -> Result<u64, TargetError> {
        let _ = stream;
        Ok(host::now())
    }
    /// Milliseconds between two points, after waiting for the second.
    ///
    /// # Errors
    /// What the driver says; what an earlier launch left behind.
    fn elapsed_ms(&self, start: u64, end: u64) -> Result<f64, TargetError> {
        Ok(end.wrapping_sub(start) as f64 * 1e-6)
    }
    /// Gives a point back.
    fn free_event(&self, event: u64) {
        let _ = event;
    }
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
    /// The driver's own handle of the code, for those who launch it themselves; 0 where there is none.
    fn handle(&self) -> u64 {
        0
    }
    /// How many of its programs the device runs at a time; none where that is not known.
    fn residency(&self) -> Option<Residency> {
        None
    }
    /// Registers per lane.
    fn n_regs(&self) -> u32;
    /// Bytes of register spills per lane.
    fn n_spills(&self) -> u32;
    /// The largest block that may be launched.
    fn n_max_threads(&self) -> u32;
}
