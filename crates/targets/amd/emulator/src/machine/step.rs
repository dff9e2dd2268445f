//! What an instruction works with: its warp, its program, the launch.

use crate::machine::code::{Row, Slot, blend, lanes_of};
use crate::machine::lds::Group;
use crate::machine::wave::Wave;
use crate::machine::world::World;
use emulation::{Access, Clashed, Fault, FaultKind, FindingKind, Shadow};

/// One instruction of some lanes of a warp.
pub(crate) struct Step<'a, 'w> {
    pub(crate) wave: &'a mut Wave,
    pub(crate) group: &'a mut Group,
    pub(crate) world: &'a mut World<'w>,
    /// The lanes that execute it.
    pub(crate) mask: u64,
    /// The number of its place.
    pub(crate) site: u32,
}

impl Step<'_, '_> {
    /// The lanes that execute this.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = usize> + use<> {
        lanes_of(self.mask)
    }

    /// A lane's value.
    pub(crate) fn get(&self, slot: Slot, lane: usize) -> u64 {
        self.wave.row(slot)[lane]
    }

    /// The value of the first lane that executes this.
    pub(crate) fn first(&self, slot: Slot) -> u64 {
        self.get(slot, self.mask.trailing_zeros() as usize)
    }

    /// Writes the lanes that execute this.
    pub(crate) fn set(&mut self, slot: Slot, values: &Row) {
        let mask = self.mask;
        blend(self.wave.row_mut(slot), values, mask);
    }

    /// Says which lanes of a result are known.
    pub(crate) fn know(&mut self, slot: Slot, known: u64) {
        let mask = self.mask;
        self.wave.set_known(slot, mask, known);
    }

    /// A fault of one lane.
    pub(crate) fn fault(&self, kind: FaultKind, lane: usize, message: impl Into<String>) -> Box<Fault> {
        let who = self.wave.who(self.group);
        self.world.fault(kind, message.into(), self.site, who, Some(lane as u32))
    }

    /// A fault of all lanes together.
    pub(crate) fn misuse(&self, message: impl Into<String>) -> Box<Fault> {
        self.world.fault(FaultKind::Misuse, message.into(), self.site, self.wave.who(self.group), None)
    }

    /// Reports something that the checks found.
    pub(crate) fn find(&mut self, kind: FindingKind, message: String, other: Option<u32>, lane: usize) {
        self.world.find(kind, message, self.site, other, self.wave.who(self.group), lane as u32);
    }

    /// All lanes must agree on a value; the first one's is it.
    pub(crate) fn uniform(&mut self, slot: Slot, what: &str) -> Result<u64, Box<Fault>> {
        let value = self.first(slot);
        match self.lanes().find(|lane| self.get(slot, *lane) != value) {
            Some(lane) => {
                let other = self.get(slot, lane);
                let message =
                    format!("{what} must be the same in all lanes: it is {value:#x} and {other:#x}");
                Err(self.fault(FaultKind::Misuse, lane, message))
            }
            None => Ok(value),
        }
    }

    /// Whether all lanes of the warp that have not ended execute this.
    pub(crate) fn is_whole(&self) -> bool {
        self.mask == self.wave.live
    }

    /// Checks a read of LDS.
    pub(crate) fn note_read(&mut self, offset: usize, bytes: usize, lane: usize) {
        self.note_pending(offset, bytes, lane, "reads");
        let clash = self.with_shadow(lane, |shadow, access| shadow.read(offset..offset + bytes, access));
        self.report_clash(clash, offset, lane);
    }

    /// Checks a write of LDS, before the bytes are stored.
    pub(crate) fn note_write(&mut self, offset: usize, new: &[u8], lane: usize) {
        self.note_pending(offset, new.len(), lane, "writes");
        let mut old = [0; 64];
        let old = &mut old[..new.len().min(64)];
        old.copy_from_slice(&self.group.lds[offset..offset + old.len()]);
        let clash = self.with_shadow(lane, |shadow, access| {
            shadow.write(offset..offset + new.len(), access, |byte| old.get(byte) == new.get(byte))
        });
        self.report_clash(clash, offset, lane);
    }

    /// Finds an access of bytes that a copy under way has not written yet.
    pub(crate) fn note_pending(&mut self, offset: usize, bytes: usize, lane: usize, does: &str) {
        if self.group.pending.is_empty() {
            return;
        }
        let hit = (offset..offset + bytes).find_map(|byte| self.group.pending.get(&(byte as u32)).copied());
        if let Some(other) = hit {
            let message = format!(
                "{does} LDS at {offset:#x}, which a copy under way will write: nothing waited for the copy"
            );
            self.find(FindingKind::AsyncRace, message, Some(other), lane);
        }
    }

    /// Asks the shadow of LDS, as an access of this warp's lane.
    pub(crate) fn with_shadow(
        &mut self,
        lane: usize,
        f: impl FnOnce(&mut Shadow, &Access<'_>) -> Clashed,
    ) -> Clashed {
        let column = self.wave.index as usize;
        let seen = self.group.clocks.row(column);
        let access = Access { column, lane: lane as u32, clock: seen[column], seen, instruction: self.site };
        self.group.shadow.as_mut().and_then(|shadow| f(shadow, &access))
    }

    fn report_clash(&mut self, clash: Clashed, offset: usize, lane: usize) {
        let Some((clash, other)) = clash else { return };
        let (kind, message) = clash.describe(offset as u64);
        self.find(kind, message, Some(other), lane);
    }
}
