//! Sources in C that launch a kernel without a runtime, as templates that a target fills in for its driver.

/// The sources. Words between `@` stand for what the kernel says: `@NAME@`, `@BYTES@`, `@PARAMETERS@`, ….
#[derive(Clone, Copy, Debug)]
pub struct HostCode {
    /// A file that holds the code of one kernel, loads, launches and unloads it.
    pub kernel: &'static str,
    /// The types that headers are written with: `TT_StreamTy`, `TT_ResultTy`, `TT_ERROR_INVALID_VALUE`.
    pub types: &'static str,
    /// The type of an address on the device.
    pub address: &'static str,
}
