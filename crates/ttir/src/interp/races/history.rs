//! Sets of accesses that nothing orders among each other, of which memory remembers one for each piece.
//!
//! Neighbours mostly have the same history, so a set is a number: the last access, and the number of the set in front
//! of it. What is asked of a set and an access is answered once.

use rustc_hash::FxHashMap;

/// A set of accesses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Set(pub(super) u32);

/// An access of a program, at one of its times.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Event(pub(super) u32);

impl Set {
    /// No access.
    pub(super) const EMPTY: Set = Set(0);
}

/// Sets that are kept, at most. Beyond, a set is its last access alone: races with earlier ones may be missed, and
/// none is found where there is none.
const MOST: usize = 1 << 20;

#[derive(Clone, Copy)]
struct Link {
    before: Set,
    event: Event,
    /// Whether all accesses of the set are atomic.
    is_atomic: bool,
}

/// All sets of a launch.
pub(super) struct Histories {
    sets: Vec<Link>,
    numbers: FxHashMap<(Set, Event), Set>,
}

impl Histories {
    pub(super) fn new() -> Histories {
        let empty = Link { before: Set::EMPTY, event: Event(0), is_atomic: true };
        Histories { sets: vec![empty], numbers: FxHashMap::default() }
    }

    /// A set with one more access.
    pub(super) fn with(&mut self, set: Set, event: Event, is_atomic: bool) -> Set {
        let set = if self.sets.len() >= MOST { Set::EMPTY } else { set };
        *self.numbers.entry((set, event)).or_insert_with(|| {
            let is_atomic = is_atomic && self.sets[set.0 as usize].is_atomic;
            self.sets.push(Link { before: set, event, is_atomic });
            Set(u32::try_from(self.sets.len() - 1).expect("fewer sets than accesses"))
        })
    }

    /// Whether all accesses of a set are atomic.
    pub(super) fn is_atomic(&self, set: Set) -> bool {
        self.sets[set.0 as usize].is_atomic
    }

    /// The set without its last access, and that.
    pub(super) fn last(&self, set: Set) -> Option<(Set, Event)> {
        let link = self.sets[set.0 as usize];
        (set != Set::EMPTY).then_some((link.before, link.event))
    }

    /// The accesses of a set, the last one first.
    pub(super) fn events(&self, set: Set) -> impl Iterator<Item = Event> {
        let mut next = set;
        std::iter::from_fn(move || {
            let (before, event) = self.last(next)?;
            next = before;
            Some(event)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Event, Histories, Set};

    #[test]
    fn equal_sets_have_one_number() {
        let mut histories = Histories::new();
        let one = histories.with(Set::EMPTY, Event(7), true);
        let two = histories.with(one, Event(8), false);
        assert_eq!(histories.last(two), Some((one, Event(8))));
        assert_eq!(histories.with(one, Event(8), false), two);
        assert!(histories.is_atomic(one) && !histories.is_atomic(two));
        assert_eq!(histories.events(two).collect::<Vec<_>>(), [Event(8), Event(7)]);
        assert_eq!(histories.events(Set::EMPTY).count(), 0);
    }
}
