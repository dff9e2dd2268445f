//! What is known about the values of a region, which is forgotten where the region ends.
//!
//! A block that was put into scratch memory inside of a loop body or a branch is gone behind it: the region may not
//! have run at all, and its memory is used again. So an entry lives as long as the scope that it was made in, whatever
//! value it speaks of.

use rustc_hash::FxHashMap;
use std::hash::Hash;

/// A map from values, or from values as numbers of a type, whose entries end with the scope that they were made in.
#[derive(Debug)]
pub(crate) struct Scoped<V, K = ir::Value> {
    entries: FxHashMap<K, V>,
    /// What entries were before, from the outermost scope on.
    before: Vec<(K, Option<V>)>,
}

/// A place in the history of a [`Scoped`] map.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark(usize);

impl<V, K> Default for Scoped<V, K> {
    fn default() -> Scoped<V, K> {
        Scoped { entries: FxHashMap::default(), before: Vec::new() }
    }
}

impl<V, K: Copy + Eq + Hash> Scoped<V, K> {
    /// What is known of a value.
    pub(crate) fn get(&self, value: &K) -> Option<&V> {
        self.entries.get(value)
    }

    /// Whether anything is known of a value.
    pub(crate) fn contains_key(&self, value: &K) -> bool {
        self.entries.contains_key(value)
    }

    /// Notes something about a value, until the scope ends.
    pub(crate) fn insert(&mut self, value: K, known: V) {
        let before = self.entries.insert(value, known);
        self.before.push((value, before));
    }

    /// Opens a scope.
    pub(crate) fn mark(&self) -> Mark {
        Mark(self.before.len())
    }

    /// Closes the scopes opened since, that of the mark included.
    pub(crate) fn rewind(&mut self, mark: Mark) {
        for (value, before) in self.before.drain(mark.0..).rev() {
            match before {
                Some(before) => self.entries.insert(value, before),
                None => self.entries.remove(&value),
            };
        }
    }
}

impl<V: Clone, K: Copy + Eq + Hash> Scoped<V, K> {
    /// Forgets what is known of a value, until the scope ends.
    pub(crate) fn remove(&mut self, value: &K) {
        if let Some(before) = self.entries.remove(value) {
            self.before.push((*value, Some(before)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Scoped;

    #[test]
    fn a_scope_leaves_no_trace() {
        let [a, b, c] = [0, 1, 2].map(ir::Value::from_u32);
        let mut known = Scoped::default();
        known.insert(a, 1);
        known.insert(b, 2);
        let outer = known.mark();
        known.insert(a, 3);
        let inner = known.mark();
        known.remove(&a);
        known.remove(&b);
        known.insert(c, 4);
        known.insert(b, 5);
        assert_eq!([a, b, c].map(|value| known.get(&value).copied()), [None, Some(5), Some(4)]);
        known.rewind(inner);
        assert_eq!([a, b, c].map(|value| known.get(&value).copied()), [Some(3), Some(2), None]);
        known.rewind(outer);
        assert_eq!([a, b, c].map(|value| known.get(&value).copied()), [Some(1), Some(2), None]);
    }
}
