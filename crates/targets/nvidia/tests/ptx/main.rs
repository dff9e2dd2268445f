//! llir to PTX, every text assembled by a real assembler.

mod basic;
mod support;
