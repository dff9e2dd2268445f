//! The targets of this build and the one in use.

use crate::error::RuntimeError;
use crate::interpreter::Interpreter;
use crate::knobs;
use std::sync::{Arc, OnceLock};
use target::Target;

/// Every target of this build, made once.
pub fn all_targets() -> &'static [Arc<dyn Target>] {
    static ALL: OnceLock<Vec<Arc<dyn Target>>> = OnceLock::new();
    ALL.get_or_init(targets::all)
}

/// The target of that name.
///
/// # Errors
/// Names the targets that there are.
pub fn target_named(backend: &str) -> Result<Arc<dyn Target>, RuntimeError> {
    all_targets().iter().find(|target| target.facts().backend == backend).cloned().ok_or_else(|| {
        let names: Vec<_> = all_targets().iter().map(|target| target.facts().backend).collect();
        RuntimeError::Value(format!("there is no target `{backend}`; this build has {}", names.join(", ")))
    })
}

/// The target in use: what `runtime.target` names, else the first; the interpreter in its place if `runtime.interpret`.
///
/// # Errors
/// When there is no such target.
pub fn active_target() -> Result<Arc<dyn Target>, RuntimeError> {
    let target = match knobs::opt_text("runtime", "target").filter(|name| !name.is_empty()) {
        Some(name) => target_named(&name)?,
        None => all_targets()
            .first()
            .cloned()
            .ok_or_else(|| RuntimeError::Runtime("this build has no targets".to_owned()))?,
    };
    Ok(if knobs::flag("runtime", "interpret") { Arc::new(Interpreter(target)) } else { target })
}
