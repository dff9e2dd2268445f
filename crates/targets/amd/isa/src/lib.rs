//! The table of LLVM's intrinsics for AMD GPUs: which there are, what they take, and which architectures have them.
//!
//! A row ([`Row`]) is an intrinsic with one signature, or with one for each of a list of types; `table` has the rows, a
//! file for each family. Two look intrinsics up: the back end, which may call no other one, and the emulator, which
//! runs no other one. LLVM stops the process on an intrinsic that an architecture lacks, so a test gives every row to
//! LLVM for every architecture.
//!
//! Names and signatures are those of LLVM 22. Left out: intrinsics that LLVM has for all machines (`llvm.fma`,
//! `llvm.umin`).

mod arch;
mod row;
mod table;

pub use arch::{ARCHS, Arch, Archs, CDNA, EVERY, GFX9, RDNA, Wave};
pub use row::{Call, Effect, Matrix, Number, Role, Row, Signature};
pub use table::{SCALED, convert, exchange, find, matrices, memory, of, rows, system};
