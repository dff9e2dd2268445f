//! What the runtime says of a device.

use super::api::Properties;
use std::collections::BTreeMap;

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

/// What is read of the properties of a device.
impl Properties {
    /// A text.
    fn text(&self, offset: usize) -> String {
        let bytes = &self.0[offset..offset + TEXT_BYTES];
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(TEXT_BYTES);
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    }

    fn bytes<const N: usize>(&self, offset: usize) -> [u8; N] {
        self.0[offset..offset + N].try_into().expect("offsets lie inside")
    }

    /// What the runtime calls the architecture, without features.
    pub(super) fn arch_name(&self) -> String {
        self.text(offset::ARCH).split(':').next().unwrap_or_default().to_owned()
    }

    /// Bytes of LDS of a program at most.
    pub(super) fn lds(&self) -> u64 {
        u64::from_le_bytes(self.bytes(offset::LDS))
    }

    /// The name of the device.
    pub(super) fn device_name(&self) -> String {
        self.text(offset::NAME)
    }

    /// The numbers, by name.
    pub(super) fn numbers(&self) -> BTreeMap<String, i64> {
        let number = |offset| i64::from(i32::from_le_bytes(self.bytes(offset)));
        let mut numbers: BTreeMap<String, i64> =
            NUMBERS.iter().map(|(name, offset)| ((*name).to_owned(), number(*offset))).collect();
        let wide = |offset| i64::try_from(u64::from_le_bytes(self.bytes(offset))).unwrap_or(i64::MAX);
        numbers.insert("max_shared_mem".into(), wide(offset::LDS));
        numbers.insert("total_memory".into(), wide(offset::TOTAL_MEMORY));
        numbers
    }
}
