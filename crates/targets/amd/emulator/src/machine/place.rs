//! Addresses of lanes: which memory they lie in, and loads and stores there.
//!
//! An address of LDS or of private memory is an offset of 32 bits. Flat addresses are host addresses, or lie in windows far
//! above them for LDS and private memory.

use crate::machine::step::Step;
use emulation::{Fault, FaultKind};

/// Flat addresses of LDS.
pub(crate) const LDS_WINDOW: u64 = 1 << 56;
/// Flat addresses of private memory.
pub(crate) const PRIVATE_WINDOW: u64 = 2 << 56;
const WINDOW: u64 = 0xff << 56;

/// Address spaces, by their numbers.
pub(crate) const FLAT: u8 = 0;
pub(crate) const GLOBAL: u8 = 1;
pub(crate) const LDS: u8 = 3;
pub(crate) const CONSTANT: u8 = 4;
pub(crate) const PRIVATE: u8 = 5;

/// Where an address leads.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    Host(*mut u8),
    /// A word of which only these bytes lie in an allocation, and the first of them.
    Edge {
        pointer: *mut u8,
        first: u8,
        end: u8,
    },
    /// An offset in LDS.
    Lds(usize),
    /// An offset in the lane's private memory.
    Private(usize),
}

/// An address and its space.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Address {
    pub(crate) space: u8,
    pub(crate) address: u64,
}

impl Step<'_, '_> {
    /// The place of so many bytes at an address, which must be a multiple of `align`.
    pub(crate) fn place(
        &mut self,
        at: Address,
        lane: usize,
        bytes: usize,
        align: u32,
    ) -> Result<Place, Box<Fault>> {
        let Address { mut space, mut address } = at;
        if address & u64::from(align - 1) != 0 {
            let message = format!("the address {address:#x} is not a multiple of {align}");
            return Err(self.address_fault(FaultKind::Misaligned, lane, address, message));
        }
        if space == FLAT {
            space = match address & WINDOW {
                LDS_WINDOW => LDS,
                PRIVATE_WINDOW => PRIVATE,
                _ => GLOBAL,
            };
            if space != GLOBAL {
                address &= !WINDOW;
            }
        }
        let (size, name) = match space {
            LDS => (self.group.lds.len(), "LDS"),
            PRIVATE => (self.world.code.private, "private memory"),
            _ => {
                let world = &mut *self.world;
                return world.memory.look(address, bytes, &mut world.hint).map(Place::Host).map_err(
                    |error| {
                        let message = format!("global memory: {error}");
                        self.address_fault(FaultKind::OutOfBounds, lane, address, message)
                    },
                );
            }
        };
        if (address as usize).checked_add(bytes).is_none_or(|end| end > size) {
            let message = format!("{bytes} bytes at {address:#x} lie outside {name} (0 to {size:#x})");
            return Err(self.address_fault(FaultKind::OutOfBounds, lane, address, message));
        }
        Ok(if space == LDS { Place::Lds(address as usize) } else { Place::Private(address as usize) })
    }

    /// The place of a word that is read or written as a whole. Devices allocate whole words, so that a word with a byte of an
    /// allocation is there, whatever the allocation's size.
    pub(crate) fn word_place(
        &mut self,
        at: Address,
        lane: usize,
        bytes: usize,
        align: u32,
    ) -> Result<Place, Box<Fault>> {
        match self.place(at, lane, bytes, align) {
            Err(fault)
                if bytes == 4
                    && matches!(at.space, FLAT | GLOBAL)
                    && fault.kind == FaultKind::OutOfBounds =>
            {
                self.edge(at.address, bytes as u8).ok_or(fault)
            }
            place => place,
        }
    }

    /// The bytes of a word that lie in an allocation.
    fn edge(&mut self, address: u64, bytes: u8) -> Option<Place> {
        let world = &mut *self.world;
        let mut look = |byte: u8| world.memory.look(address + u64::from(byte), 1, &mut world.hint).ok();
        let first = (0..bytes).find(|byte| look(*byte).is_some())?;
        let end = (first..bytes).find(|byte| look(*byte).is_none()).unwrap_or(bytes);
        let pointer = look(first)?;
        Some(Place::Edge { pointer, first, end })
    }

    pub(crate) fn address_fault(
        &self,
        kind: FaultKind,
        lane: usize,
        address: u64,
        message: String,
    ) -> Box<Fault> {
        let mut fault = self.fault(kind, lane, message);
        fault.address = Some(address);
        fault
    }

    /// Loads bytes; false if some were never written.
    pub(crate) fn load(&mut self, place: Place, lane: usize, into: &mut [u8]) -> bool {
        match place {
            Place::Host(pointer) => {
                // SAFETY: the place was made for so many bytes within a live allocation.
                unsafe { std::ptr::copy(pointer, into.as_mut_ptr(), into.len()) };
                true
            }
            Place::Edge { pointer, first, end } => {
                let part = &mut into[usize::from(first)..usize::from(end)];
                // SAFETY: the place was made for these bytes within a live allocation.
                unsafe { std::ptr::copy(pointer, part.as_mut_ptr(), part.len()) };
                true
            }
            Place::Lds(offset) => {
                if self.world.checks.races {
                    self.note_read(offset, into.len(), lane);
                }
                into.copy_from_slice(&self.group.lds[offset..offset + into.len()]);
                self.group.written[offset..offset + into.len()].iter().all(|written| *written)
            }
            Place::Private(offset) => {
                let start = lane * self.world.code.private + offset;
                into.copy_from_slice(&self.wave.private[start..start + into.len()]);
                self.wave.private_written[start..start + into.len()].iter().all(|written| *written)
            }
        }
    }

    /// Stores bytes; `known` says whether they have a value.
    pub(crate) fn store(&mut self, place: Place, lane: usize, from: &[u8], known: bool) {
        match place {
            Place::Host(pointer) => {
                // SAFETY: the place was made for so many bytes within a live allocation.
                unsafe { std::ptr::copy(from.as_ptr(), pointer, from.len()) };
            }
            Place::Edge { pointer, first, end } => {
                let part = &from[usize::from(first)..usize::from(end)];
                // SAFETY: as above, for these bytes.
                unsafe { std::ptr::copy(part.as_ptr(), pointer, part.len()) };
            }
            Place::Lds(offset) => {
                if self.world.checks.races {
                    self.note_write(offset, from, lane);
                }
                let known = known || !self.world.checks.uninitialised;
                self.group.lds[offset..offset + from.len()].copy_from_slice(from);
                self.group.written[offset..offset + from.len()].fill(known);
            }
            Place::Private(offset) => {
                let start = lane * self.world.code.private + offset;
                self.wave.private[start..start + from.len()].copy_from_slice(from);
                self.wave.private_written[start..start + from.len()].fill(known);
            }
        }
    }
}
