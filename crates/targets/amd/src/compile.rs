//! A compile: the stages that all targets for GPUs have, then LLVM, then the linker.

use crate::lower::{Lanes, TRIPLE, Tuning, arrange, buffer, copy, order};
use crate::machine::{self, Copies, Loops};
use crate::object::{link, note};
use crate::options::{AMDGCN, BACKEND, HSACO, option};
use crate::{abi, knobs, log, pipeline};
use amdgcn_isa::{Arch, Row, exchange, system};
use gpu::{Backend, Code, InlineAssembly, LLIR, TTGIR};
use ir::pass::PassRow;
use lanes::LaneTarget;
use llir::passes::Bound;
use llvm::{Llvm, LlvmError, Output, TargetSpec};
use std::collections::BTreeMap;
use target::{
    Artifact, CompileOptions, DeviceFacts, GivenStage, LaunchFacts, OptionValue, Stage, StageObserver,
    TargetError,
};
use ttgir::Machine;
use ttir::ops::debug::{ASSERT, PRINT};
use ttir::ops::func::{POINTER_RANGE, kernels};

/// The stages that may be overridden.
pub(crate) const STAGES: &[&str] = &[TTGIR, LLIR, HSACO];

/// An architecture with what the options say of its code.
pub(crate) struct Amd {
    lanes: Lanes,
    wgp: bool,
}

impl Amd {
    /// The architecture as a launch wants it.
    pub(crate) fn new(arch: Arch, options: &CompileOptions) -> Result<Amd, TargetError> {
        let wrong = |message| TargetError::Compile { message, location: None };
        let waves = gpu::number(options, option::WAVES_PER_EU).unwrap_or(0);
        let waves_per_eu = u32::try_from(waves).ok().filter(|waves| *waves <= 16).ok_or_else(|| {
            wrong(format!(
                "{} is {waves}, and a SIMD holds 1 to 16 waves; 0 leaves it open",
                option::WAVES_PER_EU
            ))
        })?;
        let wgp = match gpu::text(options, option::WGP_CU_MODE) {
            None | Some("wgp") => true,
            Some("cu") => false,
            Some(other) => {
                let name = option::WGP_CU_MODE;
                return Err(wrong(format!("{name} is `{other}`, and can be `wgp` or `cu`")));
            }
        };
        let flush_denormals = options.flag(option::FLUSH_DENORMALS);
        let plain_atomics = is_off(options, knobs::USE_BUFFER_ATOMICS);
        let tuning = Tuning { waves_per_eu, flush_denormals, plain_atomics };
        let copies = match asked(options, knobs::USE_ASYNC_COPY) {
            Some(true) => Copies::Always,
            Some(false) => Copies::Never,
            None => Copies::Asked,
        };
        let loops = Loops { copies, ping_pong: asked(options, knobs::USE_PING_PONG) };
        let machine = machine::machine_for(arch, loops);
        Ok(Amd { lanes: Lanes { tuning, machine, ..Lanes::new(arch) }, wgp })
    }

    /// What LLVM makes code for.
    fn spec(&self) -> TargetSpec {
        let arch = self.lanes.arch;
        let features = if amdgcn_isa::RDNA.has(arch) && !self.wgp { "+cumode" } else { "" };
        TargetSpec { triple: TRIPLE.into(), cpu: arch.name().into(), features: features.into(), options: &[] }
    }

    /// The same such that loops keep less in registers: addresses are computed in them anew.
    fn tight_spec(&self) -> TargetSpec {
        TargetSpec { options: TIGHT, ..self.spec() }
    }
}

/// Options of LLVM for kernels that spill: what does not change in a loop is not moved out of it once more.
const TIGHT: llvm::Options = &[c"-disable-machine-licm"];

impl Backend for Amd {
    fn machine(&self) -> &'static Machine {
        self.lanes.machine
    }

    fn passes(&self) -> &'static [&'static PassRow] {
        pipeline::PASSES
    }

    fn prepare(&self, module: &mut ir::Module, options: &CompileOptions) -> Result<(), TargetError> {
        let allowed = |name: &'static str, values: &[i64]| {
            let value = gpu::number(options, name).unwrap_or(values[0]);
            let text = || format!("{name} is {value}, and can be one of {values:?}");
            let fits = values.contains(&value);
            fits.then_some(value).ok_or_else(|| TargetError::Compile { message: text(), location: None })
        };
        // Loads from shared memory feed as many instructions as they are wide enough for, whatever is asked.
        allowed(option::KPACK, &[1, 2])?;
        let size = allowed(option::NONKDIM, &[0, 16, 32])?;
        ttgir::module::set_matrix_size(module, size as u32);
        if is_off(options, knobs::USE_BUFFER_OPS) {
            forget_ranges(module);
        }
        Ok(())
    }

    fn lanes(&self) -> &dyn LaneTarget {
        &self.lanes
    }

    fn finish(
        &self,
        module: &mut llir::Module,
        kernel: &str,
        _options: &CompileOptions,
    ) -> Result<(), TargetError> {
        abi::finish(module, kernel, self.lanes.arch);
        Ok(())
    }

    fn arrange(&self, module: &mut llir::Module) {
        arrange(module, self.lanes.arch);
    }

    fn bounds(&self, module: &llir::Module) -> Vec<(llir::FuncId, Bound)> {
        let of = |function: &llir::Function| {
            function.kernel.as_ref().and_then(|kernel| kernel.lanes).map(|lanes| u64::from(lanes[0]))
        };
        let lanes = module.functions().filter_map(of).max().unwrap_or(1024);
        let bounds: [(&Row, u64); 3] =
            [(&system::WORKITEM_ID_X, lanes), (&exchange::MBCNT_LO, 32), (&exchange::MBCNT_HI, 64)];
        let below = |(row, bound): (&Row, u64)| Some((module.find(row.name)?, Bound::Below(bound)));
        bounds.into_iter().filter_map(below).collect()
    }
}

/// What a knob says that may be left open.
fn asked(options: &CompileOptions, knob: &str) -> Option<bool> {
    match options.extra.get(knob) {
        Some(OptionValue::Bool(value)) => Some(*value),
        _ => None,
    }
}

/// Whether a knob that is on by default is off.
fn is_off(options: &CompileOptions, knob: &str) -> bool {
    options.extra.get(knob) == Some(&OptionValue::Bool(false))
}

/// Takes back that offsets of 32 bits reach all of the memory behind parameters.
fn forget_ranges(module: &mut ir::Module) {
    let entries: Vec<ir::Block> = kernels(module).map(|kernel| kernel.entry()).collect();
    for entry in entries {
        for index in 0..module.args(entry).len() {
            module.set_arg_attr(entry, index, POINTER_RANGE.key(), None);
        }
    }
}

/// What a compile is for.
#[derive(Clone, Copy)]
pub(crate) struct How {
    /// The architecture.
    pub(crate) arch: Arch,
    /// Whether the kernel runs from its llir, so that no LLVM is needed.
    pub(crate) emulated: bool,
}

/// Compiles a verified module with one kernel.
pub(crate) fn compile(
    module: ir::Module,
    how: How,
    options: &CompileOptions,
    observer: &mut dyn StageObserver,
) -> Result<Artifact, TargetError> {
    let amd = Amd::new(how.arch, options)?;
    let mut compile = gpu::Compile::new(&amd, options, observer);
    let assembly = InlineAssembly::of(&module);
    assembly.check()?;
    let code = compile.ttir(module)?;
    finish(compile, &amd, code, how.emulated).map_err(|error| assembly.blame(error))
}

/// Compiles from a stage that is given as text.
pub(crate) fn compile_given(
    given: &GivenStage,
    how: How,
    options: &CompileOptions,
    observer: &mut dyn StageObserver,
) -> Result<Artifact, TargetError> {
    let amd = Amd::new(how.arch, options)?;
    let mut compile = gpu::Compile::new(&amd, options, observer);
    match given.name.as_str() {
        TTGIR => {
            let code = compile.given(given)?;
            finish(compile, &amd, code, how.emulated)
        }
        other => Err(given.wrong(format!(
            "a compile for target `{BACKEND}` cannot begin with a .{other} file; it can with .ttir and .{TTGIR}"
        ))),
    }
}

/// The memory that a launch hands in for what a kernel prints, in bytes; 0 for kernels that print nothing.
fn log_bytes(module: &ir::Module) -> u64 {
    let writes = |op: &ir::Op| module.is(*op, &PRINT) || module.is(*op, &ASSERT);
    if module.walk(module.top()).iter().any(writes) { log::BYTES as u64 } else { 0 }
}

/// From code of a lane to the code object.
fn finish(
    mut compile: gpu::Compile<'_>,
    amd: &Amd,
    code: Code,
    emulated: bool,
) -> Result<Artifact, TargetError> {
    gpu::check_shared(u64::from(code.kernel.shared_bytes), amd.lanes.machine)?;
    let shared = u64::from(code.kernel.shared_bytes);
    if emulated {
        let facts = note::KernelFacts::default();
        let (launch, metadata) = (launch_facts(amd, &code, compile.options), metadata(&facts));
        let (name, params) = (code.kernel.name, code.params);
        return Ok(Artifact { name, stages: compile.stages, params, shared, launch, metadata });
    }
    let given = compile.observer.given(HSACO);
    let from = given.as_ref().or(code.given.as_ref());
    let object = match &given {
        Some(given) => given.bytes.clone(),
        None => compile.time(HSACO, |compile| linked(compile, amd)).map_err(|error| blame(error, from))?,
    };
    let facts = note::facts(&object).map_err(|error| blame(damaged(&error), from))?;
    if facts.vgpr_spills > 0 {
        let (spills, bytes) = (facts.vgpr_spills, facts.private_bytes);
        compile.observer.warn(format!(
            "kernel `{}`: {spills} vector registers are kept in memory ({bytes} bytes a lane): smaller blocks or more warps need fewer",
            facts.name
        ));
    }
    compile.add(HSACO, object, false);
    let (launch, metadata) = (launch_facts(amd, &code, compile.options), metadata(&facts));
    Ok(Artifact { name: facts.name, stages: compile.stages, params: code.params, shared, launch, metadata })
}

/// A code object of llir.
fn linked(compile: &mut gpu::Compile<'_>, amd: &Amd) -> Result<Vec<u8>, TargetError> {
    let compiled = run_llvm(&compile.text(LLIR), amd, compile.options, Output::default())?;
    for (step, elapsed) in &compiled.timings {
        compile.observer.timed(&format!("{HSACO}/{step}"), *elapsed);
    }
    link::link(&compiled.object).map_err(|error| damaged(&error))
}

fn damaged(error: &crate::object::ObjectError) -> TargetError {
    TargetError::Internal(format!("the object cannot be linked: {error}"))
}

/// What is not right with an object is the fault of the file that it or its llir was given by, if one was.
fn blame(error: TargetError, from: Option<&GivenStage>) -> TargetError {
    match from {
        Some(given) => given.blame(error),
        None => error,
    }
}

/// The LLVM of this machine, which must make code for these GPUs.
fn llvm(flags: &[String]) -> Result<&'static Llvm, TargetError> {
    let llvm = Llvm::load_with(flags).map_err(|error| match error {
        LlvmError::Missing(text) => TargetError::Missing(text),
        other => TargetError::Compile { message: other.to_string(), location: None },
    })?;
    if llvm.has_target(TRIPLE) {
        return Ok(llvm);
    }
    Err(TargetError::Missing(format!(
        "LLVM {} at {} makes no code for AMD GPUs: install one that does (`apt install libllvm19`, or a Rust toolchain by rustup) and name \
         it by the environment variable DEUTERON_LLVM_PATH",
        llvm.version(),
        llvm.path().display()
    )))
}

/// Runs LLVM. What is lowered here is clean already, so none of its passes over IR run. Kernels that spill are compiled
/// again such that they need fewer registers, in three ways, and keep what spills least.
fn run_llvm(
    text: &str,
    amd: &Amd,
    options: &CompileOptions,
    output: Output,
) -> Result<llvm::Compiled, TargetError> {
    let output = Output { plain: options.flag(gpu::NO_PASSES), ..output };
    let llvm = llvm(&flags(options))?;
    let text = copy::scopes(text);
    let text = order::of_lds(&text);
    let text = buffer::dialect(&text, llvm.version().major);
    let mut best = run_once(llvm, &amd.spec(), &text, output)?;
    let few = fewest_registers(&text);
    for (spec, text) in [(amd.tight_spec(), &*text), (amd.spec(), &few), (amd.tight_spec(), &few)] {
        if best.0 == 0 || output.plain {
            break;
        }
        let other = run_once(llvm, &spec, text, output)?;
        best = if other.0 < best.0 { other } else { best };
    }
    Ok(best.1)
}

/// The flags of LLVM that the options of a compile name.
fn flags(options: &CompileOptions) -> Vec<String> {
    let list = gpu::text(options, gpu::NO_PASSES).unwrap_or_default();
    let flags = list.split(',').map(|flag| flag.trim().trim_start_matches('-').to_owned());
    let mut flags: Vec<String> = flags.filter(|flag| !flag.is_empty()).collect();
    flags.sort();
    flags.dedup();
    flags
}

/// Compiles once; also how many registers are kept in memory.
fn run_once(
    llvm: &'static Llvm,
    spec: &TargetSpec,
    text: &str,
    output: Output,
) -> Result<(u32, llvm::Compiled), TargetError> {
    let compiled = llvm.compile(text, spec, "", output).map_err(|error| match error {
        LlvmError::Missing(text) => TargetError::Missing(text),
        LlvmError::Target(message) => TargetError::Compile { message, location: None },
        other => TargetError::Internal(other.to_string()),
    })?;
    let facts = note::facts(&compiled.object).map_err(|error| damaged(&error))?;
    Ok((facts.vgpr_spills, compiled))
}

/// The text such that LLVM orders instructions for as few registers as it can; versions that do not know how leave it.
fn fewest_registers(text: &str) -> String {
    const SIZE: &str = "\"amdgpu-flat-work-group-size\"";
    text.replace(SIZE, &format!("\"amdgpu-sched-strategy\"=\"iterative-minreg\" {SIZE}"))
}

/// The assembly of a compiled kernel, made from its llir, and what its note says.
pub(crate) fn machine_code(
    artifact: &Artifact,
    arch: Arch,
    options: &CompileOptions,
) -> Result<(String, note::KernelFacts), TargetError> {
    let llir = artifact.stage(LLIR).ok_or_else(|| TargetError::Internal("kernel without llir".into()))?;
    let output = Output { assembly: true, ..Output::default() };
    let amd = Amd::new(arch, options)?;
    let compiled = run_llvm(&String::from_utf8_lossy(llir), &amd, options, output)?;
    let facts = note::facts(&compiled.object).map_err(|error| damaged(&error))?;
    Ok((compiled.assembly.ok_or_else(no_assembly)?, facts))
}

fn no_assembly() -> TargetError {
    TargetError::Internal("LLVM was asked for assembly and gave none".into())
}

/// The assembly of a compiled kernel, from its llir.
pub(crate) fn derive(
    artifact: &Artifact,
    arch: Arch,
    options: &CompileOptions,
    name: &str,
) -> Result<Stage, TargetError> {
    let missing = || TargetError::Internal(format!("kernel without a stage `{name}`"));
    let llir = artifact.stage(LLIR).filter(|_| name == AMDGCN).ok_or_else(missing)?;
    let amd = Amd::new(arch, options)?;
    let output = Output { assembly: true, ..Output::default() };
    let compiled = run_llvm(&String::from_utf8_lossy(llir), &amd, options, output)?;
    let bytes = compiled.assembly.ok_or_else(no_assembly)?.into_bytes();
    Ok(Stage { name: AMDGCN.into(), bytes, text: true })
}

fn launch_facts(amd: &Amd, code: &Code, options: &CompileOptions) -> LaunchFacts {
    LaunchFacts::Device(DeviceFacts {
        log_bytes: log_bytes(&code.layouts),
        ..gpu::device_facts(amd.lanes.arch.name().into(), &code.kernel, options)
    })
}

/// What the code object says of its kernel, for people.
fn metadata(facts: &note::KernelFacts) -> BTreeMap<String, OptionValue> {
    let numbers = [
        ("vgprs", facts.vgprs),
        ("agprs", facts.agprs),
        ("sgprs", facts.sgprs),
        ("vgpr_spills", facts.vgpr_spills),
        ("sgpr_spills", facts.sgpr_spills),
        ("private_bytes", facts.private_bytes),
    ];
    numbers.into_iter().map(|(name, value)| (name.to_owned(), OptionValue::Int(value.into()))).collect()
}
