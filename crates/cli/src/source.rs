//! What the commands take kernels from, and how they are compiled.

use crate::Failure;
use clap::Args;
use runtime::compile::{Kernel, Reproducer, compile_given};
use runtime::knobs::Settings;
use runtime::program::Program;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use target::{CompileOptions, GivenStage, OptionValue, Target};

/// A kernel in a file.
#[derive(Args, Clone)]
pub(crate) struct Source {
    /// A .py file with @triton.jit functions, or a .ttir file; for targets that have them also .ttgir and later stages.
    /// `inspect` also takes a kernel of the cache: the first digits of its hash as `cache list` shows it, or the file
    /// of its entry.
    pub(crate) file: PathBuf,
    /// The kernel; may be left out where the file has one function alone.
    #[arg(long, short)]
    pub(crate) kernel: Option<String>,
    /// The target to compile for, with an architecture behind a colon if it has several; by default the one of this
    /// machine.
    #[arg(long)]
    pub(crate) target: Option<String>,
    /// A target to emulate on this machine's cores, every access checked.
    #[arg(long, value_name = "TARGET", conflicts_with = "target")]
    pub(crate) emulate: Option<String>,
    /// Options of a launch, such as `num_warps=8`; may be repeated.
    #[arg(long = "option", short = 'O', value_name = "NAME=VALUE")]
    pub(crate) options: Vec<String>,
    /// Compile even if the cache has the kernel.
    #[arg(long)]
    pub(crate) always_compile: bool,
}

impl Source {
    /// The stage that the file holds; `None` where it holds Python.
    pub(crate) fn stage(&self) -> Option<String> {
        match self.file.extension().unwrap_or_default().to_string_lossy().as_ref() {
            "py" | "" => None,
            "mlir" => Some("ttir".to_owned()),
            stage => Some(stage.to_owned()),
        }
    }

    /// The text of the file.
    pub(crate) fn text(&self) -> Result<String, Failure> {
        read(&self.file)
    }

    /// The file's name for messages.
    pub(crate) fn name(&self) -> String {
        self.file.display().to_string()
    }

    /// What a file that repeats a compile says at its end.
    fn reproducer(&self) -> Result<Option<Reproducer>, Failure> {
        if self.file.extension().is_none_or(|extension| extension != "mlir") {
            return Ok(None);
        }
        let found = Reproducer::read(&self.text()?)?;
        if found.is_some() && (self.target.is_some() || self.emulate.is_some() || !self.options.is_empty()) {
            return Err(Failure(format!(
                "{} says its target and its options: change them there",
                self.name()
            )));
        }
        Ok(found)
    }

    /// The target.
    pub(crate) fn target(&self) -> Result<Arc<dyn Target>, Failure> {
        if let Some(found) = self.reproducer()? {
            return Ok(found.target()?);
        }
        Ok(match (&self.emulate, &self.target) {
            (Some(name), _) => runtime::emulated(name)?,
            (None, Some(name)) => runtime::target_named(name)?,
            (None, None) => runtime::active_target()?,
        })
    }

    /// The options of the compile.
    pub(crate) fn compile_options(&self, target: &dyn Target) -> Result<CompileOptions, Failure> {
        if let Some(found) = self.reproducer()? {
            return Ok(found.options);
        }
        let mut given = BTreeMap::new();
        for option in &self.options {
            let (name, value) = option
                .split_once('=')
                .ok_or_else(|| Failure(format!("option `{option}` is not of the form NAME=VALUE")))?;
            given.insert(name.trim().to_owned(), option_value(value.trim()));
        }
        // As a launch compiles it.
        Ok(CompileOptions { guarded: true, ..runtime::options::parse(target, &given)? })
    }

    /// The settings of the process, with what the command line says.
    pub(crate) fn settings(&self) -> Settings {
        let mut settings = Settings::current();
        settings.always_compile |= self.always_compile;
        settings
    }

    /// The program of a .py file and the name of the kernel in it.
    pub(crate) fn program(&self) -> Result<(Program, String), Failure> {
        // The standard output belongs to what the command was asked for.
        let program = Program::new(&self.name(), &self.text()?)?.on_print(|text| eprint!("{text}"));
        let name = match &self.kernel {
            Some(name) => name.clone(),
            None => match program.functions().as_slice() {
                [one] => one.clone(),
                [] => return Err(Failure(format!("{} has no @jit function", self.name()))),
                all => return Err(Failure(format!("say which kernel with --kernel: {}", all.join(", ")))),
            },
        };
        Ok((program, name))
    }

    /// Compiles; a .py file needs a signature.
    pub(crate) fn compile(&self, signature: Option<&str>) -> Result<Arc<Kernel>, Failure> {
        let target = self.target()?;
        let options = self.compile_options(target.as_ref())?;
        let settings = self.settings();
        if let Some(name) = self.stage() {
            let given = GivenStage { name, file: self.name(), bytes: self.text()?.into_bytes() };
            return Ok(compile_given(&given, &target, &options, &settings)?);
        }
        let (program, name) = self.program()?;
        let Some(signature) = signature else { return Err(self.no_signature(&program, &name)) };
        Ok(program.compile(&name, signature, &target, options, &settings)?.kernel)
    }

    fn no_signature(&self, program: &Program, name: &str) -> Failure {
        match program.parameters(name) {
            Ok(params) => Failure(format!(
                "say what {name}({}) is compiled for, for example --signature \"{}\"",
                params.join(", "),
                params.iter().map(|_| "*fp32").collect::<Vec<_>>().join(", ")
            )),
            Err(error) => Failure::from(error),
        }
    }
}

/// Reads a file.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| Failure(format!("cannot read {}: {error}", path.display())))
}

fn option_value(text: &str) -> OptionValue {
    match text {
        "None" | "none" => OptionValue::None,
        "True" | "true" => OptionValue::Bool(true),
        "False" | "false" => OptionValue::Bool(false),
        _ => text.parse().map_or_else(|_| OptionValue::Str(text.to_owned()), OptionValue::Int),
    }
}
