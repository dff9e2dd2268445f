//! What each access, layout conversion and dot of a compiled kernel costs, and what bounds it.
//!
//! [`inspect`] takes the text of a kernel's stages and answers a [`Report`]; [`terminal::terminal`] and [`html::html`]
//! show it. What was decided (how wide accesses are, how layouts change, which instructions multiply) is asked of the
//! target, whose lowering writes it down while it decides ([`target::Target::survey`]); here it is put beside the
//! source and weighed.
//!
//! - Addresses and trip counts are worked out for arguments that are given or, said in the report, assumed
//!   ([`numbers`]).
//! - Amounts of work are sums that name the loops they depend on ([`loops::Amount`]).
//! - Every bound is one that no execution beats: peaks are data of the target, latency is hidden as far as loads in
//!   flight hide it ([`bounds`]). The largest names the bottleneck ([`verdict`]).
//!
//! Left out on purpose: running anything, measuring, files, and the names of vendors.

mod bounds;
mod build;
mod formula;
pub mod html;
pub mod loops;
mod numbers;
mod place;
pub mod report;
mod rows;
mod setting;
mod shared;
mod stages;
pub mod terminal;
mod text;
mod traffic;
mod verdict;
mod width;
mod work;

pub use build::{Request, Texts, inspect};
pub use place::Place;
pub use report::Report;
pub use work::Kind;
