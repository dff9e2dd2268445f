//! Addresses of lanes: which space they lie in, and loads and stores there.
//!
//! Generic addresses are host addresses, or lie in windows far above them for shared, local and parameter memory.
//! An address of shared memory is an offset in the lane's own program, or has another program's rank plus one in
//! its top byte.

use crate::machine::code::Slot;
use crate::machine::step::Step;
use crate::syntax::types::Space;
use emulation::{Fault, FaultKind, HostBytes};

/// Shared memory that the system keeps for itself, below the first variable.
pub(crate) const SHARED_START: u64 = 1024;
/// Generic addresses of shared memory.
pub(crate) const SHARED_WINDOW: u64 = 1 << 56;
/// Generic addresses of local memory.
pub(crate) const LOCAL_WINDOW: u64 = 2 << 56;
/// Generic addresses of an entry's parameters.
pub(crate) const PARAM_WINDOW: u64 = 3 << 56;
/// The part of a generic address that names its window.
pub(crate) const WINDOW: u64 = 0xff << 56;
/// Where the rank stands in an address of shared memory of a cluster.
pub(crate) const RANK_SHIFT: u32 = 24;

/// `[base + offset]` with its base in a row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Address {
    pub(crate) base: Slot,
    pub(crate) offset: i64,
}

/// Where an address leads.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    Host(HostBytes),
    /// Index of the block in the cluster, and the offset.
    Shared(usize, usize),
    Local(usize),
    Param(usize),
}

impl Step<'_, '_> {
    /// A lane's address.
    pub(crate) fn effective(&self, address: Address, lane: u32) -> u64 {
        self.get(address.base, lane).wrapping_add_signed(address.offset)
    }

    /// The place of so many bytes at an address, which must be a multiple of `align`.
    pub(crate) fn place(
        &mut self,
        space: Space,
        address: u64,
        lane: u32,
        bytes: usize,
        align: usize,
    ) -> Result<Place, Box<Fault>> {
        if !address.is_multiple_of(align as u64) {
            let message = format!("the address {address:#x} is not a multiple of {align}");
            return Err(self.address_fault(FaultKind::Misaligned, lane, address, message));
        }
        let (space, address) = match (space, address & WINDOW) {
            (Space::Generic, SHARED_WINDOW) => (Space::Shared, address & !WINDOW),
            (Space::Generic, LOCAL_WINDOW) => (Space::Local, address & !WINDOW),
            (Space::Generic, PARAM_WINDOW) => (Space::Param, address & !WINDOW),
            (Space::Generic, _) => (Space::Global, address),
            (space, _) => (space, address),
        };
        let inside = |size: usize| (address as usize).checked_add(bytes).is_some_and(|end| end <= size);
        match space {
            Space::Global | Space::Const | Space::Generic => {
                let world = &mut *self.world;
                world.memory.find(address, bytes, &mut world.hint).map(Place::Host).map_err(|error| {
                    let message = format!("global memory: {error}");
                    self.address_fault(FaultKind::OutOfBounds, lane, address, message)
                })
            }
            Space::Shared => {
                self.shared_place(address, lane, bytes).map(|(block, offset)| Place::Shared(block, offset))
            }
            Space::Local if inside(self.world.code.local) => Ok(Place::Local(address as usize)),
            Space::Param if inside(self.world.params.len()) => Ok(Place::Param(address as usize)),
            _ => {
                let message = format!("{bytes} bytes at {address:#x} lie outside {} memory", space.word());
                Err(self.address_fault(FaultKind::OutOfBounds, lane, address, message))
            }
        }
    }

    /// The place of a word that is read or written as a whole: part of it may lie beyond the end of an allocation.
    pub(crate) fn word_place(
        &mut self,
        space: Space,
        address: u64,
        lane: u32,
        bytes: usize,
    ) -> Result<Place, Box<Fault>> {
        let place = self.place(space, address, lane, bytes, bytes);
        let is_word = bytes == 4 && matches!(space, Space::Global | Space::Generic);
        match place {
            Err(fault) if is_word && fault.kind == FaultKind::OutOfBounds => {
                let world = &mut *self.world;
                world.memory.find_part(address, bytes, &mut world.hint).map(Place::Host).ok_or(fault)
            }
            place => place,
        }
    }

    fn address_fault(&self, kind: FaultKind, lane: u32, address: u64, message: String) -> Box<Fault> {
        let mut fault = self.fault(kind, lane, message);
        fault.address = Some(address);
        fault
    }

    /// The block and offset of an address of shared memory.
    pub(crate) fn shared_place(
        &self,
        address: u64,
        lane: u32,
        bytes: usize,
    ) -> Result<(usize, usize), Box<Fault>> {
        let address = address as u32;
        let rank = address >> RANK_SHIFT;
        let block = match rank {
            0 => self.warp.block,
            rank => rank as usize - 1,
        };
        if let Some(message) = self.unreachable(block) {
            return Err(self.address_fault(FaultKind::Misuse, lane, u64::from(address), message));
        }
        let offset = (address & ((1 << RANK_SHIFT) - 1)) as usize;
        let Some(size) = self.team.blocks.get(block).map(|block| block.shared.len()) else {
            let message = format!("the cluster has no program of rank {block}");
            return Err(self.address_fault(FaultKind::OutOfBounds, lane, u64::from(address), message));
        };
        if offset < SHARED_START as usize || offset + bytes > size {
            let message = format!(
                "{bytes} bytes at {offset:#x} lie outside shared memory ({SHARED_START:#x} to {size:#x})"
            );
            return Err(self.address_fault(FaultKind::OutOfBounds, lane, u64::from(address), message));
        }
        Ok((block, offset))
    }

    /// Why the memory of a program of the cluster cannot be reached: it must have begun, which only who has met it
    /// knows, and must not have ended.
    fn unreachable(&self, block: usize) -> Option<String> {
        let other = self.team.blocks.get(block).filter(|_| block != self.warp.block)?;
        if other.live == 0 {
            return Some(format!("the program of rank {block} has ended, and its shared memory with it"));
        }
        let warps = self.world.launch.block.iter().product::<u32>().div_ceil(32) as usize;
        let seen = &self.team.clocks.row(self.warp.number)[other.first_warp..other.first_warp + warps];
        let met = seen.iter().any(|clock| *clock > 0);
        (!met).then(|| {
            format!("the program of rank {block} may not have begun: nothing says that this warp comes after its start")
        })
    }

    /// Loads bytes; false if some were never written.
    pub(crate) fn load(
        &mut self,
        space: Space,
        address: u64,
        lane: u32,
        into: &mut [u8],
    ) -> Result<bool, Box<Fault>> {
        let place = self.place(space, address, lane, into.len(), into.len())?;
        Ok(self.load_place(place, lane, into))
    }

    /// Loads bytes of a place that was found to hold them.
    pub(crate) fn load_place(&mut self, place: Place, lane: u32, into: &mut [u8]) -> bool {
        match place {
            Place::Host(bytes) => {
                self.note_global(bytes.addresses(), lane, false);
                bytes.load(into);
                true
            }
            Place::Shared(block, offset) => {
                if self.world.checks.races {
                    self.note_read(block, offset, into.len(), lane);
                }
                let block = &self.team.blocks[block];
                into.copy_from_slice(&block.shared[offset..offset + into.len()]);
                block.written[offset..offset + into.len()].iter().all(|written| *written)
            }
            Place::Local(offset) => {
                let start = lane as usize * self.world.code.local + offset;
                into.copy_from_slice(&self.warp.local[start..start + into.len()]);
                true
            }
            Place::Param(offset) => {
                into.copy_from_slice(&self.world.params[offset..offset + into.len()]);
                true
            }
        }
    }

    /// Stores bytes.
    pub(crate) fn store(
        &mut self,
        space: Space,
        address: u64,
        lane: u32,
        from: &[u8],
    ) -> Result<(), Box<Fault>> {
        let place = self.place(space, address, lane, from.len(), from.len())?;
        self.store_place(place, lane, from)
    }

    /// Stores bytes at a place that was found to hold them.
    pub(crate) fn store_place(&mut self, place: Place, lane: u32, from: &[u8]) -> Result<(), Box<Fault>> {
        match place {
            Place::Host(bytes) => {
                self.note_global(bytes.addresses(), lane, true);
                bytes.store(from);
            }
            Place::Shared(block, offset) => {
                if self.world.checks.races {
                    self.note_write(block, offset, from, lane);
                }
                let block = &mut self.team.blocks[block];
                block.shared[offset..offset + from.len()].copy_from_slice(from);
                block.written[offset..offset + from.len()].fill(true);
            }
            Place::Local(offset) => {
                let start = lane as usize * self.world.code.local + offset;
                self.warp.local[start..start + from.len()].copy_from_slice(from);
            }
            Place::Param(_) => {
                return Err(self.fault(FaultKind::Misuse, lane, "the parameters of an entry are read-only"));
            }
        }
        Ok(())
    }

    /// What was stored at a place was itself never written.
    pub(crate) fn unwrite(&mut self, place: Place, bytes: usize) {
        if let Place::Shared(block, offset) = place
            && self.world.checks.uninitialised
        {
            self.team.blocks[block].written[offset..offset + bytes].fill(false);
        }
    }

    /// Marks a result of a load: lanes of the mask, of which `known` were written.
    pub(crate) fn know(&mut self, slot: Slot, known: u32) {
        let mask = self.mask;
        self.warp.set_known(slot, mask, known);
    }
}
