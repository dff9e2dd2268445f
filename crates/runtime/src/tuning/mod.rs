//! Tuning: which of several configurations of a kernel is the fastest, and remembering it.
//!
//! ```text
//! Subject (kernel text, key values, dtypes, device, driver, version) ── key ──> Record on disk: what was measured before
//!    └─ Session: which configurations to try next (search) ─> compile them on all cores (workers)
//!                 how often to run each, and when to stop (sampler) ─> outcome ─> to the record, at once
//! ```
//!
//! - A configuration's outcome is on disk as soon as it is known, by a file that is replaced whole: whatever ends the
//!   process, the next one goes on from there.
//! - Results are kept by configuration, so that adding one to the list measures that one alone.
//! - Nothing here launches or knows Python: whoever does hands in times and takes out decisions.
//!
//! Left out: the clock and the launches, which are the caller's.

mod file;
mod record;
mod sampler;
mod search;
mod session;
mod store;
mod workers;

pub use file::{FORMAT, VERSION, read_file, write_file};
pub use record::{Measured, Outcome, Record, Subject, Times};
pub use sampler::{Sampler, quantile};
pub use search::{Search, Setting, Strategy};
pub use session::{Finals, Session};
pub use store::{Results, keeps};
pub use workers::{Next, Workers};

#[cfg(test)]
mod tests;
