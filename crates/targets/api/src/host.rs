//! Memory and time of the host, for devices that work there.

use crate::TargetError;
use std::alloc::{Layout, alloc, dealloc};
use std::sync::OnceLock;
use std::time::Instant;

/// What memory is aligned to: a line of the cache, a vector of any machine.
const ALIGN: usize = 64;

fn layout(bytes: u64) -> Option<Layout> {
    Layout::from_size_align(usize::try_from(bytes).ok()?.max(1), ALIGN).ok()
}

pub(crate) fn alloc_bytes(bytes: u64) -> Result<u64, TargetError> {
    // SAFETY: the layout has at least one byte.
    let address = layout(bytes).map_or(std::ptr::null_mut(), |layout| unsafe { alloc(layout) });
    if address.is_null() {
        return Err(TargetError::Launch(format!("the host has no memory for {bytes} bytes more")));
    }
    Ok(address as u64)
}

/// # Safety
/// Address and size are those of [`alloc_bytes`], and nobody uses the memory any more.
pub(crate) unsafe fn free_bytes(address: u64, bytes: u64) {
    if let Some(layout) = layout(bytes) {
        // SAFETY: as the caller promises.
        unsafe { dealloc(address as *mut u8, layout) };
    }
}

/// Nanoseconds since the first question.
pub(crate) fn now() -> u64 {
    static BASE: OnceLock<Instant> = OnceLock::new();
    BASE.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::{ALIGN, alloc_bytes, free_bytes, now};

    #[test]
    fn memory_is_aligned_and_goes_back() {
        for bytes in [0, 1, 4097] {
            let address = alloc_bytes(bytes).expect("so little there is");
            assert!(address.is_multiple_of(ALIGN as u64));
            // SAFETY: the memory is ours.
            unsafe {
                std::ptr::write_bytes(address as *mut u8, 7, bytes as usize);
                free_bytes(address, bytes);
            }
        }
        assert!(alloc_bytes(u64::MAX).is_err());
    }

    #[test]
    fn time_goes_on() {
        let first = now();
        assert!(now() >= first);
    }
}
