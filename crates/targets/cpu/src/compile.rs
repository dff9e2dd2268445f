//! The CPU as a target: every stage from ttir to an object.

use crate::driver::{self, OBJECT_STAGE};
use crate::host::{NATIVE, Processor};
use crate::lower;
use crate::survey;
use llvm::{Llvm, LlvmError, Output, TargetSpec};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use target::survey::{Peaks, Survey};
use target::{
    Artifact, CompileOptions, Device, GivenStage, HostFacts, LaunchFacts, OptionRow, OptionValue, Stage,
    StageObserver, Target, TargetError, TargetFacts, Tool,
};

/// What LLVM does before it makes code: functions of the vector maths are inlined, the little that the lowering leaves
/// is cleaned up. Loops are vectorised already.
const PASSES: &str = "always-inline,function(early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,\
                      loop-mssa(licm),early-cse<memssa>)";

/// What is left of them where optimisation is off: LLVM's own level O0 does this as well.
const PLAIN_PASSES: &str = "always-inline";

/// Settings for LLVM.
struct How {
    passes: &'static str,
    plain: bool,
    flags: Vec<String>,
}

impl How {
    fn of(options: &CompileOptions) -> How {
        match options.extra.get(NO_OPTIMIZATION) {
            Some(OptionValue::Bool(true)) => How { passes: PLAIN_PASSES, plain: true, flags: Vec::new() },
            Some(OptionValue::Str(list)) => {
                let flags = list.split(',').map(|flag| flag.trim().trim_start_matches('-').to_owned());
                let mut flags: Vec<String> = flags.filter(|flag| !flag.is_empty()).collect();
                flags.sort();
                flags.dedup();
                How { passes: PASSES, plain: false, flags }
            }
            _ => How { passes: PASSES, plain: false, flags: Vec::new() },
        }
    }

    fn llvm(&self) -> Result<&'static Llvm, TargetError> {
        Llvm::load_with(&self.flags).map_err(|error| match error {
            LlvmError::Target(message) => TargetError::Compile {
                message: format!("DISABLE_LLVM_OPT={}: {message}", self.flags.join(",")),
                location: None,
            },
            other => error_of(other),
        })
    }
}

/// The option of a compile that lowers LLVM's optimisation: one of the knobs of all targets.
const NO_OPTIMIZATION: &str = "disable_llvm_opt";

/// The option that names a processor.
const ARCH: &str = "arch";

static OPTIONS: [OptionRow; 2] = [
    OptionRow {
        name: ARCH,
        default: OptionValue::None,
        doc: "The processor to make code for: native, avx512, avx2, x86-64, aarch64, or a name that LLVM knows.",
    },
    OptionRow {
        name: target::COOPERATIVE,
        default: OptionValue::Bool(false),
        doc: "Launch so that all programs run at the same time, each on a thread of its own.",
    },
];

/// The CPU target.
#[derive(Debug, Default)]
pub(crate) struct Cpu {
    /// The processor to make code for where a compile names none, and its name in the user's words; the host's else.
    named: Option<(String, Processor)>,
}

impl Cpu {
    /// The processor that a compile names, else the target's.
    fn processor(&self, options: &CompileOptions) -> Result<Processor, TargetError> {
        match options.extra.get(ARCH) {
            Some(OptionValue::Str(name)) => Processor::named(name),
            _ => Ok(self.own().clone()),
        }
    }

    fn own(&self) -> &Processor {
        match &self.named {
            Some((_, processor)) => processor,
            None => Processor::host(),
        }
    }
}

impl Target for Cpu {
    fn facts(&self) -> TargetFacts {
        TargetFacts {
            backend: "cpu".into(),
            arch: self.named.as_ref().map_or(&Processor::host().arch, |(name, _)| name).clone(),
            warp_size: 1,
            default_dot_precision: "ieee".into(),
            allowed_dot_precisions: ["ieee", "tf32", "tf32x3", "bf16x3", "bf16x6"].map(String::from).into(),
            fp8_dtypes: ["fp8e5", "fp8e4nv", "fp8e5b16", "fp8e4b8", "fp8e4b15"].map(String::from).into(),
            fp8e4b15_warning: None,
        }
    }

    fn machine(&self) -> String {
        // A start from the cache asks for this, and must not load an LLVM for it.
        let (host, llvm, options) = (self.own(), Llvm::identity(), llvm::words(llvm::FOR_CPUS));
        format!("{host}llvm: {llvm}\noptions: {options}\npasses: {PASSES}\n")
    }

    fn options(&self) -> &'static [OptionRow] {
        &OPTIONS
    }

    fn compile(
        &self,
        module: ir::Module,
        options: &CompileOptions,
        observer: &mut dyn StageObserver,
    ) -> Result<Artifact, TargetError> {
        compile(module, self.processor(options)?, options, observer)
    }

    fn for_arch(&self, arch: &str) -> Result<Option<Arc<dyn Target>>, TargetError> {
        if arch == Processor::host().arch || arch == NATIVE {
            return Ok(Some(Arc::new(Cpu::default())));
        }
        Ok(Some(Arc::new(Cpu { named: Some((arch.to_owned(), Processor::named(arch)?)) })))
    }

    fn stages(&self) -> &'static [&'static str] {
        &[LLIR, ASSEMBLY_STAGE, OBJECT_STAGE]
    }

    fn derived_stages(&self) -> &'static [&'static str] {
        &[ASSEMBLY_STAGE]
    }

    fn derive_stage(
        &self,
        artifact: &Artifact,
        options: &CompileOptions,
        name: &str,
    ) -> Result<Stage, TargetError> {
        assembly(artifact, &self.processor(options)?, options)
            .ok_or_else(|| TargetError::Internal(format!("kernel without a stage `{name}`")))?
    }

    fn survey(&self, module: ir::Module, options: &CompileOptions) -> Result<Survey, TargetError> {
        let machine = self.processor(options)?;
        let lowered = lower::lower(module, &machine, options)?;
        Ok(survey::survey(lowered, &machine))
    }

    fn peaks(&self) -> Vec<Peaks> {
        vec![survey::peaks(self.own())]
    }

    fn tools(&self) -> Vec<Tool> {
        let found = Llvm::load().map(|llvm| format!("{} from {}", llvm.version(), llvm.path().display()));
        vec![Tool { name: "LLVM", found: found.map_err(|error| error.to_string()) }]
    }

    fn devices(&self) -> Vec<Arc<dyn Device>> {
        vec![driver::device()]
    }
}

/// The stage that people read and no launch needs: writing it would double the time of a compile.
const ASSEMBLY_STAGE: &str = "asm";

/// The assembly of a compiled kernel, from its llir; `None` where there is no llir.
fn assembly(
    artifact: &Artifact,
    machine: &Processor,
    options: &CompileOptions,
) -> Option<Result<Stage, TargetError>> {
    let text = String::from_utf8_lossy(artifact.stage("llir")?);
    let compile = || {
        let how = How::of(options);
        let llvm = how.llvm()?;
        let output = Output { assembly: true, plain: how.plain, ..Output::default() };
        let compiled = llvm.compile(&text, &machine.spec(llvm), how.passes, output).map_err(error_of)?;
        let missing = || TargetError::Internal("LLVM was asked for assembly and gave none".into());
        let bytes = compiled.assembly.ok_or_else(missing)?.into_bytes();
        Ok(Stage { name: ASSEMBLY_STAGE.into(), bytes, text: true })
    };
    Some(compile())
}

/// The stage that LLVM reads.
const LLIR: &str = "llir";

/// The stages of a compile so far.
struct Stages<'a> {
    all: Vec<Stage>,
    observer: &'a mut dyn StageObserver,
}

impl Stages<'_> {
    fn add(&mut self, name: &str, bytes: Vec<u8>, text: bool) {
        self.observer.stage(name, &bytes);
        self.all.push(Stage { name: name.into(), bytes, text });
    }
}

fn compile(
    module: ir::Module,
    machine: Processor,
    options: &CompileOptions,
    observer: &mut dyn StageObserver,
) -> Result<Artifact, TargetError> {
    let how = How::of(options);
    let llvm = how.llvm()?;
    let mut stages = Stages { all: Vec::new(), observer };
    let start = Instant::now();
    let mut lowered = lower::lower(module, &machine, options)?;
    llir::remove_unused(&mut lowered.module);
    stages.observer.timed(LLIR, start.elapsed());
    if let Err(errors) = llir::verify(&lowered.module) {
        let first = errors.first().map_or_else(String::new, ToString::to_string);
        return Err(TargetError::Internal(format!("kernel `{}`: invalid llir: {first}", lowered.name)));
    }
    let given = stages.observer.given(LLIR);
    let text = match &given {
        Some(given) => given.text()?.to_owned(),
        None => lowered.module.to_string(),
    };
    stages.add(LLIR, text.clone().into_bytes(), true);
    let object = object(&text, given.as_ref(), (llvm, &machine.spec(llvm), &how), &mut stages)?;
    stages.add(OBJECT_STAGE, object, false);
    let features = machine.features.clone();
    let guards = lower::guards(&lowered.source);
    let cooperative = options.flag(target::COOPERATIVE);
    let waits = lower::may_wait(&lowered.source);
    let facts = HostFacts { features, kept_bytes: lowered.kept, guards, cooperative, waits };
    let launch = LaunchFacts::Host(facts);
    let (name, params, shared) = (lowered.name, lowered.params, lowered.scratch);
    Ok(Artifact { name, stages: stages.all, params, shared, launch, metadata: BTreeMap::new() })
}

/// The object code: from the llir, from overriding assembly, or overridden itself.
fn object(
    text: &str,
    given: Option<&GivenStage>,
    (llvm, spec, how): (&'static Llvm, &TargetSpec, &How),
    stages: &mut Stages<'_>,
) -> Result<Vec<u8>, TargetError> {
    let start = Instant::now();
    let shows = stages.observer.wants_programs(LLIR);
    if shows {
        stages.observer.program(LLIR, "the passes of LLVM", text);
    }
    let output = Output { optimized: shows, plain: how.plain, ..Output::default() };
    let compiled = llvm.compile(text, spec, how.passes, output).map_err(|error| blamed(error, given))?;
    if let Some(text) = &compiled.optimized {
        stages.observer.program(LLIR, "code generation", text);
    }
    let mut timings = compiled.timings;
    let mut object = compiled.object;
    if let Some(given) = stages.observer.given(ASSEMBLY_STAGE) {
        let assembled = llvm.compile(&around_assembly(given.text()?), spec, "", Output::default());
        let assembled = assembled.map_err(|error| blamed(error, Some(&given)))?;
        stages.add(ASSEMBLY_STAGE, given.bytes, true);
        (object, timings) = (assembled.object, assembled.timings);
    }
    if let Some(given) = stages.observer.given(OBJECT_STAGE) {
        object = given.bytes;
    }
    for (step, elapsed) in timings {
        stages.observer.timed(&format!("{OBJECT_STAGE}/{step}"), elapsed);
    }
    stages.observer.timed(OBJECT_STAGE, start.elapsed());
    Ok(object)
}

/// A module that holds nothing but assembly.
fn around_assembly(text: &str) -> String {
    let quoted = |line: &str| {
        let mut quoted = String::with_capacity(line.len() + 16);
        for byte in line.bytes() {
            match byte {
                b' '..=b'~' if byte != b'"' && byte != b'\\' => quoted.push(char::from(byte)),
                _ => quoted.push_str(&format!("\\{byte:02X}")),
            }
        }
        format!("module asm \"{quoted}\"\n")
    };
    text.lines().map(quoted).collect()
}

/// An error of LLVM about a text that may be an override: then it names the file of the override.
fn blamed(error: LlvmError, given: Option<&GivenStage>) -> TargetError {
    match (error, given) {
        (LlvmError::Missing(text), _) => TargetError::Missing(text),
        (error, Some(given)) => placed(&error.to_string(), given),
        (error, None) => error_of(error),
    }
}

/// What LLVM calls the texts it reads.
const NAMES_OF_TEXTS: [&str; 2] = ["kernel:", "<inline asm>:"];

/// An error with the place in the override's file that LLVM names.
fn placed(message: &str, given: &GivenStage) -> TargetError {
    for name in NAMES_OF_TEXTS {
        let Some((before, rest)) = message.split_once(name) else { continue };
        let mut parts = rest.splitn(3, ':');
        let numbers = [parts.next(), parts.next()].map(|part| part.and_then(|part| part.parse::<u32>().ok()));
        if let [Some(line), Some(column)] = numbers {
            let message = format!("{before}{}", parts.next().unwrap_or_default().trim_start());
            let location = Some(format!("{}:{line}:{column}", given.file));
            return TargetError::Compile { message, location };
        }
    }
    given.wrong(message.to_owned())
}

/// An error of LLVM in the words of a target.
fn error_of(error: LlvmError) -> TargetError {
    match error {
        LlvmError::Missing(text) => TargetError::Missing(text),
        other => TargetError::Internal(other.to_string()),
    }
}
