//! Memory of a device, for programs in Rust.

use crate::error::RuntimeError;
use std::sync::Arc;
use target::Device;

/// Memory of a device; given back when it is dropped.
pub struct Buffer {
    device: Arc<dyn Device>,
    address: u64,
    bytes: u64,
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffer({} bytes at {:#x} of device {})", self.bytes, self.address, self.device.ordinal())
    }
}

impl Buffer {
    /// A copy of some bytes on a device.
    ///
    /// # Errors
    /// When the device has no memory for them, or refuses.
    pub fn with_bytes(device: &Arc<dyn Device>, bytes: &[u8]) -> Result<Buffer, RuntimeError> {
        let len = bytes.len() as u64;
        let address = device.alloc(len)?;
        let buffer = Buffer { device: Arc::clone(device), address, bytes: len };
        // SAFETY: the memory was allocated just now with that size.
        unsafe { buffer.device.copy_in(address, bytes) }?;
        Ok(buffer)
    }

    /// Zeroed memory on a device.
    ///
    /// # Errors
    /// When the device has no memory for it, or refuses.
    pub fn zeroed(device: &Arc<dyn Device>, bytes: u64) -> Result<Buffer, RuntimeError> {
        let address = device.alloc(bytes)?;
        let buffer = Buffer { device: Arc::clone(device), address, bytes };
        // SAFETY: as above.
        unsafe { buffer.device.fill(address, 0, bytes, 0) }?;
        Ok(buffer)
    }

    /// The address of the first byte.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The device it is on.
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    /// Copies its bytes to the host, after everything launched on the default stream.
    ///
    /// # Errors
    /// What a launch left behind; a size that differs.
    pub fn read(&self, to: &mut [u8]) -> Result<(), RuntimeError> {
        if to.len() as u64 != self.bytes {
            let text = format!("a buffer of {} bytes cannot be read into {}", self.bytes, to.len());
            return Err(RuntimeError::Value(text));
        }
        // SAFETY: the memory is ours and as long.
        Ok(unsafe { self.device.copy_out(to, self.address) }?)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the memory is ours, and whoever launched with it must keep it until the launch is over. An
        // error can help nobody here; the next call of the device tells of it.
        let _ = unsafe { self.device.free(self.address, self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::Buffer;
    use crate::testing::FakeTarget;
    use target::Target;

    #[test]
    fn bytes_come_back() {
        let device = FakeTarget::default().devices().remove(0);
        let buffer = Buffer::with_bytes(&device, &[1, 2, 3]).expect("there is memory");
        let mut bytes = [0; 3];
        buffer.read(&mut bytes).expect("the size is right");
        assert_eq!(bytes, [1, 2, 3]);
        assert!(buffer.read(&mut [0; 2]).is_err());
        Buffer::zeroed(&device, 3).expect("there is memory").read(&mut bytes).expect("the size is right");
        assert_eq!(bytes, [0; 3]);
    }
}
