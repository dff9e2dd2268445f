//! The compile itself: front end, ttir passes, target.

use super::Job;
use super::watch::Watch;
use crate::error::{CompilationFailure, RuntimeError};
use crate::knobs::Settings;
use frontend::{Diagnostic, Facts, Globals, Kind, Options, Request};
use target::{Artifact, CompileOptions, Stage, StageObserver, Target, TargetFacts};

/// Compiles a function.
pub(super) fn build(
    job: &Job<'_>,
    globals: &dyn Globals,
    settings: &Settings,
    watch: &mut Watch,
) -> Result<Artifact, RuntimeError> {
    let module = match overriding_text(&job.function.0.name, settings) {
        Some(text) => parse_ir(&text, &job.function.0.name)?,
        None => from_source(job, globals, settings, watch)?,
    };
    from_module(module, job.target.as_ref(), &job.options, settings, watch)
}

/// Compiles the text of a ttir module.
pub(super) fn build_ir(
    text: &str,
    file: &str,
    target: &dyn Target,
    options: &CompileOptions,
    settings: &Settings,
    watch: &mut Watch,
) -> Result<Artifact, RuntimeError> {
    from_module(parse_ir(text, file)?, target, options, settings, watch)
}

fn from_source(
    job: &Job<'_>,
    globals: &dyn Globals,
    settings: &Settings,
    watch: &mut Watch,
) -> Result<ir::Module, RuntimeError> {
    let request = Request {
        globals,
        function: job.function.clone(),
        args: job.args.clone(),
        facts: facts_of(&job.target.facts(), settings),
        options: options_of(&job.options),
    };
    let compiled = watch.time("front end", |_| frontend::compile(&request)).map_err(failure)?;
    for warning in &compiled.warnings {
        watch.warn(warning.render());
    }
    Ok(compiled.module)
}

fn from_module(
    mut module: ir::Module,
    target: &dyn Target,
    options: &CompileOptions,
    settings: &Settings,
    watch: &mut Watch,
) -> Result<Artifact, RuntimeError> {
    let source = module.to_string();
    watch.stage("source", source.as_bytes());
    run_ttir_passes(&mut module, settings, watch)?;
    let ttir = module.to_string();
    watch.stage("ttir", ttir.as_bytes());
    let mut artifact = watch.time("target", |watch| target.compile(module, options, watch))?;
    // The stages above the target are the same for all of them, so they are written down here.
    artifact.stages.retain(|stage| stage.name != "source" && stage.name != "ttir");
    let stage = |name: &str, text: String| Stage { name: name.to_owned(), bytes: text.into_bytes(), text: true };
    artifact.stages.splice(0..0, [stage("source", source), stage("ttir", ttir)]);
    Ok(artifact)
}
