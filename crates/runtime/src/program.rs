//! Kernels from the text of a `.py` file, without Python: what the command and the Rust facade build on.

use crate::compile::{Job, Kernel, compile, to_ttir};
use crate::error::{CompilationFailure, RuntimeError};
use crate::knobs::Settings;
use crate::specialize::ParamRules;
use frontend::{ArgSpec, FileGlobals, FunctionRef};
use std::io::Write as _;
use std::sync::Arc;
use target::{CompileOptions, Target};

/// A file of kernels.
pub struct Program {
    file: String,
    globals: FileGlobals,
    print: Box<dyn Fn(&str) + Send + Sync>,
}

/// A kernel of a program, compiled.
pub struct CompiledProgram {
    /// The kernel.
    pub kernel: Arc<Kernel>,
    /// What each parameter was compiled for, in order.
    pub args: Vec<ArgSpec>,
}

impl Program {
    /// Reads the text of a file. `file` is its path, for messages.
    ///
    /// # Errors
    /// Syntax errors, with their place.
    pub fn new(file: &str, source: &str) -> Result<Program, RuntimeError> {
        let globals = FileGlobals::new(file, source).map_err(|error| failure(&[error]))?;
        // Whoever closed the standard output does not want to read it.
        let print = Box::new(|text: &str| std::io::stdout().write_all(text.as_bytes()).unwrap_or_default());
        Ok(Program { file: file.to_owned(), globals, print })
    }

    /// Takes what `tl.static_print` prints while kernels are compiled, in place of the standard output.
    #[must_use]
    pub fn on_print(mut self, print: impl Fn(&str) + Send + Sync + 'static) -> Program {
        self.print = Box::new(print);
        self
    }

    /// The names of its kernels and of the functions they call, in the order of the file.
    pub fn functions(&self) -> Vec<String> {
        self.globals.functions().iter().map(|function| function.0.name.clone()).collect()
    }

    /// The kernel of that name.
    ///
    /// # Errors
    /// Names the functions that there are.
    pub fn function(&self, name: &str) -> Result<FunctionRef, RuntimeError> {
        self.globals.function(name).ok_or_else(|| {
            let all = self.functions();
            let there = if all.is_empty() {
                "it has no @jit function".to_owned()
            } else {
                format!("it has {}", all.join(", "))
            };
            RuntimeError::Key(format!("{} has no kernel `{name}`; {there}", self.file))
        })
    }

    /// The names of a kernel's parameters.
    ///
    /// # Errors
    /// Syntax errors in the kernel, or the kernels that there are.
    pub fn parameters(&self, name: &str) -> Result<Vec<String>, RuntimeError> {
        let params = frontend::params::params(&self.function(name)?).map_err(|error| failure(&[error]))?;
        Ok(params.into_iter().map(|param| param.name).collect())
    }

    /// What the parameters of a kernel say about their arguments.
    ///
    /// # Errors
    /// Syntax errors in the kernel, or the kernels that there are.
    pub fn rules(&self, name: &str) -> Result<Vec<ParamRules>, RuntimeError> {
        let function = self.function(name)?;
        let params = frontend::params::params(&function).map_err(|error| failure(&[error]))?;
        let addressing = frontend::addressing::parameters(&function).map_err(|error| failure(&[error]))?;
        let rules = |(param, addresses): (frontend::params::ParamInfo, bool)| {
            let annotated = param.annotation.as_deref().map(ParamRules::of_annotation);
            ParamRules { addresses, ..annotated.unwrap_or_default() }
        };
        Ok(params.into_iter().zip(addressing).map(rules).collect())
    }

    /// A kernel as ttir, as it is handed to a target.
    ///
    /// # Errors
    /// What is wrong with the signature or with the kernel.
    pub fn to_ttir(
        &self,
        name: &str,
        signature: &str,
        target: &Arc<dyn Target>,
        options: CompileOptions,
        settings: &Settings,
    ) -> Result<ir::Module, RuntimeError> {
        let (function, args) = self.resolve(name, signature)?;
        let target = Arc::clone(target);
        let (globals, print) = (&self.globals, self.print.as_ref());
        let job = Job { function, symbol: None, args, options, target, globals, print, owner: 0 };
        to_ttir(&job, settings)
    }

    fn resolve(&self, name: &str, signature: &str) -> Result<(FunctionRef, Vec<ArgSpec>), RuntimeError> {
        let function = self.function(name)?;
        let args = frontend::signature::parse(signature).map_err(RuntimeError::Value)?;
        let names = self.parameters(name)?;
        if names.len() != args.len() {
            return Err(RuntimeError::Value(format!(
                "the signature has {} entries, and kernel {name} has {} parameters: {}",
                args.len(),
                names.len(),
                names.join(", ")
            )));
        }
        Ok((function, args))
    }

    /// Compiles a kernel for a signature such as `*fp32:16, i32, 1024`: one entry for each parameter, a type for what
    /// is passed at run time and a value for a constexpr.
    ///
    /// # Errors
    /// What is wrong with the signature or with the kernel.
    pub fn compile(
        &self,
        name: &str,
        signature: &str,
        target: &Arc<dyn Target>,
        options: CompileOptions,
        settings: &Settings,
    ) -> Result<CompiledProgram, RuntimeError> {
        let (_, args) = self.resolve(name, signature)?;
        self.compile_for(name, args, target, options, settings)
    }

    /// Compiles a kernel for arguments, one for each parameter.
    ///
    /// # Errors
    /// What is wrong with the kernel.
    pub fn compile_for(
        &self,
        name: &str,
        args: Vec<ArgSpec>,
        target: &Arc<dyn Target>,
        options: CompileOptions,
        settings: &Settings,
    ) -> Result<CompiledProgram, RuntimeError> {
        let job = Job {
            function: self.function(name)?,
            symbol: None,
            args: args.clone(),
            options,
            target: Arc::clone(target),
            globals: &self.globals,
            print: self.print.as_ref(),
            owner: std::ptr::from_ref(self) as u64,
        };
        Ok(CompiledProgram { kernel: compile(&job, settings)?, args })
    }
}

fn failure(diagnostics: &[frontend::Diagnostic]) -> RuntimeError {
    RuntimeError::Compilation(CompilationFailure::from_diagnostics(diagnostics))
}
