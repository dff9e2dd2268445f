//! Targets by name, and the one in use.

use crate::error::RuntimeError;
use crate::interpreter::Interpreter;
use crate::knobs;
use crate::target_list::all_targets;
use std::sync::{Arc, OnceLock};
use target::Target;

/// The target of a name: of a back end alone, or with one of its architectures behind a colon.
///
/// # Errors
/// Names the targets that there are, or the architectures of this one.
pub fn target_named(name: &str) -> Result<Arc<dyn Target>, RuntimeError> {
    let (backend, arch) = match name.split_once(':') {
        Some((backend, arch)) => (backend, Some(arch)),
        None => (name, None),
    };
    target_of(backend, arch)
}

/// The target of a back end, for one of its architectures; for that of this machine if none is named.
///
/// # Errors
/// Names the targets that there are, or the architectures of this one.
pub fn target_of(backend: &str, arch: Option<&str>) -> Result<Arc<dyn Target>, RuntimeError> {
    let found = all_targets()
        .iter()
        .find(|target| target.facts().backend == backend || target.aliases().contains(&backend));
    let Some(target) = found else {
        let names: Vec<_> = all_targets().iter().map(|target| target.facts().backend).collect();
        return Err(RuntimeError::Value(format!(
            "there is no target `{backend}`; this build has {}",
            names.join(", ")
        )));
    };
    let other = arch.map(|arch| target.for_arch(arch)).transpose()?.flatten();
    Ok(other.unwrap_or_else(|| Arc::clone(target)))
}

/// The first target that has a device here. The last of the list always has one.
fn with_device() -> Result<Arc<dyn Target>, RuntimeError> {
    static FIRST: OnceLock<Option<Arc<dyn Target>>> = OnceLock::new();
    let find = || {
        let all = all_targets();
        all.iter().find(|target| !target.devices().is_empty()).or(all.last()).cloned()
    };
    FIRST
        .get_or_init(find)
        .clone()
        .ok_or_else(|| RuntimeError::Runtime("this build has no targets".to_owned()))
}

/// The target in use: an emulated one if `runtime.emulate` names one, else what `runtime.target` names, else the first
/// that has a device here; the interpreter in its place if `runtime.interpret`.
///
/// # Errors
/// When there is no such target.
pub fn active_target() -> Result<Arc<dyn Target>, RuntimeError> {
    if knobs::flag("runtime", "interpret") { interpreted_target() } else { compiling_target() }
}

/// The interpreter in place of the target in use.
///
/// # Errors
/// When there is no such target.
pub fn interpreted_target() -> Result<Arc<dyn Target>, RuntimeError> {
    Ok(Arc::new(Interpreter(compiling_target()?)))
}

fn compiling_target() -> Result<Arc<dyn Target>, RuntimeError> {
    let named = |knob| knobs::opt_text("runtime", knob).filter(|name| !name.is_empty());
    match (named("emulate"), named("target")) {
        (Some(name), _) => emulated(&name),
        (None, Some(name)) => target_named(&name),
        (None, None) => with_device(),
    }
}

/// A target whose device is emulated on this machine's cores.
///
/// # Errors
/// When there is no such target, or no emulator for it.
pub fn emulated(name: &str) -> Result<Arc<dyn Target>, RuntimeError> {
    let target = target_named(name)?;
    target.emulated()?.ok_or_else(|| {
        RuntimeError::Value(format!("there is no emulator for target `{name}`: unset DEUTERON_EMULATE"))
    })
}

#[cfg(test)]
mod tests {
    use super::{emulated, target_named, target_of};

    #[test]
    fn names_and_architectures() {
        assert_eq!(target_named("cpu").expect("every build has it").facts().backend, "cpu");
        let arch = target_named("cpu").expect("every build has it").facts().arch;
        assert_eq!(target_of("cpu", Some(&arch)).expect("its own").facts().arch, arch);
        let (own, other) = (target_named("cpu").expect("known"), target_named("cpu:avx2").expect("known"));
        assert_eq!(other.facts().arch, "avx2");
        assert_ne!(other.machine(), own.machine());
        let error = target_named("cpu:abacus").err().expect("there is no such processor").to_string();
        assert!(error.contains("`abacus`") && error.contains("avx2"), "{error}");
        let error = target_named("abacus:3").err().expect("there is no such target").to_string();
        assert!(error.contains("`abacus`") && error.contains("cpu"), "{error}");
        assert!(emulated("cpu").is_err(), "the host needs none");
    }
}
