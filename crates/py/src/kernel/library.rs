//! A kernel for the host's cores as two shared libraries: its code, and a function that launches it without a runtime.
//!
//! torch puts them into its packages (AOTInductor). `deuteron.runtime._library` builds them with the compiler of the
//! system, when they are asked for by name; stages that are listed need no such compiler. The kernel is the one that
//! every launch takes, as nobody looks at the arguments.

use super::source::KernelSource;
use crate::errors::OrRaise;
use frontend::ArgSpec;
use pyo3::exceptions::PyNotImplementedError;
use pyo3::prelude::{Bound, PyAny, PyResult, Python};
use pyo3::types::{PyAnyMethods, PyBytes};
use runtime::compile::Kernel;
use target::{Artifact, ParamKind};

/// The library with the code of the kernel.
const CODE: &str = "so";
/// The library with the function that launches it.
const LAUNCHER: &str = "launcher.so";
/// The module that builds them.
const BUILDER: &str = "deuteron.runtime._library";

/// Whether a kernel has a library of this name.
pub(crate) fn is_one(kernel: &Kernel, name: &str) -> bool {
    matches!(name, CODE | LAUNCHER) && kernel.artifact.launch.host().is_some()
}

/// The bytes of a library of a kernel.
pub(crate) fn library<'py>(
    py: Python<'py>,
    kernel: &Kernel,
    source: &KernelSource,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let artifact = &py.detach(|| kernel.for_any_launch()).or_raise(py)?.artifact;
    let builder = py.import(BUILDER)?;
    if name == CODE {
        let object = &artifact.stages.last().expect("a compiled kernel has code").bytes;
        return builder.call_method1("code", (&artifact.name, PyBytes::new(py, object)));
    }
    let facts = artifact.launch.host().expect("a kernel with libraries runs on the host's cores");
    // A program that prints calls a function that the library has not.
    let text = artifact.stage("ttir").map(String::from_utf8_lossy).ok_or_else(|| {
        PyNotImplementedError::new_err(format!(
            "kernel `{}` was kept without its ttir (TRITON_STORE_BINARY_ONLY), which says whether it prints: compile it \
             again (TRITON_ALWAYS_COMPILE=1)",
            artifact.name
        ))
    })?;
    let prints = text.contains("tt.print");
    let memory = (artifact.shared, facts.kept_bytes);
    let args = passed(artifact, source)?;
    builder.call_method1("launcher", (&artifact.name, args, memory, facts.features.clone(), prints))
}

/// What each parameter of the source is at run time: an address (`None`), a number of so many bytes, or nothing (0).
fn passed(artifact: &Artifact, source: &KernelSource) -> PyResult<Vec<Option<u32>>> {
    let refuse = |what: &str| {
        let name = &artifact.name;
        PyNotImplementedError::new_err(format!(
            "kernel `{name}` takes {what}, which its library cannot be handed"
        ))
    };
    let mut params = artifact.params.iter();
    let passed = source.args.iter().map(|arg| match arg {
        ArgSpec::Constexpr(_) => Ok(Some(0)),
        ArgSpec::Runtime { .. } => match params.next().map(|param| param.kind) {
            Some(ParamKind::Pointer) => Ok(None),
            Some(ParamKind::Int(bits)) => Ok(Some(bits.div_ceil(8))),
            Some(ParamKind::Float(bits @ (32 | 64))) => Ok(Some(bits / 8)),
            _ => Err(refuse("a float of 16 bits")),
        },
        ArgSpec::Descriptor(_) => Err(refuse("a tensor descriptor")),
        ArgSpec::Tuple { .. } => Err(refuse("a tuple")),
    });
    passed.collect()
}
