//! The targets of this build.

use std::sync::{Arc, OnceLock};
use target::Target;

/// Every target of this build, made once.
pub fn all_targets() -> &'static [Arc<dyn Target>] {
    static ALL: OnceLock<Vec<Arc<dyn Target>>> = OnceLock::new();
    ALL.get_or_init(targets::all)
}
