//! Runs llir for AMD GPUs on a core, one lane after another, and watches what it does.
//!
//! What LLVM gets is what runs: a module, or its text. Beyond results, the emulator tells what hardware hides: accesses
//! of LDS that nothing orders, values that nobody wrote, copies to LDS that nobody waited for, addresses outside every
//! allocation, barriers that some lanes of a warp skip. A message names the line of the llir, the line of the source
//! where the llir has it, the program, the warp and the lane.
//!
//! # Order of the stages
//! `decode` turns functions into blocks of instructions on rows of lanes, with one file an instruction family in `ops`;
//! `machine` runs them, with memory, race checks and number formats of the crate `emulation`. Which intrinsics an
//! architecture has is read from the crate `amdgcn-isa`.
//!
//! # The model
//! - A warp (wave) has 64 lanes, or 32 on RDNA. Lanes that part at a branch meet again at its immediate post-dominator,
//!   one side running after the other, as LLVM arranges it: a lane that waits for another one of its warp waits for
//!   ever.
//! - Fences and barriers order memory as LLVM's model says: `s.barrier` without fences around it orders nothing.
//! - Programs of a grid run on all cores. A kernel with atomics on device memory runs on one, so that results do not
//!   depend on how many there are.
//! - Approximate instructions (`v_exp`, `v_log`, `v_rcp`, `v_rsq`) give the correctly rounded value, and flush
//!   denormals where hardware does. `fptosi` of what does not fit saturates.
//!
//! # What is not there
//! Timing; inline assembly but for empty one; indirect and recursive calls; integers of more than 64 bits; races on
//! device memory. What cannot be run is refused by [`Program::new`] with its line.

mod decode;
mod machine;
mod ops;
mod program;

pub use amdgcn_isa::Arch;
pub use emulation::printf;
pub use emulation::{
    Argument, Checks, Fault, FaultKind, Finding, FindingKind, Memory, OutOfBounds, Place, Report,
};
pub use program::{Diagnostic, Launch, Param, Program};
