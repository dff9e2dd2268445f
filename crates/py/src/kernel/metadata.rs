//! Everything that is known about a compiled kernel as a named tuple.

use crate::devices::options::{arch_object, option_object};
use pyo3::prelude::{Bound, PyAny, PyResult, Python};
use pyo3::types::{PyAnyMethods, PyDict, PyDictMethods, PyList};
use runtime::compile::Kernel;

/// A named tuple of everything that is known about a kernel, options included.
pub(crate) fn metadata<'py>(py: Python<'py>, kernel: &Kernel) -> PyResult<Bound<'py, PyAny>> {
    let facts = PyDict::new(py);
    facts.set_item("tmem_size", 0)?;
    let options = &kernel.options;
    // Of a GPU all warps of a launch, those that have roles beside the program's included: others launch by it.
    facts.set_item("num_warps", options.num_warps)?;
    for (name, value) in options.extra.iter().chain(&kernel.artifact.metadata) {
        facts.set_item(name, option_object(py, value))?;
    }
    for (name, value) in kernel.artifact.launch.named() {
        facts.set_item(name, option_object(py, &value))?;
    }
    let target = &kernel.facts;
    let arch = arch_object(py, &target.arch)?;
    let gpu_target = py.import("deuteron.backends.compiler")?.getattr("GPUTarget")?;
    facts.set_item("target", gpu_target.call1((&target.backend, &arch, target.warp_size))?)?;
    facts.set_item("cluster_dims", (options.num_ctas, 1, 1))?;
    facts.set_item("name", &kernel.artifact.name)?;
    facts.set_item("hash", kernel.hash.to_string())?;
    facts.set_item("num_stages", options.num_stages)?;
    facts.set_item("num_ctas", options.num_ctas)?;
    facts.set_item("enable_fp_fusion", options.enable_fp_fusion)?;
    facts.set_item("debug", options.debug)?;
    facts.set_item("sanitize_overflow", options.sanitize_overflow)?;
    facts.set_item("warp_size", target.warp_size)?;
    facts.set_item("arch", &arch)?;
    facts.set_item("backend_name", &target.backend)?;
    // Scripts divide by it.
    facts.set_item("shared", kernel.artifact.shared.max(1))?;
    facts.set_item("tensordesc_meta", PyList::empty(py))?;
    facts.set_item("triton_version", py.import("deuteron")?.getattr("__version__")?)?;
    let names = facts.keys();
    names.call_method0("sort")?;
    let class = py.import("collections")?.getattr("namedtuple")?.call1(("KernelMetadata", names))?;
    class.call((), Some(&facts))
}
