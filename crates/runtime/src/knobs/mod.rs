//! Knobs: settings of a process, from the environment or from code.
//!
//! There is one table of them ([`rows`]), and the environment is read here only. A value that code has set wins over
//! the environment; the environment wins over the default. A value is looked up when it is asked for, so that a script
//! may change `os.environ` while it runs; [`debug`] alone is kept, because every launch asks for it. A path that is
//! empty is none, and the folder of the cache is an absolute one from its first use on ([`folder`]). What cannot be
//! obeyed is said ([`check`]).
//!
//! Left out: hooks. They are Python objects and live there; the table has rows for their names and documentation.

mod folder;
mod notice;
mod settings;
mod table;

pub use notice::{check, library_not_linked};
pub use settings::{CodeSettings, Settings, changing_code, compiled_in};
pub(crate) use table::NO_SANITIZER;

use crate::error::RuntimeError;
use crate::target_list::all_targets;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock};
use target::knobs::{KnobDefault, KnobKind, KnobRow, KnobStanding};

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

/// All knobs, by group: those of the table here, those of each target, those of targets that this build does not have.
pub fn rows() -> &'static [&'static KnobRow] {
    static ROWS: OnceLock<Vec<&'static KnobRow>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let own = all_targets().iter().flat_map(|target| target.knobs());
        let mut all: Vec<&'static KnobRow> =
            table::ROWS.iter().chain(own).chain(targets::other_knobs()).collect();
        let mut groups: Vec<&str> = Vec::new();
        for row in &all {
            if !groups.contains(&row.group) {
                groups.push(row.group);
            }
        }
        all.sort_by_key(|row| groups.iter().position(|group| *group == row.group));
        all
    })
}

/// The row of `knobs.<group>.<name>`.
///
/// # Errors
/// Names the knob that does not exist.
pub fn find(group: &str, name: &str) -> Result<&'static KnobRow, RuntimeError> {
    static BY_NAME: OnceLock<FxHashMap<(&'static str, &'static str), &'static KnobRow>> = OnceLock::new();
    let by_name = BY_NAME.get_or_init(|| rows().iter().map(|row| ((row.group, row.name), *row)).collect());
    by_name
        .get(&(group, name))
        .copied()
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
        // A path that is empty names nothing: the next variable counts, or the default.
        let says_something = row.kind != KnobKind::Path || !value.is_empty();
        says_something.then(|| (*name, value.to_string_lossy().into_owned()))
    })
}

/// The value of a knob.
///
/// # Errors
/// Names the variable whose text cannot be read as the type of the knob.
pub fn get(row: &'static KnobRow) -> Result<KnobValue, RuntimeError> {
    match overridden(row) {
        Some(value) => Ok(value),
        None => unset_value(row),
    }
}

/// The value that a knob has where code has set none.
///
/// # Errors
/// As [`get`].
pub fn unset_value(row: &KnobRow) -> Result<KnobValue, RuntimeError> {
    match from_environment(row) {
        Some((name, text)) => parse(row, name, &text),
        None => Ok(default_of(row)),
    }
}

/// Texts of a flag that stand for true.
const YES: [&str; 5] = ["1", "true", "on", "y", "yes"];
/// Texts that stand for false where a knob may be a text, too.
const NO: [&str; 6] = ["", "0", "false", "off", "n", "no"];

fn is_among(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.eq_ignore_ascii_case(word))
}

fn parse(row: &KnobRow, variable: &str, text: &str) -> Result<KnobValue, RuntimeError> {
    match row.kind {
        KnobKind::Flag | KnobKind::OptFlag => Ok(KnobValue::Bool(is_among(text, &YES))),
        KnobKind::FlagOrText if is_among(text, &YES) => Ok(KnobValue::Bool(true)),
        KnobKind::FlagOrText if is_among(text, &NO) => Ok(KnobValue::None),
        KnobKind::Number => text
            .trim()
            .parse()
            .map(KnobValue::Int)
            .map_err(|_| RuntimeError::Runtime(format!("Unable to use {variable}={text}: expected int"))),
        KnobKind::Path => Ok(KnobValue::Text(path_of(row, text))),
        KnobKind::Text | KnobKind::OptText | KnobKind::FlagOrText | KnobKind::Tool => {
            Ok(KnobValue::Text(text.to_owned()))
        }
        KnobKind::Object => Ok(KnobValue::None),
    }
}

/// A path as the knob has it.
fn path_of(row: &KnobRow, text: &str) -> String {
    if row.default == KnobDefault::CacheDir { folder::anchored(text) } else { text.to_owned() }
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
/// When the value is not of the knob's type, cannot be obeyed, or the knob is read from the environment alone.
pub fn set(row: &'static KnobRow, value: KnobValue) -> Result<(), RuntimeError> {
    if row.standing == KnobStanding::Environment {
        return Err(RuntimeError::Value(format!(
            "knob `{}.{}` is read from the environment alone: set {} before the process starts",
            row.group,
            row.name,
            row.env.join(" or ")
        )));
    }
    let value = typed(row, value)?;
    notice::set_by_code(row, &value)?;
    SET.write().unwrap_or_else(PoisonError::into_inner).insert((row.group, row.name), value);
    changed();
    Ok(())
}

/// A value as the knob has it.
fn typed(row: &KnobRow, value: KnobValue) -> Result<KnobValue, RuntimeError> {
    use KnobKind::{Flag, FlagOrText, Number, OptFlag, OptText, Path, Text, Tool};
    match (value, row.kind) {
        (value @ KnobValue::Bool(_), Flag | OptFlag)
        | (value @ KnobValue::Int(_), Number)
        | (value @ KnobValue::None, OptFlag | OptText | FlagOrText | Tool)
        | (value @ KnobValue::Text(_), Text | OptText | Tool) => Ok(value),
        // As in the environment.
        (KnobValue::Text(text), Path) if text.is_empty() => Ok(default_of(row)),
        (KnobValue::Text(text), Path) => Ok(KnobValue::Text(path_of(row, &text))),
        // As in Python, a flag may be given as 0 or 1.
        (KnobValue::Int(number), Flag | OptFlag) => Ok(KnobValue::Bool(number != 0)),
        (KnobValue::Bool(flag), FlagOrText) => Ok(if flag { KnobValue::Bool(true) } else { KnobValue::None }),
        (KnobValue::Text(text), FlagOrText) => parse(row, row.name, &text),
        // Nothing said is the default.
        (KnobValue::None, _) => Ok(default_of(row)),
        (value, kind) => Err(RuntimeError::Type(format!(
            "knob `{}.{}` is a {kind:?} and cannot be {value:?}",
            row.group, row.name
        ))),
    }
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

/// The value of a flag of the table.
///
/// # Panics
/// As all of these, when the table has no such knob, or has it as another kind.
pub fn flag(group: &str, name: &str) -> bool {
    match lookup(group, name) {
        KnobValue::Bool(flag) => flag,
        other => panic!("knob `{group}.{name}` is read as a flag and holds {other:?}"),
    }
}

/// The text of a knob that may have none.
pub fn opt_text(group: &str, name: &str) -> Option<String> {
    match lookup(group, name) {
        KnobValue::Text(text) => Some(text),
        KnobValue::None => None,
        other => panic!("knob `{group}.{name}` is read as a text and holds {other:?}"),
    }
}

/// The text of a knob that always has one.
pub fn text(group: &str, name: &str) -> String {
    opt_text(group, name).unwrap_or_else(|| panic!("knob `{group}.{name}` is read as a text and has none"))
}

/// The number of a knob.
pub fn number(group: &str, name: &str) -> i64 {
    match lookup(group, name) {
        KnobValue::Int(number) => number,
        other => panic!("knob `{group}.{name}` is read as a number and holds {other:?}"),
    }
}

/// The value of a knob. Where the environment has a text that is none of its values, the default counts, and that is
/// said once.
fn lookup(group: &str, name: &str) -> KnobValue {
    let row = find(group, name).unwrap_or_else(|error| panic!("{error}"));
    get(row).unwrap_or_else(|error| notice::default_instead(row, &error))
}

#[cfg(test)]
mod tests;
