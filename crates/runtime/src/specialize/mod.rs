//! From arguments to what a kernel is compiled for.
//!
//! A launch looks at each argument once. The rules of the language ([`ParamRules`]) turn it into a few words of a
//! [`LaunchKey`] and, where it is passed at run time, into an 8-byte slot. The key is all that a compile sees of the
//! arguments: [`decode`] makes the front end's [`frontend::ArgSpec`]s from it, so equal keys cannot mean different
//! kernels.
//!
//! The rules, which are the reference's:
//! - an integer equal to 1 becomes a constexpr; other integers are `i32`, `i64` or `u64` by their value, and are known
//!   to be divisible by 16 where they are; on targets whose wide accesses need an alignment, integers that take part in
//!   addresses or masks are also known to be divisible by 8, 4 or 2, as far as that makes an access of the smallest
//!   elements wider;
//! - a bool is `u1`, a float `fp32`, `None` a constexpr;
//! - a tensor descriptor has an element type, a block shape, padding and rounding, and its last size is known to be a
//!   multiple of 16 bytes where it is;
//! - a pointer is known to be aligned where its address is divisible by 16;
//! - `do_not_specialize` turns off both the 1 and the 16, `do_not_specialize_on_alignment` the 16 alone;
//! - an annotation that names a type fixes the type, and there is no 1.
//!
//! Left out: what a Python object is. The caller says whether it is an integer, a float or a pointer.

mod descriptor;
mod key;
mod rules;
mod slot;

// Whoever hands in memory says what it holds.
pub use frontend::DType;

pub use descriptor::{Dims, TensorArgument, TensorSpec, tensor_name};
pub(crate) use key::near_word;
pub use key::{LaunchKey, decode};
pub use rules::{Argument, FINEST, ParamRules};
pub use slot::{float_slot, int_slot, spec_of_kind};

/// What one parameter was compiled for.
pub type Spec = frontend::ArgSpec;

/// The type of a run-time parameter, with its name in signatures.
#[derive(Clone, Debug, PartialEq)]
pub struct RuntimeType {
    /// The type.
    pub ty: frontend::Scalar,
    /// `*fp32`, `i32`, ….
    pub name: String,
    /// What the code relies on.
    pub known: frontend::Known,
}

/// The type of a parameter that is passed at run time; `None` for a constexpr, for tuples and for tensor descriptors.
pub fn runtime_type(spec: &Spec) -> Option<RuntimeType> {
    match spec {
        frontend::ArgSpec::Runtime { ty, known } => {
            Some(RuntimeType { ty: *ty, name: frontend::signature::type_text(*ty), known: *known })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
