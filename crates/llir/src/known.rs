//! Instructions that only give their results, to be found again by what they are: equal ones give equal results.

use crate::function::{Block, Function, InstData, Value};
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};

/// What an instruction is, in short: equal ones have equal keys.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Key(u64);

impl Key {
    pub(crate) fn of(data: &InstData) -> Key {
        let mut hasher = FxHasher::default();
        data.hash(&mut hasher);
        Key(hasher.finish())
    }
}

/// The results of instructions, with the blocks that they are in. The instructions themselves stay in the function and may
/// not change while they are known.
#[derive(Debug)]
pub(crate) struct Known {
    results: FxHashMap<Key, SmallVec<[(Block, Value); 1]>>,
}

impl Known {
    /// Nothing yet, with room for what a function of the usual size has.
    pub(crate) fn new() -> Known {
        const USUAL: usize = 1500;
        Known { results: FxHashMap::with_capacity_and_hasher(USUAL, Default::default()) }
    }

    /// The result of an equal instruction in a block that will do.
    pub(crate) fn find(
        &self,
        function: &Function,
        (key, data): (Key, &InstData),
        will_do: impl Fn(Block) -> bool,
    ) -> Option<Value> {
        let results = self.results.get(&key)?;
        let equal = |value: Value| function.defining(value) == Some(data);
        results.iter().find(|(block, value)| will_do(*block) && equal(*value)).map(|(_, value)| *value)
    }

    /// Adds the result of an instruction.
    pub(crate) fn add(&mut self, key: Key, block: Block, value: Value) {
        self.results.entry(key).or_default().push((block, value));
    }
}
