//! Kernels whose bodies Python runs: the values that they compute with, and the operations that they call.
//!
//! `perform` is the one way to an operation: its name and the operands make a key, under which the runtime keeps the
//! step ([`runtime::eager`]). What is decided, is decided there and in the front end.

mod encode;
mod launch;
mod methods;
mod perform;
mod result;
mod show;
mod sites;
mod state;
mod value;
mod waiting;

pub(crate) use launch::{Launched, launch};
pub(crate) use perform::{assigned, call, enter_program, is_running, set_extensions};
pub(crate) use value::{BoundOperation, KernelValue};
