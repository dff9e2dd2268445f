//! The registers of a program: each group of four warps has so many for each lane, and what one gives back another may
//! take.

use std::ops::RangeInclusive;

/// Warps that change the number of their registers together.
pub(crate) const GROUP: usize = 4;
/// Registers that a lane may have.
pub(crate) const RANGE: RangeInclusive<u32> = 24..=256;
/// Lanes of a group.
const LANES: u32 = 128;

/// Four warps.
#[derive(Debug, Clone)]
struct Group {
    /// Registers of a lane.
    count: u32,
    /// What its warps that have arrived ask for: a number, and the instruction.
    asked: Option<(u32, u32)>,
    /// Warps that have arrived.
    arrived: usize,
    /// Changes so far.
    phase: u32,
}

/// The registers of a program.
#[derive(Debug, Clone, Default)]
pub(crate) struct Registers {
    groups: Vec<Group>,
    /// Registers that no group has.
    free: u32,
}

impl Registers {
    /// Of a program of so many warps whose lanes begin with so many registers.
    pub(crate) fn new(warps: usize, count: u32) -> Registers {
        let group = Group { count, asked: None, arrived: 0, phase: 0 };
        Registers { groups: vec![group; warps / GROUP], free: 0 }
    }

    /// A warp of a group asks for a number of registers; gives the number of the change, or what is wrong.
    pub(crate) fn ask(&mut self, group: usize, count: u32, more: bool, pc: u32) -> Result<u32, String> {
        let Some(own) = self.groups.get_mut(group) else {
            return Err("the warp is of no whole group of four warps".into());
        };
        if own.asked.is_some_and(|asked| asked != (count, pc)) {
            return Err("the four warps of a group must change their registers by one instruction".into());
        }
        if (more && count < own.count) || (!more && count > own.count) {
            let word = if more { "fewer" } else { "more" };
            return Err(format!("{count} registers are {word} than the {} that a lane has", own.count));
        }
        (own.asked, own.arrived) = (Some((count, pc)), own.arrived + 1);
        let phase = own.phase;
        self.settle();
        Ok(phase)
    }

    /// Whether a change of a group is done.
    pub(crate) fn is_past(&self, group: usize, phase: u32) -> bool {
        self.groups[group].phase > phase
    }

    /// Carries out what all warps of a group have asked for, as far as there are registers.
    fn settle(&mut self) {
        for own in &mut self.groups {
            let Some((count, _)) = own.asked.filter(|_| own.arrived == GROUP) else { continue };
            let (free, needed) = (self.free + own.count * LANES, count * LANES);
            if needed <= free {
                self.free = free - needed;
                *own = Group { count, asked: None, arrived: 0, phase: own.phase + 1 };
            }
        }
        // What one gave back may be what another waits for.
        let waits =
            |own: &Group| own.asked.is_some_and(|asked| asked.0 * LANES <= self.free + own.count * LANES);
        if self.groups.iter().any(|own| own.arrived == GROUP && waits(own)) {
            self.settle();
        }
    }

    /// What a group that waits for registers lacks, in words.
    pub(crate) fn describe(&self, group: usize) -> String {
        let own = &self.groups[group];
        let asked = own.asked.map_or(own.count, |asked| asked.0);
        match own.arrived {
            GROUP => format!(
                "{asked} registers for each lane in place of {}, with {} left in the program",
                own.count, self.free
            ),
            arrived => format!("the warps of its group to ask for {asked} registers, as {arrived} of 4 have"),
        }
    }
}
