//! The `deuteron` command.

fn main() {}
