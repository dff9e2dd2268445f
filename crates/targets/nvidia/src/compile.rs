//! A compile: every stage from ttir to machine code.

use crate::fit::{Fit, Fitted};
use crate::knobs::{self, knob};
use crate::lower::Lanes;
use crate::maps::{self, MapRecipe};
use crate::target::{BACKEND, option};
use crate::{assembling, driver, given, machine, pipeline, ptx};
use ir::pass::{Observer, PassRow, Verify};
use ptx_isa::{Arch, Version};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use target::{
    Artifact, CompileOptions, GivenStage, KernelParam, OptionValue, ParamKind, Stage, StageObserver,
    TargetError,
};
use ttir::types::DESCRIPTOR;

/// The search for stages that fit into shared memory, among the times of a compile.
const FIT: &str = "ttgir/fit shared memory";

/// Names of the stages.
const TTGIR: &str = "ttgir";
const LLIR: &str = "llir";
/// The step from code with layouts to code of a lane, among the times of llir.
const LLIR_LANES: &str = "llir/lower to lanes";

/// The stages that a person may give.
pub(crate) const STAGES: &[&str] = &[TTGIR, LLIR, driver::PTX, driver::CUBIN];

/// A compile on its way: what it is for, and what it has made.
struct Compile<'a> {
    arch: Arch,
    machine: &'static ttgir::Machine,
    emulated: bool,
    options: &'a CompileOptions,
    stages: Vec<Stage>,
    observer: &'a mut dyn StageObserver,
}

/// Tells of the passes over ttgir.
struct Passes<'a>(&'a mut dyn StageObserver);

impl Observer for Passes<'_> {
    fn before(&mut self, pass: &PassRow, module: &ir::Module) {
        if self.0.wants_programs(TTGIR) {
            self.0.program(TTGIR, pass.name, &ir::text::print(module, ir::text::PrintOptions::PLAIN));
        }
    }

    fn after(&mut self, pass: &PassRow, _module: &ir::Module, elapsed: Duration) {
        self.0.timed(&format!("{TTGIR}/{}", pass.name), elapsed);
    }
}

/// Tells of the passes over llir.
struct LanePasses<'a>(&'a mut dyn StageObserver);

impl llir::passes::Watch for LanePasses<'_> {
    fn wants_text(&self) -> bool {
        self.0.wants_programs(LLIR)
    }

    fn before(&mut self, pass: &'static str, text: &str) {
        self.0.program(LLIR, pass, text);
    }

    fn after(&mut self, pass: &'static str, elapsed: Duration) {
        self.0.timed(&format!("{LLIR}/{pass}"), elapsed);
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
    Compile::new(arch, emulated, options, observer)?.ttir(module)
}

/// Compiles from a stage that a person wrote.
pub(crate) fn compile_given(
    given: &GivenStage,
    arch: Arch,
    emulated: bool,
    options: &CompileOptions,
    observer: &mut dyn StageObserver,
) -> Result<Artifact, TargetError> {
    let compile = Compile::new(arch, emulated, options, observer)?;
    match given.name.as_str() {
        TTGIR => {
            let module = compile.parse(given)?;
            compile.ttgir(module)
        }
        driver::PTX => {
            let text = given.text()?;
            let min_shared = compile.min_shared()?;
            let facts = given::facts(text, min_shared).map_err(|message| given.wrong(message))?;
            compile.ptx(text.to_owned(), Some(given), facts)
        }
        other => Err(given.wrong(format!(
            "a compile for target `{BACKEND}` cannot begin with a .{other} file; it can with .ttir, .{TTGIR} and .{}",
            driver::PTX
        ))),
    }
}

impl<'a> Compile<'a> {
    fn new(
        arch: Arch,
        emulated: bool,
        options: &'a CompileOptions,
        observer: &'a mut dyn StageObserver,
    ) -> Result<Compile<'a>, TargetError> {
        let machine = machine::machine(u32::from(arch.number))
            .ok_or_else(|| TargetError::Internal(format!("there are no facts about {arch}")))?;
        let plain = knobs::flag(options, knob::NO_BULK_COPIES);
        let machine = if plain { machine::without_bulk_copies(machine) } else { machine };
        Ok(Compile { arch, machine, emulated, options, stages: Vec::new(), observer })
    }

    fn add(&mut self, name: &str, bytes: Vec<u8>, text: bool) {
        self.observer.stage(name, &bytes);
        self.stages.push(Stage { name: name.into(), bytes, text });
    }

    fn time<R>(&mut self, step: &str, work: impl FnOnce(&mut Self) -> R) -> R {
        let start = Instant::now();
        let result = work(self);
        self.observer.timed(step, start.elapsed());
        result
    }

    /// Code with layouts that a person wrote.
    fn parse(&self, given: &GivenStage) -> Result<ir::Module, TargetError> {
        let options = ir::text::ParseOptions { file: Some(&given.file) };
        let mut module = ir::text::parse(given.text()?, ttgir::registry(), options)
            .map_err(|error| refused(&[error.in_file(&given.file)]))?;
        ir::verify(&module).map_err(|errors| refused(&errors))?;
        module.set_environment(self.machine);
        Ok(module)
    }

    fn ttir(mut self, mut module: ir::Module) -> Result<Artifact, TargetError> {
        let fit = Fit::of(&module, self.options.num_stages);
        self.passes(&mut module)?;
        match self.observer.given(TTGIR) {
            Some(given) => {
                let module = self.parse(&given)?;
                self.ttgir(module)
            }
            None => match self.time(LLIR, |this| this.lower(&module)) {
                Ok(lowered) => self.lowered(module, lowered),
                Err(TargetError::OutOfResources { required, limit, .. }) => {
                    self.with_less(&module, fit, (required, limit))
                }
                Err(error) => self.not_lowered(&module, error),
            },
        }
    }

    /// From block-level code to code with layouts.
    fn passes(&mut self, module: &mut ir::Module) -> Result<(), TargetError> {
        self.time(TTGIR, |this| {
            let how = this.how();
            let verify = if cfg!(debug_assertions) { Verify::Each } else { Verify::Never };
            let (arch, machine) = (u32::from(this.arch.number), this.machine);
            pipeline::to_ttgir(module, arch, machine, &how, verify, &mut Passes(&mut *this.observer))
        })
        .map_err(|errors| refused(&errors))
    }

    fn how(&self) -> pipeline::Options {
        let options = self.options;
        pipeline::Options {
            num_warps: options.num_warps,
            num_ctas: options.num_ctas,
            num_stages: options.num_stages,
        }
    }

    /// Goes on with fewer stages for loops, where the program then fits into shared memory. `need` is what it needs, and what there is.
    fn with_less(
        mut self,
        module: &ir::Module,
        fit: Option<Fit>,
        need: (u64, u64),
    ) -> Result<Artifact, TargetError> {
        let (required, limit) = need;
        let fitted = self.time(FIT, |this| {
            let mut measure = |module: ir::Module| this.measure(module);
            fit.map_or(Ok(None), |fit| fit.search(limit, required, &mut measure))
        })?;
        let Some(Fitted { mut module, remarks }) = fitted else {
            return self.not_lowered(module, out_of_shared(required, limit));
        };
        self.passes(&mut module)?;
        for remark in remarks {
            let place = remark.place.map_or_else(String::new, |place| format!("{place}: "));
            self.observer.warn(format!("{place}{}", remark.message));
        }
        self.ttgir(module)
    }

    /// The shared memory that a program in front of all passes over ttgir needs.
    fn measure(&self, mut module: ir::Module) -> Result<u64, TargetError> {
        let (arch, machine) = (u32::from(self.arch.number), self.machine);
        pipeline::to_ttgir(&mut module, arch, machine, &self.how(), Verify::Never, &mut ())
            .map_err(|errors| refused(&errors))?;
        lanes::shared_bytes(&module, &self.lanes()).map_err(|error| not_lowered(&[error]))
    }

    fn lanes(&self) -> Lanes {
        Lanes { capability: u32::from(self.arch.number), machine: self.machine }
    }

    fn ttgir(mut self, module: ir::Module) -> Result<Artifact, TargetError> {
        match self.time(LLIR, |this| this.lower(&module)) {
            Ok(lowered) => self.lowered(module, lowered),
            Err(error) => self.not_lowered(&module, error),
        }
    }

    /// The stage in front of the one that cannot be made is still told of.
    fn not_lowered(mut self, module: &ir::Module, error: TargetError) -> Result<Artifact, TargetError> {
        self.add(TTGIR, print(module), true);
        Err(error)
    }

    fn lowered(
        mut self,
        mut module: ir::Module,
        (mut lowered, kernel): (llir::Module, lanes::Facts),
    ) -> Result<Artifact, TargetError> {
        let (params, maps) = params(&module)?;
        self.add(TTGIR, print(&module), true);
        if self.observer.wants_programs(TTGIR) {
            // What a program takes of shared memory is known only now, and people look for it here.
            ttgir::set_shared(&mut module, kernel.shared_bytes);
            let text = ir::text::print(&module, ir::text::PrintOptions::PLAIN);
            self.observer.program(TTGIR, "lowering to lanes", &text);
        }
        if let Some(given) = self.observer.given(LLIR) {
            lowered = edited(&given, &lowered)?;
        }
        let text = llir::print(&lowered);
        self.add(LLIR, text.into_bytes(), true);
        let written = self.time(driver::PTX, |this| {
            let how = ptx::Options {
                has_lines: !knobs::flag(this.options, knob::NO_LINES),
                version: version(this.options)?,
                unroll: false,
                ..ptx::Options::new(this.arch)
            };
            ptx::emit(&lowered, &how).map_err(|errors| not_written(&errors))
        })?;
        let name = written.kernels.first().cloned().unwrap_or_else(|| kernel.name.clone());
        let shared = kernel.shared_bytes.max(self.min_shared()?);
        check_shared(u64::from(shared), self.machine)?;
        let kernel = lanes::Facts { shared_bytes: shared, ..kernel };
        let facts = Facts { name, params, maps, kernel, effort: written.effort };
        match self.observer.given(driver::PTX) {
            Some(given) => {
                let text = given.text()?.to_owned();
                self.ptx(text, Some(&given), facts)
            }
            None => self.ptx(written.text, None, facts),
        }
    }

    /// Code of a lane, with the passes over it.
    fn lower(&mut self, module: &ir::Module) -> Result<(llir::Module, lanes::Facts), TargetError> {
        let options = self.options;
        let mut lowered = self.time(LLIR_LANES, |this| {
            let how = lanes::Options {
                fuse_multiply_add: options.enable_fp_fusion,
                line_info: !knobs::flag(options, knob::NO_LINES),
            };
            lanes::lower(module, &this.lanes(), &how).map_err(|errors| not_lowered(&errors))
        })?;
        let kernel =
            lowered.kernels.pop().ok_or_else(|| TargetError::Internal("no kernel was lowered".into()))?;
        limit_registers(&mut lowered.module, &kernel.name, options)?;
        // As behind the passes over ttgir: what is wrong here is an error of the compiler, which tests look for.
        if cfg!(debug_assertions)
            && let Err(errors) = llir::verify(&lowered.module)
        {
            let first = errors.first().map_or_else(String::new, ToString::to_string);
            return Err(TargetError::Internal(format!("kernel `{}`: invalid llir: {first}", kernel.name)));
        }
        match knobs::text(options, knob::NO_PASSES) {
            Some(flags) => self.observer.warn(format!(
                "DISABLE_LLVM_OPT={flags} lists flags of LLVM, which takes no part in a compile for target `{BACKEND}`; 1 leaves the \
                 passes over llir out"
            )),
            None if knobs::flag(options, knob::NO_PASSES) => return Ok((lowered.module, kernel)),
            None => {}
        }
        ptx::optimize(&mut lowered.module, &mut LanePasses(&mut *self.observer));
        Ok((lowered.module, kernel))
    }

    /// The last steps. `given` is the file that the text is from, if a person wrote it.
    fn ptx(
        mut self,
        text: String,
        given: Option<&GivenStage>,
        facts: Facts,
    ) -> Result<Artifact, TargetError> {
        if let Some(given) = given.filter(|_| self.emulated) {
            emulator::Program::parse(&text)
                .map_err(|error| TargetError::Compile {
                    message: error.message,
                    location: Some(format!("{}:{}", given.file, error.line)),
                })?
                .entry(&facts.name)
                .ok_or_else(|| given.wrong(format!("it has no kernel `{}`", facts.name)))?;
        }
        self.add(driver::PTX, text.clone().into_bytes(), true);
        if self.emulated && assembling::asks_for_more(self.options) {
            self.observer.warn(
                "no assembler takes part where a device is emulated: what is asked of ptxas is not done"
                    .into(),
            );
        }
        if !self.emulated {
            let (arch, options) = (self.arch, self.options);
            let cubin = self.time(driver::CUBIN, |_| {
                assembling::assemble(&text, &facts.name, arch, options, facts.effort)
            });
            let cubin = match (cubin, given) {
                (Err(error), Some(given)) => return Err(given.wrong(error.to_string())),
                (cubin, _) => cubin?,
            };
            let own = self.observer.given(driver::CUBIN).map(|given| given.bytes);
            if let Some(cubin) = cubin.as_ref().filter(|_| knobs::flag(options, knob::ASSEMBLER_LOG)) {
                self.observer.tell(&cubin.log);
            }
            if let Some(cubin) = own.or(cubin.map(|cubin| cubin.bytes)) {
                self.add(driver::CUBIN, cubin, false);
            }
        }
        let metadata = metadata(self.arch, &facts, self.options);
        let shared = u64::from(facts.kernel.shared_bytes);
        Ok(Artifact { name: facts.name, stages: self.stages, params: facts.params, shared, metadata })
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

/// What is known of a kernel once its PTX is written.
pub(crate) struct Facts {
    /// Its symbol.
    pub(crate) name: String,
    /// Its parameters, without the two of scratch memory.
    pub(crate) params: Vec<KernelParam>,
    /// The tensor maps that launches make, which are parameters behind those.
    pub(crate) maps: Vec<MapRecipe>,
    /// What its launches need.
    pub(crate) kernel: lanes::Facts,
    /// How hard the assembler should try.
    pub(crate) effort: ptx::Effort,
}

/// Code of a lane that a person wrote, in place of what was printed.
fn edited(given: &GivenStage, printed: &llir::Module) -> Result<llir::Module, TargetError> {
    let module = llir::parse(given.text()?, printed).map_err(|error| TargetError::Compile {
        location: Some(format!("{}:{}:{}", given.file, error.line, error.column)),
        message: error.message,
    })?;
    match llir::verify(&module) {
        Ok(()) => Ok(module),
        Err(errors) => Err(given.wrong(errors.first().map_or_else(String::new, ToString::to_string))),
    }
}

fn print(module: &ir::Module) -> Vec<u8> {
    ir::text::print(module, ir::text::PrintOptions::default()).into_bytes()
}

/// Why lowering stopped. Too little shared memory is an error of its own: callers look for it, and try a smaller configuration.
pub(crate) fn not_lowered(errors: &[lanes::Error]) -> TargetError {
    let need = |error: &lanes::Error| match error {
        lanes::Error::SharedMemory(need) => Some(out_of_shared(need.required, need.limit)),
        lanes::Error::Refused(_) => None,
    };
    errors.iter().find_map(need).unwrap_or_else(|| refused(errors.iter().map(lanes::Error::diagnostic)))
}

/// The first of some errors, with its place; the others below it.
fn refused<'a>(errors: impl IntoIterator<Item = &'a ir::Diagnostic>) -> TargetError {
    let mut errors = errors.into_iter().peekable();
    let location = errors.peek().and_then(|error| error.place.clone());
    let mut messages = errors.map(|error| {
        error.notes.iter().fold(error.message.clone(), |text, note| format!("{text}\n  {note}"))
    });
    let first = messages.next().unwrap_or_else(|| "the kernel cannot be compiled".into());
    let rest: Vec<String> = messages.collect();
    let message = if rest.is_empty() { first } else { format!("{first}\n{}", rest.join("\n")) };
    TargetError::Compile { message, location }
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
    Err(out_of_shared(required, limit))
}

fn out_of_shared(required: u64, limit: u64) -> TargetError {
    TargetError::OutOfResources { name: "shared memory".into(), required, limit }
}

fn metadata(arch: Arch, facts: &Facts, options: &CompileOptions) -> BTreeMap<String, OptionValue> {
    let kernel = &facts.kernel;
    let int = |value: u64| OptionValue::Int(i64::try_from(value).unwrap_or(i64::MAX));
    let flag = |name: &str| match options.extra.get(name) {
        Some(OptionValue::Bool(flag)) => OptionValue::Bool(*flag),
        Some(OptionValue::Int(value)) => OptionValue::Bool(*value != 0),
        _ => OptionValue::Bool(false),
    };
    let maps = OptionValue::Str(maps::list(&facts.maps));
    let (global, profile) = (kernel.global_scratch, kernel.profile_scratch);
    BTreeMap::from([
        ("num_warps".to_owned(), int(u64::from(kernel.num_warps))),
        ("num_ctas".to_owned(), int(u64::from(kernel.num_blocks))),
        ("ptx_arch".to_owned(), OptionValue::Str(arch.to_string())),
        ("global_scratch_size".to_owned(), int(global.bytes)),
        ("global_scratch_align".to_owned(), int(u64::from(global.align.max(1)))),
        ("profile_scratch_size".to_owned(), int(profile.bytes)),
        ("profile_scratch_align".to_owned(), int(u64::from(profile.align.max(1)))),
        (maps::METADATA.to_owned(), maps),
        (option::COOPERATIVE.to_owned(), flag(option::COOPERATIVE)),
        (option::DEPENDENT.to_owned(), flag(option::DEPENDENT)),
        (driver::LEVEL.to_owned(), int(u64::from(facts.effort.level()))),
    ])
}

/// The parameters of the kernel, the one public function, and the tensor maps behind them.
fn params(module: &ir::Module) -> Result<(Vec<KernelParam>, Vec<MapRecipe>), TargetError> {
    let is_kernel = |op: &ir::Op| {
        module.attr_named(*op, "sym_visibility").and_then(|text| text.as_str()) != Some("private")
    };
    let kernel = module.ops(module.body()).find(is_kernel);
    let kernel = kernel.ok_or_else(|| TargetError::Compile {
        message: "there is no kernel: no function of the module is public".into(),
        location: None,
    })?;
    let entry = module.entry(module.region(kernel, 0));
    let passed = |(_, arg): &(usize, &ir::Value)| !(DESCRIPTOR.check)(module.ty(**arg));
    let named = |(index, &arg): (usize, &ir::Value)| {
        let name = module.name(arg).map_or_else(|| format!("arg{index}"), str::to_owned);
        let ty = module.ty(arg);
        kind(ty).map(|kind| KernelParam { name, kind }).ok_or_else(|| TargetError::Compile {
            message: format!("a kernel cannot have a parameter of type {ty}"),
            location: None,
        })
    };
    let maps = MapRecipe::of_kernel(module, kernel)
        .map_err(|message| TargetError::Compile { message, location: None })?;
    let params: Result<Vec<_>, _> = module.args(entry).iter().enumerate().filter(passed).map(named).collect();
    Ok((params?, maps))
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
    use super::{not_lowered, out_of_shared, refused};
    use ir::Diagnostic;
    use lanes::{Error, SharedMemoryNeed};

    #[test]
    fn too_little_shared_memory_is_an_error_of_its_own() {
        let need = SharedMemoryNeed { required: 9, limit: 8, diagnostic: Diagnostic::new("much") };
        let other = Error::Refused(Box::new(Diagnostic::new("other")));
        assert_eq!(not_lowered(&[other.clone(), Error::SharedMemory(Box::new(need))]), out_of_shared(9, 8));
        assert_eq!(not_lowered(&[other]).to_string(), "other");
    }

    #[test]
    fn the_first_error_has_the_place() {
        let one = Diagnostic::new("one").at(Some("k.py:3:1".to_owned())).note("more");
        let error = refused(&[one, Diagnostic::new("two")]);
        assert_eq!(error.to_string(), "k.py:3:1: one\n  more\ntwo");
    }
}
