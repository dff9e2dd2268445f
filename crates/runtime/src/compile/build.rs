//! The compile itself: front end, ttir passes, target.

use super::Job;
use super::given::{Given, TTIR};
use super::watch::Watch;
use crate::error::{CompilationFailure, CompilationKind, RuntimeError};
use crate::knobs::Settings;
use crate::options::{DOT_PRECISION, usual_dot_precision};
use frontend::{Facts, Globals, Options, Request};
use ir::pass::{Observer, PassRow, Verify};
use ir::text::{ParseOptions, PrintOptions};
use std::time::Duration;
use target::{Artifact, CompileOptions, GivenStage, OptionValue, Stage, StageObserver, Target, TargetFacts};

/// The step from Python text to ttir, among the times of a compile.
pub const FRONT_END: &str = "front end";

/// Compiles a function.
pub(super) fn build(
    job: &Job<'_>,
    globals: &dyn Globals,
    settings: &Settings,
    watch: &mut Watch,
) -> Result<Artifact, RuntimeError> {
    let module = match watch.given(TTIR) {
        Some(given) => valid(parse_ir(given.text()?, &given.file)?)?,
        None => from_source(job, globals, settings, watch)?,
    };
    from_module(module, job.target.as_ref(), &job.options, watch)
}

/// Compiles a stage that is given as text, an override.
pub(super) fn build_given(
    given: &GivenStage,
    target: &dyn Target,
    options: &CompileOptions,
    watch: &mut Watch,
) -> Result<Artifact, RuntimeError> {
    if given.name == TTIR {
        return from_module(valid(parse_ir(given.text()?, &given.file)?)?, target, options, watch);
    }
    Ok(target.compile_given(given, options, watch)?)
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
        symbol: job.symbol.clone(),
        args: job.args.clone(),
        facts: facts_of(&job.target.facts(), settings, &job.options)?,
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

/// A program that somebody wrote, if it is valid; the front end verifies its own.
fn valid(module: ir::Module) -> Result<ir::Module, RuntimeError> {
    ir::verify(&module).map_err(|errors| broken(&errors))?;
    Ok(module)
}

/// `module` is valid.
fn from_module(
    mut module: ir::Module,
    target: &dyn Target,
    options: &CompileOptions,
    watch: &mut Watch,
) -> Result<Artifact, RuntimeError> {
    let source = ir::text::print(&module, PrintOptions::default());
    watch.stage("source", source.as_bytes());
    watch.keep_reproducer(&source, target, options);
    targets::operations_for_assembly(&mut module, Some(&target.facts().backend));
    run_ttir_passes(&mut module, watch)?;
    let ttir = ir::text::print(&module, PrintOptions::default());
    watch.stage("ttir", ttir.as_bytes());
    let mut artifact = target.compile(module, options, watch)?;
    // The stages above the target are the same for all of them, so they are written down here.
    artifact.stages.retain(|stage| stage.name != "source" && stage.name != "ttir");
    let stage =
        |name: &str, text: String| Stage { name: name.to_owned(), bytes: text.into_bytes(), text: true };
    artifact.stages.splice(0..0, [stage("source", source), stage("ttir", ttir)]);
    Ok(artifact)
}

/// Tells of the passes over ttir.
struct Passes<'a>(&'a mut Watch);

impl Observer for Passes<'_> {
    fn before(&mut self, pass: &PassRow, module: &ir::Module) {
        if self.0.wants_programs(TTIR) {
            self.0.program(TTIR, pass.name, &ir::text::print(module, PrintOptions::PLAIN));
        }
    }

    fn after(&mut self, pass: &PassRow, _module: &ir::Module, elapsed: Duration) {
        self.0.timed(&[TTIR, "/", pass.name].concat(), elapsed);
    }
}

/// A pass that breaks a program is our own fault, and is named where we test. Verifying all takes longer than the
/// passes, so that releases look at the structure alone, which later stages rely on.
const VERIFY: Verify = if cfg!(debug_assertions) { Verify::Each } else { Verify::Structure };

/// Brings ttir into the form that targets expect.
fn run_ttir_passes(module: &mut ir::Module, watch: &mut Watch) -> Result<(), RuntimeError> {
    let run = |watch: &mut Watch| ir::pass::run(module, ttir::passes::pipeline(), VERIFY, &mut Passes(watch));
    watch.time(TTIR, run).map_err(|errors| broken(&errors))
}

/// What the front end makes of a function, before any pass.
///
/// # Errors
/// What is wrong with the kernel.
pub fn to_source(job: &Job<'_>, settings: &Settings) -> Result<ir::Module, RuntimeError> {
    let mut watch = Watch::new(&job.function.0.name, &job.source_key(), settings, Given::default());
    let module = from_source(job, job.globals, settings, &mut watch)?;
    watch.finish();
    Ok(module)
}

/// Compiles a function as far as ttir, whatever the target does with it.
///
/// # Errors
/// What is wrong with the kernel.
pub fn to_ttir(job: &Job<'_>, settings: &Settings) -> Result<ir::Module, RuntimeError> {
    let name = &job.function.0.name;
    let mut watch = Watch::new(name, &job.source_key(), settings, Given::default());
    let mut module = from_source(job, job.globals, settings, &mut watch)?;
    targets::operations_for_assembly(&mut module, None);
    run_ttir_passes(&mut module, &mut watch)?;
    watch.finish();
    Ok(module)
}

/// Reads the text of a ttir module. `file` is for messages.
///
/// # Errors
/// What is wrong with the text, with its place.
pub fn parse_ir(text: &str, file: &str) -> Result<ir::Module, RuntimeError> {
    parse_with(text, file, ttir::registry())
}

/// Reads the text of a valid module, with layouts or without. `file` is for messages.
///
/// # Errors
/// What is wrong with the text, with its place.
pub fn parse_module(text: &str, file: &str) -> Result<ir::Module, RuntimeError> {
    let layouts = || crate::all_targets().iter().find_map(|target| target.surveyed_registry());
    let registry = text.contains("ttg.").then(layouts).flatten().unwrap_or_else(ttir::registry);
    valid(parse_with(text, file, registry)?)
}

fn parse_with(text: &str, file: &str, registry: &'static ir::Registry) -> Result<ir::Module, RuntimeError> {
    ir::text::parse(text, registry, ParseOptions { file: Some(file) })
        .map_err(|error| broken(&[error.in_file(file)]))
}

fn broken(errors: &[ir::Diagnostic]) -> RuntimeError {
    let report = errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    RuntimeError::Compilation(CompilationFailure {
        kind: CompilationKind::Error,
        cause: frontend::Cause::Runtime,
        message: errors.first().map(|error| error.message.clone()).unwrap_or_default(),
        report,
        place: None,
        calls: Vec::new(),
    })
}

/// What the front end knows of a target and of the options of a launch.
pub(crate) fn front_end_request(
    target: &dyn Target,
    options: &CompileOptions,
) -> Result<(Facts, Options), RuntimeError> {
    Ok((facts_of(&target.facts(), &Settings::current(), options)?, options_of(options)))
}

fn facts_of(
    facts: &TargetFacts,
    settings: &Settings,
    options: &CompileOptions,
) -> Result<Facts, RuntimeError> {
    let usual = usual_dot_precision(facts, settings);
    if !facts.allowed_dot_precisions.contains(&usual) {
        return Err(RuntimeError::Value(format!(
            "TRITON_F32_DEFAULT is `{usual}`, and {} allows {}",
            facts.backend,
            facts.allowed_dot_precisions.join(", ")
        )));
    }
    let precision = match options.extra.get(DOT_PRECISION) {
        Some(OptionValue::Str(name)) => name.clone(),
        _ => usual,
    };
    Ok(Facts {
        backend: facts.backend.clone(),
        arch: facts.arch.clone(),
        warp_size: facts.warp_size,
        default_dot_precision: precision,
        allowed_dot_precisions: facts.allowed_dot_precisions.clone(),
        fp8_dtypes: facts.fp8_dtypes.clone(),
        fp8e4b15_warning: facts.fp8e4b15_warning.clone(),
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
