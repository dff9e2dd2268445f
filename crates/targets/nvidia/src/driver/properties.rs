//! What `get_device_properties` answers.

use super::Cuda;
use super::api::Status;
use gpu::driver::{Refused, check};
use std::collections::BTreeMap;
use target::DeviceProperties;

/// Names of properties, with the driver's number of the attribute behind each.
const NUMBERS: &[(&str, i32)] = &[
    ("max_shared_mem", SHARED_OPTIN),
    ("max_num_regs", REGISTERS),
    ("multiprocessor_count", SMS),
    ("warpSize", 10),
    ("sm_clock_rate", 13),
    ("mem_clock_rate", 36),
    ("mem_bus_width", 37),
    ("l2_cache_size", 38),
    ("max_threads_per_block", 1),
    ("max_threads_per_sm", 39),
    ("max_shared_mem_per_sm", 81),
    ("max_num_regs_per_sm", 82),
    ("max_blocks_per_sm", 106),
    ("compute_capability_major", MAJOR),
    ("compute_capability_minor", MINOR),
    ("cooperative_launch", 95),
    ("cluster_launch", 120),
];

/// Shared memory of a block, if its kernel asks for more than the usual.
pub(super) const SHARED_OPTIN: i32 = 97;
/// Registers of an SM.
pub(super) const REGISTERS: i32 = 12;
/// SMs.
pub(super) const SMS: i32 = 16;
/// The first number of the compute capability.
pub(super) const MAJOR: i32 = 75;
/// The second number of the compute capability.
pub(super) const MINOR: i32 = 76;

impl Cuda {
    /// One of the driver's numbers about the device.
    pub(super) fn attribute(&self, number: i32) -> Result<i64, Refused> {
        let mut value = 0;
        // SAFETY: the handle is the driver's, and `value` is a place for the answer.
        let status = unsafe { (self.driver.api.device_get_attribute)(&raw mut value, number, self.handle) };
        check(status, "tell a property of the device")?;
        Ok(i64::from(value))
    }

    /// The name, and every number that the driver knows.
    pub(super) fn all_properties(&self) -> DeviceProperties {
        let known = NUMBERS.iter().filter_map(|(name, number)| Some((*name, self.attribute(*number).ok()?)));
        let mut numbers: BTreeMap<String, i64> =
            known.map(|(name, number)| (name.to_owned(), number)).collect();
        let mut bytes = 0usize;
        // SAFETY: as above.
        let status: Status = unsafe { (self.driver.api.device_total_mem)(&raw mut bytes, self.handle) };
        if status == 0 {
            numbers.insert("total_memory".to_owned(), bytes as i64);
        }
        DeviceProperties { name: self.device_name(), numbers }
    }

    /// What the driver calls the device.
    pub(super) fn device_name(&self) -> String {
        let mut text = [0u8; 256];
        // SAFETY: the buffer is as long as said.
        let status = unsafe {
            (self.driver.api.device_get_name)(text.as_mut_ptr().cast(), text.len() as i32, self.handle)
        };
        let end = text.iter().position(|&byte| byte == 0).unwrap_or(0);
        if status == 0 { String::from_utf8_lossy(&text[..end]).into_owned() } else { String::new() }
    }
}
