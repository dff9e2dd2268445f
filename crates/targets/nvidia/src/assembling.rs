//! Which assembler makes machine code here, and what is made of a kernel when somebody asks.
//!
//! For the devices that are here a compile ends with PTX: the driver assembles it when it is loaded, in this process, and keeps
//! the machine code. (Its linker, which would hand the machine code out, makes relocatable code, in which ptxas 12.8 and 13.0
//! and the driver 580 take twice the registers for wide blocks.) For other devices a `ptxas` that is found is used, else the
//! library nvJitLink; where there is none, a compile ends with PTX, too.

use crate::assemble::{AssembleError, AssembleOptions, Assembler, NvJitLink, Ptxas, Search};
use crate::driver::{self, Gpu, LinkOptions};
use crate::instructions::Arch;
use crate::target::option;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};
use target::{Artifact, CompileOptions, OptionValue, Stage, TargetError, Tool};

/// The stage that shows machine code as text.
pub(crate) const SASS: &str = "sass";

/// Programs that show machine code, with the arguments before the file.
const DISASSEMBLERS: &[(&str, &[&str])] = &[("nvdisasm", &["-c"]), ("cuobjdump", &["-sass"])];

/// The GPU whose driver assembles for an architecture.
fn own_gpu(arch: Arch) -> Option<&'static Arc<Gpu>> {
    let gpus = driver::driver().ok()?.gpus();
    gpus.iter().find(|gpu| gpu.capability() == u32::from(arch.number))
}

/// Places to look for tools; the package of Python that this code may be part of is among them.
fn search() -> Search {
    Search::from_environment(own_environment().as_deref())
}

/// The environment of Python that the running program belongs to.
fn own_environment() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let by_program = program.parent().and_then(Path::parent).map(Path::to_owned);
    by_program.filter(|folder| folder.join("lib").is_dir())
}

/// A `ptxas` that is found, looked for once.
fn ptxas() -> Result<&'static Ptxas, AssembleError> {
    static PTXAS: OnceLock<Result<Ptxas, AssembleError>> = OnceLock::new();
    PTXAS.get_or_init(|| Ptxas::find(&search())).as_ref().map_err(Clone::clone)
}

/// The library nvJitLink, looked for once.
fn library() -> Result<&'static NvJitLink, AssembleError> {
    static LIBRARY: OnceLock<Result<NvJitLink, AssembleError>> = OnceLock::new();
    LIBRARY.get_or_init(|| NvJitLink::find(&search())).as_ref().map_err(Clone::clone)
}

/// The assembler that is used for an architecture, for the key of compiled kernels. A start from the cache asks for it, so
/// nothing is run for it: a program is told by its file.
pub(crate) fn identity(arch: Arch) -> String {
    if let (Some(_), Ok(driver)) = (own_gpu(arch), driver::driver()) {
        return format!("driver {}", driver.version());
    }
    let programs = search().programs("ptxas").into_iter();
    let found = programs
        .filter_map(|path| std::fs::metadata(&path).ok().filter(|data| data.is_file()).zip(Some(path)));
    let Some((data, path)) = found.into_iter().next() else { return "none or nvJitLink".to_owned() };
    let time = data.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    format!("{} {} {}", path.display(), data.len(), time.unwrap_or_default().as_nanos())
}

/// The programs and libraries that make and show machine code, and where they are.
pub(crate) fn tools() -> Vec<Tool> {
    let told = |error: &AssembleError| error.to_string();
    let ptxas = ptxas().map(|ptxas| format!("{} from {}", ptxas.version(), ptxas.path().display()));
    let library = library().map(|library| library.version());
    let search = Search { named: None, ..search() };
    let shown = |(program, _): &(&'static str, &[&str])| {
        let found = search.programs(program).into_iter().find(|path| path.is_file());
        let found = found.map(|path| path.display().to_string());
        Tool {
            name: program,
            found: found.ok_or_else(|| "neither on the path, nor in a package, nor in the toolkit".into()),
        }
    };
    let makers = [
        Tool { name: "ptxas", found: ptxas.map_err(|error| told(&error)) },
        Tool { name: "nvJitLink", found: library.map_err(|error| told(&error)) },
    ];
    makers.into_iter().chain(DISASSEMBLERS.iter().map(shown)).collect()
}

fn text_option(options: &CompileOptions) -> Vec<String> {
    match options.extra.get(option::PTX_OPTIONS) {
        Some(OptionValue::Str(text)) => text.split_whitespace().map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// Makes machine code; `None` where there is no assembler, or where the driver is the one that should do it.
///
/// # Errors
/// What the assembler says.
pub(crate) fn assemble(
    ptx: &str,
    kernel: &str,
    arch: Arch,
    options: &CompileOptions,
) -> Result<Option<Vec<u8>>, TargetError> {
    if own_gpu(arch).is_some() && text_option(options).is_empty() {
        return Ok(None);
    }
    assemble_apart(ptx, kernel, arch, options)
}

/// Makes machine code outside a driver; `None` where there is no assembler.
fn assemble_apart(
    ptx: &str,
    kernel: &str,
    arch: Arch,
    options: &CompileOptions,
) -> Result<Option<Vec<u8>>, TargetError> {
    let further = text_option(options);
    let asked = AssembleOptions { further, fuse: options.enable_fp_fusion, ..AssembleOptions::new(arch) };
    let refused = |error: AssembleError| TargetError::Internal(format!("kernel `{kernel}`: {error}"));
    if let Ok(ptxas) = ptxas() {
        return ptxas.assemble(ptx, &asked).map(|cubin| Some(cubin.bytes)).map_err(refused);
    }
    match library() {
        Ok(library) => library.assemble(ptx, &asked).map(|cubin| Some(cubin.bytes)).map_err(refused),
        Err(_) => Ok(None),
    }
}

/// Makes a stage that no launch needs.
pub(crate) fn derive(
    artifact: &Artifact,
    arch: Arch,
    options: &CompileOptions,
    name: &str,
) -> Result<Stage, TargetError> {
    let cubin = || match artifact.stage(driver::CUBIN) {
        Some(bytes) => Ok(bytes.to_vec()),
        None => {
            let ptx = String::from_utf8_lossy(artifact.stage(driver::PTX).unwrap_or_default());
            match (assemble_apart(&ptx, &artifact.name, arch, options)?, own_gpu(arch)) {
                (Some(cubin), _) => Ok(cubin),
                (None, Some(gpu)) => gpu.link(&ptx, &LinkOptions::default()),
                (None, None) => Err(no_assembler()),
            }
        }
    };
    if name == SASS {
        return Ok(Stage { name: SASS.into(), bytes: disassemble(&cubin()?)?.into_bytes(), text: true });
    }
    Ok(Stage { name: driver::CUBIN.into(), bytes: cubin()?, text: false })
}

/// The machine code as the device would run it; that of the driver's linker, which takes other registers, is none.
///
/// # Errors
/// When there is no assembler here.
pub(crate) fn machine_code(
    artifact: &Artifact,
    arch: Arch,
    options: &CompileOptions,
) -> Result<Vec<u8>, TargetError> {
    if let Some(bytes) = artifact.stage(driver::CUBIN) {
        return Ok(bytes.to_vec());
    }
    let Some(ptx) = artifact.stage(driver::PTX) else {
        return Err(TargetError::Missing("the kernel has no assembly".into()));
    };
    let made = assemble_apart(&String::from_utf8_lossy(ptx), &artifact.name, arch, options)?;
    made.ok_or_else(no_assembler)
}

fn no_assembler() -> TargetError {
    let reason = ptxas().err().map(|error| error.to_string()).unwrap_or_default();
    TargetError::Missing(format!("there is no assembler for PTX here: {reason}"))
}

fn disassemble(cubin: &[u8]) -> Result<String, TargetError> {
    let failed = |text: String| TargetError::Missing(format!("machine code cannot be shown: {text}"));
    let file =
        tempfile::Builder::new().suffix(".cubin").tempfile().map_err(|error| failed(error.to_string()))?;
    std::fs::write(file.path(), cubin).map_err(|error| failed(error.to_string()))?;
    let search = Search { named: None, ..search() };
    let mut tried = Vec::new();
    for (program, arguments) in DISASSEMBLERS {
        for path in search.programs(program).into_iter().filter(|path| path.is_file()) {
            match Command::new(&path).args(*arguments).arg(file.path()).output() {
                Ok(output) if output.status.success() => {
                    return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
                }
                Ok(output) => {
                    tried.push(format!("{}: {}", path.display(), String::from_utf8_lossy(&output.stderr)))
                }
                Err(error) => tried.push(format!("{}: {error}", path.display())),
            }
        }
    }
    if tried.is_empty() {
        tried.push("neither nvdisasm nor cuobjdump was found; `pip install nvidia-cuda-nvcc` or the toolkit brings one".into());
    }
    Err(failed(tried.join("; ")))
}
