//! Bulk copies of what descriptors describe: products of random blocks on the emulator, and what it says when an
//! arrival, a wait, a barrier or a copy is missing.

#[path = "../support/assembler.rs"]
mod assembler;
mod boxes;
mod case;
mod copies;
mod guards;
mod kernel;
mod nests;
mod order;
mod pairs;
mod parts;
mod random;
mod reductions;
mod roles;
