//! Automation for the workspace: `cargo xtask ci` runs all checks but the Python tests.
//!
//! `cargo xtask tidy` runs only the rules of the house (see [`tidy`]); they are a test of this crate too. Left out:
//! Python, which `make test` runs.

mod circles;
mod columns;
mod fields;
mod layers;
mod masked;
mod portable;
mod python;
mod reads;
mod sizes;
mod sources;
mod tidy;
mod touch;

use std::process::{Command, ExitCode};

const USAGE: &str = "usage: cargo xtask <command>

  ci      format check, lint, tidy, all Rust tests, portable crates for macOS
  portable  only the last of these
  tidy    the rules of the house: file headers, vendor words, layers, sizes, imports, circles
  layers  write the table of crates into docs/architecture.md
  sizes   the longest files and functions
  touch   the files that name an operation: cargo xtask touch tt.dot";

fn main() -> ExitCode {
    let command = std::env::args().nth(1);
    let outcome = match command.as_deref() {
        Some("ci") => ci(),
        Some("portable") => portable::check(),
        Some("tidy") => run_tidy(),
        Some("layers") => write_layers(),
        Some("sizes") => print_sizes(),
        Some("touch") => print_touch(),
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn ci() -> Result<(), String> {
    cargo(&["fmt", "--all", "--check"])?;
    run_tidy()?;
    cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])?;
    cargo(&["test", "--workspace", "--quiet"])?;
    portable::check()
}

fn run_tidy() -> Result<(), String> {
    let findings = tidy::check(&sources::root())?;
    if findings.is_empty() {
        println!("tidy: nothing to complain about");
        return Ok(());
    }
    let list: Vec<String> = findings.iter().map(ToString::to_string).collect();
    Err(format!("{}\ntidy: {} complaints", list.join("\n"), list.len()))
}

fn write_layers() -> Result<(), String> {
    let page = sources::root().join(layers::PAGE);
    let text = std::fs::read_to_string(&page).map_err(|error| format!("{}: {error}", page.display()))?;
    let text = layers::page(&text).ok_or("the page has no place for the table")?;
    std::fs::write(&page, text).map_err(|error| format!("{}: {error}", page.display()))
}

fn print_touch() -> Result<(), String> {
    let files = sources::rust_files(&sources::root())?;
    let names: Vec<String> = std::env::args().skip(2).collect();
    for name in &names {
        let found = touch::touch(&files, name)?;
        println!("{name}: {} files\n  {}", found.len(), found.join("\n  "));
        for (view, users) in touch::through(&files, name)? {
            println!("  as one of many, through {view}: {} more\n    {}", users.len(), users.join("\n    "));
        }
    }
    if names.is_empty() { Err("which operation? For example tt.dot".to_owned()) } else { Ok(()) }
}

fn print_sizes() -> Result<(), String> {
    let files = sources::rust_files(&sources::root())?;
    for (what, entries) in
        [("files", sizes::longest_files(&files)), ("functions", sizes::longest_functions(&files))]
    {
        println!("longest {what}");
        for entry in entries.iter().take(15) {
            println!("  {:5}  {}", entry.lines, entry.place);
        }
    }
    Ok(())
}

fn cargo(arguments: &[&str]) -> Result<(), String> {
    println!("$ cargo {}", arguments.join(" "));
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(arguments)
        .current_dir(sources::root())
        .status()
        .map_err(|error| format!("cargo could not be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`cargo {}` failed", arguments.join(" "))) }
}
