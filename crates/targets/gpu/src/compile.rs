//! The steps of a compile that all targets for GPUs have: ttir, ttgir, llir.

use crate::errors::{not_lowered, out_of_shared, refused};
use crate::fit::{Fit, Fitted, Need};
use crate::observe::{LanePasses, LayoutPasses};
use crate::options::{NO_LINES, NO_PASSES, text};
use crate::params::params;
use crate::pipeline::{Launch, to_ttgir};
use crate::stage::{LLIR, TTGIR};
use ir::pass::{PassRow, Verify};
use lanes::LaneTarget;
use std::time::Instant;
use target::{CompileOptions, GivenStage, KernelParam, Stage, StageObserver, TargetError};
use ttgir::Machine;

/// The search for stages that fit into shared memory, among the times of a compile.
const FIT: &str = "ttgir/fit shared memory";
/// The step from code with layouts to code of a lane, among the times of llir.
const LLIR_LANES: &str = "llir/lower to lanes";

/// What differs between targets.
pub trait Backend {
    /// Facts about the machine.
    fn machine(&self) -> &'static Machine;

    /// The passes over ttgir, in order.
    fn passes(&self) -> &'static [&'static PassRow];

    /// Writes to block-level code what the options ask of its layouts.
    ///
    /// # Errors
    /// What is wrong with an option.
    fn prepare(&self, module: &mut ir::Module, options: &CompileOptions) -> Result<(), TargetError> {
        let _ = (module, options);
        Ok(())
    }

    /// What lanes do.
    fn lanes(&self) -> &dyn LaneTarget;

    /// Changes what was lowered in front of the passes over llir: what the options say of the kernel.
    ///
    /// # Errors
    /// What is wrong with an option.
    fn finish(
        &self,
        module: &mut llir::Module,
        kernel: &str,
        options: &CompileOptions,
    ) -> Result<(), TargetError> {
        let _ = (module, kernel, options);
        Ok(())
    }

    /// Changes the order of what was lowered, behind the passes over llir.
    fn arrange(&self, module: &mut llir::Module) {
        let _ = module;
    }

    /// Functions of the machine whose result is known to be bounded, which the passes over llir make use of.
    fn bounds(&self, module: &llir::Module) -> Vec<(llir::FuncId, llir::passes::Bound)>;
}

/// A compile on its way: what it is for, and what it has made.
pub struct Compile<'a> {
    /// What differs between targets.
    pub backend: &'a dyn Backend,
    /// The options of the compile.
    pub options: &'a CompileOptions,
    /// Hears of everything.
    pub observer: &'a mut dyn StageObserver,
    /// The stages that are done.
    pub stages: Vec<Stage>,
}

/// Code of a lane, with what is known of its kernel.
pub struct Code {
    /// The code with layouts that it comes from.
    pub layouts: ir::Module,
    /// The code.
    pub module: llir::Module,
    /// The file that it was given by, if it was.
    pub given: Option<GivenStage>,
    /// Its parameters, without the two of scratch memory.
    pub params: Vec<KernelParam>,
    /// What its launches need.
    pub kernel: lanes::Facts,
    /// Whether loops have fewer stages than they ask for.
    pub fewer_stages: bool,
    /// Whether shared memory has room for more stages than they ask for.
    pub spare_stages: bool,
}

impl<'a> Compile<'a> {
    /// A compile that has not begun.
    pub fn new(
        backend: &'a dyn Backend,
        options: &'a CompileOptions,
        observer: &'a mut dyn StageObserver,
    ) -> Compile<'a> {
        Compile { backend, options, observer, stages: Vec::new() }
    }

    /// Keeps a stage that is done.
    pub fn add(&mut self, name: &str, bytes: Vec<u8>, text: bool) {
        self.observer.stage(name, &bytes);
        self.stages.push(Stage { name: name.into(), bytes, text });
    }

    /// The text of a stage that is done.
    ///
    /// # Panics
    /// When there is no such stage, or it is no text.
    pub fn text(&self, name: &str) -> String {
        let stage = self.stages.iter().find(|stage| stage.name == name).expect("the stage is done");
        String::from_utf8(stage.bytes.clone()).expect("the stage is text")
    }

    /// Does a step and tells how long it took.
    pub fn time<R>(&mut self, step: &str, work: impl FnOnce(&mut Self) -> R) -> R {
        let start = Instant::now();
        let result = work(self);
        self.observer.timed(step, start.elapsed());
        result
    }

    /// From verified block-level code to code of a lane. Where loops ask for more shared memory than there is, bulk
    /// stores are done in parts, or loops get fewer stages; where the options say so, they get more.
    ///
    /// # Errors
    /// What cannot be compiled.
    pub fn ttir(&mut self, mut module: ir::Module) -> Result<Code, TargetError> {
        self.backend.prepare(&mut module, self.options)?;
        let fit = Fit::of(&module, self.options.num_stages);
        self.deepen(&mut module, fit.as_ref())?;
        self.passes(&mut module)?;
        if let Some(given) = self.observer.given(TTGIR) {
            return self.given(&given);
        }
        match self.time(LLIR, |this| this.lower(&module)) {
            Ok(lowered) => {
                let refused = ttgir::module::take_role_remarks(&mut module);
                self.remark(refused);
                let spare_stages = self.has_spare_stages(&module, fit.as_ref(), lowered.1.shared_bytes);
                Ok(Code { spare_stages, ..self.lowered(module, lowered)? })
            }
            Err(TargetError::OutOfResources { required, limit, .. }) => {
                self.with_less(&module, fit, (required, limit))
            }
            Err(error) => self.not_lowered(&module, error),
        }
    }

    /// The same from a file with layouts.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn given(&mut self, given: &GivenStage) -> Result<Code, TargetError> {
        let module = self.parse(given)?;
        self.ttgir(module)
    }

    fn launch(&self) -> Launch {
        let CompileOptions { num_warps, num_ctas, num_stages, .. } = *self.options;
        Launch { num_warps, num_ctas, num_stages }
    }

    /// From block-level code to code with layouts.
    fn passes(&mut self, module: &mut ir::Module) -> Result<(), TargetError> {
        self.time(TTGIR, |this| {
            let verify = if cfg!(debug_assertions) { Verify::Each } else { Verify::Structure };
            let (launch, backend) = (this.launch(), this.backend);
            let mut passes = LayoutPasses(&mut *this.observer);
            to_ttgir(module, backend.passes(), backend.machine(), &launch, verify, &mut passes)
        })
        .map_err(|errors| refused(&errors))
    }

    /// Tells the author of the kernel what was asked for and could not be done.
    fn remark(&mut self, remarks: Vec<ir::Diagnostic>) {
        for remark in remarks {
            let place = remark.place.map_or_else(String::new, |place| format!("{place}: "));
            self.observer.warn(format!("{place}{}", remark.message));
        }
    }

    /// Goes on with fewer stages for loops, or bulk stores in parts, where the program then fits into shared memory.
    /// `need` is what it needs, and what there is.
    fn with_less(
        &mut self,
        module: &ir::Module,
        fit: Option<Fit>,
        need: (u64, u64),
    ) -> Result<Code, TargetError> {
        let (required, limit) = need;
        let fitted = self.time(FIT, |this| {
            let mut measure = |module: ir::Module| this.measure(module);
            let need = Need { bytes: required, staged: ttgir::passes::staged_bytes(module), limit };
            fit.map_or(Ok(None), |fit| fit.search(need, &mut measure))
        })?;
        let Some(Fitted { mut module, remarks }) = fitted else {
            return self.not_lowered(module, out_of_shared(required, limit));
        };
        self.passes(&mut module)?;
        let fewer_stages = !remarks.is_empty();
        self.remark(remarks);
        let refused = ttgir::module::take_role_remarks(&mut module);
        self.remark(refused);
        Ok(Code { fewer_stages, ..self.ttgir(module)? })
    }

    /// The shared memory that a program in front of all passes over ttgir needs.
    pub(crate) fn measure(&self, module: ir::Module) -> Result<u64, TargetError> {
        self.needs(module).map(|(bytes, _)| bytes)
    }

    /// The same, and the program with layouts.
    pub(crate) fn needs(&self, mut module: ir::Module) -> Result<(u64, ir::Module), TargetError> {
        let (launch, backend) = (self.launch(), self.backend);
        to_ttgir(&mut module, backend.passes(), backend.machine(), &launch, Verify::Never, &mut ())
            .map_err(|errors| refused(&errors))?;
        let bytes = lanes::shared_bytes(&module, backend.lanes()).map_err(|error| not_lowered(&[error]))?;
        Ok((bytes, module))
    }

    /// Code with layouts that is given as text.
    fn parse(&self, given: &GivenStage) -> Result<ir::Module, TargetError> {
        let options = ir::text::ParseOptions { file: Some(&given.file) };
        let mut module = ir::text::parse(given.text()?, ttgir::registry(), options)
            .map_err(|error| refused(&[error.in_file(&given.file)]))?;
        ir::verify(&module).map_err(|errors| refused(&errors))?;
        module.set_environment(self.backend.machine());
        Ok(module)
    }

    fn ttgir(&mut self, module: ir::Module) -> Result<Code, TargetError> {
        match self.time(LLIR, |this| this.lower(&module)) {
            Ok(lowered) => self.lowered(module, lowered),
            Err(error) => self.not_lowered(&module, error),
        }
    }

    /// The stage in front of the one that cannot be made is still kept.
    fn not_lowered(&mut self, module: &ir::Module, error: TargetError) -> Result<Code, TargetError> {
        self.add(TTGIR, print(module), true);
        Err(error)
    }

    fn lowered(
        &mut self,
        mut module: ir::Module,
        (mut lowered, kernel): (llir::Module, lanes::Facts),
    ) -> Result<Code, TargetError> {
        let params = params(&module)?;
        self.add(TTGIR, print(&module), true);
        if self.observer.wants_programs(TTGIR) {
            // What a program takes of shared memory is known only now, and people look for it here.
            ttgir::set_shared(&mut module, kernel.shared_bytes);
            let text = ir::text::print(&module, ir::text::PrintOptions::PLAIN);
            self.observer.program(TTGIR, "lowering to lanes", &text);
        }
        let given = self.observer.given(LLIR);
        if let Some(given) = &given {
            lowered = edited(given, &lowered)?;
        }
        self.add(LLIR, llir::print(&lowered).into_bytes(), true);
        Ok(Code {
            layouts: module,
            module: lowered,
            given,
            params,
            kernel,
            fewer_stages: false,
            spare_stages: false,
        })
    }

    /// Code of a lane, with the passes over it.
    fn lower(&mut self, module: &ir::Module) -> Result<(llir::Module, lanes::Facts), TargetError> {
        let options = self.options;
        let mut lowered = self.time(LLIR_LANES, |this| {
            let how = lanes::Options {
                fuse_multiply_add: options.enable_fp_fusion,
                line_info: !options.flag(NO_LINES),
            };
            lanes::lower(module, this.backend.lanes(), &how).map_err(|errors| not_lowered(&errors))
        })?;
        let kernel =
            lowered.kernels.pop().ok_or_else(|| TargetError::Internal("no kernel was lowered".into()))?;
        self.backend.finish(&mut lowered.module, &kernel.name, options)?;
        // As behind the passes over ttgir: what is wrong here is an error of the compiler, which tests look for.
        if cfg!(debug_assertions)
            && let Err(errors) = llir::verify(&lowered.module)
        {
            let first = errors.first().map_or_else(String::new, ToString::to_string);
            return Err(TargetError::Internal(format!("kernel `{}`: invalid llir: {first}", kernel.name)));
        }
        let without = options.flag(NO_PASSES) && text(options, NO_PASSES).is_none();
        if !without {
            let bounds = self.backend.bounds(&lowered.module);
            llir::passes::optimize(&mut lowered.module, &bounds, &mut LanePasses(&mut *self.observer));
            self.backend.arrange(&mut lowered.module);
        }
        Ok((lowered.module, kernel))
    }
}

fn print(module: &ir::Module) -> Vec<u8> {
    ir::text::print(module, ir::text::PrintOptions::default()).into_bytes()
}

/// Code of a lane that is given as text: it overrides what was printed.
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
