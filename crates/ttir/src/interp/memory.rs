//! The memory that a kernel may touch: named allocations, each with a base address and a length.
//!
//! Own allocations live at made-up addresses far above those of any process, 64 KiB and more apart, so that a small
//! overrun never lands in a neighbour. Foreign ones stand for live memory of this process at its real address. An
//! access outside every allocation is an error that names the nearest one.

use super::RunError;
use super::idle::Idle;
use super::races::{Race, Races};
use crate::types::elem_bytes;
use ir::Type;
use std::cell::Cell;

/// Where made-up addresses begin; the upper bits are those of no address in use on any interpreter.
const FIRST_BASE: u64 = 0x0700_0000_0000_0000;
/// Distance kept between own allocations.
const GAP: u64 = 1 << 16;

/// An address in a [`Memory`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Address(pub u64);

impl Address {
    /// So many bytes further.
    #[must_use]
    pub fn offset(self, bytes: i64) -> Address {
        Address(self.0.wrapping_add(bytes as u64))
    }
}

enum Bytes {
    Own(Vec<u8>),
    Foreign { len: u64, writable: bool },
}

pub(super) struct Allocation {
    base: u64,
    name: String,
    bytes: Bytes,
}

impl Allocation {
    fn len(&self) -> u64 {
        match &self.bytes {
            Bytes::Own(bytes) => bytes.len() as u64,
            Bytes::Foreign { len, .. } => *len,
        }
    }
}

impl Allocation {
    /// Where its bytes are; `map_foreign` promises that those of others may be read.
    pub(super) fn start(&self) -> *const u8 {
        match &self.bytes {
            Bytes::Own(bytes) => bytes.as_ptr(),
            Bytes::Foreign { .. } => self.base as *const u8,
        }
    }

    /// The same, to write; none where nobody may.
    pub(super) fn start_mut(&mut self) -> Option<*mut u8> {
        match &mut self.bytes {
            Bytes::Own(bytes) => Some(bytes.as_mut_ptr()),
            Bytes::Foreign { writable, .. } => writable.then_some(self.base as *mut u8),
        }
    }

    /// Where in it an element lies, if the whole of it does and its address is a multiple of its size.
    #[inline]
    pub(super) fn offset(&self, address: u64, size: u64) -> Option<usize> {
        let offset = address.checked_sub(self.base)?;
        let last = self.len().checked_sub(size)?;
        (offset <= last && address & (size - 1) == 0).then_some(offset as usize)
    }
}

/// Named allocations.
#[derive(Default)]
pub struct Memory {
    /// In order of their bases.
    pub(super) allocations: Vec<Allocation>,
    /// Which one the last access was to: the next is mostly to the same.
    last: Cell<usize>,
    next: u64,
    /// The arguments that point into it, by the names of their parameters.
    pointers: Vec<(String, u64)>,
    /// How long nothing has been written.
    idle: Idle,
    /// Who touched it, if anybody wants to know.
    pub(crate) races: Option<Box<Races>>,
}

/// Why an access failed, in words that follow "the access".
pub(crate) type AccessError = String;

impl Memory {
    /// No allocation at all.
    pub fn new() -> Memory {
        Memory::default()
    }

    /// Adds an allocation that holds these bytes, at an address that is a multiple of 64 KiB.
    pub fn alloc(&mut self, name: &str, bytes: Vec<u8>) -> Address {
        let base = FIRST_BASE + self.next;
        self.next += (bytes.len() as u64).next_multiple_of(GAP) + GAP;
        self.insert(Allocation { base, name: name.to_owned(), bytes: Bytes::Own(bytes) })
    }

    /// Adds live memory of this process, at its own address.
    ///
    /// # Safety
    /// As long as this `Memory` is in use, the `len` bytes at `base` are readable, writable if `writable` says so, and
    /// nobody else accesses them.
    pub unsafe fn map_foreign(&mut self, name: &str, base: u64, len: u64, writable: bool) -> Address {
        let bytes = Bytes::Foreign { len, writable };
        self.insert(Allocation { base, name: name.to_owned(), bytes })
    }

    /// Gives an argument that points into it a name, for messages about elements.
    pub fn name_pointer(&mut self, name: &str, address: Address) {
        self.pointers.push((name.to_owned(), address.0));
    }

    /// Looks for races between the programs of a launch from now on.
    pub fn watch_races(&mut self, grid: [u32; 3]) {
        self.races = Some(Box::new(Races::new(grid)));
    }

    /// Takes note that an atomic or a volatile load left memory as it was.
    pub(crate) fn found_unchanged(&mut self) {
        self.idle.found_unchanged();
    }

    /// Takes note that memory is written, or that another program runs.
    pub fn changed(&mut self) {
        self.idle = Idle::default();
    }

    /// Whether the program that runs waits, so that others should run now; asked once each time.
    pub fn take_due(&mut self) -> bool {
        self.idle.take_due()
    }

    /// The error of a program that waits, where nobody else can run.
    pub fn waits_for_ever(&self, program: [u32; 3]) -> Option<RunError> {
        self.idle.waits_for_ever(program)
    }

    /// The program that runs stands still while others run.
    pub fn suspend(&mut self) {
        if let Some(races) = &mut self.races {
            races.suspend();
        }
    }

    /// The races that were found, as an error. `place` says where in the source a place is that [`super::Hooks::place`]
    /// gave, or an operation where it gave none.
    pub fn races(&self, place: &dyn Fn(u32) -> Option<String>) -> Option<RunError> {
        Race::error(self.races.as_ref()?.found(), place)
    }

    /// An element in terms of the arguments that point at it or below it into the same allocation, the nearest first.
    pub(crate) fn name_element(&self, address: u64, ty: Type) -> String {
        let base = self.find(address, 1).map_or(address, |at| self.allocations[at].base);
        let is_below = |(_, pointer): &&(String, u64)| (base..=address).contains(pointer);
        let mut below: Vec<&(String, u64)> = self.pointers.iter().filter(is_below).collect();
        below.sort_by_key(|(_, pointer)| address - pointer);
        let name = |(name, pointer): &&(String, u64)| {
            format!("element {} of `{name}`", (address - pointer) / elem_bytes(ty))
        };
        let names: Vec<String> = below.iter().take(3).map(name).collect();
        if names.is_empty() { self.describe(address) } else { names.join(", which is ") }
    }

    /// Puts an allocation in order; of several with one base the longest stays.
    fn insert(&mut self, allocation: Allocation) -> Address {
        let base = allocation.base;
        match self.allocations.binary_search_by_key(&base, |own| own.base) {
            Ok(at) if self.allocations[at].len() >= allocation.len() => {}
            Ok(at) => self.allocations[at] = allocation,
            Err(at) => self.allocations.insert(at, allocation),
        }
        Address(base)
    }

    /// The allocations that begin at or below an address. Foreign ones may overlap: views of one array do.
    fn up_to(&self, address: u64) -> std::ops::Range<usize> {
        0..self.allocations.partition_point(|own| own.base <= address)
    }

    /// The last of them.
    fn below(&self, address: u64) -> Option<usize> {
        self.up_to(address).next_back()
    }

    /// The bytes from an address to the end of its allocation; empty if there is none.
    pub fn bytes(&self, address: Address) -> &[u8] {
        let Some(allocation) = self.below(address.0).map(|at| &self.allocations[at]) else { return &[] };
        let offset = address.0 - allocation.base;
        if offset >= allocation.len() {
            return &[];
        }
        match &allocation.bytes {
            Bytes::Own(bytes) => &bytes[offset as usize..],
            Bytes::Foreign { len, .. } => {
                // SAFETY: `map_foreign` promises that `len` bytes at `base` are readable while `self` lives, and the
                // slice begins `offset < len` bytes into them.
                unsafe { std::slice::from_raw_parts(address.0 as *const u8, (len - offset) as usize) }
            }
        }
    }

    /// Reads `size` bytes, at most 8, little-endian.
    pub(crate) fn read(&self, address: u64, size: u64) -> Result<u64, AccessError> {
        let allocation = &self.allocations[self.find(address, size)?];
        let mut word = [0u8; 8];
        let word_part = &mut word[..size as usize];
        match &allocation.bytes {
            Bytes::Own(bytes) => {
                let offset = (address - allocation.base) as usize;
                word_part.copy_from_slice(&bytes[offset..offset + size as usize]);
            }
            Bytes::Foreign { .. } => {
                // SAFETY: `find` has checked that the bytes lie in memory that `map_foreign` promises to be readable.
                unsafe {
                    std::ptr::copy_nonoverlapping(
                        address as *const u8,
                        word_part.as_mut_ptr(),
                        size as usize,
                    );
                }
            }
        }
        Ok(u64::from_le_bytes(word))
    }

    /// Writes `size` bytes, at most 8, little-endian.
    pub(crate) fn write(&mut self, address: u64, size: u64, bits: u64) -> Result<(), AccessError> {
        let index = self.find(address, size)?;
        let Allocation { base, name, bytes } = &mut self.allocations[index];
        let word = bits.to_le_bytes();
        match bytes {
            Bytes::Own(bytes) => {
                let offset = (address - *base) as usize;
                bytes[offset..offset + size as usize].copy_from_slice(&word[..size as usize]);
            }
            Bytes::Foreign { writable: false, .. } => {
                return Err(format!("writes to `{name}`, which is read-only"));
            }
            // SAFETY: `find` has checked that the bytes lie in memory that `map_foreign` promises to be writable.
            Bytes::Foreign { .. } => unsafe {
                std::ptr::copy_nonoverlapping(word.as_ptr(), address as *mut u8, size as usize);
            },
        }
        Ok(())
    }

    /// The allocation that holds these bytes.
    pub(super) fn find(&self, address: u64, size: u64) -> Result<usize, AccessError> {
        if !address.is_multiple_of(size) {
            return Err(format!("is misaligned: {} is not a multiple of {size}", self.describe(address)));
        }
        let holds = |at: &usize| {
            let offset = self.allocations.get(*at).and_then(|own| address.checked_sub(own.base));
            offset.is_some_and(|offset| offset.saturating_add(size) <= self.allocations[*at].len())
        };
        let found = Some(self.last.get()).filter(holds).or_else(|| self.up_to(address).rev().find(holds));
        match found {
            Some(at) => {
                self.last.set(at);
                Ok(at)
            }
            None => Err(format!("is out of bounds: {}", self.describe(address))),
        }
    }

    /// An address in terms of the nearest allocation.
    fn describe(&self, address: u64) -> String {
        let below = self.below(address);
        let above = below.map_or(0, |at| at + 1);
        let (below, above) = (below.map(|at| &self.allocations[at]), self.allocations.get(above));
        let distance_below = below.map_or(u64::MAX, |own| (address - own.base).saturating_sub(own.len()));
        let distance_above = above.map_or(u64::MAX, |own| own.base - address);
        let nearest = if distance_below <= distance_above { below } else { above };
        match nearest {
            Some(own) => format!(
                "byte {} of `{}`, which has {} bytes",
                i128::from(address) - i128::from(own.base),
                own.name,
                own.len()
            ),
            None => format!("address {address:#x}, and the kernel was given no memory"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Memory;

    #[test]
    fn accesses_outside_name_the_nearest_allocation() {
        let mut memory = Memory::new();
        let first = memory.alloc("a", vec![1, 2, 3, 4]);
        let second = memory.alloc("b", vec![0; 8]);
        assert_eq!(memory.read(first.0, 4), Ok(0x0403_0201));
        assert_eq!(
            memory.read(first.offset(4).0, 4),
            Err("is out of bounds: byte 4 of `a`, which has 4 bytes".into())
        );
        assert_eq!(
            memory.read(second.offset(-4).0, 4),
            Err("is out of bounds: byte -4 of `b`, which has 8 bytes".into())
        );
        assert_eq!(
            memory.write(second.offset(2).0, 4, 0),
            Err("is misaligned: byte 2 of `b`, which has 8 bytes is not a multiple of 4".into())
        );
        memory.write(second.offset(4).0, 4, 0x0102_0304).unwrap();
        assert_eq!(memory.bytes(second), [0, 0, 0, 0, 4, 3, 2, 1]);
        assert!(memory.bytes(second.offset(8)).is_empty());
    }

    #[test]
    fn foreign_memory_is_read_and_written_in_place() {
        let mut array = [1.0f32, 2.0, 3.0];
        let base = array.as_mut_ptr() as u64;
        let mut memory = Memory::new();
        // SAFETY: the array outlives `memory`, and is not touched while that is used.
        unsafe { memory.map_foreign("array", base, 12, true) };
        assert_eq!(memory.read(base + 4, 4), Ok(u64::from(2.0f32.to_bits())));
        memory.write(base + 8, 4, u64::from(7.5f32.to_bits())).unwrap();
        assert!(memory.read(base + 12, 4).is_err());
        drop(memory);
        assert_eq!(array, [1.0, 2.0, 7.5]);
    }

    #[test]
    fn views_may_overlap() {
        let array = [1u32, 2, 3, 4];
        let base = array.as_ptr() as u64;
        let mut memory = Memory::new();
        // SAFETY: the array outlives `memory`, and is not written.
        unsafe {
            memory.map_foreign("all", base, 16, false);
            memory.map_foreign("part", base + 4, 4, false);
            memory.map_foreign("start", base, 8, false);
        }
        assert_eq!(memory.read(base + 12, 4), Ok(4));
        assert_eq!(memory.read(base + 4, 4), Ok(2));
        assert!(memory.read(base + 16, 4).is_err());
    }

    #[test]
    fn read_only_memory_is_not_written() {
        let array = [1u32];
        let mut memory = Memory::new();
        let base = array.as_ptr() as u64;
        // SAFETY: the array outlives `memory`, and is not written.
        unsafe { memory.map_foreign("x", base, 4, false) };
        assert_eq!(memory.write(base, 4, 9), Err("writes to `x`, which is read-only".into()));
        assert_eq!(array, [1]);
    }
}
