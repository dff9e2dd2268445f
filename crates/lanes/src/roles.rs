//! The roles of a kernel: which operations give them, how many warps a launch has, and how registers are divided among
//! them.

use crate::target::LaneTarget;
use ir::{Module, Op};
use ttgir::ops::roles::{WARP_SPECIALIZE, WarpSpecializeOp};

/// Warps that share registers.
pub(crate) const GROUP: u32 = 4;
/// Registers that a lane may be left with.
const FEWEST: u32 = 24;

/// Registers of a lane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Registers {
    /// At the launch.
    pub(crate) entry: u32,
    /// Of the program's warps.
    pub(crate) default: u32,
    /// Of each group of warps behind the program's.
    pub(crate) groups: Vec<u32>,
}

/// The roles of a kernel.
#[derive(Clone, Debug)]
pub(crate) struct Roles {
    /// The operations that give them.
    pub(crate) ops: Vec<Op>,
    /// Warps of a launch.
    pub(crate) total_warps: u32,
    /// Registers of each, where they are divided.
    pub(crate) registers: Option<Registers>,
}

impl Roles {
    /// The roles of a kernel of so many warps, if it has any.
    pub(crate) fn of(module: &Module, kernel: Op, num_warps: u32, target: &dyn LaneTarget) -> Option<Roles> {
        let ops: Vec<Op> =
            module.walk(kernel).into_iter().filter(|&op| module.is(op, &WARP_SPECIALIZE)).collect();
        let total = |&op: &Op| WarpSpecializeOp::new(module, op).total_warps(num_warps);
        let total_warps = ops.iter().map(total).max()?;
        // Groups are whole: warps without anything to do are launched where registers are divided.
        let whole = total_warps.next_multiple_of(GROUP);
        let asked = |op: &Op| registers(module, *op, (num_warps, whole), target);
        let registers = asked(&ops[0]).filter(|first| ops.iter().all(|op| asked(op).as_ref() == Some(first)));
        let total_warps = if registers.is_some() { whole } else { total_warps };
        Some(Roles { ops, total_warps, registers })
    }

    /// Registers of a lane at the launch, where they are divided.
    pub(crate) fn entry_registers(&self) -> Option<u32> {
        self.registers.as_ref().map(|registers| registers.entry)
    }
}

/// How the registers of a machine are divided, if the program asks for that and the machine can.
fn registers(
    module: &Module,
    op: Op,
    (num_warps, total_warps): (u32, u32),
    target: &dyn LaneTarget,
) -> Option<Registers> {
    let of = WarpSpecializeOp::new(module, op);
    let wanted = of.requested_registers()?;
    if !target.divides_registers() || !num_warps.is_multiple_of(GROUP) {
        return None;
    }
    let mut groups = vec![FEWEST; ((total_warps - num_warps) / GROUP) as usize];
    for part in of.partitions(num_warps) {
        let end = part.first_warp + part.num_warps;
        for warp in (part.first_warp..end).map(|warp| warp - num_warps) {
            let own = &mut groups[(warp / GROUP) as usize];
            *own = (*own).max(wanted[part.number] as u32);
        }
    }
    let machine = target.machine();
    // As many as a lane can name at most; the machine hands them out by eights.
    let most = machine.lane_registers.next_multiple_of(8);
    let entry = (machine.sm_registers / (total_warps * machine.warp_size) / 8 * 8).min(most);
    let left = (entry * total_warps).checked_sub(GROUP * groups.iter().sum::<u32>())?;
    let default = (left / num_warps / 8 * 8).min(most);
    let gives = groups.iter().all(|&count| count <= entry) && default >= entry;
    gives.then_some(Registers { entry, default, groups })
}
