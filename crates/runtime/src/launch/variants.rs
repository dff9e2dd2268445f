//! The kernels that a function was compiled to in this process, and what its next launch is expected to be.

use crate::specialize::LaunchKey;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The kernels of a function by their keys. `V` is what an interface keeps of a kernel, `P` what it expects of the next
/// launch.
pub struct Variants<V, P> {
    by_key: Mutex<FxHashMap<LaunchKey, Arc<V>>>,
    prediction: Mutex<Option<Arc<P>>>,
    /// How many launches went the long way.
    long: AtomicU32,
}

impl<V, P> Default for Variants<V, P> {
    fn default() -> Self {
        Variants { by_key: Mutex::default(), prediction: Mutex::default(), long: AtomicU32::new(0) }
    }
}

impl<V, P> Variants<V, P> {
    /// The kernel of a key.
    #[inline]
    pub fn find(&self, key: &LaunchKey) -> Option<Arc<V>> {
        self.by_key.lock().unwrap_or_else(PoisonError::into_inner).get(key.words()).cloned()
    }

    /// Adds a kernel; where another thread was first, gives that one.
    pub fn add(&self, key: LaunchKey, variant: Arc<V>) -> Arc<V> {
        let mut by_key = self.by_key.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(by_key.entry(key).or_insert(variant))
    }

    /// What the next launch will probably be like.
    #[inline]
    pub fn prediction(&self) -> Option<Arc<P>> {
        self.prediction.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Remembers what a launch was like, if the kernel of its key is still the one that it ran. Of launches that go the
    /// long way ever fewer are remembered: where they alternate, most would be remembered in vain.
    pub fn remember(&self, key: &LaunchKey, variant: &Arc<V>, predict: impl FnOnce() -> Option<P>) {
        let count = self.long.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let Some(new) = count.is_power_of_two().then(predict).flatten().map(Arc::new) else { return };
        let by_key = self.by_key.lock().unwrap_or_else(PoisonError::into_inner);
        let stands = by_key.get(key.words()).is_some_and(|known| Arc::ptr_eq(known, variant));
        let old = if stands {
            self.prediction.lock().unwrap_or_else(PoisonError::into_inner).replace(new)
        } else {
            Some(new)
        };
        drop(by_key);
        // Dropping what an interface holds may run code that comes back here.
        drop(old);
    }

    /// Forgets the kernels.
    pub fn clear(&self) {
        let mut by_key = self.by_key.lock().unwrap_or_else(PoisonError::into_inner);
        let old = std::mem::take(&mut *by_key);
        let prediction = self.prediction.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(by_key);
        // As above.
        drop((old, prediction));
    }

    /// All kernels with their keys.
    pub fn all(&self) -> Vec<(LaunchKey, Arc<V>)> {
        let by_key = self.by_key.lock().unwrap_or_else(PoisonError::into_inner);
        by_key.iter().map(|(key, kernel)| (key.clone(), Arc::clone(kernel))).collect()
    }
}
