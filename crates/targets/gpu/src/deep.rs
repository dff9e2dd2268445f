//! More stages for loops over dots than they ask for, where shared memory is free.
//!
//! What a loop over dots waits for is the time from the begin of a copy to its end, while as many bytes are under way
//! as its stages hold. Several programs on an SM have several times as many; where a launch has too few programs for
//! that, as those of persistent kernels and of small matrices, the shared memory of the others is better used for
//! stages. Which launches are so, the runtime knows: it compiles such a kernel when the first of them comes.

use crate::Compile;
use crate::fit::Fit;
use target::{CompileOptions, DEEP, OptionValue, TargetError};
use ttgir::Machine;
use ttgir::ops::async_copy::ASYNC_COPY;
use ttgir::passes::staged_bytes;

/// The most stages that a loop is given. What they are worth: `docs/notes/gpu.md`.
const MOST: u32 = 12;

/// For how many programs an SM is to have room.
enum Room {
    Programs(u64),
    /// For as many as it has with the stages that are asked for.
    AsMany,
}

impl Room {
    /// What the options say; none where loops have the stages that they ask for.
    fn of(options: &CompileOptions) -> Option<Room> {
        match options.extra.get(DEEP)? {
            OptionValue::Bool(true) => Some(Room::Programs(1)),
            OptionValue::Int(0) => Some(Room::AsMany),
            OptionValue::Int(programs) => u64::try_from(*programs).ok().map(Room::Programs),
            _ => None,
        }
    }

    /// Bytes of shared memory that one program may take, which needs `own` with the stages that are asked for.
    fn bytes(&self, machine: &Machine, own: u64) -> u64 {
        let (all, reserved) = (u64::from(machine.sm_shared_bytes), u64::from(machine.reserved_shared_bytes));
        let programs = match *self {
            Room::Programs(programs) => programs,
            Room::AsMany => all / (own + reserved).max(1),
        };
        (all / programs.max(1)).saturating_sub(reserved).min(machine.shared_bytes.into())
    }
}

/// What is worth having under way of so many bytes: with more, loops in which lanes copy get slower again.
fn worth(bytes: u64, layouts: &ir::Module) -> u64 {
    let by_lanes = |&op: &ir::Op| layouts.is(op, &ASYNC_COPY);
    let eighths = if layouts.walk(layouts.top()).iter().any(by_lanes) { 5 } else { 6 };
    bytes / 8 * eighths
}

impl Compile<'_> {
    /// Gives loops over dots more stages, if the options say so.
    ///
    /// # Errors
    /// What cannot be compiled.
    pub(crate) fn deepen(&mut self, module: &mut ir::Module, fit: Option<&Fit>) -> Result<(), TargetError> {
        let (Some(room), Some(fit)) = (Room::of(self.options), fit) else { return Ok(()) };
        let machine = self.backend.machine();
        let Some(most) = fit.most_stages().filter(|_| machine.async_copy()) else { return Ok(()) };
        let (own, layouts) = self.needs(fit.deeper(0))?;
        let stage = self.measure(fit.deeper(1))?.saturating_sub(own);
        let limit = room.bytes(machine, own);
        let copied = own.saturating_sub(staged_bytes(&layouts));
        let worth = worth(limit, &layouts);
        if stage == 0 || own > limit || copied > worth {
            return Ok(());
        }
        let more = ((worth - copied) / stage + 1).min((limit - own) / stage);
        for more in (1..=more.min(MOST.saturating_sub(most).into())).rev() {
            let deeper = fit.deeper(more as u32);
            if self.measure(deeper.clone())? <= limit {
                *module = deeper;
                break;
            }
        }
        Ok(())
    }

    /// Whether loops of a program, which needs so much shared memory, could be given more stages.
    pub(crate) fn has_spare_stages(&self, module: &ir::Module, fit: Option<&Fit>, shared_bytes: u32) -> bool {
        let machine = self.backend.machine();
        let is_free = !self.options.extra.contains_key(DEEP);
        let most = fit.filter(|_| is_free && machine.async_copy()).and_then(Fit::most_stages);
        most.is_some_and(|most| most < MOST)
            && u64::from(shared_bytes).saturating_sub(staged_bytes(module))
                <= worth(machine.shared_bytes.into(), module)
    }
}
