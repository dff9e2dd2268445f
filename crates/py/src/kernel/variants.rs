//! The kernels that a function was compiled to in this process, and the objects of their keys.

use super::prediction::Prediction;
use super::variant::Variant;
use crate::arguments::constexpr::ObjectTable;
use pyo3::prelude::Python;
use pyo3::sync::MutexExt;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The kernels of a function.
#[derive(Default)]
pub(crate) struct Variants {
    /// By key. The objects of keys stay when these are forgotten: a launch under way may hold their numbers.
    pub(crate) kernels: runtime::launch::Variants<Variant, Prediction>,
    objects: Mutex<ObjectTable>,
    /// Whether the function is listed among those that have kernels.
    pub(super) is_listed: AtomicBool,
}

impl Variants {
    /// The objects of the keys. Working with them may run Python code, so the wait for them lets others run.
    pub(crate) fn objects(&self, py: Python<'_>) -> MutexGuard<'_, ObjectTable> {
        self.objects.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }
}
