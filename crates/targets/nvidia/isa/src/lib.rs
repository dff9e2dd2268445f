//! The PTX instruction table: which mnemonics there are, what operands they take, and since when.
//!
//! A row is one line of a pattern language ([`Row`]); `table` has the rows, a file for each family. Two look
//! instructions up: the back end, so that `.version` is the lowest that has them all and an instruction that the
//! architecture lacks is an error of ours; and the emulator, which refuses what is no instruction. A test of the back
//! end gives the rows to `ptxas`.

mod arch;
mod operands;
mod pattern;
mod role;
mod table;

pub use arch::{Arch, UnknownArch, Version};
pub use operands::{Kind, OperandRow, Width, operands};
pub use pattern::{Need, Role, Row, expansions};
pub use role::{computes, device_bytes, machine_instructions, mnemonics, role};
pub use table::{find, find_in_any_order, rows};
