//! The launch path: `kernel[grid](…)`, its arguments sorted and read, the kernel found or compiled, the device called.
//!
//! It is written for speed: a launch of a compiled kernel allocates next to nothing and runs no Python code but what
//! reads an argument's address and dtype.

pub(crate) mod bind;
pub(crate) mod hooks;
pub(crate) mod interpreted;
pub(crate) mod jit_function;
pub(crate) mod launcher;
pub(crate) mod miss;
pub(crate) mod predict;
pub(crate) mod prepare;
pub(crate) mod run;
pub(crate) mod staged;
