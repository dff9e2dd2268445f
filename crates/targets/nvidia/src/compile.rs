//! A compile: every stage from ttir to machine code.

use crate::instructions::{Arch, Version};
use crate::lower::Lanes;
use crate::target::option;
use crate::{assembling, driver, machine, pipeline, ptx};
use ir::pass::{Observer, PassRow, Verify};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use target::{
    Artifact, CompileOptions, KernelParam, OptionValue, ParamKind, Stage, StageObserver, TargetError,
};

/// Names of the stages.
const TTIR: &str = "ttir";
const TTGIR: &str = "ttgir";
const LLIR: &str = "llir";

/// What a compile collects on its way.
struct Stages<'a> {
    all: Vec<Stage>,
    observer: &'a mut dyn StageObserver,
}

impl Stages<'_> {
    fn add(&mut self, name: &str, bytes: Vec<u8>, text: bool) {
        self.observer.stage(name, &bytes);
        self.all.push(Stage { name: name.into(), bytes, text });
    }

    fn time<R>(&mut self, step: &str, work: impl FnOnce(&mut Self) -> R) -> R {
        let start = Instant::now();
        let result = work(self);
        self.observer.timed(step, start.elapsed());
        result
    }
}

/// Hands the times of passes on.
struct Times<'a>(&'a mut dyn StageObserver);

impl Observer for Times<'_> {
    fn after(&mut self, pass: &PassRow, _module: &ir::Module, elapsed: Duration) {
        self.0.timed(&format!("ttgir pass {}", pass.name), elapsed);
    }
}

/// Compiles a verified module with one kernel.
pub(crate) fn compile(
    mut module: ir::Module,
    arch: Arch,
    emulated: bool,
    options: &CompileOptions,
    observer: &mut dyn StageObserver,
) -> Result<Artifact, TargetError> {
    let capability = u32::from(arch.number);
    let facts = machine::machine(capability)
        .ok_or_else(|| TargetError::Internal(format!("there are no facts about {arch}")))?;
    let mut stages = Stages { all: Vec::new(), observer };
    stages.add(TTIR, print(&module), true);
    let params = params(&module)?;
    stages
        .time("to ttgir", |stages| {
            let how = pipeline::Options {
                num_warps: options.num_warps,
                num_ctas: options.num_ctas,
                num_stages: options.num_stages,
            };
            let verify = if cfg!(debug_assertions) { Verify::Each } else { Verify::Never };
            let mut times = Times(&mut *stages.observer);
            pipeline::to_ttgir(&mut module, capability, facts, &how, verify, &mut times)
        })
        .map_err(|errors| refused(&errors))?;
    stages.add(TTGIR, print(&module), true);
    let lowered = stages.time("to lanes", |_| {
        let how = lanes::Options { fuse_multiply_add: options.enable_fp_fusion, ..lanes::Options::default() };
        lanes::lower(&module, &Lanes { capability, machine: facts }, &how)
    });
    let mut lowered = lowered.map_err(|errors| refused(&errors))?;
    let kernel =
        lowered.kernels.pop().ok_or_else(|| TargetError::Internal("no kernel was lowered".into()))?;
    limit_registers(&mut lowered.module, &kernel.name, options)?;
    if let Err(errors) = llir::verify(&lowered.module) {
        let first = errors.first().map_or_else(String::new, ToString::to_string);
        return Err(TargetError::Internal(format!("kernel `{}`: invalid llir: {first}", kernel.name)));
    }
    stages.time("llir passes", |stages| {
        let observer = &mut *stages.observer;
        ptx::optimize(&mut lowered.module, &mut |name, time| {
            observer.timed(&format!("llir pass {name}"), time)
        });
    });
    let text = lowered.module.to_string();
    stages.add(LLIR, text.into_bytes(), true);
    let written = stages.time("to ptx", |_| {
        let how = ptx::Options { has_lines: true, version: version(options)?, ..ptx::Options::new(arch) };
        ptx::emit(&lowered.module, &how).map_err(|errors| not_written(&errors))
    })?;
    let name = written.kernels.first().cloned().unwrap_or_else(|| kernel.name.clone());
    check_shared(u64::from(kernel.shared_bytes), facts)?;
    stages.add(driver::PTX, written.text.clone().into_bytes(), true);
    if !emulated {
        let cubin = stages.time("assemble", |_| assembling::assemble(&written.text, &name, arch, options))?;
        if let Some(cubin) = cubin {
            stages.add(driver::CUBIN, cubin, false);
        }
    }
    let metadata = metadata(arch, &kernel, options);
    Ok(Artifact { name, stages: stages.all, params, shared: u64::from(kernel.shared_bytes), metadata })
}

fn print(module: &ir::Module) -> Vec<u8> {
    ir::text::print(module, ir::text::PrintOptions::default()).into_bytes()
}

/// A diagnostic that says, in the words of [`TargetError::OutOfResources`], that more of something is needed than there is: callers
/// look for that error, and try a smaller configuration.
fn out_of_resources(error: &ir::Diagnostic) -> Option<TargetError> {
    // The name of the operation stands in front.
    let (_, said) = error.message.split_once("out of resource: ")?;
    let (name, rest) = said.split_once(", Required: ")?;
    let (required, rest) = rest.split_once(", Hardware limit: ")?;
    let limit = rest.split('.').next()?;
    Some(TargetError::OutOfResources {
        name: name.to_owned(),
        required: required.parse().ok()?,
        limit: limit.parse().ok()?,
    })
}

/// The first of some errors, with its place; the others below it.
fn refused(errors: &[ir::Diagnostic]) -> TargetError {
    if let Some(error) = errors.iter().find_map(out_of_resources) {
        return error;
    }
    let mut messages = errors.iter().map(|error| {
        error.notes.iter().fold(error.message.clone(), |text, note| format!("{text}\n  {note}"))
    });
    let first = messages.next().unwrap_or_else(|| "the kernel cannot be compiled".into());
    let rest: Vec<String> = messages.collect();
    let message = if rest.is_empty() { first } else { format!("{first}\n{}", rest.join("\n")) };
    TargetError::Compile { message, location: errors.first().and_then(|error| error.place.clone()) }
}

fn not_written(errors: &[ptx::PtxError]) -> TargetError {
    let message = errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    TargetError::Compile { message, location: None }
}

/// The version of PTX that the launch asks for.
fn version(options: &CompileOptions) -> Result<Option<Version>, TargetError> {
    match options.extra.get(option::PTX_VERSION) {
        Some(OptionValue::Int(number)) => match u8::try_from(*number) {
            Ok(number) if number >= 70 => Ok(Some(Version::new(number / 10, number % 10))),
            _ => Err(TargetError::Compile {
                message: format!("ptx_version is {number}: write 87 for version 8.7; 70 is the least"),
                location: None,
            }),
        },
        _ => Ok(None),
    }
}

/// The registers that a lane may use, as the launch says.
fn limit_registers(
    module: &mut llir::Module,
    name: &str,
    options: &CompileOptions,
) -> Result<(), TargetError> {
    let most = match options.extra.get(option::MAX_REGISTERS) {
        Some(OptionValue::Int(most)) => *most,
        _ => return Ok(()),
    };
    let most = u32::try_from(most).ok().filter(|most| (16..=255).contains(most)).ok_or_else(|| {
        let message = format!("maxnreg is {most}, and a lane has 16 to 255 registers");
        TargetError::Compile { message, location: None }
    })?;
    let function = module.find(name).and_then(|id| module.function_mut(id));
    if let Some(kernel) = function.and_then(|function| function.kernel.as_mut()) {
        kernel.max_registers = Some(most);
    }
    Ok(())
}

/// Says before the assembler or the driver does that a program needs more than there is.
fn check_shared(required: u64, machine: &ttgir::Machine) -> Result<(), TargetError> {
    let limit = u64::from(machine.shared_bytes);
    if required <= limit {
        return Ok(());
    }
    Err(TargetError::OutOfResources { name: "shared memory".into(), required, limit })
}

fn metadata(arch: Arch, kernel: &lanes::Facts, options: &CompileOptions) -> BTreeMap<String, OptionValue> {
    let int = |value: u64| OptionValue::Int(i64::try_from(value).unwrap_or(i64::MAX));
    let flag = |name: &str| match options.extra.get(name) {
        Some(OptionValue::Bool(flag)) => OptionValue::Bool(*flag),
        Some(OptionValue::Int(value)) => OptionValue::Bool(*value != 0),
        _ => OptionValue::Bool(false),
    };
    let (global, profile) = (kernel.global_scratch, kernel.profile_scratch);
    BTreeMap::from([
        ("num_warps".to_owned(), int(u64::from(kernel.num_warps))),
        ("num_ctas".to_owned(), int(u64::from(kernel.num_blocks))),
        ("ptx_arch".to_owned(), OptionValue::Str(arch.to_string())),
        ("global_scratch_size".to_owned(), int(global.bytes)),
        ("global_scratch_align".to_owned(), int(u64::from(global.align.max(1)))),
        ("profile_scratch_size".to_owned(), int(profile.bytes)),
        ("profile_scratch_align".to_owned(), int(u64::from(profile.align.max(1)))),
        (option::COOPERATIVE.to_owned(), flag(option::COOPERATIVE)),
        (option::DEPENDENT.to_owned(), flag(option::DEPENDENT)),
    ])
}

/// The parameters of the kernel: the one public function.
fn params(module: &ir::Module) -> Result<Vec<KernelParam>, TargetError> {
    let is_kernel = |op: &ir::Op| {
        module.attr_named(*op, "sym_visibility").and_then(|text| text.as_str()) != Some("private")
    };
    let kernel = module.ops(module.body()).find(is_kernel);
    let kernel = kernel.ok_or_else(|| TargetError::Compile {
        message: "there is no kernel: no function of the module is public".into(),
        location: None,
    })?;
    let entry = module.entry(module.region(kernel, 0));
    let named = |(index, &arg): (usize, &ir::Value)| {
        let name = module.name(arg).map_or_else(|| format!("arg{index}"), str::to_owned);
        let ty = module.ty(arg);
        kind(ty).map(|kind| KernelParam { name, kind }).ok_or_else(|| TargetError::Compile {
            message: format!("a kernel cannot have a parameter of type {ty}"),
            location: None,
        })
    };
    module.args(entry).iter().enumerate().map(named).collect()
}

fn kind(ty: ir::Type) -> Option<ParamKind> {
    if ttir::types::pointee(ty).is_some() {
        return Some(ParamKind::Pointer);
    }
    match (ty.as_int(), ty.as_float()) {
        (Some(bits), _) => Some(ParamKind::Int(bits)),
        (_, Some(ir::FloatKind::BF16)) => Some(ParamKind::Bf16),
        (_, Some(float)) => Some(ParamKind::Float(float.bits())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::refused;
    use target::TargetError;

    #[test]
    fn too_little_of_something_is_an_error_of_its_own() {
        let error = TargetError::OutOfResources { name: "shared memory".into(), required: 9, limit: 8 };
        let told = ir::Diagnostic::new(format!("`tt.func`: {error} The largest: 7 bytes"));
        assert_eq!(refused(&[ir::Diagnostic::new("other"), told]), error);
        let other = refused(&[ir::Diagnostic::new("one"), ir::Diagnostic::new("two")]);
        assert_eq!(other.to_string(), "one\ntwo");
    }
}
