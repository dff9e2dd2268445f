//! Kernels in PTX, a few lines for each family of instructions, against formulas that share nothing with the
//! emulator.

mod asynchronous;
mod bits;
mod common;
mod control;
mod convert;
mod float;
mod integer;
mod matrix;
mod memory;
mod product;
mod roles;
mod sync;
mod text;
mod warp;
