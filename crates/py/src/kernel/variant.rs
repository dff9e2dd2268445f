//! A kernel that was compiled for one key.

use super::compiled::CompiledKernel;
use super::used::UsedGlobal;
use pyo3::prelude::Py;
use std::sync::Arc;

/// A kernel compiled for one key.
pub(crate) struct Variant {
    /// What Python sees of it.
    pub(crate) compiled: Py<CompiledKernel>,
    /// The kernel itself.
    pub(crate) kernel: Arc<runtime::compile::Kernel>,
    /// The globals that must not change.
    pub(crate) used: Vec<UsedGlobal>,
}
