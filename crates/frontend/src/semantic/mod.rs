//! What the operators and operations of the language mean on tensors: type rules applied, ops emitted.
//!
//! One file per family; every file extends the walking context. Promotion itself is decided in [`crate::typing`].

mod arith;
mod atomic;
mod block_pointer;
mod cast;
mod compare;
mod dot;
mod dot_scaled;
mod fp8e4b15;
mod index;
mod memory;
mod part;
mod poll;
mod python_operators;
mod region;

pub(crate) use arith::{MAXIMUM, MAXIMUM_NAN, MINIMUM, MINIMUM_NAN, Overflow, Pointers};
pub(crate) use atomic::AtomicArgs;
pub(crate) use compare::Predicate;
pub(crate) use dot::DotArgs;
pub(crate) use dot_scaled::{ScaledDotArgs, ScaledOperand};
pub(crate) use fp8e4b15::bits_of as fp8e4b15_bits;
pub(crate) use memory::{LoadArgs, StoreArgs};
pub(crate) use poll::PollArgs;
