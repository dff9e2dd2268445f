//! PyO3 glue of the Python package. No decisions.
//!
//! It turns Python objects into what the runtime takes, and results and errors into Python objects. Modules depend in
//! this order: `errors`, `devices`, `arguments`, `kernel` (data), `compile`, `eager` (kernels whose bodies Python
//! runs), `launch`; `tuning` and `tools` stand beside them. No panic passes the border.

mod allocator;
mod arguments;
mod compile;
mod devices;
mod eager;
mod errors;
mod kernel;
mod launch;
mod tools;
mod tuning;

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
    module.add_class::<kernel::function::JitFunction>()?;
    module.add_class::<kernel::compiled::CompiledKernel>()?;
    module.add_class::<kernel::source::KernelSource>()?;
    module.add_class::<kernel::report::Report>()?;
    module.add_class::<kernel::state::KernelState>()?;
    module.add_class::<compile::walk::Ttir>()?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(compiler_key, module)?)?;
    module.add_function(wrap_pyfunction!(tools::command::run_command, module)?)?;
    module.add_function(wrap_pyfunction!(tools::command::command_verbs, module)?)?;
    module.add_function(wrap_pyfunction!(compile::ahead_of_time::compile, module)?)?;
    module.add_function(wrap_pyfunction!(compile::ahead_of_time::compile_ir, module)?)?;
    module.add_function(wrap_pyfunction!(compile::c_sources::c_sources, module)?)?;
    module.add_function(wrap_pyfunction!(compile::c_sources::c_header, module)?)?;
    module.add_function(wrap_pyfunction!(compile::c_sources::c_link, module)?)?;
    module.add_function(wrap_pyfunction!(compile::walk::ttir, module)?)?;
    module.add_function(wrap_pyfunction!(compile::walk::parse_module, module)?)?;
    module.add_function(wrap_pyfunction!(arguments::specialize::specialize, module)?)?;
    module.add_function(wrap_pyfunction!(arguments::specialize::dtype_name, module)?)?;
    module.add_function(wrap_pyfunction!(arguments::descriptor::check_descriptor, module)?)?;
    module.add_function(wrap_pyfunction!(kernel::hooks::set_hooks, module)?)?;
    module.add_function(wrap_pyfunction!(kernel::listed::forget_kernels, module)?)?;
    module.add_function(wrap_pyfunction!(devices::knobs::knob_table, module)?)?;
    module.add_function(wrap_pyfunction!(tools::language::language_table, module)?)?;
    module.add_function(wrap_pyfunction!(devices::knobs::knob_get, module)?)?;
    module.add_function(wrap_pyfunction!(devices::knobs::knob_set, module)?)?;
    module.add_function(wrap_pyfunction!(devices::knobs::knob_reset, module)?)?;
    module.add_function(wrap_pyfunction!(devices::knobs::knob_overrides, module)?)?;
    module.add_function(wrap_pyfunction!(devices::knobs::knob_tool, module)?)?;
    module.add_function(wrap_pyfunction!(devices::knobs::refresh_knobs, module)?)?;
    module.add_function(wrap_pyfunction!(devices::targets::current_target, module)?)?;
    module.add_function(wrap_pyfunction!(devices::targets::backends, module)?)?;
    module.add_function(wrap_pyfunction!(devices::handles::device_count, module)?)?;
    module.add_function(wrap_pyfunction!(devices::handles::device_properties, module)?)?;
    module.add_function(wrap_pyfunction!(devices::handles::synchronize, module)?)?;
    module.add_function(wrap_pyfunction!(devices::handles::arrays, module)?)?;
    module.add_function(wrap_pyfunction!(devices::handles::current_device, module)?)?;
    module.add_function(wrap_pyfunction!(devices::handles::set_current_device, module)?)?;
    module.add_function(wrap_pyfunction!(devices::handles::current_stream, module)?)?;
    module.add_function(wrap_pyfunction!(devices::handles::load_binary, module)?)?;
    module.add_function(wrap_pyfunction!(tools::fixtures::check_fixture, module)?)?;
    module.add_function(wrap_pyfunction!(tools::fixtures::check_random_program, module)?)?;
    module.add_function(wrap_pyfunction!(tools::fixtures::check_functions, module)?)?;
    module.add_class::<eager::KernelValue>()?;
    module.add_class::<eager::BoundOperation>()?;
    module.add_class::<launch::interpreted::InterpretedLaunch>()?;
    module.add_function(wrap_pyfunction!(eager::call, module)?)?;
    module.add_function(wrap_pyfunction!(eager::assigned, module)?)?;
    module.add_function(wrap_pyfunction!(eager::is_running, module)?)?;
    module.add_function(wrap_pyfunction!(eager::enter_program, module)?)?;
    module.add_function(wrap_pyfunction!(eager::set_extensions, module)?)?;
    module.add_class::<devices::handles::Event>()?;
    module.add_class::<devices::handles::Buffer>()?;
    module.add_function(wrap_pyfunction!(devices::targets::default_options, module)?)?;
    module.add_function(wrap_pyfunction!(devices::targets::option_names, module)?)?;
    module.add_function(wrap_pyfunction!(tools::chart::line_chart, module)?)?;
    module.add_class::<tools::timing::Flush>()?;
    module.add_function(wrap_pyfunction!(tools::timing::host_bandwidth, module)?)?;
    module.add_class::<tuning::session::Tuning>()?;
    module.add_class::<tuning::session::Compiling>()?;
    module.add_function(wrap_pyfunction!(tuning::key::tuning_key, module)?)?;
    module.add_function(wrap_pyfunction!(tuning::session::tuning_is_kept, module)?)?;
    module.add_function(wrap_pyfunction!(tuning::source::source_hash, module)?)?;
    Ok(())
}
