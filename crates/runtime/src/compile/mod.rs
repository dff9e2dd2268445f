//! From a function's text to a kernel that can be launched, through the cache.
//!
//! ```text
//! key of text, specialisation, options, machine, compiler
//!   └─ what earlier compiles of it read from outside ── does it still read the same? ── yes ─> kernel from the disk
//!                                                                                    └─ no ──> front end, ttir passes,
//!                                                                                              target, then to the disk
//! ```
//!
//! Two threads that ask for the same kernel at the same time get the same one; the second waits. A cached start loads
//! nothing of the code generator. What could not be kept on disk is said once on the standard error stream and does no harm.

mod build;
mod disk;
mod kernel;
mod once;
mod watch;

pub use build::{FRONT_END, TARGET, TTIR_PASS, parse_ir, to_ttir};
pub(crate) use disk::store;
pub use kernel::{Kernel, Scratch};

use crate::cache::{Key, KeyBuilder};
use crate::error::RuntimeError;
use crate::knobs::Settings;
use crate::{identity, trace};
use frontend::{ArgSpec, FunctionRef, Globals};
use std::sync::Arc;
use target::{CompileOptions, Target};

/// One compile.
pub struct Job<'a> {
    /// The kernel.
    pub function: FunctionRef,
    /// What it is compiled for; one for each parameter.
    pub args: Vec<ArgSpec>,
    /// Options of the launch.
    pub options: CompileOptions,
    /// What to compile for.
    pub target: Arc<dyn Target>,
    /// Where names from outside come from.
    pub globals: &'a dyn Globals,
    /// Shows what `tl.static_print` prints.
    pub print: &'a (dyn Fn(&str) + Sync),
    /// Tells callers apart that may see different globals under the same text: compiles of one owner and one key are done
    /// once.
    pub owner: u64,
}

impl Job<'_> {
    /// The hash of everything that is known before the compile looks outside the text.
    fn key(&self, settings: &Settings) -> Key {
        let mut function = Vec::new();
        trace::encode_function(&self.function.0, &mut function);
        let mut args = Vec::new();
        trace::encode_args(&self.args, &mut args);
        KeyBuilder::new("source")
            .part("compiler", identity::compiler().as_bytes())
            .part("function", &function)
            .part("args", &args)
            .value("options", &self.options)
            .value("facts", &self.target.facts())
            .part("machine", self.target.machine().as_bytes())
            .value("settings", &settings.code)
            .finish()
    }
}

/// Compiles, or takes from the cache.
///
/// # Errors
/// What is wrong with the kernel, or what the target misses.
pub fn compile(job: &Job<'_>, settings: &Settings) -> Result<Arc<Kernel>, RuntimeError> {
    compile_with(job, settings, &build::build)
}

/// Compiles the text of a ttir module with one public function, or takes it from the cache. `file` is for messages.
///
/// # Errors
/// What is wrong with the text, or what the target misses.
pub fn compile_ir(
    text: &str,
    file: &str,
    target: &Arc<dyn Target>,
    options: &CompileOptions,
    settings: &Settings,
) -> Result<Arc<Kernel>, RuntimeError> {
    let key = KeyBuilder::new("ttir")
        .part("compiler", identity::compiler().as_bytes())
        .part("text", text.as_bytes())
        .part("file", file.as_bytes())
        .value("options", options)
        .value("facts", &target.facts())
        .part("machine", target.machine().as_bytes())
        .value("settings", &settings.code)
        .finish();
    let store = disk::store(settings);
    if let Some(artifact) =
        store.as_deref().filter(|_| !settings.always_compile).and_then(|store| disk::read(store, &key))
    {
        return Ok(Arc::new(Kernel::new(target, options, artifact, key, kernel::Source::Cache)));
    }
    let mut watch = watch::Watch::new("ttir", &key, settings);
    let artifact = build::build_ir(text, file, target.as_ref(), options, &mut watch)?;
    if let Some(store) = store.as_deref() {
        disk::write(store, &key, &artifact, settings);
    }
    Ok(Arc::new(Kernel::new(target, options, artifact, key, kernel::Source::Compiled(watch.finish()))))
}

/// How a compile is done once the cache has been asked.
type Build<'b> = dyn Fn(&Job<'_>, &dyn Globals, &Settings, &mut watch::Watch) -> Result<target::Artifact, RuntimeError>
    + 'b;

fn compile_with(job: &Job<'_>, settings: &Settings, build: &Build<'_>) -> Result<Arc<Kernel>, RuntimeError> {
    let key = job.key(settings);
    once::once((job.owner, key), || compile_alone(job, &key, settings, build))
}

fn compile_alone(
    job: &Job<'_>,
    key: &Key,
    settings: &Settings,
    build: &Build<'_>,
) -> Result<Arc<Kernel>, RuntimeError> {
    let store = disk::store(settings);
    let overridden = settings.override_dir.is_some();
    if let Some(store) = store.as_deref().filter(|_| !settings.always_compile && !overridden)
        && let Some((hash, artifact)) = disk::find(store, key, job)
    {
        return Ok(Arc::new(Kernel::new(&job.target, &job.options, artifact, hash, kernel::Source::Cache)));
    }
    let recorder = trace::Recorder::new(job.globals, &job.function, &job.args);
    let mut watch = watch::Watch::new(&job.function.0.name, key, settings);
    let artifact = build(job, &recorder, settings, &mut watch)?;
    let report = watch.finish();
    let steps = recorder.finish();
    let hash = steps.as_ref().map_or(*key, |steps| disk::kernel_key(key, steps));
    if let (Some(store), Some(steps), false) = (store.as_deref(), steps, overridden) {
        disk::keep(store, key, &hash, steps, &artifact, settings);
    }
    Ok(Arc::new(Kernel::new(&job.target, &job.options, artifact, hash, kernel::Source::Compiled(report))))
}

#[cfg(test)]
mod tests;
