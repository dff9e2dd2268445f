//! The compile itself: front end, ttir passes, target.

use super::Job;
use super::watch::Watch;
use crate::error::{CompilationFailure, CompilationKind, RuntimeError};
use crate::knobs::Settings;
use frontend::{Facts, Globals, Options, Request};
use ir::pass::{Dump, DumpWhen, Times, Verify};
use ir::text::{ParseOptions, PrintOptions};
use target::{Artifact, CompileOptions, Stage, StageObserver, Target, TargetFacts};

/// The step from Python text to ttir, among the times of a compile.
pub const FRONT_END: &str = "front end";
/// What the names of passes over ttir begin with, among the times of a compile.
pub const TTIR_PASS: &str = "ttir pass ";
/// All that the target does, among the times of a compile; its own steps stand before it.
pub const TARGET: &str = "target";

/// Compiles a function.
pub(super) fn build(
    job: &Job<'_>,
    globals: &dyn Globals,
    settings: &Settings,
    watch: &mut Watch,
) -> Result<Artifact, RuntimeError> {
    let module = match overriding_text(&job.function.0.name, settings)? {
        Some((text, file)) => parse_ir(&text, &file)?,
        None => from_source(job, globals, settings, watch)?,
    };
    from_module(module, job.target.as_ref(), &job.options, watch)
}

/// Compiles the text of a ttir module.
pub(super) fn build_ir(
    text: &str,
    file: &str,
    target: &dyn Target,
    options: &CompileOptions,
    watch: &mut Watch,
) -> Result<Artifact, RuntimeError> {
    from_module(parse_ir(text, file)?, target, options, watch)
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
        facts: facts_of(&job.target.facts(), settings)?,
        options: options_of(&job.options),
        print: job.print,
    };
    let compiled = watch.time(FRONT_END, |_| frontend::compile(&request)).map_err(|diagnostics| {
        RuntimeError::Compilation(CompilationFailure::from_diagnostics(&diagnostics))
    })?;
    for warning in &compiled.warnings {
        watch.warn(warning.render());
    }
    Ok(compiled.module)
}

fn from_module(
    mut module: ir::Module,
    target: &dyn Target,
    options: &CompileOptions,
    watch: &mut Watch,
) -> Result<Artifact, RuntimeError> {
    let source = ir::text::print(&module, PrintOptions::default());
    watch.stage("source", source.as_bytes());
    ir::verify(&module).map_err(|errors| broken(&errors))?;
    run_ttir_passes(&mut module, watch)?;
    let ttir = ir::text::print(&module, PrintOptions::default());
    watch.stage("ttir", ttir.as_bytes());
    let mut artifact = watch.time(TARGET, |watch| target.compile(module, options, watch))?;
    // The stages above the target are the same for all of them, so they are written down here.
    artifact.stages.retain(|stage| stage.name != "source" && stage.name != "ttir");
    let stage =
        |name: &str, text: String| Stage { name: name.to_owned(), bytes: text.into_bytes(), text: true };
    artifact.stages.splice(0..0, [stage("source", source), stage("ttir", ttir)]);
    Ok(artifact)
}

/// Brings ttir into the form that targets expect.
fn run_ttir_passes(module: &mut ir::Module, watch: &mut Watch) -> Result<(), RuntimeError> {
    let mut sink = |text: &str| eprint!("{text}");
    let mut times = Times::default();
    let passes = ttir::passes::pipeline();
    let result = if watch.dumps_passes() {
        let mut observer = (Dump::new(DumpWhen::After, PrintOptions::PLAIN, &mut sink), times);
        let result = ir::pass::run(module, passes, Verify::Each, &mut observer);
        times = observer.1;
        result
    } else {
        ir::pass::run(module, passes, Verify::Each, &mut times)
    };
    for (pass, elapsed) in times.0 {
        watch.timed(&format!("{TTIR_PASS}{pass}"), elapsed);
    }
    result.map_err(|errors| broken(&errors))
}

/// Compiles a function as far as ttir, whatever the target does with it.
///
/// # Errors
/// What is wrong with the kernel.
pub fn to_ttir(job: &Job<'_>, settings: &Settings) -> Result<ir::Module, RuntimeError> {
    let mut watch = Watch::new(&job.function.0.name, &job.key(settings), settings);
    let mut module = from_source(job, job.globals, settings, &mut watch)?;
    run_ttir_passes(&mut module, &mut watch)?;
    watch.finish();
    Ok(module)
}

/// Reads the text of a ttir module. `file` is for messages.
///
/// # Errors
/// What is wrong with the text, with its place.
pub fn parse_ir(text: &str, file: &str) -> Result<ir::Module, RuntimeError> {
    ir::text::parse(text, ttir::registry(), ParseOptions { file: Some(file) })
        .map_err(|error| broken(&[error.in_file(file)]))
}

/// The text that stands for a kernel's own in the override folder, as `<folder>/<kernel>.ttir` or one folder below.
fn overriding_text(kernel: &str, settings: &Settings) -> Result<Option<(String, String)>, RuntimeError> {
    let Some(dir) = &settings.override_dir else { return Ok(None) };
    let name = format!("{kernel}.ttir");
    let below = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path().join(&name));
    let Some(path) = std::iter::once(dir.join(&name)).chain(below).find(|path| path.is_file()) else {
        return Ok(None);
    };
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some((text, path.display().to_string()))),
        Err(error) => Err(RuntimeError::Runtime(format!("cannot read {}: {error}", path.display()))),
    }
}

fn broken(errors: &[ir::Diagnostic]) -> RuntimeError {
    let report = errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    RuntimeError::Compilation(CompilationFailure {
        kind: CompilationKind::Error,
        message: errors.first().map(|error| error.message.clone()).unwrap_or_default(),
        report,
        place: None,
    })
}

fn facts_of(facts: &TargetFacts, settings: &Settings) -> Result<Facts, RuntimeError> {
    let precision = settings.code.fp32_default.as_ref().unwrap_or(&facts.default_dot_precision);
    if !facts.allowed_dot_precisions.contains(precision) {
        return Err(RuntimeError::Value(format!(
            "TRITON_F32_DEFAULT is `{precision}`, and {} allows {}",
            facts.backend,
            facts.allowed_dot_precisions.join(", ")
        )));
    }
    Ok(Facts {
        backend: facts.backend.clone(),
        arch: facts.arch.clone(),
        warp_size: facts.warp_size,
        default_dot_precision: precision.clone(),
        allowed_dot_precisions: facts.allowed_dot_precisions.clone(),
        fp8_dtypes: facts.fp8_dtypes.clone(),
        min_dot_size: [1, 1, 1],
    })
}

fn options_of(options: &CompileOptions) -> Options {
    Options {
        num_warps: options.num_warps,
        num_stages: options.num_stages,
        num_ctas: options.num_ctas,
        debug: options.debug,
        sanitize_overflow: options.sanitize_overflow,
    }
}
