//! The lists of types that structures are made of: interned for the life of the process, so that a type stays `Copy`.

use super::Type;
use rustc_hash::FxHashMap;
use std::sync::{LazyLock, PoisonError, RwLock};

/// A list of types; equal lists have equal numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Parts(u32);

#[derive(Default)]
struct Interner {
    lists: Vec<&'static [Type]>,
    numbers: FxHashMap<&'static [Type], u32>,
}

static INTERNER: LazyLock<RwLock<Interner>> = LazyLock::new(RwLock::default);

impl Parts {
    /// The number of a list.
    pub(super) fn of(types: &[Type]) -> Parts {
        let known = INTERNER.read().unwrap_or_else(PoisonError::into_inner).numbers.get(types).copied();
        if let Some(number) = known {
            return Parts(number);
        }
        let mut interner = INTERNER.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = interner.numbers.get(types) {
            return Parts(*number);
        }
        let list: &'static [Type] = Box::leak(types.into());
        let number = interner.lists.len() as u32;
        interner.lists.push(list);
        interner.numbers.insert(list, number);
        Parts(number)
    }

    /// The list.
    pub(super) fn types(self) -> &'static [Type] {
        INTERNER.read().unwrap_or_else(PoisonError::into_inner).lists[self.0 as usize]
    }
}
