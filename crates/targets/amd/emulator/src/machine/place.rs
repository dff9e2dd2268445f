//! Addresses of lanes: which memory they lie in, and loads and stores there.
//!
//! An address of LDS or of private memory is an offset of 32 bits. Flat addresses are host addresses, or lie in windows
//! far above them for LDS and private memory.

use crate::machine::step::Step;
use emulation::{Fault, FaultKind, HostBytes};

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
    Host(HostBytes),
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
                return world.memory.find(address, bytes, &mut world.hint).map(Place::Host).map_err(
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

    /// The place of a word that is read or written as a whole. Devices allocate whole words, so that a word with a byte
    /// of an allocation is there, whatever the allocation's size.
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
                let world = &mut *self.world;
                let part = world.memory.find_part(at.address, bytes, &mut world.hint);
                part.map(Place::Host).ok_or(fault)
            }
            place => place,
        }
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
            Place::Host(bytes) => {
                bytes.load(into);
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
            Place::Host(bytes) => bytes.store(from),
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
