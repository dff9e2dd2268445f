//! Knobs: settings of a process, from the environment or from code.
//!
//! There is one table of them ([`rows`]), and the environment is read here only. A value that code has set wins over the
//! environment; the environment wins over the default. A value is looked up when it is asked for, so that a script may
//! change `os.environ` while it runs; [`debug`] alone is kept, because every launch asks for it.
//!
//! Left out: hooks. They are Python objects and live there; the table has rows for their names and documentation.

mod table;

use crate::error::RuntimeError;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

/// The type of a knob's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnobKind {
    /// True or false.
    Flag,
    /// A whole number.
    Number,
    /// A text.
    Text,
    /// A text or nothing.
    OptText,
    /// A path.
    Path,
    /// A Python object, which lives in Python.
    Object,
}

/// The value that a knob has when nobody says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnobDefault {
    /// A flag.
    Bool(bool),
    /// A number.
    Int(i64),
    /// A text.
    Text(&'static str),
    /// `None`.
    Nothing,
    /// A folder under `cache.home_dir`.
    Home(&'static str),
    /// The cache's own folder.
    CacheDir,
}

/// One knob.
#[derive(Debug)]
pub struct KnobRow {
    /// `cache` in `knobs.cache.dir`.
    pub group: &'static str,
    /// `dir` in `knobs.cache.dir`.
    pub name: &'static str,
    /// The environment variables it is read from, the first that is set wins.
    pub env: &'static [&'static str],
    /// The type of its value.
    pub kind: KnobKind,
    /// Its value when nobody says otherwise.
    pub default: KnobDefault,
    /// One line for people.
    pub doc: &'static str,
}

/// The value of a knob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnobValue {
    /// Nothing.
    None,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A text or a path.
    Text(String),
}

/// Values set by code, by `group.name`.
static SET: RwLock<BTreeMap<(&'static str, &'static str), KnobValue>> = RwLock::new(BTreeMap::new());

/// `runtime.debug`: 0 unknown, 1 false, 2 true.
static DEBUG: AtomicU8 = AtomicU8::new(0);

/// Grows whenever a knob is set or what is kept is read again.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// A number that grows whenever a knob is set, for those who keep something made from knobs.
#[inline]
pub fn generation() -> u64 {
    GENERATION.load(Ordering::Acquire)
}

fn changed() {
    DEBUG.store(0, Ordering::Relaxed);
    GENERATION.fetch_add(1, Ordering::AcqRel);
}

/// All knobs, by group.
pub fn rows() -> &'static [KnobRow] {
    table::ROWS
}

/// The row of `knobs.<group>.<name>`.
///
/// # Errors
/// Names the knob that does not exist.
pub fn find(group: &str, name: &str) -> Result<&'static KnobRow, RuntimeError> {
    rows()
        .iter()
        .find(|row| row.group == group && row.name == name)
        .ok_or_else(|| RuntimeError::Key(format!("there is no knob `{group}.{name}`")))
}

/// What code has set, if it has.
pub fn overridden(row: &'static KnobRow) -> Option<KnobValue> {
    SET.read().unwrap_or_else(PoisonError::into_inner).get(&(row.group, row.name)).cloned()
}

/// The environment variable that a knob takes its value from now, with that value.
pub fn from_environment(row: &KnobRow) -> Option<(&'static str, String)> {
    row.env.iter().find_map(|name| {
        let value = std::env::var_os(name)?;
        Some((*name, value.to_string_lossy().into_owned()))
    })
}

/// The value of a knob.
///
/// # Errors
/// Names the variable whose text cannot be read as the type of the knob.
pub fn get(row: &'static KnobRow) -> Result<KnobValue, RuntimeError> {
    if let Some(value) = overridden(row) {
        return Ok(value);
    }
    match from_environment(row) {
        Some((name, text)) => parse(row, name, &text),
        None => Ok(default_of(row)),
    }
}

fn parse(row: &KnobRow, variable: &str, text: &str) -> Result<KnobValue, RuntimeError> {
    match row.kind {
        KnobKind::Flag => Ok(KnobValue::Bool(YES.iter().any(|yes| text.eq_ignore_ascii_case(yes)))),
        KnobKind::Number => text
            .trim()
            .parse()
            .map(KnobValue::Int)
            .map_err(|_| RuntimeError::Runtime(format!("Unable to use {variable}={text}: expected int"))),
        KnobKind::Text | KnobKind::OptText | KnobKind::Path => Ok(KnobValue::Text(text.to_owned())),
        KnobKind::Object => Ok(KnobValue::None),
    }
}

/// The value that a knob has when nobody says otherwise.
pub fn default_of(row: &KnobRow) -> KnobValue {
    match row.default {
        KnobDefault::Bool(value) => KnobValue::Bool(value),
        KnobDefault::Int(value) => KnobValue::Int(value),
        KnobDefault::Text(value) => KnobValue::Text(value.to_owned()),
        KnobDefault::Nothing => KnobValue::None,
        KnobDefault::Home(below) => path_value(default_home(row, below)),
        KnobDefault::CacheDir => path_value(default_cache_dir()),
    }
}

fn path_value(path: PathBuf) -> KnobValue {
    KnobValue::Text(path.to_string_lossy().into_owned())
}

fn default_home(row: &KnobRow, below: &str) -> PathBuf {
    if row.name == "home_dir" { user_home() } else { PathBuf::from(text("cache", "home_dir")).join(below) }
}

fn user_home() -> PathBuf {
    std::env::home_dir().filter(|home| !home.as_os_str().is_empty()).unwrap_or_else(std::env::temp_dir)
}

fn default_cache_dir() -> PathBuf {
    match std::env::var_os("XDG_CACHE_HOME") {
        // The specification says that a relative path there is to be ignored.
        Some(base) if PathBuf::from(&base).is_absolute() => PathBuf::from(base).join("deuteron"),
        _ => user_home().join(".cache").join("deuteron"),
    }
}

/// Sets a knob for this process.
///
/// # Errors
/// When the value is not of the knob's type, or the knob is one of a target, which reads the environment itself.
pub fn set(row: &'static KnobRow, value: KnobValue) -> Result<(), RuntimeError> {
    if row.group == "cpu" {
        return Err(RuntimeError::Value(format!(
            "knob `{}.{}` is read from the environment alone: set {} before the process starts",
            row.group,
            row.name,
            row.env.join(" or ")
        )));
    }
    let fits = match (&value, row.kind) {
        (KnobValue::Bool(_), KnobKind::Flag)
        | (KnobValue::Int(_), KnobKind::Number)
        | (KnobValue::None, KnobKind::OptText | KnobKind::Path)
        | (KnobValue::Text(_), KnobKind::Text | KnobKind::OptText | KnobKind::Path) => true,
        // As in Python, a flag may be given as 0 or 1.
        (KnobValue::Int(number), KnobKind::Flag) => return set(row, KnobValue::Bool(*number != 0)),
        _ => false,
    };
    if !fits {
        return Err(RuntimeError::Type(format!(
            "knob `{}.{}` is a {:?} and cannot be {value:?}",
            row.group, row.name, row.kind
        )));
    }
    SET.write().unwrap_or_else(PoisonError::into_inner).insert((row.group, row.name), value);
    changed();
    Ok(())
}

/// Forgets what code has set: the environment and the default count again.
pub fn reset(row: &'static KnobRow) {
    SET.write().unwrap_or_else(PoisonError::into_inner).remove(&(row.group, row.name));
    changed();
}

/// Reads again what is kept.
pub fn refresh() {
    changed();
}

/// `runtime.debug`, kept between launches.
#[inline]
pub fn debug() -> bool {
    match DEBUG.load(Ordering::Relaxed) {
        0 => {
            let value = flag("runtime", "debug");
            DEBUG.store(1 + u8::from(value), Ordering::Relaxed);
            value
        }
        kept => kept == 2,
    }
}

/// The value of a flag of the table; a damaged value counts as the default.
pub fn flag(group: &str, name: &str) -> bool {
    matches!(lookup(group, name), KnobValue::Bool(true))
}

/// The text of a knob; empty where it has none.
pub fn text(group: &str, name: &str) -> String {
    opt_text(group, name).unwrap_or_default()
}

/// The text of a knob that may have none.
pub fn opt_text(group: &str, name: &str) -> Option<String> {
    match lookup(group, name) {
        KnobValue::Text(text) => Some(text),
        _ => None,
    }
}

/// The number of a knob; a damaged value counts as the default.
pub fn number(group: &str, name: &str) -> i64 {
    match lookup(group, name) {
        KnobValue::Int(number) => number,
        _ => 0,
    }
}

fn lookup(group: &str, name: &str) -> KnobValue {
    match find(group, name) {
        Ok(row) => get(row).unwrap_or_else(|_| default_of(row)),
        Err(_) => KnobValue::None,
    }
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
    /// `compilation.time_passes`.
    pub time_passes: bool,
    /// `compilation.dump_passes`: a kernel's name, or that of all.
    pub dump_passes: Option<String>,
    /// `compilation.dump_llir`: the same.
    pub dump_llir: Option<String>,
    /// `compilation.dump_path`.
    pub dump_path: Option<PathBuf>,
    /// Knobs that change the code: they are part of the cache key.
    pub code: CodeSettings,
}

/// The knobs that change what a compile yields.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct CodeSettings {
    /// `compilation.disable_line_info`.
    pub disable_line_info: bool,
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
            time_passes: flag("compilation", "time_passes"),
            dump_passes: opt_text("compilation", "dump_passes"),
            dump_llir: opt_text("compilation", "dump_llir"),
            dump_path: opt_text("compilation", "dump_path").map(PathBuf::from),
            code: CodeSettings {
                disable_line_info: flag("compilation", "disable_line_info"),
                allow_non_constexpr_globals: flag("compilation", "allow_non_constexpr_globals"),
                fp32_default: opt_text("language", "fp32_default"),
            },
        }
    }
}

/// Texts of a flag that stand for true.
const YES: [&str; 5] = ["1", "true", "on", "y", "yes"];

/// Whether a text that names one kernel or all of them names this one.
fn names_kernel(text: Option<&String>, kernel: &str) -> bool {
    text.is_some_and(|text| text == kernel || YES.iter().any(|yes| text.eq_ignore_ascii_case(yes)))
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

    /// Whether a kernel is compiled even if the cache has it: a person asks for that, or wants to see the steps.
    pub fn must_compile(&self, kernel: &str) -> bool {
        self.always_compile || self.time_passes || self.shows_passes(kernel) || self.shows_llir_passes(kernel)
    }
}

#[cfg(test)]
mod tests;
