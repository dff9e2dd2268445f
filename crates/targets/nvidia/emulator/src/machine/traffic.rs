//! Counts what accesses cost: sectors of global memory, passes over the banks of shared memory.

use crate::machine::place::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, WINDOW};
use crate::machine::step::Step;
use crate::syntax::types::Space;
use emulation::traffic::{sectors, wavefronts};

impl Step<'_, '_> {
    /// Counts an access of some lanes, each of so many bytes.
    pub(crate) fn count_traffic(&mut self, space: Space, addresses: &[u64], bytes: usize) {
        if !self.world.checks.counters || addresses.is_empty() {
            return;
        }
        let space = match (space, addresses[0] & WINDOW) {
            (Space::Generic, SHARED_WINDOW) => Space::Shared,
            (Space::Generic, LOCAL_WINDOW) => Space::Local,
            (Space::Generic, PARAM_WINDOW) => Space::Param,
            (Space::Generic, _) => Space::Global,
            (space, _) => space,
        };
        let counter = &mut self.world.counters[self.pc as usize];
        match space {
            Space::Shared => {
                let (passes, ideal) = wavefronts(addresses, bytes as u64);
                counter.wavefronts += passes;
                counter.ideal_wavefronts += ideal;
            }
            Space::Global => {
                let (touched, ideal) = sectors(addresses, bytes as u64);
                counter.sectors += touched;
                counter.ideal_sectors += ideal;
            }
            _ => {}
        }
    }
}
