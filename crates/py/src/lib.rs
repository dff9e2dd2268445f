//! PyO3 glue of the Python package. No decisions.
//!
//! It turns Python objects into what the runtime takes, and results and errors into Python objects. The launch path
//! ([`launcher`], `launch`, `bind`, `argument`) is written for speed: a launch of a compiled kernel allocates next to nothing
//! and runs no Python code but what reads an argument's address and dtype. No panic passes the border.

mod active;
mod again;
mod ahead;
mod allocator;
mod argument;
mod bind;
mod chart;
mod command;
mod compiled;
mod constexpr;
mod descriptor;
mod device;
mod dtype;
mod errors;
mod fixtures;
mod function;
mod globals;
mod hooks;
mod inspect;
mod launch;
mod launcher;
mod memory;
mod params;
mod place;
mod settings;
mod timing;
mod torch;
mod tuning;
mod tuning_source;
mod value;
mod variant;

use pyo3::prelude::{Bound, PyModule, PyResult, pyfunction, pymodule};
use pyo3::types::PyModuleMethods;
use pyo3::wrap_pyfunction;

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

/// The version of the compiler.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// A text that changes whenever the compiler does.
#[pyfunction]
fn compiler_key() -> &'static str {
    runtime::compiler()
}

/// The native part of the package.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    allocator::keep_memory();
    module.add_class::<function::JitFunction>()?;
    module.add_class::<compiled::CompiledKernel>()?;
    module.add_class::<compiled::KernelSource>()?;
    module.add_class::<inspect::Report>()?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(compiler_key, module)?)?;
    module.add_function(wrap_pyfunction!(command::run_command, module)?)?;
    module.add_function(wrap_pyfunction!(command::command_verbs, module)?)?;
    module.add_function(wrap_pyfunction!(ahead::compile, module)?)?;
    module.add_function(wrap_pyfunction!(ahead::compile_ir, module)?)?;
    module.add_function(wrap_pyfunction!(ahead::specialize, module)?)?;
    module.add_function(wrap_pyfunction!(ahead::dtype_name, module)?)?;
    module.add_function(wrap_pyfunction!(descriptor::check_descriptor, module)?)?;
    module.add_function(wrap_pyfunction!(hooks::set_hooks, module)?)?;
    module.add_function(wrap_pyfunction!(settings::knob_table, module)?)?;
    module.add_function(wrap_pyfunction!(settings::knob_get, module)?)?;
    module.add_function(wrap_pyfunction!(settings::knob_set, module)?)?;
    module.add_function(wrap_pyfunction!(settings::knob_reset, module)?)?;
    module.add_function(wrap_pyfunction!(settings::knob_overrides, module)?)?;
    module.add_function(wrap_pyfunction!(settings::knob_tool, module)?)?;
    module.add_function(wrap_pyfunction!(settings::refresh_knobs, module)?)?;
    module.add_function(wrap_pyfunction!(settings::current_target, module)?)?;
    module.add_function(wrap_pyfunction!(settings::backends, module)?)?;
    module.add_function(wrap_pyfunction!(device::device_count, module)?)?;
    module.add_function(wrap_pyfunction!(device::device_properties, module)?)?;
    module.add_function(wrap_pyfunction!(device::synchronize, module)?)?;
    module.add_function(wrap_pyfunction!(device::arrays, module)?)?;
    module.add_function(wrap_pyfunction!(device::current_device, module)?)?;
    module.add_function(wrap_pyfunction!(device::set_current_device, module)?)?;
    module.add_function(wrap_pyfunction!(device::current_stream, module)?)?;
    module.add_function(wrap_pyfunction!(device::load_binary, module)?)?;
    module.add_function(wrap_pyfunction!(fixtures::check_fixture, module)?)?;
    module.add_function(wrap_pyfunction!(fixtures::check_random_program, module)?)?;
    module.add_function(wrap_pyfunction!(fixtures::check_functions, module)?)?;
    module.add_class::<device::Event>()?;
    module.add_class::<device::Buffer>()?;
    module.add_function(wrap_pyfunction!(settings::default_options, module)?)?;
    module.add_function(wrap_pyfunction!(settings::option_names, module)?)?;
    module.add_function(wrap_pyfunction!(chart::line_chart, module)?)?;
    module.add_class::<timing::Flush>()?;
    module.add_function(wrap_pyfunction!(timing::host_bandwidth, module)?)?;
    module.add_class::<tuning::Tuning>()?;
    module.add_class::<tuning::Compiling>()?;
    module.add_function(wrap_pyfunction!(tuning::tuning_is_kept, module)?)?;
    module.add_function(wrap_pyfunction!(tuning_source::source_hash, module)?)?;
    Ok(())
}
