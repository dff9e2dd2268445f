//! Instructions that only give their results, to be found again by what they are: equal ones give equal results.

use crate::function::{Block, Function, InstData, Payload, Value};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// What an instruction is, in short: equal ones have equal keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Key(u64);

impl Key {
    /// Operands tell most instructions apart; flags and parts of structures are left to the comparison.
    pub(crate) fn of(data: &InstData) -> Key {
        let mut hasher = FxHasher::default();
        hasher.write_u32(data.op.index() as u32 | data.ty.lane_bits() << 8);
        for value in &data.operands {
            hasher.write_u32(value.as_u32());
        }
        if data.payload != Payload::None {
            data.payload.hash(&mut hasher);
        }
        Key(hasher.finish())
    }
}

/// The results of instructions, with the blocks that they are in. The instructions themselves stay in the function and
/// may not change while they are known.
#[derive(Debug)]
pub(crate) struct Known {
    /// In the order in which they came.
    entries: Vec<(Key, Block, Value)>,
    /// Numbers of entries, counted from 1; 0 is nothing. An entry is in the first place that was free from the one on
    /// that its key names. There is a power of two of places, and half of them are free.
    places: Vec<u32>,
}

impl Known {
    /// What a function of the usual size has.
    pub(crate) const USUAL: usize = 2048;

    /// Nothing yet.
    pub(crate) fn new() -> Known {
        Known { entries: Vec::with_capacity(Known::USUAL), places: vec![0; 2 * Known::USUAL] }
    }

    /// The result of an equal instruction in a block that will do.
    pub(crate) fn find(
        &self,
        function: &Function,
        (key, data): (Key, &InstData),
        will_do: impl Fn(Block) -> bool,
    ) -> Option<Value> {
        self.find_as(function, key, |other| other == data, will_do)
    }

    /// The result of an instruction with a key that is as it should be, in a block that will do.
    pub(crate) fn find_as(
        &self,
        function: &Function,
        key: Key,
        is_equal: impl Fn(&InstData) -> bool,
        will_do: impl Fn(Block) -> bool,
    ) -> Option<Value> {
        let mut place = self.first_place(key);
        loop {
            let (other, block, value) = self.entries[self.places[place].checked_sub(1)? as usize];
            if other == key && will_do(block) && function.defining(value).is_some_and(&is_equal) {
                return Some(value);
            }
            place = (place + 1) & (self.places.len() - 1);
        }
    }

    /// Adds the result of an instruction.
    pub(crate) fn add(&mut self, key: Key, block: Block, value: Value) {
        self.entries.push((key, block, value));
        if self.entries.len() * 2 <= self.places.len() {
            return self.enter(self.entries.len() - 1);
        }
        self.places = vec![0; 2 * self.places.len()];
        (0..self.entries.len()).for_each(|index| self.enter(index));
    }

    fn enter(&mut self, index: usize) {
        let mut place = self.first_place(self.entries[index].0);
        while self.places[place] != 0 {
            place = (place + 1) & (self.places.len() - 1);
        }
        self.places[place] = index as u32 + 1;
    }

    fn first_place(&self, key: Key) -> usize {
        key.0 as usize & (self.places.len() - 1)
    }
}
