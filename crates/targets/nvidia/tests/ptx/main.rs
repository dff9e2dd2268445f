//! llir to PTX, every text assembled by a real assembler.

mod basic;
#[path = "../support/mod.rs"]
mod lowering;
mod programs;
mod support;
