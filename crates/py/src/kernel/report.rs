//! The cost report of a kernel, as Python sees it.

use ::inspect::{Request, Texts, html, inspect, terminal};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::{PyResult, pyclass, pymethods};
use runtime::compile::Kernel;
use std::collections::BTreeMap;

/// What each access, layout conversion and dot of a kernel costs, and what bounds it.
#[pyclass(module = "deuteron.compiler", name = "Report", frozen)]
pub(crate) struct Report {
    report: ::inspect::Report,
}

/// A report on a kernel.
pub(crate) fn report(
    kernel: &Kernel,
    grid: &[u32],
    args: BTreeMap<String, i64>,
    device: Option<String>,
) -> PyResult<Report> {
    let target = kernel.target().as_ref();
    let text = |name: &str| {
        let stage = kernel.stage(name).ok().filter(|stage| stage.text)?;
        Some(String::from_utf8_lossy(&stage.bytes).into_owned())
    };
    let missing =
        || PyValueError::new_err("the kernel in the cache was kept without its stages; compile it again");
    let surveyed = text(target.surveyed_stage()).ok_or_else(missing)?;
    let ttir = text("ttir");
    let names = kernel.stage_names().into_iter().filter(|name| *name != "source");
    let request = Request {
        target,
        options: &kernel.options,
        ttir: ttir.as_deref(),
        surveyed: &surveyed,
        artifact: Some(&kernel.artifact),
        texts: Texts::of(names, |name| kernel.stage(name).cloned()),
        args,
        grid: sizes(grid)?,
        device,
        read: &|path| std::fs::read_to_string(path).ok(),
    };
    inspect(&request).map(|report| Report { report }).map_err(PyValueError::new_err)
}

/// A grid with all three sizes.
fn sizes(grid: &[u32]) -> PyResult<Option<[u32; 3]>> {
    if grid.is_empty() {
        return Ok(None);
    }
    if grid.len() > 3 || grid.contains(&0) {
        return Err(PyValueError::new_err("a grid has one to three sizes, all of them at least 1"));
    }
    let size = |axis: usize| grid.get(axis).copied().unwrap_or(1);
    Ok(Some([size(0), size(1), size(2)]))
}

#[pymethods]
impl Report {
    /// The sentence that names the bottleneck.
    #[getter]
    fn verdict(&self) -> &str {
        &self.report.verdict
    }

    /// What it rests on.
    #[getter]
    fn evidence(&self) -> Vec<String> {
        self.report.evidence.clone()
    }

    /// Seconds at least, by what is limited; the tightest first.
    #[getter]
    fn bounds(&self) -> Vec<(String, f64)> {
        self.report.bounds.iter().map(|row| (row.what.clone(), row.seconds)).collect()
    }

    /// The report as one page for the browser.
    #[getter]
    fn html(&self) -> String {
        html::html(&self.report)
    }

    fn __str__(&self) -> String {
        terminal::terminal(&self.report)
    }

    fn __repr__(&self) -> String {
        format!("<report on {}: {}>", self.report.kernel, self.report.verdict)
    }
}
