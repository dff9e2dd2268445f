//! Charts for Python.

use chart::{Labels, Line, Scales};
use pyo3::prelude::{FromPyObject, pyfunction};

/// A line as Python gives it, by attributes.
#[derive(FromPyObject)]
pub(crate) struct PyLine {
    name: String,
    xs: Vec<f64>,
    ys: Vec<Option<f64>>,
    band: Vec<(Option<f64>, Option<f64>)>,
    colour: Option<String>,
    style: Option<String>,
}

impl From<PyLine> for Line {
    fn from(line: PyLine) -> Line {
        let number = |value: Option<f64>| value.unwrap_or(f64::NAN);
        Line {
            name: line.name,
            xs: line.xs,
            ys: line.ys.into_iter().map(number).collect(),
            band: line.band.into_iter().map(|(low, high)| (number(low), number(high))).collect(),
            colour: line.colour,
            style: line.style,
        }
    }
}

/// An SVG document with these lines.
#[pyfunction]
#[pyo3(signature = (lines, title="", xlabel="", ylabel="", x_log=false, y_log=false, x_ticks=Vec::new()))]
#[allow(clippy::too_many_arguments)] // The keywords of the Python function.
pub(crate) fn line_chart(
    lines: Vec<PyLine>,
    title: &str,
    xlabel: &str,
    ylabel: &str,
    x_log: bool,
    y_log: bool,
    x_ticks: Vec<(f64, String)>,
) -> String {
    let lines: Vec<Line> = lines.into_iter().map(Line::from).collect();
    let labels = Labels { title: title.into(), x: xlabel.into(), y: ylabel.into(), x_ticks };
    chart::line_chart(&lines, &labels, Scales { x_log, y_log })
}
