//! What emulators of GPUs share, whatever code they run: the memory that a launch may touch, clocks and shadows that
//! find races, formats of floating point with exact rounding, the operations of atomics, `printf`, and reports.
//!
//! Nothing here knows an instruction. An emulator brings its code, its lanes and its schedule, tells [`Shadow`] who
//! touches which byte and [`Clocks`] who has met whom, and hands what it notices to [`Findings`].

pub mod arithmetic;
mod barrier;
mod checks;
mod clocks;
mod format;
mod interrupt;
mod memory;
pub mod printf;
mod reduce;
mod report;
mod shadow;
pub mod traffic;

pub use barrier::Barrier;
pub use checks::{Argument, Checks};
pub use clocks::{Clocks, Fenced, Seen};
pub use format::{
    BF16, E2M1, E2M3, E3M2, E4M3, E4M3_FNUZ, E5M2, E5M2_FNUZ, F16, F32, Format, ROUNDINGS, Rounding,
    Specials, TF32,
};
pub use interrupt::{INTERVAL, Interrupts};
pub use memory::{Hint, HostBytes, Memory, OutOfBounds};
pub use reduce::{Element, OPERATIONS, Operation};
pub use report::{Counter, Fault, FaultKind, Finding, FindingKind, Findings, Place, Report, Who};
pub use shadow::{Access, Clash, Clashed, Shadow};
