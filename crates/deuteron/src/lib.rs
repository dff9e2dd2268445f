//! The facade crate for Rust programs: kernel source text in, launch out.
