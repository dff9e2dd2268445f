//! `deuteron tune`: the results of tuning that are kept on disk; as a list, as a file, from a file.

use crate::{Failure, output};
use clap::{Args, Subcommand};
use runtime::knobs::Settings;
use runtime::tuning::{Outcome, Record, Results, read_file, write_file};
use std::fmt::Write;
use std::io::Read;
use std::path::PathBuf;

/// List, export and import results of tuning.
#[derive(Args)]
pub(crate) struct Tune {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Print every result: kernel, key, device, the fastest configuration.
    List(Chosen),
    /// Write results to a file that can be shipped.
    Export {
        /// The file; `-` for the standard output.
        file: PathBuf,
        #[command(flatten)]
        chosen: Chosen,
    },
    /// Take results over from a file.
    Import {
        /// The file; `-` for the standard input.
        file: PathBuf,
    },
}

/// Which results.
#[derive(Args)]
struct Chosen {
    /// Only those of kernels with this name.
    #[arg(long)]
    kernel: Option<String>,
    /// Also print every configuration with its time, or why it cannot run.
    #[arg(long)]
    all: bool,
}

impl Chosen {
    /// The results that are asked for.
    ///
    /// A kernel without any is an error: a name that was mistyped would pass for one that was not tuned.
    fn records(&self, results: &Results) -> Result<Vec<Record>, Failure> {
        let mut records = results.all();
        let Some(kernel) = &self.kernel else { return Ok(records) };
        let mut others: Vec<String> = records.iter().map(|record| record.subject.kernel.clone()).collect();
        others.dedup();
        records.retain(|record| record.subject.kernel == *kernel);
        if !records.is_empty() {
            return Ok(records);
        }
        let there = match others.as_slice() {
            [] => "there are none of any kernel".to_owned(),
            names => format!("there are results of {}", names.join(", ")),
        };
        let place = results.folder().display();
        Err(format!("no results of tuning are kept for a kernel `{kernel}` in {place}: {there}").into())
    }
}

impl Tune {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let results = Results::of(&Settings::current()).ok_or_else(|| {
            Failure::from(
                "there is no cache to keep results in: unset DEUTERON_CACHE, or set DEUTERON_CACHE_DIR"
                    .to_owned(),
            )
        })?;
        match &self.what {
            What::List(chosen) => output::write(list(&chosen.records(&results)?, chosen.all).as_bytes()),
            What::Export { file, chosen } => export(file, &chosen.records(&results)?, &results),
            What::Import { file } => import(file, &results),
        }
    }
}

/// One paragraph a record. Writing to a string does not fail.
fn list(records: &[Record], all: bool) -> String {
    let mut text = String::new();
    for record in records {
        let subject = &record.subject;
        let values = subject.values.iter().map(|(name, value)| format!("{name}={value}"));
        let key: Vec<String> = values.chain(subject.dtypes.iter().cloned()).collect();
        let _ = writeln!(text, "{} ({})", subject.kernel, key.join(", "));
        let _ = writeln!(text, "  device   {}", subject.device);
        match record.best() {
            Some((best, times)) => {
                let _ = writeln!(text, "  fastest  {best}: {:.4} ms", times.median);
            }
            None => text.push_str("  fastest  none that runs\n"),
        }
        let ran = record.measured.iter().filter(|one| one.outcome.times().is_some()).count();
        let _ = writeln!(
            text,
            "  measured {ran} configurations, and {} that cannot run",
            record.measured.len() - ran
        );
        if all {
            for one in &record.measured {
                let _ = writeln!(text, "    {}: {}", one.configuration, describe(&one.outcome));
            }
        }
    }
    if records.is_empty() {
        text.push_str("no results of tuning are kept\n");
    }
    text
}

fn describe(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Timed(times) => format!("{:.4} ms ({:.4} to {:.4})", times.median, times.low, times.high),
        Outcome::Slower(times) => format!("{:.4} ms, not timed to the end", times.median),
        Outcome::Failed(reason) => reason.lines().next().unwrap_or_default().to_owned(),
    }
}

fn export(file: &PathBuf, records: &[Record], results: &Results) -> Result<(), Failure> {
    if records.is_empty() {
        let place = results.folder().display();
        return Err(format!("no results of tuning are kept in {place}: there is nothing to export").into());
    }
    let text = write_file(records)?;
    if file.as_os_str() == "-" {
        return output::write(text.as_bytes());
    }
    // Whole or not at all, as everything that is written here.
    let write = || {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut builder = tempfile::Builder::new();
        builder.prefix(".tune-");
        // It is to be shipped: as any file that the user makes, and not private as temporary ones are.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut whole = builder.tempfile_in(folder.unwrap_or(".".as_ref()))?;
        std::io::Write::write_all(&mut whole, text.as_bytes())?;
        whole.persist(file).map_err(|error| error.error)
    };
    write().map_err(|error| Failure::from(format!("cannot write {}: {error}", file.display())))?;
    println!("{} results written to {}", records.len(), file.display());
    Ok(())
}

fn import(file: &PathBuf, results: &Results) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    let mut read = || {
        if file.as_os_str() == "-" {
            std::io::stdin().read_to_end(&mut bytes)
        } else {
            std::fs::File::open(file)?.read_to_end(&mut bytes)
        }
    };
    read().map_err(|error| Failure::from(format!("cannot read {}: {error}", file.display())))?;
    // What is no text is no file of results; the checksum tells of single bytes.
    let records = read_file(&String::from_utf8_lossy(&bytes))
        .map_err(|error| Failure::from(format!("{}: {error}", file.display())))?;
    for record in &records {
        results.save(record).map_err(|error| Failure::from(format!("cannot keep a result: {error}")))?;
    }
    let here: Vec<String> = runtime::all_targets()
        .iter()
        .flat_map(|target| target.devices())
        .map(|device| device.properties().name)
        .filter(|name| !name.is_empty())
        .collect();
    let is_here = |record: &&Record| here.iter().any(|name| record.subject.device.starts_with(name.as_str()));
    let fitting = records.iter().filter(is_here).count();
    println!(
        "{} results taken from {}, {fitting} of them for a device of this machine",
        records.len(),
        file.display()
    );
    Ok(())
}
