//! Drivers of GPUs: what is the same whoever made the device.
//!
//! A driver's library is a table of functions that is filled at run time, so that a test fills it with its own and sees
//! every call. [`Calls`] are the functions that all drivers have under names of their own; a vendor's table holds them
//! beside the rest.
//!
//! ```text
//! Driver<V>  one a process: the table, its devices, the names of the kernels that were launched last
//!   Gpu<V>     memory, events, loading          V: what the vendor keeps of a device, with its own calls
//!     Kernel<V>  a launch: checks, slots          V::Kernel: what the vendor keeps of a kernel
//! ```
//!
//! [`Vendor`] is the trait between the two. Everything here is generic over it and becomes code of the vendor's own
//! when it is compiled: a launch makes no call through a table but the driver's, and allocates nothing. Modules are
//! never unloaded: a graph that was captured earlier, or a launch that is still running, may refer to them. Left out:
//! graphs that launches are replayed by, which are a vendor's.

mod calls;
mod device;
mod error;
mod kernel;
mod library;
mod names;
mod vendor;

pub use calls::{Calls, Handle, Status, Symbols};
pub use device::{Driver, Gpu};
pub use error::{Advice, Refused, Terms, check, late, row, status};
pub use kernel::{Kernel, Loaded, Pointers, Shape, registers_and_stack, relaxed, slots};
pub use library::find;
pub use names::{Name, Names};
pub use vendor::Vendor;
