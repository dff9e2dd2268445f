//! What an instruction works with: its warp, its cluster, the world; and the common parts of `.sync`.

use crate::machine::block::Team;
use crate::machine::code::Slot;
use crate::machine::flow::{Flow, Wait};
use crate::machine::warp::Warp;
use crate::machine::world::World;
use emulation::{Access, Clashed, Fault, FaultKind, FindingKind};

/// One instruction of one group of lanes.
pub(crate) struct Step<'a, 'w> {
    pub(crate) warp: &'a mut Warp,
    pub(crate) team: &'a mut Team,
    pub(crate) world: &'a mut World<'w>,
    /// The lanes that execute it.
    pub(crate) mask: u32,
    /// It waited, and the wait is over.
    pub(crate) resumed: bool,
    pub(crate) pc: u32,
}

/// The lanes of a mask, lowest first.
pub(crate) fn lanes_of(mask: u32) -> impl Iterator<Item = u32> {
    (0..32).filter(move |lane| mask >> lane & 1 == 1)
}

impl Step<'_, '_> {
    /// The lanes that execute this.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = u32> + use<> {
        lanes_of(self.mask)
    }

    /// A lane's value.
    pub(crate) fn get(&self, slot: Slot, lane: u32) -> u64 {
        self.warp.row(slot)[lane as usize]
    }

    /// The value of the first lane that executes this.
    pub(crate) fn uniform(&self, slot: Slot) -> u64 {
        self.get(slot, self.mask.trailing_zeros())
    }

    /// A fault of this instruction.
    pub(crate) fn fault(&self, kind: FaultKind, lane: u32, message: impl Into<String>) -> Box<Fault> {
        self.world.fault(kind, message.into(), self.pc, self.warp.who(self.team), Some(lane))
    }

    /// A fault of all lanes together.
    pub(crate) fn misuse(&self, message: impl Into<String>) -> Box<Fault> {
        self.world.fault(FaultKind::Misuse, message.into(), self.pc, self.warp.who(self.team), None)
    }

    /// Reports something that the checks found.
    pub(crate) fn find(&mut self, kind: FindingKind, message: String, other: Option<u32>, lane: u32) {
        self.world.find(kind, message, self.pc, other, self.warp.who(self.team), lane);
    }

    /// Waits until every live lane of the warp stands here, as `.aligned` demands.
    pub(crate) fn aligned(&mut self) -> Option<Flow> {
        let live = self.warp.live;
        (self.mask != live).then_some(Flow::Wait(Wait::Lanes(live)))
    }

    /// Splits the lanes by the member masks they name; `Err` holds what to wait for.
    pub(crate) fn members(&mut self, member: Slot) -> Result<Result<Vec<u32>, Flow>, Box<Fault>> {
        let mut rest = self.mask;
        let mut parts = Vec::new();
        while rest != 0 {
            let lane = rest.trailing_zeros();
            let mask = self.get(member, lane) as u32;
            if mask >> lane & 1 == 0 {
                let message = format!("the member mask {mask:#010x} does not name the lane that executes it");
                return Err(self.fault(FaultKind::Misuse, lane, message));
            }
            let missing = mask & self.warp.live & !self.mask;
            if missing != 0 {
                return Ok(Err(Flow::Wait(Wait::Lanes(mask & self.warp.live))));
            }
            let part = mask & self.mask;
            parts.push(part);
            rest &= !part;
        }
        if self.world.checks.races {
            self.team.clocks.tick(self.warp.number);
        }
        Ok(Ok(parts))
    }

    /// Checks a read of shared memory by this warp's lane.
    pub(crate) fn note_read(&mut self, block: usize, offset: usize, bytes: usize, lane: u32) {
        let clash =
            self.with_shadow(block, lane, |shadow, access| shadow.read(offset..offset + bytes, access));
        self.report_clash(clash, offset, lane);
    }

    /// Checks a read whose answer the lane waits for.
    pub(crate) fn note_read_at_once(&mut self, block: usize, offset: usize, bytes: usize, lane: u32) {
        let clash = self
            .with_shadow(block, lane, |shadow, access| shadow.read_at_once(offset..offset + bytes, access));
        self.report_clash(clash, offset, lane);
    }

    /// Checks a write of shared memory by this warp's lane, before the bytes are stored.
    pub(crate) fn note_write(&mut self, block: usize, offset: usize, new: &[u8], lane: u32) {
        if self.team.blocks[block].shadow.is_none() {
            return;
        }
        let mut old = [0; 64];
        let old = &mut old[..new.len().min(64)];
        old.copy_from_slice(&self.team.blocks[block].shared[offset..offset + old.len()]);
        let clash = self.with_shadow(block, lane, |shadow, access| {
            shadow.write(offset..offset + new.len(), access, |byte| old.get(byte) == new.get(byte))
        });
        self.report_clash(clash, offset, lane);
    }

    fn with_shadow(
        &mut self,
        block: usize,
        lane: u32,
        f: impl FnOnce(&mut emulation::Shadow, &Access<'_>) -> Clashed,
    ) -> Clashed {
        let warp = self.warp.number;
        let seen = self.team.clocks.row(warp);
        let clock = seen[warp];
        let access = Access { column: warp, lane, clock, seen, instruction: self.pc };
        self.team.blocks[block].shadow.as_mut().and_then(|shadow| f(shadow, &access))
    }

    /// Turns a clash of this instruction into a finding.
    pub(crate) fn report_clash(&mut self, clash: Clashed, offset: usize, lane: u32) {
        self.report_clash_at(clash, offset, lane, self.pc);
    }

    /// Turns a clash of an instruction that ran by itself into a finding.
    pub(crate) fn report_clash_at(&mut self, clash: Clashed, offset: usize, lane: u32, pc: u32) {
        let Some((clash, other)) = clash else { return };
        let (kind, message) = clash.describe(offset as u64);
        let kind = if pc == self.pc { kind } else { FindingKind::AsyncRace };
        self.world.find(kind, message, pc, Some(other), self.warp.who(self.team), lane);
    }
}
