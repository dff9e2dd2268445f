//! A few bytes of a device that stand for tensors without elements.

use super::Cuda;
use gpu::driver::{Vendor, check, relaxed};
use target::TargetError;

/// Bytes that a device keeps.
const ZEROS: usize = 512;
/// Those from here on are written; the others are zeros.
pub(super) const WRITTEN_FROM: u64 = 256;

impl Cuda {
    /// The address of [`ZEROS`] bytes, zeros up to [`WRITTEN_FROM`].
    pub(super) fn zeros(&self) -> Result<u64, TargetError> {
        if let Some(&address) = self.zeros.get() {
            return Ok(address);
        }
        let mut address = 0;
        self.with(|api| {
            // SAFETY: `address` is a place for the answer, and then memory of so many bytes.
            relaxed(api, || unsafe {
                check((api.mem_alloc)(&raw mut address, ZEROS), "allocate memory")?;
                check((api.memcpy_htod)(address, [0u8; ZEROS].as_ptr().cast(), ZEROS), "copy to the device")
            })
        })?;
        Ok(*self.zeros.get_or_init(|| address))
    }
}
