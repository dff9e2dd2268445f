//! Python objects as arguments of kernels: their kinds, values, memory and element types.

pub(crate) mod array;
pub(crate) mod constexpr;
pub(crate) mod descriptor;
pub(crate) mod dtype;
pub(crate) mod extents;
pub(crate) mod kind;
pub(crate) mod nesting;
pub(crate) mod number;
pub(crate) mod read;
pub(crate) mod specialize;
pub(crate) mod tensor;
pub(crate) mod tuple;
