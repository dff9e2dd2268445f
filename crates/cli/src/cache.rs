//! `deuteron cache`.

use crate::{Failure, output};
use clap::{Args, Subcommand};
use runtime::cache::{Entry, EntryKind, Store};
use runtime::compile::label;
use runtime::knobs::Settings;
use std::fmt::Write;
use std::time::SystemTime;

/// Look at the cache of compiled kernels, check it, or empty it.
#[derive(Args)]
pub(crate) struct Cache {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Subcommand)]
enum What {
    /// Print the folder.
    Path,
    /// Say how much is in it.
    Size,
    /// List the kernels and results of tuning: name, target, size, time since last use.
    List,
    /// Remove every entry.
    Clear,
    /// Check every entry against its digest.
    Verify {
        /// Remove what is damaged; it is compiled again when it is wanted.
        #[arg(long)]
        fix: bool,
    },
}

impl Cache {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let settings = Settings::current();
        let Some(dir) = &settings.cache_dir else {
            return output::write(b"kernels are not kept on disk (DEUTERON_CACHE)\n");
        };
        if matches!(self.what, Some(What::Path)) {
            return output::write(format!("{}\n", dir.display()).as_bytes());
        }
        let store = Store::open(dir, settings.cache_limit)?;
        match self.what {
            Some(What::List) => list(&store),
            Some(What::Clear) => {
                let gone = store.clear();
                let text = format!(
                    "removed {} entries, {}, from {}\n",
                    gone.files,
                    bytes(gone.bytes),
                    dir.display()
                );
                output::write(text.as_bytes())
            }
            Some(What::Verify { fix }) => verify(&store, fix),
            _ => size(&store, &settings),
        }
    }
}

fn size(store: &Store, settings: &Settings) -> Result<(), Failure> {
    let entries = store.entries();
    let of = |kind| entries.iter().filter(|entry| entry.kind == kind).count();
    let total = entries.iter().map(|entry| entry.bytes).sum();
    let text = format!(
        "{}: {} of {}\n  {} kernels, {} lists of what they depend on, {} results of tuning\n",
        store.root().display(),
        bytes(total),
        bytes(settings.cache_limit),
        of(EntryKind::Kernel),
        of(EntryKind::Dependencies),
        of(EntryKind::Tuning)
    );
    output::write(text.as_bytes())
}

fn list(store: &Store) -> Result<(), Failure> {
    let mut entries = store.entries();
    entries.retain(|entry| entry.kind != EntryKind::Dependencies);
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.used));
    let mut text = String::new();
    let width = |heading: &str, cells: &[String]| {
        cells.iter().map(String::len).chain([heading.len()]).max().unwrap_or_default()
    };
    let (names, targets): (Vec<_>, Vec<_>) = entries.iter().map(described).unzip();
    let (name, target) = (width("name", &names), width("target", &targets));
    // Writing to a string does not fail.
    let _ = writeln!(text, "{:<name$}  {:<target$}  {:>9}  {:>8}  entry", "name", "target", "size", "used");
    for (entry, (own_name, own_target)) in entries.iter().zip(names.iter().zip(&targets)) {
        let (size, used, key) = (bytes(entry.bytes), age(entry.used), entry.key.to_string());
        let _ =
            writeln!(text, "{own_name:<name$}  {own_target:<target$}  {size:>9}  {used:>8}  {}", &key[..12]);
    }
    output::write(text.as_bytes())
}

/// What an entry is for: the name of the kernel, and the target with what it was compiled for.
fn described(entry: &Entry) -> (String, String) {
    if entry.kind == EntryKind::Tuning {
        return ("(result of tuning)".to_owned(), String::new());
    }
    match entry.payload() {
        Err(reason) => (format!("(damaged: {reason})"), String::new()),
        Ok(payload) => label(&payload)
            .map_or(("(of another version)".to_owned(), String::new()), |label| (label.name, label.target)),
    }
}

fn verify(store: &Store, fix: bool) -> Result<(), Failure> {
    let entries = store.entries();
    let (mut text, mut damaged) = (String::new(), 0_usize);
    for entry in &entries {
        let Err(reason) = entry.payload() else { continue };
        damaged += 1;
        let removed = match fix.then(|| std::fs::remove_file(&entry.path)) {
            None => String::new(),
            Some(Ok(())) => "; removed".to_owned(),
            Some(Err(error)) => format!("; cannot be removed: {error}"),
        };
        let _ = writeln!(text, "damaged: {} ({reason}){removed}", entry.path.display());
    }
    let left = store.leftovers();
    if !left.is_empty() {
        let _ = writeln!(
            text,
            "{} files of writes that are under way or were cut off; they go by themselves",
            left.len()
        );
    }
    let _ = writeln!(text, "{} entries checked, {damaged} damaged", entries.len());
    output::write(text.as_bytes())?;
    if damaged > 0 && !fix {
        return Err(Failure(
            "remove the damaged entries with `deuteron cache verify --fix`; they never run, and are compiled again".into(),
        ));
    }
    Ok(())
}

fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let mut value = count as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

fn age(used: SystemTime) -> String {
    let seconds = used.elapsed().unwrap_or_default().as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::{age, bytes};
    use std::time::{Duration, SystemTime};

    #[test]
    fn numbers_for_people() {
        assert_eq!(
            [bytes(0), bytes(1023), bytes(1536), bytes(1 << 30)],
            ["0 B", "1023 B", "1.5 KiB", "1.0 GiB"]
        );
        let before = |seconds| SystemTime::now() - Duration::from_secs(seconds);
        assert_eq!([age(before(5)), age(before(7300)), age(before(900_000))], ["5 s", "2 h", "10 d"]);
    }
}
