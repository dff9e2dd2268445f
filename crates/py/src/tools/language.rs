//! The names of the language for documentation, stubs, and the test that compares them with the Python package.

use pyo3::prelude::pyfunction;

/// One name: path, parameters, whether it is a method of blocks, types of its variants.
type Row = (String, String, bool, Option<&'static str>);

/// Every name of the language that can be called.
#[pyfunction]
pub(crate) fn language_table() -> Vec<Row> {
    let entries = frontend::reference::entries().into_iter();
    entries.map(|entry| (entry.path, entry.params, entry.is_method, entry.types)).collect()
}
