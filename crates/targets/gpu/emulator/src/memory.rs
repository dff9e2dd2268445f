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
    hint: Hint,
}

/// The allocation that somebody found last, where he looks first the next time.
#[derive(Debug, Default, Clone, Copy)]
pub struct Hint(usize);

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
        self.hint = Hint(0);
        true
    }

    fn insert(&mut self, range: Range) {
        let at = self.ranges.partition_point(|other| other.start < range.start);
        self.ranges.insert(at, range);
        self.hint = Hint(0);
    }

    /// The pointer to `bytes` bytes at an address, all in one allocation.
    pub fn find(&mut self, address: u64, bytes: usize) -> Result<*mut u8, OutOfBounds> {
        let mut hint = self.hint;
        let found = self.look(address, bytes, &mut hint);
        self.hint = hint;
        found
    }

    /// The same for those who share the memory, each with a hint of his own.
    pub fn look(&self, address: u64, bytes: usize, hint: &mut Hint) -> Result<*mut u8, OutOfBounds> {
        if let Some(range) = self.ranges.get(hint.0)
            && range.holds(address, bytes)
        {
            return Ok(address as *mut u8);
        }
        let after = self.ranges.partition_point(|range| range.start <= address);
        let below = after.checked_sub(1).map(|index| (index, self.ranges[index]));
        match below {
            Some((index, range)) if range.holds(address, bytes) => {
                *hint = Hint(index);
                Ok(address as *mut u8)
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

    /// The bytes of a word that lie in an allocation, by their numbers, and where the first of them is. Devices allocate whole words,
    /// so that a word with a byte of an allocation is there, whatever the allocation's size.
    pub fn find_part(&mut self, address: u64, bytes: usize) -> Option<(*mut u8, std::ops::Range<u8>)> {
        let holds = |memory: &mut Memory, byte: usize| memory.find(address + byte as u64, 1).is_ok();
        let first = (0..bytes).find(|byte| holds(self, *byte))?;
        let count = (first..bytes).take_while(|byte| holds(self, *byte)).count();
        let pointer = self.find(address + first as u64, count).ok()?;
        Some((pointer, first as u8..(first + count) as u8))
    }

    /// Copies out of an allocation.
    pub fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), OutOfBounds> {
        let pointer = self.find(address, into.len())?;
        // SAFETY: `find` says that so many bytes lie in a live allocation; `into` is another object.
        unsafe { std::ptr::copy(pointer, into.as_mut_ptr(), into.len()) };
        Ok(())
    }

    /// Copies into an allocation.
    pub fn write(&mut self, address: u64, from: &[u8]) -> Result<(), OutOfBounds> {
        let pointer = self.find(address, from.len())?;
        // SAFETY: as in `read`.
        unsafe { std::ptr::copy(from.as_ptr(), pointer, from.len()) };
        Ok(())
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
