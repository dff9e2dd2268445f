//! Automation for the workspace: `cargo xtask ci` runs all checks but the Python tests.

fn main() {}
