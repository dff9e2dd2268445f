//! Text in; object, assembly or optimised text out.

use crate::api::{Api, LBuffer, LContext, LDiagnostic, LModule};
use crate::machine::{Level, TargetMachine, c_string, machine};
use crate::{Llvm, LlvmError, TargetSpec, gate, helper};
use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_void};
use std::time::{Duration, Instant};

/// What a compile is asked for besides the object.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Output {
    /// Also the assembly, for people.
    pub assembly: bool,
    /// Also LLVM's text after its passes.
    pub optimized: bool,
    /// Code is made as it stands: LLVM's level O0 in place of O2.
    pub plain: bool,
}

/// What a compile gives.
#[derive(Clone, Debug, Default)]
pub struct Compiled {
    /// The relocatable object.
    pub object: Vec<u8>,
    /// The assembly, if it was asked for.
    pub assembly: Option<String>,
    /// LLVM's text after its passes, if it was asked for.
    pub optimized: Option<String>,
    /// How long each step took.
    pub timings: Vec<(&'static str, Duration)>,
}

/// LLVM's codes of what to emit.
const ASSEMBLY_FILE: c_int = 0;
const OBJECT_FILE: c_int = 1;

impl Llvm {
    /// Compiles textual IR. `passes` is a pipeline in the words of LLVM's `opt -passes`, empty for none:
    /// `function(early-cse,instcombine,simplifycfg)`.
    ///
    /// # Errors
    /// LLVM's message where it does not accept the text, the passes or the target.
    pub fn compile(
        &'static self,
        text: &str,
        spec: &TargetSpec,
        passes: &str,
        output: Output,
    ) -> Result<Compiled, LlvmError> {
        let (text, spec, passes) = (text.to_string(), spec.clone(), passes.to_string());
        helper::run(move || compile(self, &text, &spec, &passes, output))
    }

    /// Parses and verifies textual IR and makes nothing: a check for tests and tools.
    ///
    /// # Errors
    /// LLVM's message where it does not accept the text.
    pub fn check(&'static self, text: &str) -> Result<(), LlvmError> {
        let text = text.to_string();
        let checked = move || {
            let context = Context::new(self.api());
            context.parse(&text)?.verify()
        };
        helper::run(checked)
    }
}

/// The work of [`Llvm::compile`], on the helper thread.
fn compile(
    llvm: &'static Llvm,
    text: &str,
    spec: &TargetSpec,
    passes: &str,
    output: Output,
) -> Result<Compiled, LlvmError> {
    let _inside = gate::enter(llvm, spec.options);
    let mut compiled = Compiled::default();
    let mut timer = Timer { last: Instant::now(), timings: Vec::new() };
    let machine = machine(llvm, spec, if output.plain { Level::None } else { Level::Default })?;
    timer.done("machine");
    let context = Context::new(llvm.api());
    let module = context.parse(text)?;
    module.verify()?;
    module.set_target(&machine, &spec.triple)?;
    timer.done("parse");
    module.run_passes(&machine, passes)?;
    timer.done("passes");
    let optimized = if output.optimized || output.assembly { module.print() } else { String::new() };
    if output.assembly {
        // Emitting changes a module, so the assembly is made from a second one.
        let second = context.parse(&optimized)?;
        second.set_target(&machine, &spec.triple)?;
        let bytes = second.emit(&machine, ASSEMBLY_FILE)?;
        compiled.assembly = Some(String::from_utf8_lossy(&bytes).into_owned());
        timer.done("assembly");
    }
    compiled.optimized = output.optimized.then_some(optimized);
    compiled.object = module.emit(&machine, OBJECT_FILE)?;
    timer.done("codegen");
    compiled.timings = timer.timings;
    Ok(compiled)
}

struct Timer {
    last: Instant,
    timings: Vec<(&'static str, Duration)>,
}

impl Timer {
    fn done(&mut self, step: &'static str) {
        let now = Instant::now();
        self.timings.push((step, now - self.last));
        self.last = now;
    }
}

/// A context with the errors that were reported in it.
struct Context {
    api: &'static Api,
    handle: *mut LContext,
    /// The handler reaches it through its own pointer.
    report: Box<Report>,
}

/// What the handler is given.
struct Report {
    api: &'static Api,
    errors: RefCell<Vec<String>>,
}

/// Keeps errors (severity 0); warnings and remarks are dropped.
unsafe extern "C" fn keep_error(diagnostic: *mut LDiagnostic, report: *mut c_void) {
    // SAFETY: `report` is the box that `Context::new` registered, alive as long as the context; the diagnostic is
    // valid during the call.
    unsafe {
        let report = &*report.cast::<Report>();
        if (report.api.diagnostic_severity)(diagnostic) == 0 {
            let text = report.api.owned_string((report.api.diagnostic_description)(diagnostic));
            report.errors.borrow_mut().push(text);
        }
    }
}

impl Context {
    fn new(api: &'static Api) -> Context {
        let report = Box::new(Report { api, errors: RefCell::default() });
        // SAFETY: the box stays where it is until the context is gone.
        let handle = unsafe {
            let handle = (api.context_create)();
            let report = (&raw const *report).cast_mut().cast();
            (api.context_set_diagnostic_handler)(handle, Some(keep_error), report);
            handle
        };
        Context { api, handle, report }
    }

    /// The errors reported so far, as one text.
    fn take_error(&self) -> Option<String> {
        let errors = self.report.errors.take();
        (!errors.is_empty()).then(|| errors.join("\n"))
    }

    fn parse(&self, text: &str) -> Result<Module<'_>, LlvmError> {
        let (mut module, mut message) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the text is copied; the parser uses the buffer up.
        let failed = unsafe {
            let buffer =
                (self.api.buffer_copy)(text.as_ptr().cast::<c_char>(), text.len(), c"kernel".as_ptr());
            (self.api.parse_ir)(self.handle, buffer, &mut module, &mut message)
        };
        let text = self.api.owned_string(message);
        if failed != 0 || module.is_null() {
            return Err(LlvmError::Parse(self.take_error().unwrap_or(text)));
        }
        Ok(Module { context: self, handle: module })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: modules borrow the context, so none is left.
        unsafe { (self.api.context_dispose)(self.handle) };
    }
}

/// A module of a context.
struct Module<'c> {
    context: &'c Context,
    handle: *mut LModule,
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is ours and used no more.
        unsafe { (self.context.api.module_dispose)(self.handle) };
    }
}

impl Module<'_> {
    fn api(&self) -> &'static Api {
        self.context.api
    }

    /// Runs LLVM's own verifier, so that no later step stops the process.
    fn verify(&self) -> Result<(), LlvmError> {
        let mut message = std::ptr::null_mut();
        // SAFETY: a valid module and a valid place; action 2 returns the message.
        let broken = unsafe { (self.api().module_verify)(self.handle, 2, &mut message) };
        let text = self.api().owned_string(message);
        if broken != 0 { Err(LlvmError::Parse(text)) } else { Ok(()) }
    }

    /// Gives the module the triple and the data layout of the machine.
    fn set_target(&self, machine: &TargetMachine, triple: &str) -> Result<(), LlvmError> {
        let triple = c_string(triple)?;
        // SAFETY: all handles are valid; the layout is copied.
        unsafe {
            (self.api().module_set_triple)(self.handle, triple.as_ptr());
            let data = (self.api().machine_data)(machine.handle);
            (self.api().module_set_layout)(self.handle, data);
            (self.api().target_data_dispose)(data);
        }
        Ok(())
    }

    fn run_passes(&self, machine: &TargetMachine, passes: &str) -> Result<(), LlvmError> {
        if passes.is_empty() {
            return Ok(());
        }
        let text = c_string(passes)?;
        // SAFETY: all handles are valid; the options are given back.
        let error = unsafe {
            let options = (self.api().pass_options_create)();
            let error = (self.api().run_passes)(self.handle, text.as_ptr(), machine.handle, options);
            (self.api().pass_options_dispose)(options);
            error
        };
        if error.is_null() {
            return Ok(());
        }
        Err(LlvmError::Compile(format!("passes `{passes}`: {}", self.api().error_text(error))))
    }

    fn print(&self) -> String {
        // SAFETY: a valid module.
        self.api().owned_string(unsafe { (self.api().module_print)(self.handle) })
    }

    fn emit(&self, machine: &TargetMachine, kind: c_int) -> Result<Vec<u8>, LlvmError> {
        let (mut message, mut buffer): (*mut c_char, *mut LBuffer) =
            (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: all handles are valid.
        let failed = unsafe {
            (self.api().machine_emit)(machine.handle, self.handle, kind, &mut message, &mut buffer)
        };
        let text = self.api().owned_string(message);
        if failed != 0 || buffer.is_null() {
            return Err(LlvmError::Compile(self.context.take_error().unwrap_or(text)));
        }
        // SAFETY: the buffer's bytes are copied before it is given back.
        let bytes = unsafe {
            let start = (self.api().buffer_start)(buffer).cast::<u8>();
            let bytes = std::slice::from_raw_parts(start, (self.api().buffer_size)(buffer)).to_vec();
            (self.api().buffer_dispose)(buffer);
            bytes
        };
        match self.context.take_error() {
            Some(text) => Err(LlvmError::Compile(text)),
            None => Ok(bytes),
        }
    }
}
