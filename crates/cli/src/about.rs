//! `deuteron info`, `deuteron env` and `deuteron cache`.

use crate::{Failure, output};
use clap::{Args, Subcommand};
use runtime::cache::{Store, measure};
use runtime::knobs::{self, KnobKind, KnobValue, Settings};
use std::fmt::Write;

/// Says what this build is and what it runs on.
pub(crate) fn info() -> Result<(), Failure> {
    // Writing to a string does not fail.
    let mut text = String::new();
    let _ = writeln!(text, "deuteron {}", env!("CARGO_PKG_VERSION"));
    for target in runtime::all_targets() {
        let facts = target.facts();
        let _ =
            writeln!(text, "\ntarget {} ({}, {} lanes per warp)", facts.backend, facts.arch, facts.warp_size);
        for line in target.machine().lines() {
            let _ = writeln!(text, "  {line}");
        }
        for device in target.devices() {
            let properties = device.properties();
            let _ = writeln!(text, "  device {}: {}", device.ordinal(), properties.name);
            for (name, value) in &properties.numbers {
                let _ = writeln!(text, "    {name:<24} {value}");
            }
        }
    }
    output::write(text.as_bytes())
}

/// Lists every setting.
pub(crate) fn env() -> Result<(), Failure> {
    let mut text = String::new();
    for row in knobs::rows().iter().filter(|row| row.kind != KnobKind::Object) {
        let value = match knobs::get(row)? {
            KnobValue::None => "None".to_owned(),
            KnobValue::Bool(flag) => flag.to_string(),
            KnobValue::Int(number) => number.to_string(),
            KnobValue::Text(text) => format!("{text:?}"),
        };
        let from = match knobs::from_environment(row) {
            Some((variable, _)) => format!("from {variable}"),
            None => format!("default; set {}", row.env.join(" or ")),
        };
        let _ = writeln!(text, "{}.{} = {value}  ({from})\n    {}", row.group, row.name, row.doc);
    }
    output::write(text.as_bytes())
}

/// Say how much the cache holds, or empty it.
#[derive(Args)]
pub(crate) struct Cache {
    #[command(subcommand)]
    what: Option<CacheWhat>,
}

#[derive(Subcommand)]
enum CacheWhat {
    /// Print the folder.
    Path,
    /// Remove every entry.
    Clear,
}

impl Cache {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let settings = Settings::current();
        let Some(dir) = &settings.cache_dir else {
            println!("kernels are not kept on disk (DEUTERON_CACHE)");
            return Ok(());
        };
        if matches!(self.what, Some(CacheWhat::Path)) {
            println!("{}", dir.display());
            return Ok(());
        }
        let store = Store::open(dir, settings.cache_limit)?;
        if matches!(self.what, Some(CacheWhat::Clear)) {
            let gone = store.clear();
            println!("removed {} entries, {} KiB, from {}", gone.files, gone.bytes / 1024, dir.display());
            return Ok(());
        }
        let held = measure(store.root());
        println!(
            "{}: {} entries, {} KiB of {} KiB",
            dir.display(),
            held.files,
            held.bytes / 1024,
            settings.cache_limit / 1024
        );
        Ok(())
    }
}
