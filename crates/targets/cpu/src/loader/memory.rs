//! A private anonymous mapping whose pages change from writable to their final rights once.

use std::ops::Range;

/// The rights that pages end with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rights {
    Read,
    Execute,
}

/// A mapping that belongs to us.
#[derive(Debug)]
pub(super) struct Mapping {
    start: *mut u8,
    len: usize,
}

// SAFETY: the mapping is plain memory; after loading it is only read and executed.
unsafe impl Send for Mapping {}
// SAFETY: as above; `bytes_mut` asks for exclusive access.
unsafe impl Sync for Mapping {}

/// Bytes of a page.
pub(super) fn page_bytes() -> usize {
    // SAFETY: asks for a number.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

impl Mapping {
    /// Zeroed, readable and writable memory.
    pub(super) fn new(len: usize) -> Result<Mapping, String> {
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping at an address that the system chooses.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, rights, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(format!("no memory for {len} bytes of code: {}", std::io::Error::last_os_error()));
        }
        Ok(Mapping { start: start.cast(), len })
    }

    pub(super) fn address(&self) -> usize {
        self.start as usize
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// All bytes, while they are still writable (before [`Mapping::protect`]).
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is ours, readable and writable, and borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }

    /// Gives pages their final rights.
    pub(super) fn protect(&mut self, range: Range<usize>, rights: Rights) -> Result<(), String> {
        if range.is_empty() {
            return Ok(());
        }
        let bits = match rights {
            Rights::Read => libc::PROT_READ,
            Rights::Execute => libc::PROT_READ | libc::PROT_EXEC,
        };
        debug_assert!(range.end <= self.len);
        // SAFETY: the range is inside the mapping, and nothing refers to it while we hold it exclusively.
        let failed = unsafe {
            let start = self.start.add(range.start);
            if rights == Rights::Execute {
                flush_instructions(start, range.len());
            }
            libc::mprotect(start.cast(), range.len(), bits)
        };
        if failed != 0 {
            let error = std::io::Error::last_os_error();
            return Err(format!("the system does not let memory become executable: {error}"));
        }
        Ok(())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and used no more.
        unsafe { libc::munmap(self.start.cast(), self.len) };
    }
}

/// Makes what was written visible to instruction fetch. x86 does so by itself.
#[cfg(not(target_arch = "aarch64"))]
unsafe fn flush_instructions(_start: *mut u8, _len: usize) {}

/// Makes what was written visible to instruction fetch.
#[cfg(target_arch = "aarch64")]
unsafe fn flush_instructions(start: *mut u8, len: usize) {
    // 16 bytes is the smallest line there may be.
    // SAFETY: cache maintenance on memory that is ours.
    unsafe {
        for at in (0..len).step_by(16) {
            std::arch::asm!("dc cvau, {0}", in(reg) start.add(at));
        }
        std::arch::asm!("dsb ish");
        for at in (0..len).step_by(16) {
            std::arch::asm!("ic ivau, {0}", in(reg) start.add(at));
        }
        std::arch::asm!("dsb ish", "isb");
    }
}
