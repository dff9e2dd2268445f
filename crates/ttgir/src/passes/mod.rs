//! Passes over block-level code with layouts. One pass a file or folder.

mod accelerate_dots;
mod assign_layouts;
mod bulk_copies;
mod capture_values;
mod context;
mod default_stages;
mod defer_reductions;
mod drop_carried;
mod enough_warps;
mod fit_registers;
mod hoist_memory;
mod insert_fences;
mod pipeline_loops;
mod reading;
mod rebase_pointers;
mod split_precision;
mod stream_last_reads;

pub(crate) use accelerate_dots::fits_scaled;
pub use accelerate_dots::{ACCELERATE_DOTS, no_matrix_instruction};
pub use assign_layouts::ASSIGN_LAYOUTS;
pub use bulk_copies::BULK_COPIES;
pub use capture_values::CAPTURE_VALUES;
pub(crate) use context::Context;
pub use default_stages::set_default_stages;
pub use defer_reductions::DEFER_REDUCTIONS;
pub use drop_carried::DROP_CARRIED;
pub use enough_warps::enough_warps;
pub use fit_registers::FIT_REGISTERS;
pub use hoist_memory::HOIST_MEMORY;
pub use insert_fences::INSERT_FENCES;
pub use pipeline_loops::{PIPELINE_LOOPS, PREFETCH_LOADS, UNROLL_LOADS};
pub(crate) use pipeline_loops::{feeds_dot, is_dot};
pub use rebase_pointers::REBASE_POINTERS;
pub use split_precision::SPLIT_PRECISION;
pub use stream_last_reads::STREAM_LAST_READS;
