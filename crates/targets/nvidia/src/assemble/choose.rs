//! Which assembler makes machine code here, and what is made of a kernel when somebody asks.
//!
//! For the devices that are here a compile ends with PTX: the driver assembles it when it is loaded, in this process,
//! and keeps the machine code. (Its linker, which would hand the machine code out, makes relocatable code, in which
//! ptxas 12.8 and 13.0 and the driver 580 take twice the registers for wide blocks.) For other devices a `ptxas` that
//! is found is used, else the library nvJitLink; where there is none, a compile ends with PTX, too.

use crate::assemble::again::{Program, Taken};
use crate::assemble::{AssembleError, AssembleOptions, Assembler, Cubin, NotFound, NvJitLink, Ptxas, Search};
use crate::driver::{self, Gpu, LinkOptions};
use crate::knobs::{NEWER_ASSEMBLER, PROGRAM_VARIABLES, knob};
use crate::options::option;
use crate::ptx::Effort;
use crate::stage;
use ptx_isa::Arch;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use target::knobs::FoundTool;
use target::{Artifact, CompileOptions, Stage, TargetError, Tool};

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

/// The environment of Python that the running program belongs to: a virtual one by the name that it was called by,
/// since its program is a link to that of another environment.
fn own_environment() -> Option<PathBuf> {
    let called = std::env::args_os().next().map(PathBuf::from);
    called.as_deref().and_then(virtual_environment).or_else(|| {
        let program = std::env::current_exe().ok()?;
        let by_program = program.parent().and_then(Path::parent).map(Path::to_owned);
        by_program.filter(|folder| folder.join("lib").is_dir())
    })
}

/// The virtual environment that a program belongs to, by its path or by its name alone.
fn virtual_environment(called: &Path) -> Option<PathBuf> {
    let is_name = called.parent().is_none_or(|folder| folder.as_os_str().is_empty());
    let program = if is_name {
        let folders = std::env::var_os("PATH")?;
        std::env::split_paths(&folders).map(|folder| folder.join(called)).find(|program| program.is_file())?
    } else {
        called.to_owned()
    };
    let folder = program.parent()?.parent()?;
    folder.join("pyvenv.cfg").is_file().then(|| folder.to_owned())
}

/// A `ptxas` that is found for an architecture, looked for once for each program that somebody names.
fn ptxas(arch: Arch) -> Result<Ptxas, AssembleError> {
    type Found = Result<Ptxas, AssembleError>;
    static FOUND: Mutex<BTreeMap<Option<PathBuf>, Found>> = Mutex::new(BTreeMap::new());
    let search = search();
    let name = search.assembler(arch);
    let named = search.named.get(name).cloned();
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    found.entry(named).or_insert_with(|| Ptxas::find_as(&search, name)).clone()
}

/// The program that a knob names or that is found in its place.
///
/// # Errors
/// Where it was looked for in vain, or that it does not say its release.
pub(crate) fn find_tool(knob: &str) -> Result<FoundTool, TargetError> {
    let search = search();
    let name = match PROGRAM_VARIABLES.iter().find(|(name, _)| name.replace('-', "_") == knob) {
        Some((name, _)) if *name == NEWER_ASSEMBLER && !search.named.contains_key(name) => "ptxas",
        Some((name, _)) => name,
        None => return Err(TargetError::Missing(format!("there is no program `{knob}`"))),
    };
    let candidates = search.programs(name);
    let found = candidates.iter().filter(|path| path.is_file()).find_map(|path| Some((path, release(path)?)));
    let Some((path, version)) = found else {
        return Err(TargetError::Missing(format!(
            "Cannot find {name}: {}",
            NotFound { what: name, looked: candidates }
        )));
    };
    Ok(FoundTool { path: path.display().to_string(), version })
}

/// What a program says behind the word `release`.
fn release(path: &Path) -> Option<String> {
    let output = Command::new(path).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let number = text.split("release ").nth(1)?.split([',', ' ', '\n']).next()?;
    Some(number.to_owned())
}

/// The library nvJitLink, looked for once.
fn library() -> Result<&'static NvJitLink, AssembleError> {
    static LIBRARY: OnceLock<Result<NvJitLink, AssembleError>> = OnceLock::new();
    LIBRARY.get_or_init(|| NvJitLink::find(&search())).as_ref().map_err(Clone::clone)
}

/// The assembler that is used for an architecture, for the key of compiled kernels. A start from the cache asks for it,
/// so nothing is run for it: a program is recognised by its file.
pub(crate) fn identity(arch: Arch) -> String {
    if let (Some(_), Ok(driver)) = (own_gpu(arch), driver::driver()) {
        return format!("driver {}", driver.version());
    }
    let search = search();
    let programs = search.programs(search.assembler(arch)).into_iter();
    let found = programs
        .filter_map(|path| std::fs::metadata(&path).ok().filter(|data| data.is_file()).zip(Some(path)));
    let Some((data, path)) = found.into_iter().next() else { return "none or nvJitLink".to_owned() };
    let time = data.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    format!("{} {} {}", path.display(), data.len(), time.unwrap_or_default().as_nanos())
}

/// The programs and libraries that make and show machine code, and where they are.
pub(crate) fn tools(arch: Arch) -> Vec<Tool> {
    let text = |error: &AssembleError| error.to_string();
    let ptxas = ptxas(arch).map(|ptxas| format!("{} from {}", ptxas.version(), ptxas.path().display()));
    let library = library().map(|library| library.version());
    let search = search();
    let shown = |(program, _): &(&'static str, &[&str])| {
        let found = search.programs(program).into_iter().find(|path| path.is_file());
        let found = found.map(|path| path.display().to_string());
        Tool {
            name: program,
            // The places are those of the assembler.
            found: found.ok_or_else(|| NotFound { what: program, looked: Vec::new() }.to_string()),
        }
    };
    let makers = [
        Tool { name: "ptxas", found: ptxas.map_err(|error| text(&error)) },
        Tool { name: "nvJitLink", found: library.map_err(|error| text(&error)) },
    ];
    makers.into_iter().chain(DISASSEMBLERS.iter().map(shown)).collect()
}

/// Further options of the assembler: those of the launch, else those of the knob.
fn further(options: &CompileOptions) -> Vec<String> {
    let text =
        gpu::text(options, option::PTX_OPTIONS).or_else(|| gpu::text(options, knob::ASSEMBLER_OPTIONS));
    text.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// Whether the options ask for something that the driver's own assembler does not do.
pub(crate) fn asks_for_more(options: &CompileOptions) -> bool {
    let flags = [knob::NO_ASSEMBLER_OPTIMIZATION, knob::ASSEMBLER_LOG];
    !further(options).is_empty() || flags.iter().any(|name| options.flag(name))
}

/// The level that an artifact says; the full one where it says none.
fn level_of(artifact: &Artifact) -> u32 {
    let known = artifact.launch.device().and_then(|facts| facts.assembler_level);
    known.unwrap_or_else(|| Effort::Full.level())
}

/// The program of an artifact.
fn program_of(artifact: &Artifact, arch: Arch) -> Option<Program> {
    Program::of(artifact.launch.device()?, artifact.shared, level_of(artifact), arch.number.into())
}

/// Makes machine code; `None` where there is no assembler, or where the driver is the one that should do it.
///
/// # Errors
/// What the assembler says; that there is none for what the options ask of it.
pub(crate) fn assemble(
    ptx: &str,
    kernel: &str,
    arch: Arch,
    options: &CompileOptions,
    effort: Effort,
    program: Option<&Program>,
) -> Result<Option<Cubin>, TargetError> {
    if own_gpu(arch).is_some() && !asks_for_more(options) {
        return Ok(None);
    }
    let made = assemble_apart(ptx, kernel, arch, options, (effort.level(), program))?;
    if made.is_none() && asks_for_more(options) {
        return Err(no_assembler(arch));
    }
    Ok(made)
}

/// Looks whether the assembler takes a text that nothing else would give to it: at level 0, and, as that needs more
/// registers, at the level of a launch where it is refused there.
///
/// # Errors
/// What the assembler says; that there is none.
pub(crate) fn check(ptx: &str, kernel: &str, arch: Arch, effort: Effort) -> Result<(), TargetError> {
    let ptxas = ptxas(arch).map_err(|_| no_assembler(arch))?;
    let at = |optimization: u32| {
        let asked = AssembleOptions { optimization, line_info: false, ..AssembleOptions::new(arch) };
        ptxas.assemble(ptx, &asked)
    };
    let made = at(0).or_else(|_| at(effort.level()));
    made.map(drop).map_err(|error| TargetError::Internal(format!("kernel `{kernel}`: {error}")))
}

/// Makes machine code outside a driver; `None` where there is no assembler.
fn assemble_apart(
    ptx: &str,
    kernel: &str,
    arch: Arch,
    options: &CompileOptions,
    (level, program): (u32, Option<&Program>),
) -> Result<Option<Cubin>, TargetError> {
    let asked = AssembleOptions {
        further: further(options),
        fuse: options.enable_fp_fusion,
        line_info: !options.flag(knob::NO_LINES),
        optimization: if options.flag(knob::NO_ASSEMBLER_OPTIMIZATION) { 0 } else { level },
        ..AssembleOptions::new(arch)
    };
    let refused = |error: AssembleError| match &asked.further[..] {
        [] => TargetError::Internal(format!("kernel `{kernel}`: {error}")),
        further => TargetError::Compile {
            message: format!("kernel `{kernel}`, with the options `{}` of ptxas: {error}", further.join(" ")),
            location: None,
        },
    };
    // Who says how to assemble gets what comes of that.
    let program = program.filter(|_| asked.further.is_empty() && asked.optimization == level);
    let taken = |cubin: &Cubin| match cubin.usage[..] {
        [(_, usage)] => Some(Taken { registers: usage.registers, stack: usage.stack }),
        _ => None,
    };
    let best = |assembler: &dyn Assembler| {
        let first = assembler.assemble(ptx, &asked).map_err(refused)?;
        let again = |text: &str| assembler.assemble(text, &asked).ok();
        Ok(Some(match program {
            Some(program) => program.best(ptx, first, taken, again),
            None => first,
        }))
    };
    if let Ok(ptxas) = ptxas(arch) {
        return best(&ptxas);
    }
    library().map_or(Ok(None), |library| best(library))
}

/// Makes a stage that no launch needs.
pub(crate) fn derive(
    artifact: &Artifact,
    arch: Arch,
    options: &CompileOptions,
    name: &str,
) -> Result<Stage, TargetError> {
    let cubin = || match artifact.stage(stage::CUBIN) {
        Some(bytes) => Ok(bytes.to_vec()),
        None => {
            let ptx = String::from_utf8_lossy(artifact.stage(stage::PTX).unwrap_or_default());
            let program = program_of(artifact, arch);
            let how = (level_of(artifact), program.as_ref());
            match (assemble_apart(&ptx, &artifact.name, arch, options, how)?, own_gpu(arch)) {
                (Some(cubin), _) => Ok(cubin.bytes),
                (None, Some(gpu)) => gpu.link(&ptx, &LinkOptions::default()),
                (None, None) => Err(no_assembler(arch)),
            }
        }
    };
    if name == stage::SASS {
        return Ok(Stage {
            name: stage::SASS.into(),
            bytes: disassemble(&cubin()?)?.into_bytes(),
            text: true,
        });
    }
    Ok(Stage { name: stage::CUBIN.into(), bytes: cubin()?, text: false })
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
    if let Some(bytes) = artifact.stage(stage::CUBIN) {
        return Ok(bytes.to_vec());
    }
    let Some(ptx) = artifact.stage(stage::PTX) else {
        return Err(TargetError::Missing("the kernel has no assembly".into()));
    };
    let program = program_of(artifact, arch);
    let how = (level_of(artifact), program.as_ref());
    let made = assemble_apart(&String::from_utf8_lossy(ptx), &artifact.name, arch, options, how)?;
    made.map(|cubin| cubin.bytes).ok_or_else(|| no_assembler(arch))
}

fn no_assembler(arch: Arch) -> TargetError {
    let reason = ptxas(arch).err().map(|error| error.to_string()).unwrap_or_default();
    TargetError::Missing(format!("there is no assembler for PTX here: {reason}"))
}

fn disassemble(cubin: &[u8]) -> Result<String, TargetError> {
    let failed = |text: String| TargetError::Missing(format!("machine code cannot be shown: {text}"));
    let file =
        tempfile::Builder::new().suffix(".cubin").tempfile().map_err(|error| failed(error.to_string()))?;
    std::fs::write(file.path(), cubin).map_err(|error| failed(error.to_string()))?;
    let search = search();
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
        tried.push("neither nvdisasm nor cuobjdump was found; `pip install nvidia-cuda-nvdisasm` or the toolkit brings one".into());
    }
    Err(failed(tried.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::virtual_environment;

    #[test]
    fn a_virtual_environment_is_known_by_the_path_of_its_program() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let program = folder.path().join("bin/python");
        std::fs::create_dir_all(folder.path().join("bin")).expect("a folder");
        assert_eq!(virtual_environment(&program), None);
        std::fs::write(folder.path().join("pyvenv.cfg"), "").expect("a file");
        assert_eq!(virtual_environment(&program).as_deref(), Some(folder.path()));
        assert_eq!(virtual_environment("no-such-program-on-the-path".as_ref()), None);
    }
}
