//! The crates that know no operating system, checked for one that nobody here runs: macOS on AArch64.
//!
//! Nothing is linked, so the pieces of C and assembly of their dependencies are not compiled. Left out: `cpu`, `llvm`,
//! `runtime`, the GPU targets and what stands on them; `docs/coming-from-triton.md` says what they miss there.

use crate::sources;
use std::process::{Command, Stdio};

/// What they are checked for.
const TRIPLE: &str = "aarch64-apple-darwin";

/// The crates.
const CRATES: &[&str] = &[
    "ir",
    "layout",
    "ttir",
    "frontend",
    "ttgir",
    "llir",
    "maths",
    "elementwise",
    "lanes",
    "target",
    "gpu",
    "ptx-isa",
    "amdgcn-isa",
    "emulation",
    "emulator",
    "amd-emulator",
    "inspect",
];

/// Checks them; says that it was not done where the toolchain has no such target and cannot get it.
///
/// # Errors
/// When they do not compile.
pub(crate) fn check() -> Result<(), String> {
    if !has_target() {
        println!("NOT RUN: the check for {TRIPLE}, as `rustup target add {TRIPLE}` failed");
        return Ok(());
    }
    let mut arguments = vec!["check", "--quiet", "--target", TRIPLE];
    arguments.extend(CRATES.iter().flat_map(|name| ["--package", name]));
    println!("$ cargo {}", arguments.join(" "));
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(arguments)
        .envs([("CC_aarch64_apple_darwin", "true"), ("AR_aarch64_apple_darwin", "true")])
        .current_dir(sources::root())
        .status()
        .map_err(|error| format!("cargo could not be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("the portable crates do not compile for {TRIPLE}")) }
}

/// Whether the toolchain has the standard library of the target now.
fn has_target() -> bool {
    let rustup = |arguments: &[&str]| {
        Command::new("rustup").args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status()
    };
    rustup(&["target", "add", TRIPLE]).is_ok_and(|status| status.success())
}
