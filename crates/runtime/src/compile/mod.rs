//! From a function's text to a kernel that can be launched, through the cache.
//!
//! ```text
//! key of text, specialisation, options, machine, compiler
//!   └─ what earlier compiles of it read from outside ── does it still read the same? ── yes ─> kernel from the disk
//!                                                                                    └─ no ──> front end, ttir passes,
//!                                                                                              target, then to the disk
//! ```
//!
//! Two threads that ask for the same kernel at the same time get the same one; the second waits. Of several processes
//! (the ranks of a job), one compiles, and the others take the kernel from the disk. A cached start loads nothing of
//! the code generator. What could not be kept on disk is said once on the standard error stream and does no harm.

mod again;
mod aligned;
mod build;
mod deep;
mod disk;
mod given;
mod guarded;
mod kernel;
mod once;
mod pairs;
mod reproducer;
mod times;
mod watch;

pub(crate) use build::front_end_request;
pub use build::{FRONT_END, parse_ir, parse_module, to_source, to_ttir};
pub(crate) use disk::store;
pub use disk::{Label, cached, label, payload};
pub use given::{named_file, overriding, state_of_file};
pub use kernel::Kernel;
pub use reproducer::Reproducer;
pub use times::times_table;

use crate::cache::{Key, KeyBuilder};
use crate::error::RuntimeError;
use crate::knobs::Settings;
use crate::{identity, trace};
use frontend::{ArgSpec, FunctionRef, Globals};
use given::Given;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use target::{CompileOptions, GivenStage, Target};

/// How long a compile waits for another process that compiles the same kernel.
const PATIENCE: Duration = Duration::from_secs(30);

/// One compile.
pub struct Job<'a> {
    /// The kernel.
    pub function: FunctionRef,
    /// What its symbol is called in place of its function's name, as `@jit(repr=…)` asks.
    pub symbol: Option<Arc<str>>,
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
    /// Tells callers apart that may see different globals under the same text: compiles of one owner and one key are
    /// done once.
    pub owner: u64,
}

impl Job<'_> {
    /// The function's text and what it is compiled for. Also the name of the kernel's folder among dumps and overrides:
    /// another compiler or machine does not change it.
    fn source_key(&self) -> Key {
        let mut function = Vec::new();
        trace::encode_function(&self.function.0, &mut function);
        let mut args = Vec::new();
        trace::encode_args(&self.args, &mut args);
        let key = KeyBuilder::new("dump").part("function", &function).part("args", &args);
        let named = |key: KeyBuilder| match &self.symbol {
            Some(symbol) => key.part("symbol", symbol.as_bytes()),
            None => key,
        };
        named(key).value("options", &self.options).value("facts", &self.target.facts()).finish()
    }

    /// The hash of everything that is known before the compile looks outside the text; `source` is [`Job::source_key`].
    fn key(&self, source: &Key, settings: &Settings) -> Key {
        full_key("source", source, self.target.as_ref(), settings).finish()
    }
}

/// What a key says besides what is compiled, which `source` stands for.
fn full_key(purpose: &str, source: &Key, target: &dyn Target, settings: &Settings) -> KeyBuilder {
    KeyBuilder::new(purpose)
        .part("source", &source.0)
        .part("compiler", identity::compiler().as_bytes())
        .part("machine", target.machine().as_bytes())
        .value("settings", &settings.code)
}

/// Compiles, or takes from the cache.
///
/// # Errors
/// What is wrong with the kernel, or what the target misses.
pub fn compile(job: &Job<'_>, settings: &Settings) -> Result<Arc<Kernel>, RuntimeError> {
    compile_with(job, settings, &build::build)
}

/// Compiles a stage that is given as text, which holds one public function, or takes the kernel from the cache. Dumps
/// are named after the file.
///
/// # Errors
/// What is wrong with the text, or what the target misses.
pub fn compile_given(
    given: &GivenStage,
    target: &Arc<dyn Target>,
    options: &CompileOptions,
    settings: &Settings,
) -> Result<Arc<Kernel>, RuntimeError> {
    let source = KeyBuilder::new("dump")
        .part("stage", given.name.as_bytes())
        .part("text", &given.bytes)
        .value("options", options)
        .value("facts", &target.facts())
        .finish();
    let key = full_key("given stage", &source, target.as_ref(), settings);
    let key = key.part("file", given.file.as_bytes()).finish();
    let name = Path::new(&given.file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let others = Given::find(&name, &source, target.as_ref(), options, settings)?;
    let key = others.key(key);
    let dumps = watch::Dumps::new(&name, &source, settings);
    let store = disk::store(settings);
    let found = store.as_deref().filter(|_| !settings.must_compile(&name));
    let (artifact, origin) = match found.and_then(|store| disk::read(store, &key)) {
        Some(artifact) => (artifact, kernel::Source::Cache),
        None => {
            let mut watch = watch::Watch::new(&name, &source, settings, others);
            let artifact = build::build_given(given, target.as_ref(), options, &mut watch)?;
            if let Some(store) = store.as_deref() {
                let label = Label::new(&name, &artifact, &target.facts(), options);
                disk::write(store, &key, &artifact, label, settings);
            }
            (artifact, kernel::Source::Compiled(watch.finish()))
        }
    };
    let kernel = Kernel::new(&name, target, options, artifact, key, origin);
    dumps.write_all(&kernel);
    Ok(Arc::new(kernel))
}

/// How a compile is done once the cache has been asked.
type Build<'b> = dyn Fn(&Job<'_>, &dyn Globals, &Settings, &mut watch::Watch) -> Result<target::Artifact, RuntimeError>
    + 'b;

fn compile_with(job: &Job<'_>, settings: &Settings, build: &Build<'_>) -> Result<Arc<Kernel>, RuntimeError> {
    let (name, source) = (&job.function.0.name, job.source_key());
    let given = Given::find(name, &source, job.target.as_ref(), &job.options, settings)?;
    let key = given.key(job.key(&source, settings));
    once::once((job.owner, key), || {
        let kernel = compile_alone(job, (&source, &key), settings, build, given)?;
        watch::Dumps::new(name, &source, settings).write_all(&kernel);
        Ok(Arc::new(kernel))
    })
}

fn compile_alone(
    job: &Job<'_>,
    (source, key): (&Key, &Key),
    settings: &Settings,
    build: &Build<'_>,
    given: Given,
) -> Result<Kernel, RuntimeError> {
    let name = &job.function.0.name;
    let store = disk::store(settings);
    let kept = store.as_deref().filter(|_| !settings.must_compile(name));
    let find = || kept.and_then(|store| disk::find(store, key, job));
    let carry = |hash: &Key| {
        if let (Some(store), Some(folder)) = (store.as_deref(), &settings.carried_dir) {
            disk::carry(store, folder, key, hash);
        }
    };
    let from_cache = |(hash, artifact)| {
        carry(&hash);
        Ok(Kernel::new(name, &job.target, &job.options, artifact, hash, kernel::Source::Cache))
    };
    if let Some(found) = find() {
        return from_cache(found);
    }
    if let (Some(store), Some(folder)) = (kept, &settings.carried_dir) {
        disk::take_carried(store, folder);
    }
    let _lock = kept.and_then(|store| store.lock_entry(key, PATIENCE));
    if let Some(found) = find() {
        return from_cache(found);
    }
    let recorder = trace::Recorder::new(job.globals, &job.function, &job.args);
    let mut watch = watch::Watch::new(name, source, settings, given);
    let artifact = build(job, &recorder, settings, &mut watch)?;
    let report = watch.finish();
    let steps = recorder.finish();
    let hash = steps.as_ref().map_or(*key, |steps| disk::kernel_key(key, steps));
    if let (Some(store), Some(steps)) = (store.as_deref(), steps) {
        let label = Label::new(name, &artifact, &job.target.facts(), &job.options);
        disk::keep(store, key, &hash, steps, (&artifact, label), settings);
        carry(&hash);
    }
    Ok(Kernel::new(name, &job.target, &job.options, artifact, hash, kernel::Source::Compiled(report)))
}

#[cfg(test)]
mod tests;
