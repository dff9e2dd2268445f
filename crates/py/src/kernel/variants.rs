//! The kernels that a function was compiled to in this process, and what its next launch is expected to be.

use super::compiled::CompiledKernel;
use super::prediction::Prediction;
use super::variant::Variant;
use crate::arguments::constexpr::ObjectTable;
use pyo3::prelude::{Py, Python};
use pyo3::sync::MutexExt;
use runtime::specialize::LaunchKey;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The kernels that a function was compiled to in this process.
#[derive(Default)]
pub(crate) struct Variants {
    by_key: Mutex<FxHashMap<LaunchKey, Arc<Variant>>>,
    objects: Mutex<ObjectTable>,
    /// What the next launch will probably be like.
    prediction: Mutex<Option<Arc<Prediction>>>,
    /// How many launches went the long way.
    long: AtomicU32,
}

impl Variants {
    #[inline]
    pub(crate) fn find(&self, key: &LaunchKey) -> Option<Arc<Variant>> {
        self.by_key.lock().unwrap_or_else(PoisonError::into_inner).get(key.words()).cloned()
    }

    /// Adds a variant; where another thread was first, gives that one.
    pub(crate) fn add(&self, key: LaunchKey, variant: Arc<Variant>) -> Arc<Variant> {
        let mut by_key = self.by_key.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(by_key.entry(key).or_insert(variant))
    }

    /// The objects of the keys. Working with them may run Python code, so the wait for them lets others run.
    pub(crate) fn objects(&self, py: Python<'_>) -> MutexGuard<'_, ObjectTable> {
        self.objects.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// What the next launch will probably be like.
    #[inline]
    pub(crate) fn prediction(&self) -> Option<Arc<Prediction>> {
        self.prediction.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Remembers what a launch was like, if the kernel of its key is still the one that it ran. Of launches that go the long way
    /// ever fewer are remembered: where they alternate, most would be remembered in vain.
    pub(crate) fn remember(
        &self,
        key: &LaunchKey,
        variant: &Arc<Variant>,
        prediction: impl FnOnce() -> Option<Prediction>,
    ) {
        let count = self.long.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let Some(new) = count.is_power_of_two().then(prediction).flatten().map(Arc::new) else { return };
        let by_key = self.by_key.lock().unwrap_or_else(PoisonError::into_inner);
        let stands = by_key.get(key.words()).is_some_and(|known| Arc::ptr_eq(known, variant));
        let old = if stands {
            self.prediction.lock().unwrap_or_else(PoisonError::into_inner).replace(new)
        } else {
            Some(new)
        };
        drop(by_key);
        // Dropping Python objects may run Python code, which may come back here.
        drop(old);
    }

    /// Forgets the kernels. The objects of keys stay: a launch under way may hold their numbers.
    pub(crate) fn clear(&self) {
        let mut by_key = self.by_key.lock().unwrap_or_else(PoisonError::into_inner);
        let old = std::mem::take(&mut *by_key);
        let prediction = self.prediction.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(by_key);
        // As above.
        drop((old, prediction));
    }

    /// All kernels.
    pub(crate) fn compiled(&self, py: Python<'_>) -> Vec<Py<CompiledKernel>> {
        let by_key = self.by_key.lock().unwrap_or_else(PoisonError::into_inner);
        by_key.values().map(|variant| variant.compiled.clone_ref(py)).collect()
    }
}
