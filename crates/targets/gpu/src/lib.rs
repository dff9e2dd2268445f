//! What targets for GPUs share: the stages that a compile has in common, parameters of kernels, errors in a target's
//! words.
//!
//! ```text
//! ttir ──layouts, passes──> ttgir ──lanes──> llir ──passes──> llir ──> assembly of the vendor
//! ```
//!
//! A target says what differs through [`Backend`]; [`Compile`] does the steps up to llir and keeps the stages. Nothing
//! here knows a vendor. [`driver`] is what drivers of GPUs have in common. Left out: machine code, and what a launch
//! decides, which is the runtime's.

mod compile;
mod deep;
pub mod driver;
pub mod emulated;
mod errors;
mod fit;
mod inline_assembly;
mod launch;
mod observe;
mod options;
mod params;
mod pipeline;
mod stage;

pub use compile::{Backend, Code, Compile};
pub use errors::{check_shared, not_lowered, out_of_shared, refused};
pub use inline_assembly::InlineAssembly;
pub use launch::device_facts;
pub use observe::{LanePasses, LayoutPasses};
pub use options::{NO_LINES, NO_PASSES, number, text};
pub use params::params;
pub use pipeline::{Launch, to_ttgir};
pub use stage::{LLIR, TTGIR};
