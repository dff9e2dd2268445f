//! Memory of the host that a kernel writes what it prints to.

use super::Gpu;
use crate::log;
use gpu::driver::{Vendor, check};
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};
use target::TargetError;

/// `hipHostMallocMapped | hipHostMallocCoherent`: memory of the host that the device writes and that is seen at once.
const SHARED_WITH_DEVICE: u32 = 0x2 | 0x4000_0000;

/// The address of the log of a kernel. One launch uses it at a time. It is never given back.
#[derive(Debug)]
pub(super) struct LogMemory(Mutex<usize>);

impl LogMemory {
    pub(super) fn new(gpu: &Gpu) -> Result<LogMemory, TargetError> {
        let mut address: *mut c_void = std::ptr::null_mut();
        gpu.with(|api| {
            // SAFETY: `address` is a place for the answer.
            let status = unsafe { (api.host_malloc)(&raw mut address, log::BYTES, SHARED_WITH_DEVICE) };
            check(status, "allocate memory for what a kernel prints")
        })?;
        Ok(LogMemory(Mutex::new(address as usize)))
    }

    /// Runs a launch with an empty log at an address; what was written when it is over.
    pub(super) fn during<T>(
        &self,
        launch: impl FnOnce(u64) -> Result<T, TargetError>,
    ) -> Result<(log::Log, T), TargetError> {
        let address = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the memory was allocated with so many bytes, and only who holds the lock uses it; no launch does now.
        let bytes = unsafe { std::slice::from_raw_parts_mut(*address as *mut u8, log::BYTES) };
        bytes.copy_from_slice(&log::empty());
        let result = launch(*address as u64)?;
        Ok((log::read(bytes), result))
    }
}
