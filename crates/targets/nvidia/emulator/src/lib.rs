//! Runs PTX text on a core, one lane after another, and watches what it does.
//!
//! A kernel that runs here needs no GPU. Beyond results, the emulator tells what hardware hides: accesses of shared
//! memory that nothing orders, values that nobody wrote, asynchronous copies that nobody waited for, addresses
//! outside every allocation, bank conflicts, sectors touched. Every message names the PTX line and, where the text
//! has `.loc`, the source line.
//!
//! ```
//! use emulator::{Checks, Launch, Memory, Program};
//!
//! let program = Program::parse(
//!     ".version 8.0
//!      .target sm_80
//!      .address_size 64
//!      .visible .entry double_all(.param .u64 p)
//!      {
//!          .reg .b32 %r<3>;
//!          .reg .b64 %rd<3>;
//!          ld.param.u64 %rd1, [p];
//!          mov.u32 %r1, %tid.x;
//!          mad.wide.u32 %rd2, %r1, 4, %rd1;
//!          ld.global.u32 %r2, [%rd2];
//!          add.u32 %r2, %r2, %r2;
//!          st.global.u32 [%rd2], %r2;
//!          ret;
//!      }",
//! )?;
//! let mut memory = Memory::new();
//! let numbers: Vec<u8> = (0..32u32).flat_map(u32::to_le_bytes).collect();
//! let address = memory.allocate_with(&numbers);
//! let launch = Launch { block: [32, 1, 1], arguments: vec![address.into()], ..Launch::default() };
//! let report = program.launch("double_all", &launch, &mut memory, Checks::default())?;
//! assert!(report.findings.is_empty());
//! let mut last = [0; 4];
//! memory.read(address + 31 * 4, &mut last)?;
//! assert_eq!(u32::from_le_bytes(last), 62);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Order of the stages
//! `syntax` (text to statements), `decode` (names to rows, opcodes to what they do), `machine` (runs it), with one
//! file an instruction family in `ops`, arithmetic in `numeric`. Memory, race checks and reports are
//! those of the crate `emulation`.
//!
//! # What is not there
//! Timing; textures and surfaces; indirect and recursive calls; tensor memory (`tcgen05`). What cannot be run is
//! refused by [`Program::parse`] with its line.

mod assemble;
mod decode;
mod diagnostic;
mod machine;
mod numeric;
mod ops;
mod program;
mod syntax;
mod tensor_map;

pub use diagnostic::Diagnostic;
pub use emulation::{
    Argument, Checks, Counter, Fault, FaultKind, Finding, FindingKind, Memory, OutOfBounds, Place, Report,
};
pub use machine::code::Param;
pub use machine::world::Launch;
pub use program::{Entry, Program};
pub use tensor_map::{Swizzle, TensorMap};
