//! Kernels of fixtures, compiled for every architecture.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use target::{Artifact, CompileOptions, TargetError};
use ttir::testing::{Argument, Engine, Ran, check_file, isolate, order_writes};

/// Compiles a verified module with one kernel for an architecture.
pub(crate) fn compile(
    module: ir::Module,
    arch: &str,
    options: &CompileOptions,
) -> Result<Artifact, TargetError> {
    let target = amd::target().for_arch(arch)?.expect("there are several architectures");
    target.compile(module, options, &mut ())
}

/// Whether this machine has an LLVM that makes code for these GPUs. Where it has none there is nothing to be tested.
pub(crate) fn has_llvm() -> bool {
    let tools = amd::target().tools();
    let found = tools.iter().any(|tool| tool.name == "LLVM" && tool.found.is_ok());
    if !found {
        eprintln!("nothing is compiled: {tools:?}");
    }
    found
}

/// A kernel of a file, through the passes of ttir.
pub(crate) struct Kernel {
    pub(crate) name: String,
    pub(crate) module: ir::Module,
}

/// Collects what would run.
#[derive(Default)]
struct Collect {
    kernels: Vec<Kernel>,
    seen: BTreeSet<String>,
}

impl Engine for Collect {
    fn name(&self) -> &str {
        "collector"
    }

    fn run(&mut self, module: &ir::Module, kernel: &str, _: [u32; 3], _: &[Argument]) -> Result<Ran, String> {
        let mut module = module.clone();
        isolate(&mut module, kernel);
        let name = ir::text::print(&module, ir::text::PrintOptions::PLAIN);
        if self.seen.insert(name) {
            ir::pass::run(&mut module, ttir::passes::pipeline(), ir::pass::Verify::Each, &mut ())
                .map_err(|errors| format!("{errors:?}"))?;
            order_writes(&mut module);
            self.kernels.push(Kernel { name: kernel.to_owned(), module });
        }
        Err("nothing is run".into())
    }
}

/// The kernels of a file of fixtures.
pub(crate) fn kernels(path: &Path) -> Vec<Kernel> {
    let text = std::fs::read_to_string(path).expect("the file is there");
    let mut collect = Collect::default();
    check_file(&text, &mut collect);
    collect.kernels
}

/// The files of fixtures that run.
pub(crate) fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/run");
    let files = std::fs::read_dir(folder).expect("the folder is there");
    let mut paths: Vec<_> = files.map(|entry| entry.expect("a file").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "ttir"));
    paths.sort();
    paths
}
