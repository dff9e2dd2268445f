//! What a compile needs of the knobs.

use super::{KnobValue, YES, flag, get, is_among, number, opt_text, rows, table, text};
use std::collections::BTreeMap;
use std::path::PathBuf;
use target::knobs::{KnobDefault, KnobKind, KnobRow, KnobStanding};
use target::{OptionValue, Target};

/// Whether a knob says anything.
fn is_set(row: &'static KnobRow) -> bool {
    match get(row) {
        Ok(KnobValue::None) | Err(_) => false,
        // Where nothing may be said, or more is said by default, `false` says something.
        Ok(KnobValue::Bool(false)) => row.kind == KnobKind::OptFlag || row.default == KnobDefault::Bool(true),
        Ok(KnobValue::Text(text)) => !text.is_empty(),
        Ok(KnobValue::Bool(true) | KnobValue::Int(_)) => true,
    }
}

fn printed(row: &'static KnobRow) -> Option<(&'static str, &'static str)> {
    match row.standing {
        KnobStanding::Prints(stage, headline) if is_set(row) => Some((stage, headline)),
        _ => None,
    }
}

/// The knobs that a compile for a target obeys, where they are set: they join its options, and so the name of the
/// kernel.
pub fn compiled_in(target: &dyn Target) -> BTreeMap<String, OptionValue> {
    obeyed(target, &[KnobStanding::Compiles, KnobStanding::Shows])
}

/// Those of them that change the code, and do not only show something of the compile.
pub fn changing_code(target: &dyn Target) -> BTreeMap<String, OptionValue> {
    obeyed(target, &[KnobStanding::Compiles])
}

fn obeyed(target: &dyn Target, standings: &[KnobStanding]) -> BTreeMap<String, OptionValue> {
    let rows = table::ROWS.iter().chain(target.knobs());
    let obeyed = rows.filter(|row| standings.contains(&row.standing));
    let value = |row: &'static KnobRow| match get(row) {
        Ok(KnobValue::Text(text)) => OptionValue::Str(text),
        Ok(KnobValue::Int(number)) => OptionValue::Int(number),
        Ok(KnobValue::Bool(flag)) => OptionValue::Bool(flag),
        Ok(KnobValue::None) | Err(_) => OptionValue::None,
    };
    obeyed.filter(|row| is_set(row)).map(|row| (row.name.to_owned(), value(row))).collect()
}

/// What a compile needs of the knobs, read once by the thread that asks for the compile.
///
/// Reading the environment while another thread writes it is not safe in C, and Python writes it under its lock; so
/// the threads that compile without that lock read this instead.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `compilation.always_compile`.
    pub always_compile: bool,
    /// `compilation.store_binary_only`.
    pub store_binary_only: bool,
    /// `cache.dump_dir` if `compilation.dump_ir`.
    pub dump_dir: Option<PathBuf>,
    /// `cache.override_dir` if `compilation.override`.
    pub override_dir: Option<PathBuf>,
    /// `cache.dir` if `cache.enabled`.
    pub cache_dir: Option<PathBuf>,
    /// `cache.limit`.
    pub cache_limit: u64,
    /// Where kernels have folders that travel; no knob, but what the caller of the compile says.
    pub carried_dir: Option<PathBuf>,
    /// `compilation.time_passes`.
    pub time_passes: bool,
    /// `compilation.dump_passes`: a kernel's name, or that of all.
    pub dump_passes: Option<String>,
    /// `compilation.dump_llir`: the same.
    pub dump_llir: Option<String>,
    /// `compilation.dump_path`.
    pub dump_path: Option<PathBuf>,
    /// `compilation.reproducer_path`.
    pub reproducer_path: Option<PathBuf>,
    /// Whether a knob is set of those that are seen in a compile alone.
    pub shows: bool,
    /// Stages that are printed, with the headlines above them.
    pub printed: Vec<(&'static str, &'static str)>,
    /// Knobs that change the code: they are part of the cache key.
    pub code: CodeSettings,
}

/// The knobs that change what a compile yields.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct CodeSettings {
    /// `compilation.allow_non_constexpr_globals`.
    pub allow_non_constexpr_globals: bool,
    /// `language.fp32_default`.
    pub fp32_default: Option<String>,
}

impl Settings {
    /// The values of now.
    pub fn current() -> Settings {
        let dir = |name| Some(PathBuf::from(text("cache", name)));
        Settings {
            always_compile: flag("compilation", "always_compile"),
            store_binary_only: flag("compilation", "store_binary_only"),
            dump_dir: if flag("compilation", "dump_ir") { dir("dump_dir") } else { None },
            override_dir: if flag("compilation", "override") { dir("override_dir") } else { None },
            cache_dir: if flag("cache", "enabled") { dir("dir") } else { None },
            cache_limit: number("cache", "limit").max(0).unsigned_abs(),
            carried_dir: None,
            time_passes: flag("compilation", "time_passes"),
            dump_passes: opt_text("compilation", "dump_passes"),
            dump_llir: opt_text("compilation", "dump_llir"),
            dump_path: opt_text("compilation", "dump_path").map(PathBuf::from),
            reproducer_path: opt_text("compilation", "reproducer_path").map(PathBuf::from),
            shows: rows().iter().any(|row| row.standing == KnobStanding::Shows && is_set(row)),
            printed: rows().iter().filter_map(|row| printed(row)).collect(),
            code: CodeSettings {
                allow_non_constexpr_globals: flag("compilation", "allow_non_constexpr_globals"),
                fp32_default: opt_text("language", "fp32_default"),
            },
        }
    }
}

/// Whether a text that names one kernel or all of them names this one.
fn names_kernel(text: Option<&String>, kernel: &str) -> bool {
    text.is_some_and(|text| text == kernel || is_among(text, &YES))
}

impl Settings {
    /// Whether the program is shown in front of every pass over a kernel's ttir and ttgir.
    pub fn shows_passes(&self, kernel: &str) -> bool {
        names_kernel(self.dump_passes.as_ref(), kernel)
    }

    /// Whether the program is shown in front of every pass over a kernel's llir.
    pub fn shows_llir_passes(&self, kernel: &str) -> bool {
        names_kernel(self.dump_llir.as_ref(), kernel)
    }

    /// Whether a kernel is compiled even if the cache has it: a setting asks for that, or for the steps.
    pub fn must_compile(&self, kernel: &str) -> bool {
        self.always_compile
            || self.time_passes
            || self.shows
            || self.reproducer_path.is_some()
            || self.shows_passes(kernel)
            || self.shows_llir_passes(kernel)
    }
}
