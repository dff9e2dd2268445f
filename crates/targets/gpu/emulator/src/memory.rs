//! Global memory: the allocations that a kernel may touch, at the addresses it is given.
//!
//! An address is a host address. [`Memory::allocate`] makes buffers of its own; [`Memory::register`] lets a
//! kernel work on a buffer of the caller. Whatever lies in neither is out of bounds.

use std::fmt;

/// The unit of an allocation, which is also its alignment.
#[derive(Clone, Copy)]
#[repr(align(256))]
struct Chunk {
    _bytes: [u8; 256],
}

/// One range of addresses.
#[derive(Debug, Clone, Copy)]
struct Range {
    start: u64,
    bytes: u64,
    /// Chunks of an allocation made here; 0 for a registered one.
    chunks: usize,
}

/// The allocations a launch may touch.
#[derive(Debug, Default)]
pub struct Memory {
    /// Sorted by start; they do not overlap.
    ranges: Vec<Range>,
}

/// The allocation that somebody found last, where he looks first the next time.
#[derive(Debug, Default, Clone, Copy)]
pub struct Hint(usize);

/// Bytes of an allocation that an access takes: those it asked for, or, of a word at the edge of the allocation, those
/// that lie in it.
#[derive(Debug, Clone, Copy)]
pub struct HostBytes {
    /// Where the first of them is.
    pointer: *mut u8,
    /// Its number among those asked for.
    first: usize,
    /// The number behind the last.
    end: usize,
}

/// An access outside every allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutOfBounds {
    /// The first byte asked for.
    pub address: u64,
    /// How many bytes.
    pub bytes: usize,
    /// The allocation next to it (start, size), if any.
    pub nearest: Option<(u64, u64)>,
}

impl fmt::Display for OutOfBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at {:#x} lie in no allocation", self.bytes, self.address)?;
        let Some((start, bytes)) = self.nearest else { return write!(f, " (there is none)") };
        let end = start + bytes;
        if self.address < start {
            write!(f, " ({} bytes before one of {bytes} bytes at {start:#x})", start - self.address)
        } else {
            write!(
                f,
                " (at byte {} of one of {bytes} bytes at {start:#x}, which ends at {end:#x})",
                self.address - start
            )
        }
    }
}

impl std::error::Error for OutOfBounds {}

impl Memory {
    /// No allocation at all.
    pub fn new() -> Memory {
        Memory::default()
    }

    /// A zeroed allocation; its address is a multiple of 256.
    pub fn allocate(&mut self, bytes: usize) -> u64 {
        let chunks = bytes.div_ceil(256).max(1);
        let pointer = Box::into_raw(vec![Chunk { _bytes: [0; 256] }; chunks].into_boxed_slice());
        let start = pointer as *mut Chunk as u64;
        self.insert(Range { start, bytes: bytes as u64, chunks });
        start
    }

    /// A new allocation with these bytes.
    pub fn allocate_with(&mut self, bytes: &[u8]) -> u64 {
        let address = self.allocate(bytes.len());
        self.write(address, bytes).expect("the allocation was just made so long");
        address
    }

    /// Lets kernels touch a buffer of the caller; its address is the pointer's.
    ///
    /// # Safety
    /// The buffer must stay valid for reads and writes, and nobody else may touch it during a launch, until
    /// [`Memory::release`] or the end of this value. It must not overlap another allocation.
    pub unsafe fn register(&mut self, pointer: *mut u8, bytes: usize) -> u64 {
        let start = pointer as u64;
        self.insert(Range { start, bytes: bytes as u64, chunks: 0 });
        start
    }

    /// Forgets the allocation that starts at an address, and frees it if it was made here.
    pub fn release(&mut self, address: u64) -> bool {
        let Ok(index) = self.ranges.binary_search_by_key(&address, |range| range.start) else { return false };
        free(self.ranges.remove(index));
        true
    }

    fn insert(&mut self, range: Range) {
        let at = self.ranges.partition_point(|other| other.start < range.start);
        self.ranges.insert(at, range);
    }

    /// `bytes` bytes at an address, all in one allocation. The hint is looked at first, and set.
    pub fn find(&self, address: u64, bytes: usize, hint: &mut Hint) -> Result<HostBytes, OutOfBounds> {
        let found = HostBytes { pointer: address as *mut u8, first: 0, end: bytes };
        if let Some(range) = self.ranges.get(hint.0)
            && range.holds(address, bytes)
        {
            return Ok(found);
        }
        let after = self.ranges.partition_point(|range| range.start <= address);
        let below = after.checked_sub(1).map(|index| (index, self.ranges[index]));
        match below {
            Some((index, range)) if range.holds(address, bytes) => {
                *hint = Hint(index);
                Ok(found)
            }
            _ => {
                let above = self.ranges.get(after);
                let nearest = match (below, above) {
                    (Some((_, low)), Some(high)) => {
                        let past = address.saturating_sub(low.start + low.bytes);
                        Some(if past <= high.start - address { low } else { *high })
                    }
                    (low, high) => low.map(|(_, low)| low).or(high.copied()),
                };
                let nearest = nearest.map(|range| (range.start, range.bytes));
                Err(OutOfBounds { address, bytes, nearest })
            }
        }
    }

    /// The bytes of a word that lie in an allocation. Devices allocate whole words, so that a word with a byte of an
    /// allocation is there, whatever the allocation's size.
    pub fn find_part(&self, address: u64, bytes: usize, hint: &mut Hint) -> Option<HostBytes> {
        let mut holds = |byte: &usize| self.find(address + *byte as u64, 1, hint).is_ok();
        let first = (0..bytes).find(&mut holds)?;
        let count = (first..bytes).take_while(&mut holds).count();
        let part = self.find(address + first as u64, count, hint).ok()?;
        Some(HostBytes { first, end: first + count, ..part })
    }

    /// Copies out of an allocation.
    pub fn read(&self, address: u64, into: &mut [u8]) -> Result<(), OutOfBounds> {
        self.find(address, into.len(), &mut Hint::default())?.load(into);
        Ok(())
    }

    /// Copies into an allocation.
    pub fn write(&mut self, address: u64, from: &[u8]) -> Result<(), OutOfBounds> {
        self.find(address, from.len(), &mut Hint::default())?.store(from);
        Ok(())
    }
}

impl HostBytes {
    /// The addresses of those that lie in the allocation.
    pub fn addresses(&self) -> std::ops::Range<u64> {
        let start = self.pointer as u64;
        start..start + (self.end - self.first) as u64
    }

    /// Copies them to their places in `into`, which is as long as what was asked for; the others stay.
    pub fn load(&self, into: &mut [u8]) {
        let part = &mut into[self.first..self.end];
        // SAFETY: `Memory` made it for these bytes of a live allocation, and none ends during a launch.
        unsafe { std::ptr::copy(self.pointer, part.as_mut_ptr(), part.len()) };
    }

    /// Copies them from their places in `from`.
    pub fn store(&self, from: &[u8]) {
        let part = &from[self.first..self.end];
        // SAFETY: as in `load`.
        unsafe { std::ptr::copy(part.as_ptr(), self.pointer, part.len()) };
    }
}

impl Range {
    fn holds(&self, address: u64, bytes: usize) -> bool {
        address >= self.start
            && (address - self.start).checked_add(bytes as u64).is_some_and(|end| end <= self.bytes)
    }
}

fn free(range: Range) {
    if range.chunks > 0 {
        let slice = std::ptr::slice_from_raw_parts_mut(range.start as *mut Chunk, range.chunks);
        // SAFETY: `allocate` made it with `Box::into_raw` and this many chunks; it is freed once.
        drop(unsafe { Box::from_raw(slice) });
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        for range in self.ranges.drain(..) {
            free(range);
        }
    }
}
