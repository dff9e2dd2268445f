//! Elements in the memory of a device.

use crate::{Element, Error};
use runtime::buffer::Buffer as Bytes;
use std::marker::PhantomData;
use std::sync::Arc;
use target::Device;

/// Elements in the memory of a device; given back when it is dropped.
#[derive(Debug)]
pub struct Buffer<T> {
    bytes: Bytes,
    len: usize,
    element: PhantomData<T>,
}

impl<T: Element> Buffer<T> {
    pub(crate) fn with(device: &Arc<dyn Device>, slice: &[T]) -> Result<Buffer<T>, Error> {
        let size = size_of_val(slice);
        // SAFETY: elements are plain numbers without padding, so their bytes may be read.
        let bytes = unsafe { std::slice::from_raw_parts(slice.as_ptr().cast::<u8>(), size) };
        Ok(Buffer { bytes: Bytes::with_bytes(device, bytes)?, len: slice.len(), element: PhantomData })
    }

    pub(crate) fn zeroed(device: &Arc<dyn Device>, len: usize) -> Result<Buffer<T>, Error> {
        let bytes = Bytes::zeroed(device, (len * size_of::<T>()) as u64)?;
        Ok(Buffer { bytes, len, element: PhantomData })
    }

    /// The elements, after everything launched on the default stream.
    ///
    /// # Errors
    /// What a launch left behind.
    pub fn to_vec(&self) -> Result<Vec<T>, Error> {
        let mut all: Vec<T> = Vec::with_capacity(self.len);
        let size = self.len * size_of::<T>();
        // SAFETY: there is room for so many bytes; zeroes are elements of every type.
        unsafe {
            std::ptr::write_bytes(all.as_mut_ptr(), 0, self.len);
            self.bytes.read(std::slice::from_raw_parts_mut(all.as_mut_ptr().cast::<u8>(), size))?;
            all.set_len(self.len);
        }
        Ok(all)
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The address of the first.
    pub fn address(&self) -> u64 {
        self.bytes.address()
    }
}
