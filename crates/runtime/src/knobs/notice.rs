//! What is said of knobs that cannot be obeyed.

use super::{KnobValue, default_of, from_environment, parse, table};
use crate::error::RuntimeError;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use target::Target;
use target::knobs::{KnobRow, KnobStanding};

/// Says something once in a process.
fn say_once(row: &'static KnobRow, text: &str) {
    static SAID: Mutex<BTreeSet<(&'static str, &'static str)>> = Mutex::new(BTreeSet::new());
    if SAID.lock().unwrap_or_else(PoisonError::into_inner).insert((row.group, row.name)) {
        eprintln!("deuteron: {text}");
    }
}

/// Says once of a library that a launch names in `extern_libs` that nothing is read from it, unless its functions are
/// part of the compiler.
pub fn library_not_linked(name: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let built_in = ["libdevice", "ocml", "ockl"].contains(&name);
    if !built_in && SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned()) {
        eprintln!(
            "deuteron: extern_libs names `{name}`, which is not linked: kernels call the functions of libdevice alone"
        );
    }
}

/// Looks at the environment for knobs that a compile for a target cannot obey. Each is said once, on the standard error
/// stream.
///
/// # Errors
/// Names the first of those without which a result would not be what was asked for.
pub fn check(target: &dyn Target) -> Result<(), RuntimeError> {
    for row in table::ROWS.iter().chain(target.knobs()).chain(targets::other_knobs()) {
        let Some(reason) = row.standing.reason() else { continue };
        let Some((variable, text)) = from_environment(row) else { continue };
        if parse(row, variable, &text).is_ok_and(|value| is_unsaid(row, &value)) {
            continue;
        }
        let refusal = format!("{variable}={text} is not obeyed: {reason}");
        if let KnobStanding::Refused(_) = row.standing {
            return Err(RuntimeError::Value(refusal));
        }
        say_once(row, &refusal);
    }
    Ok(())
}

/// Says what a value that code sets cannot do.
pub(super) fn set_by_code(row: &'static KnobRow, value: &KnobValue) -> Result<(), RuntimeError> {
    let Some(reason) = row.standing.reason() else { return Ok(()) };
    if is_unsaid(row, value) {
        return Ok(());
    }
    match row.standing {
        KnobStanding::Idle(_) => {
            say_once(row, &format!("knobs.{}.{} is not obeyed: {reason}", row.group, row.name));
            Ok(())
        }
        _ => Err(RuntimeError::Value(format!("knobs.{}.{} is not supported: {reason}", row.group, row.name))),
    }
}

/// The default of a knob whose variable cannot be read, which is said.
pub(super) fn default_instead(row: &'static KnobRow, error: &RuntimeError) -> KnobValue {
    say_once(row, &format!("{error}; the default counts"));
    default_of(row)
}

/// Whether a value asks for nothing: it is the default, or none.
fn is_unsaid(row: &KnobRow, value: &KnobValue) -> bool {
    *value == KnobValue::None
        || *value == default_of(row)
        || matches!(value, KnobValue::Text(text) if text.is_empty())
}
