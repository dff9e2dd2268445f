//! Kernels written by hand, for every class of instructions and every check.

mod atomic;
mod buffer;
mod check;
mod common;
mod convert;
mod exchange;
mod flow;
mod matrix;
mod number;
mod refuse;
