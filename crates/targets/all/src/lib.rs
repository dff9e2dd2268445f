//! The list of all targets in this build. The one place outside `targets/<vendor>/` that names them.

use std::sync::Arc;

/// Every target of this build, the preferred default first.
pub fn all() -> Vec<Arc<dyn target::Target>> {
    vec![nvidia::target(), cpu::target()]
}
