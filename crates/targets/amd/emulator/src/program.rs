//! The public API: decode a module, look at its kernels, launch one.

use crate::decode::{Refusal, assemble};
use crate::machine::code::Code;
use crate::machine::launch;
use crate::machine::world::{Places, Request};
use amdgcn_isa::Arch;
use emulation::{Argument, Checks, Fault, Memory, Place, Report};
use llir::{Global, GlobalKind, Module};
use std::fmt;
use std::sync::OnceLock;

/// Why a module cannot be run, with the line of its text (from 1) that says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The line of the text, counted from 1.
    pub line: u32,
    /// What was found and what was expected.
    pub message: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "llir line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for Diagnostic {}

/// A parameter of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub bytes: usize,
}

/// A decoded module.
pub struct Program {
    text: Text,
    kernels: Vec<Kernel>,
    arch: Arch,
}

struct Kernel {
    name: String,
    params: Vec<Param>,
    code: Code,
}

/// A module and where its instructions stand in its text, which is found when somebody asks.
struct Text {
    module: Module,
    text: Option<String>,
    lines: OnceLock<Vec<Vec<u32>>>,
}

/// How to launch a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Programs along x, y and z.
    pub grid: [u32; 3],
    /// Warps of a program.
    pub warps: u32,
    /// Bytes of LDS beyond what variables with a size take.
    pub dynamic_lds: usize,
    /// One argument for each parameter.
    pub arguments: Vec<Argument>,
    /// Threads of the host at most; results do not depend on it.
    pub threads: usize,
}

impl Default for Launch {
    fn default() -> Launch {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Launch { grid: [1; 3], warps: 1, dynamic_lds: 0, arguments: Vec::new(), threads }
    }
}

impl Program {
    /// Reads and decodes the text of a module. Everything that cannot be run is refused here, with its line.
    pub fn parse(text: &str, arch: Arch) -> Result<Program, Diagnostic> {
        let module =
            llir::read(text).map_err(|error| Diagnostic { line: error.line, message: error.message })?;
        llir::verify(&module).map_err(|errors| {
            let messages: Vec<String> = errors.iter().map(ToString::to_string).collect();
            Diagnostic { line: 0, message: messages.join("; ") }
        })?;
        Program::decode(module, Some(text.to_owned()), arch)
    }

    /// Decodes a module; lines are those of its printed text.
    pub fn new(module: &Module, arch: Arch) -> Result<Program, Diagnostic> {
        Program::decode(module.clone(), None, arch)
    }

    fn decode(module: Module, text: Option<String>, arch: Arch) -> Result<Program, Diagnostic> {
        let text = Text { module, text, lines: OnceLock::new() };
        let mut kernels = Vec::new();
        for function in text.module.functions().filter(|function| function.kernel.is_some()) {
            let code = assemble(&text.module, function, arch).map_err(|refusal| {
                let Refusal { function, number, message } = refusal;
                Diagnostic { line: text.line(function, number), message }
            })?;
            let params = function.params.iter();
            let params = params
                .map(|param| Param { name: param.name.clone(), bytes: param.ty.lane_bytes() as usize })
                .collect();
            kernels.push(Kernel { name: function.name.clone(), params, code });
        }
        Ok(Program { text, kernels, arch })
    }

    /// Names of the kernels, in order.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.kernels.iter().map(|kernel| kernel.name.as_str())
    }

    /// The architecture that it was decoded for.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// The parameters of a kernel.
    pub fn params(&self, kernel: &str) -> Option<&[Param]> {
        self.kernels.iter().find(|known| known.name == kernel).map(|kernel| &kernel.params[..])
    }

    /// Runs a kernel to its end. Variables of the module start from what it says at each launch.
    pub fn launch(
        &self,
        kernel: &str,
        launch: &Launch,
        memory: &mut Memory,
        checks: Checks,
    ) -> Result<Report, Box<Fault>> {
        let Some(kernel) = self.kernels.iter().find(|known| known.name == kernel) else {
            let names: Vec<&str> = self.kernels().collect();
            let message = format!("there is no kernel `{kernel}`; there is: {}", names.join(", "));
            return Err(Box::new(Fault::launch(message)));
        };
        let lds = kernel.code.lds + launch.dynamic_lds;
        check_shape(launch, lds, self.arch).map_err(|message| Box::new(Fault::launch(message)))?;
        let arguments = pack(kernel, launch).map_err(|message| Box::new(Fault::launch(message)))?;
        let mut allocated = self.place_variables(memory);
        let hidden = memory.allocate_with(&hidden_arguments(launch, self.arch));
        let (text, code) = (&self.text, &kernel.code);
        let request = Request {
            code,
            places: &Located { text, code },
            grid: launch.grid,
            warps: launch.warps,
            lds,
            arguments: &arguments,
            variables: &allocated,
            hidden,
            checks,
            threads: launch.threads,
        };
        let result = launch::run(request, memory);
        allocated.push(hidden);
        for address in allocated.into_iter().filter(|address| *address != 0) {
            memory.release(address);
        }
        result
    }

    /// Allocates the module's variables in device memory; 0 for those in LDS.
    fn place_variables(&self, memory: &mut Memory) -> Vec<u64> {
        let place =
            |global: &Global| if global.space == 3 { 0 } else { memory.allocate_with(&bytes_of(global)) };
        self.text.module.globals().iter().map(place).collect()
    }
}

fn bytes_of(global: &Global) -> Vec<u8> {
    let size = global.element.lane_bytes() as usize;
    match &global.kind {
        GlobalKind::Constant(elements) => {
            elements.iter().flat_map(|bits| bits.to_le_bytes()[..size].to_vec()).collect()
        }
        GlobalKind::Internal(count) | GlobalKind::External(count) => vec![0; size * *count as usize],
    }
}

/// The hidden arguments: counts of programs, then lanes of a program along each axis.
fn hidden_arguments(launch: &Launch, arch: Arch) -> Vec<u8> {
    let mut bytes: Vec<u8> = launch.grid.iter().flat_map(|count| count.to_le_bytes()).collect();
    let lanes = (launch.warps * arch.wave().lanes()) as u16;
    bytes.extend([lanes, 1, 1].iter().flat_map(|size| size.to_le_bytes()));
    bytes.resize(256, 0);
    bytes
}

/// Whether a launch fits the architecture.
fn check_shape(launch: &Launch, lds: usize, arch: Arch) -> Result<(), String> {
    let lanes = u64::from(launch.warps) * u64::from(arch.wave().lanes());
    if lanes == 0 || lanes > 1024 {
        return Err(format!("a program of {lanes} lanes: 1 to 1024 are possible"));
    }
    let most = if arch == Arch::Gfx950 { 160 } else { 64 } * 1024;
    if lds > most {
        return Err(format!("a program needs {lds} bytes of LDS; {arch} has {most}"));
    }
    Ok(())
}

/// The arguments, one behind another.
fn pack(kernel: &Kernel, launch: &Launch) -> Result<Vec<u8>, String> {
    let (found, expected) = (launch.arguments.len(), kernel.params.len());
    if found != expected {
        return Err(format!("`{}` has {expected} parameters, the launch gives {found}", kernel.name));
    }
    let mut bytes = Vec::new();
    for (param, argument) in kernel.params.iter().zip(&launch.arguments) {
        let (found, expected) = (argument.0.len(), param.bytes);
        if found != expected {
            return Err(format!("the parameter `{}` has {expected} bytes, its argument {found}", param.name));
        }
        bytes.extend(&argument.0);
    }
    Ok(bytes)
}

/// Where the instructions of a kernel stand.
struct Located<'p> {
    text: &'p Text,
    code: &'p Code,
}

impl Places for Located<'_> {
    fn place(&self, site: u32) -> Place {
        let site = &self.code.sites[site as usize];
        let file =
            |id| self.text.module.files().find(|(known, _)| *known == id).map(|(_, path)| path.to_owned());
        let source = site.location.and_then(|at| file(at.file).map(|file| (file, at.line, at.column)));
        let line = self.text.line(site.function, site.number);
        Place { language: "llir", line, instruction: site.name.clone(), source }
    }
}

impl Text {
    /// The line of an instruction of a function, both by their numbers in order of the text.
    fn line(&self, function: u32, number: u32) -> u32 {
        let lines = self.lines.get_or_init(|| match &self.text {
            Some(text) => self.lines_of(text),
            None => self.lines_of(&self.module.to_string()),
        });
        lines.get(function as usize).and_then(|lines| lines.get(number as usize)).copied().unwrap_or(0)
    }

    /// For each function with a body the lines of its instructions: one line each, indented, but for labels and `phi`.
    fn lines_of(&self, text: &str) -> Vec<Vec<u32>> {
        let names: Vec<&str> = self.module.functions().map(|function| function.name.as_str()).collect();
        let mut lines = vec![Vec::new(); names.len()];
        let mut current = None;
        for (index, line) in text.lines().enumerate() {
            let code = line.split(';').next().unwrap_or("").trim();
            if code.starts_with("define ") {
                let name = code.split('@').nth(1).and_then(|rest| rest.split('(').next()).unwrap_or("");
                current = names.iter().position(|known| *known == name.trim_matches('"'));
            } else if code == "}" {
                current = None;
            } else if let Some(function) = current
                && !code.is_empty()
                && !code.ends_with(':')
                && !code.contains("= phi ")
            {
                lines[function].push(index as u32 + 1);
            }
        }
        lines
    }
}
