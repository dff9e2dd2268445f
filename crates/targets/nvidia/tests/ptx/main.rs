//! llir to PTX, every text assembled by a real assembler.

#[path = "../support/assembler.rs"]
mod assembler;
mod basic;
mod families;
mod fixtures;
#[path = "../support/mod.rs"]
mod lowering;
mod programs;
mod rows;
mod support;
