//! What all ways to touch memory have in common.

use lanes::Access;
use llir::{FunctionBuilder, Value};
use ttir::ops::memory::{CacheModifier, EvictionPolicy};

/// Whether what is touched is used once.
pub(super) fn is_streamed(access: &Access) -> bool {
    access.cache == CacheModifier::Cs || access.eviction == EvictionPolicy::First
}

/// One value of several; of one it is that.
pub(super) fn joined(b: &mut FunctionBuilder<'_>, values: &[Value]) -> Value {
    if let [value] = values { *value } else { b.vector(values) }
}
