//! Who touched each byte of global memory last, by ordinary accesses and by bulk copies.
//!
//! The two go by different proxies. A bulk copy sees what ordinary stores wrote, and leaves alone what ordinary loads
//! still read, only behind a fence between the proxies and in the order of barriers. What a bulk copy did comes before
//! an ordinary access where its completion was waited for. Only pairs of which one is a bulk copy are looked at; of
//! accesses of different clusters only the fence is.

use crate::machine::block::{Delivery, Team};
use emulation::Fenced;
use rustc_hash::FxHashMap;

/// Bytes that are recorded together.
const PAGE: u64 = 512;

/// An access of a byte.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Mark {
    /// When it was, among all accesses of the launch; 0 if there was none.
    pub(crate) moment: u64,
    pub(crate) cluster: u32,
    /// Its column among the clocks of its cluster, when it was by that, and who did it.
    pub(crate) column: u16,
    pub(crate) lane: u8,
    pub(crate) clock: u32,
    pub(crate) instruction: u32,
}

/// The last accesses of a byte.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Touched {
    pub(crate) write: Mark,
    pub(crate) read: Mark,
    pub(crate) bulk_write: Mark,
    /// A copy that combined the byte with what it brought: such ones may come in any order.
    pub(crate) bulk_reduction: Mark,
    pub(crate) bulk_read: Mark,
}

impl Touched {
    /// The copies that changed the byte last.
    pub(crate) fn bulk_changes(&self) -> [Mark; 2] {
        [self.bulk_write, self.bulk_reduction]
    }
}

/// What is known of the global memory of a launch.
#[derive(Debug, Default)]
pub(crate) struct Proxies {
    pages: FxHashMap<u64, Box<[Touched]>>,
    moment: u64,
}

/// What is wrong, and the other instruction.
pub(crate) type Found = Option<(&'static str, u32)>;

pub(crate) const UNORDERED: &str =
    "an ordinary access and a bulk copy touch the same bytes, and nothing orders the two";
pub(crate) const UNORDERED_COPIES: &str = "two bulk copies touch the same bytes, and nothing orders the two";
const UNFENCED: &str =
    "a bulk copy touches what an ordinary access touched, with no fence of the proxies between";

/// Who does something now, and what comes before it.
pub(crate) struct Now<'a> {
    pub(crate) cluster: u32,
    pub(crate) column: usize,
    pub(crate) lane: u32,
    pub(crate) seen: &'a [u32],
}

impl Mark {
    /// Whether it was there at all, in this cluster, and does not come before something.
    pub(crate) fn is_unordered(&self, now: &Now<'_>) -> bool {
        let column = usize::from(self.column);
        self.moment > 0
            && self.cluster == now.cluster
            && if column == now.column {
                u32::from(self.lane) != now.lane && self.clock >= now.seen[column]
            } else {
                self.clock > now.seen[column]
            }
    }
}

impl Proxies {
    /// Goes over the records of bytes.
    pub(crate) fn each(&mut self, range: std::ops::Range<u64>, mut f: impl FnMut(&mut Touched)) {
        let mut at = range.start;
        while at < range.end {
            let end = range.end.min((at / PAGE + 1) * PAGE);
            let page = self.pages.entry(at / PAGE);
            let page = page.or_insert_with(|| vec![Touched::default(); PAGE as usize].into());
            let start = (at % PAGE) as usize;
            page[start..start + (end - at) as usize].iter_mut().for_each(&mut f);
            at = end;
        }
    }

    /// A moment later than all before.
    pub(crate) fn tick(&mut self) -> u64 {
        self.moment += 1;
        self.moment
    }

    /// A bulk copy begins to touch bytes: whether something that it must not miss was not fenced.
    pub(crate) fn unfenced(
        &mut self,
        team: &Team,
        issuer: usize,
        range: std::ops::Range<u64>,
        writes: bool,
    ) -> Found {
        let mut found = None;
        let missed = |mark: &Mark| {
            let (writer, clock) = (usize::from(mark.column), mark.clock);
            mark.moment > 0
                && if mark.cluster == team.number {
                    !team.clocks.is_fenced(issuer, writer, clock, Fenced::Global)
                } else {
                    mark.moment > team.fenced[issuer]
                }
        };
        self.each(range, |touched| {
            let of_own_read = writes && touched.read.cluster == team.number;
            let marks = [Some(&touched.write), of_own_read.then_some(&touched.read)];
            let missed = marks.into_iter().flatten().find(|mark| missed(mark));
            found = found.or(missed.map(|mark| (UNFENCED, mark.instruction)));
        });
        found
    }
}

/// Checks and records what a bulk copy reads of global memory when it lands.
pub(crate) fn note_landed(
    proxies: &mut Proxies,
    cluster: u32,
    delivery: &Delivery,
    (column, clock): (usize, u32),
    range: std::ops::Range<u64>,
) -> Found {
    let now = Now { cluster, column, lane: delivery.lane, seen: &delivery.seen };
    let mark = Mark {
        moment: proxies.tick(),
        cluster,
        column: column as u16,
        lane: delivery.lane as u8,
        clock,
        instruction: delivery.instruction,
    };
    let mut found = None;
    proxies.each(range, |touched| {
        let plain = touched.write.is_unordered(&now).then_some((UNORDERED, touched.write.instruction));
        let bulk = touched.bulk_changes().into_iter().find(|mark| mark.is_unordered(&now));
        let bulk = bulk.map(|mark| (UNORDERED_COPIES, mark.instruction));
        found = found.or(plain).or(bulk);
        touched.bulk_read = mark;
    });
    found
}
