//! Accesses of lanes and bulk copies to global memory, as far as one must come before the other.

use crate::machine::proxies::{Found, Mark, Now, UNORDERED, UNORDERED_COPIES};
use crate::machine::step::Step;
use crate::machine::warp::BulkStore;
use emulation::FindingKind;

impl Step<'_, '_> {
    /// Checks and records an ordinary access of global memory by a lane.
    pub(crate) fn note_global(&mut self, range: std::ops::Range<u64>, lane: u32, writes: bool) {
        let Some(proxies) = &mut self.world.proxies else { return };
        let column = self.warp.number;
        let seen = self.team.clocks.row(column);
        let now = Now { cluster: self.team.number, column, lane, seen };
        let mark = Mark {
            moment: proxies.tick(),
            cluster: now.cluster,
            column: column as u16,
            lane: lane as u8,
            clock: seen[column],
            instruction: self.pc,
        };
        let mut found = None;
        proxies.each(range, |touched| {
            let marks = touched.bulk_changes().into_iter().chain(writes.then_some(touched.bulk_read));
            let clash = marks.into_iter().find(|mark| mark.is_unordered(&now));
            found = found.or(clash.map(|mark| (UNORDERED, mark.instruction)));
            *(if writes { &mut touched.write } else { &mut touched.read }) = mark;
        });
        self.report_global(found, lane, self.pc);
    }

    /// Checks what a bulk copy is about to touch.
    pub(crate) fn note_begin(&mut self, range: std::ops::Range<u64>, lane: u32, writes: bool) {
        let Some(proxies) = &mut self.world.proxies else { return };
        let found = proxies.unfenced(self.team, self.warp.number, range, writes);
        self.report_global(found, lane, self.pc);
    }

    /// Checks and records what a bulk copy writes to global memory or combines with it, which its lane has waited for.
    pub(crate) fn note_written(&mut self, store: &BulkStore, range: std::ops::Range<u64>) {
        let Some(proxies) = &mut self.world.proxies else { return };
        let number = self.warp.number;
        let now = Now {
            cluster: self.team.number,
            column: self.team.clocks.asynchronous_column(number),
            lane: store.lane,
            seen: &store.seen,
        };
        let mark = Mark {
            moment: proxies.tick(),
            cluster: now.cluster,
            column: number as u16,
            lane: store.lane as u8,
            clock: self.team.clocks.row(number)[number],
            instruction: store.instruction,
        };
        let mut found = None;
        proxies.each(range, |touched| {
            let plain = [touched.write, touched.read].into_iter().find(|mark| mark.is_unordered(&now));
            let reduction = store.reduce.is_none().then_some(touched.bulk_reduction);
            let copies = [touched.bulk_write, touched.bulk_read].into_iter().chain(reduction);
            let bulk = copies.into_iter().find(|mark| mark.is_unordered(&now));
            let plain = plain.map(|mark| (UNORDERED, mark.instruction));
            found = found.or(plain).or(bulk.map(|mark| (UNORDERED_COPIES, mark.instruction)));
            let reduces = store.reduce.is_some();
            *(if reduces { &mut touched.bulk_reduction } else { &mut touched.bulk_write }) = mark;
        });
        self.report_global(found, store.lane, store.instruction);
    }

    fn report_global(&mut self, found: Found, lane: u32, pc: u32) {
        let Some((message, other)) = found else { return };
        let message = format!("{message} (global memory)");
        let who = self.warp.who(self.team);
        self.world.find(FindingKind::AsyncRace, message, pc, Some(other), who, lane);
    }
}
