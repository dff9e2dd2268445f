//! The cache of compiled kernels on disk.
//!
//! - An entry's name is the blake3 hash of everything that its content depends on ([`Key`]).
//! - One file holds one entry: magic, key, checksum, payload. It is written to a temporary file and renamed, so a
//!   reader sees a whole entry or none, whatever else writes, and however many processes do.
//! - A reader checks owner, mode, key and checksum. Whatever is wrong makes it a miss: a damaged entry is compiled
//!   again, and never runs. That is said on the standard error stream, as is, once, that entries cannot be written.
//! - Folders are 0700 and files 0600. A folder that others own or may write to is refused with the reason, and the
//!   process goes on without a cache.
//! - The size is bounded: when it is passed, the entries that were not read for longest are removed ([`sweep`]).
//!
//! It assumes only that `rename` within a folder is atomic, which holds on network file systems too. Results of tuning,
//! which several processes add to, are changed under a lock on the folder where the file system has locks
//! ([`Store::alone`]). What several processes want to make at the same time is made by one of them
//! ([`Store::lock_entry`]); nothing else needs a lock. Left out: what a key is made of (`compile.rs` says that) and
//! what a payload means.

mod carried;
mod entry_lock;
mod key;
mod store;
mod sweep;

pub use entry_lock::EntryLock;
pub use key::{Key, KeyBuilder};
pub use store::{Entry, EntryKind, Store};
pub use sweep::{CacheUse, measure, sweep};

#[cfg(test)]
mod tests;
