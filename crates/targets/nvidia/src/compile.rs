//! A compile: every stage from ttir to machine code.

use crate::assemble::again::Program;
use crate::assemble::choose;
use crate::facts::Facts;
use crate::knobs::{self, knob};
use crate::lower::{Denormals, Lanes};
use crate::maps;
use crate::options::{BACKEND, option};
use crate::portable;
use crate::{given, machine, pipeline, ptx, stage};
use gpu::{Backend, Code, InlineAssembly, LLIR, TTGIR, check_shared};
use ir::pass::PassRow;
use ptx_isa::{Arch, Version};
use std::collections::BTreeMap;
use target::{
    Artifact, CompileOptions, DeviceFacts, GivenStage, LaunchFacts, OptionValue, StageObserver, TargetError,
};
use ttgir::Machine;
use ttir::ops::func::kernel_of;

/// The stages that may be overridden.
pub(crate) const STAGES: &[&str] = &[TTGIR, LLIR, stage::PTX, stage::CUBIN];

/// What is compiled for.
struct Nvidia {
    arch: Arch,
    lanes: Lanes,
    emulated: bool,
}

impl Nvidia {
    fn new(arch: Arch, emulated: bool, options: &CompileOptions) -> Result<Nvidia, TargetError> {
        let capability = u32::from(arch.number);
        let machine = machine::machine(capability)
            .ok_or_else(|| TargetError::Internal(format!("there are no facts about {arch}")))?;
        let machine = machine::changed(machine, |machine| knobs::change(machine, options));
        let denormals = match options.extra.get(option::FLUSH) {
            Some(OptionValue::Bool(false)) => Denormals::Kept,
            _ => Denormals::Flushed,
        };
        Ok(Nvidia { arch, lanes: Lanes { capability, machine, denormals }, emulated })
    }
}

impl Backend for Nvidia {
    fn machine(&self) -> &'static ttgir::Machine {
        self.lanes.machine
    }

    fn passes(&self) -> &'static [&'static PassRow] {
        pipeline::passes(self.lanes.capability)
    }

    fn prepare(&self, module: &mut ir::Module, _options: &CompileOptions) -> Result<(), TargetError> {
        portable::note_any_order(module);
        Ok(())
    }

    fn lanes(&self) -> &dyn lanes::LaneTarget {
        &self.lanes
    }

    fn finish(
        &self,
        module: &mut llir::Module,
        kernel: &str,
        options: &CompileOptions,
    ) -> Result<(), TargetError> {
        limit_registers(module, kernel, self.lanes.machine.lane_registers, options)
    }

    fn bounds(&self, module: &llir::Module) -> Vec<(llir::FuncId, llir::passes::Bound)> {
        ptx::bounds(module)
    }
}

/// Compiles a verified module with one kernel.
pub(crate) fn compile(
    module: ir::Module,
    arch: Arch,
    emulated: bool,
    options: &CompileOptions,
    observer: &mut dyn StageObserver,
) -> Result<Artifact, TargetError> {
    let nvidia = Nvidia::new(arch, emulated, options)?;
    let mut compile = Compile::new(&nvidia, options, observer);
    let assembly = InlineAssembly::of(&module);
    assembly.check()?;
    let code = compile.shared.ttir(module)?;
    compile.code(code).map_err(|error| assembly.blame(error))
}

/// Compiles from a stage that is given as text.
pub(crate) fn compile_given(
    given: &GivenStage,
    arch: Arch,
    emulated: bool,
    options: &CompileOptions,
    observer: &mut dyn StageObserver,
) -> Result<Artifact, TargetError> {
    let nvidia = Nvidia::new(arch, emulated, options)?;
    let mut compile = Compile::new(&nvidia, options, observer);
    match given.name.as_str() {
        TTGIR => {
            let code = compile.shared.given(given)?;
            compile.code(code)
        }
        stage::PTX => {
            let text = given.text()?;
            let min_shared = compile.min_shared()?;
            let facts = given::facts(text, min_shared).map_err(|message| given.wrong(message))?;
            compile.ptx(text.to_owned(), Some(given), facts)
        }
        other => Err(given.wrong(format!(
            "a compile for target `{BACKEND}` cannot begin with a .{other} file; it can with .ttir, .{TTGIR} and .{}",
            stage::PTX
        ))),
    }
}

/// A compile on its way: the part that all targets for GPUs have, and what it is for.
struct Compile<'a> {
    shared: gpu::Compile<'a>,
    nvidia: &'a Nvidia,
    options: &'a CompileOptions,
}

impl<'a> Compile<'a> {
    fn new(
        nvidia: &'a Nvidia,
        options: &'a CompileOptions,
        observer: &'a mut dyn StageObserver,
    ) -> Compile<'a> {
        if let Some(flags) = gpu::text(options, knob::NO_PASSES) {
            observer.warn(format!(
                "DISABLE_LLVM_OPT={flags} lists flags of LLVM, which takes no part in a compile for target `{BACKEND}`; 1 leaves the \
                 passes over llir out"
            ));
        }
        Compile { shared: gpu::Compile::new(nvidia, options, observer), nvidia, options }
    }

    /// From code of a lane to PTX.
    fn code(mut self, code: Code) -> Result<Artifact, TargetError> {
        let Code { layouts, mut module, given, params, kernel, fewer_stages, spare_stages } = code;
        let wrong = |message| TargetError::Compile { message, location: None };
        let of = kernel_of(&layouts).map_err(wrong)?;
        let maps = maps::of_kernel(&layouts, of.op).map_err(wrong)?;
        let guards = maps::guards(&layouts, of.op).map_err(wrong)?;
        let persistence = maps::persistence(&layouts, of.op).map_err(wrong)?;
        let pairs = maps::pairs(&layouts, of.op).map_err(wrong)?;
        let unaligned = maps::unaligned(&layouts, of.op).map_err(wrong)?;
        let persistent = maps::persistent(&layouts, of.entry());
        let (arch, options) = (self.nvidia.arch, self.options);
        let shared = kernel.shared_bytes.max(self.min_shared()?);
        let programs = match is_alone(shared, self.nvidia.lanes.machine) {
            true => Some(1),
            false => ttgir::module::programs_asked(&layouts),
        };
        if let Some(programs) = programs {
            share_registers(&mut module, &kernel.name, programs);
        }
        let written = self.shared.time(stage::PTX, |_| {
            let how = ptx::Options {
                has_lines: !options.flag(knob::NO_LINES),
                version: version(options)?,
                // Blocks say themselves how much a lane does at once.
                unroll: ttgir::scalar::is_scalar_program(&layouts, of.op),
                ..ptx::Options::new(arch)
            };
            ptx::emit(&module, &how).map_err(|errors| not_written(&errors))
        })?;
        let name = written.kernels.first().cloned().expect("PTX of a module with a kernel has one");
        check_shared(u64::from(shared), self.nvidia.lanes.machine)?;
        let kernel = lanes::Facts { shared_bytes: shared, ..kernel };
        let mut facts = Facts {
            name,
            params,
            maps,
            guards,
            persistent,
            persistence,
            pairs,
            unaligned,
            fewer_stages,
            spare_stages,
            kernel,
            effort: written.effort,
        };
        if given.is_some() {
            facts.stay();
        }
        match self.shared.observer.given(stage::PTX) {
            Some(given) => {
                facts.stay();
                let text = given.text()?.to_owned();
                self.ptx(text, Some(&given), facts)
            }
            None => self.ptx(written.text, None, facts),
        }
    }

    /// The last steps. `given` is the file that the text is from, if it is an override.
    fn ptx(
        mut self,
        text: String,
        given: Option<&GivenStage>,
        mut facts: Facts,
    ) -> Result<Artifact, TargetError> {
        if let Some(given) = given.filter(|_| self.nvidia.emulated) {
            emulator::Program::parse(&text)
                .map_err(|error| TargetError::Compile {
                    message: error.message,
                    location: Some(format!("{}:{}", given.file, error.line)),
                })?
                .entry(&facts.name)
                .ok_or_else(|| given.wrong(format!("it has no kernel `{}`", facts.name)))?;
        }
        self.shared.add(stage::PTX, text.clone().into_bytes(), true);
        if self.nvidia.emulated && choose::asks_for_more(self.options) {
            self.shared.observer.warn(
                "no assembler takes part where a device is emulated: what is asked of ptxas is not done"
                    .into(),
            );
        }
        if self.nvidia.emulated && self.options.flag(knob::ASSEMBLE_EMULATED) {
            let checked = choose::check(&text, &facts.name, self.nvidia.arch, facts.effort);
            checked.map_err(|error| given.map_or(error.clone(), |given| given.blame(error)))?;
        }
        let arch = self.nvidia.arch;
        let device = gpu::device_facts(arch.to_string(), &facts.kernel, self.options);
        let shared = u64::from(facts.kernel.shared_bytes);
        if !self.nvidia.emulated {
            let options = self.options;
            let program = Program::of(&device, shared, facts.effort.level(), arch.number.into());
            let cubin = self.shared.time(stage::CUBIN, |_| {
                choose::assemble(&text, &facts.name, arch, options, facts.effort, program.as_ref())
            });
            let cubin = match (cubin, given) {
                (Err(error), Some(given)) => return Err(given.blame(error)),
                (cubin, _) => cubin?,
            };
            let own = self.shared.observer.given(stage::CUBIN).map(|given| given.bytes);
            if let Some(cubin) = cubin.as_ref().filter(|_| options.flag(knob::ASSEMBLER_LOG)) {
                self.shared.observer.tell(&cubin.log);
            }
            if own.is_some() {
                facts.stay();
            }
            if let Some(cubin) = own.or(cubin.map(|cubin| cubin.bytes)) {
                self.shared.add(stage::CUBIN, cubin, false);
            }
        }
        let launch = LaunchFacts::Device(DeviceFacts {
            overlaps: self.options.flag(option::DEPENDENT),
            maps: facts.maps,
            guards: facts.guards,
            persistent: facts.persistent,
            persistence: facts.persistence,
            pairs: facts.pairs,
            unaligned: facts.unaligned,
            fewer_stages: facts.fewer_stages,
            // An emulated device has no memory to wait for.
            spare_stages: facts.spare_stages && !self.nvidia.emulated,
            assembler_level: Some(facts.effort.level()),
            ..device
        });
        let metadata = BTreeMap::from([
            ("ptx_arch".to_owned(), OptionValue::Str(arch.to_string())),
            ("ptxas_level".to_owned(), OptionValue::Int(facts.effort.level().into())),
        ]);
        let (name, stages, params) = (facts.name, self.shared.stages, facts.params);
        Ok(Artifact { name, stages, params, shared, launch, metadata })
    }

    /// The shared memory that the launch asks for, whatever the kernel needs.
    fn min_shared(&self) -> Result<u32, TargetError> {
        match self.options.extra.get(option::MIN_SHARED) {
            Some(OptionValue::Int(bytes)) => u32::try_from(*bytes).map_err(|_| TargetError::Compile {
                message: format!("{} is {bytes}, and must be a number of bytes", option::MIN_SHARED),
                location: None,
            }),
            _ => Ok(0),
        }
    }
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

/// Whether a program that takes so much shared memory has its SM for itself.
fn is_alone(shared_bytes: u32, machine: &Machine) -> bool {
    2 * (u64::from(shared_bytes) + u64::from(machine.reserved_shared_bytes))
        > u64::from(machine.sm_shared_bytes)
}

/// Lets so many programs of a kernel share the registers of an SM. With one it takes those that no other could use: the
/// assembler knows nothing of shared memory that the launch asks for, and would leave registers for a second program.
fn share_registers(module: &mut llir::Module, name: &str, programs: u32) {
    let function = module.find(name).and_then(|id| module.function_mut(id));
    if let Some(kernel) = function.and_then(|function| function.kernel.as_mut())
        && kernel.max_registers.is_none()
    {
        kernel.min_blocks.get_or_insert(programs);
    }
}

/// The registers that a lane may use, as the launch says; more than a lane has are no limit, as to the assembler.
fn limit_registers(
    module: &mut llir::Module,
    name: &str,
    lane_registers: u32,
    options: &CompileOptions,
) -> Result<(), TargetError> {
    let most = match options.extra.get(option::MAX_REGISTERS) {
        Some(OptionValue::Int(most)) if *most <= i64::from(lane_registers) => *most,
        _ => return Ok(()),
    };
    let most = u32::try_from(most).ok().filter(|&most| most >= 16).ok_or_else(|| {
        let message = format!("maxnreg is {most}, and a lane has 16 to {lane_registers} registers");
        TargetError::Compile { message, location: None }
    })?;
    let function = module.find(name).and_then(|id| module.function_mut(id));
    if let Some(kernel) = function.and_then(|function| function.kernel.as_mut()) {
        // Registers that warps hand to each other are counted from what the kernel itself says.
        kernel.max_registers.get_or_insert(most);
    }
    Ok(())
}
