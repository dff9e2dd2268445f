//! The order in which warps get time slices, and when copies land: one after the other, or by a seed.
//!
//! What a program computes must not depend on it. A seed shuffles the warps in every round, leaves some out, makes
//! time slices short or long, and lands copies before anybody asks for them.

/// Instructions of a warp's time slice.
const SLICE: u32 = 2_000;
/// The same where a seed decides, at most.
const SHORT_TURN: u64 = 200;

/// A schedule.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// The state of the random numbers; 0 where warps follow each other.
    state: u64,
}

impl Schedule {
    /// Of a seed; 0 for one warp after the other.
    pub(crate) fn new(seed: u64) -> Schedule {
        // Seeds that are neighbours begin far apart.
        Schedule { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) }
    }

    fn below(&mut self, end: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) % end
    }

    /// Whether a seed decides.
    pub(crate) fn is_random(&self) -> bool {
        self.state != 0
    }

    /// The order of so many warps in this round.
    pub(crate) fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        if self.is_random() {
            for end in (1..count).rev() {
                order.swap(end, self.below(end as u64 + 1) as usize);
            }
        }
        order
    }

    /// The instructions of a time slice; `None` where the warp is left out.
    pub(crate) fn slice(&mut self) -> Option<u32> {
        if !self.is_random() {
            return Some(SLICE);
        }
        match self.below(4) {
            0 => None,
            1 => Some(SLICE),
            _ => Some(1 + self.below(SHORT_TURN) as u32),
        }
    }

    /// Which of so many copies on their way lands now, if one does.
    pub(crate) fn lands(&mut self, count: usize) -> Option<usize> {
        (self.is_random() && count > 0 && self.below(2) == 0).then(|| self.below(count as u64) as usize)
    }
}
