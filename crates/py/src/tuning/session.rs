//! Tuning for Python: sessions, and configurations that compile on several threads.

use crate::devices::active::Active;
use crate::errors::guard;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::{Bound, Py, PyAny, PyErr, PyResult, Python, pyclass, pyfunction, pymethods};
use pyo3::types::{PyAnyMethods, PyBool, PyFloat, PyInt, PyStringMethods};
use runtime::compile::{named_file, overriding};
use runtime::knobs::Settings;
use runtime::options::{IR_OVERRIDE, set_by_knobs};
use runtime::tuning::{Next, Outcome, Results, Search, Session, Setting, Strategy, Subject, Times, Workers};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long the wait for a compile goes on before signals are looked at.
const LOOK_AT_SIGNALS: Duration = Duration::from_millis(20);

/// Whether results are kept on disk.
#[pyfunction]
pub(crate) fn tuning_is_kept(asked: bool, has_own_clock: bool) -> bool {
    runtime::tuning::keeps(asked, has_own_clock)
}

/// A value of a configuration.
fn setting(value: &Bound<'_, PyAny>) -> PyResult<Setting> {
    let is_number = (value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>())
        && !value.is_instance_of::<PyBool>();
    Ok(match value.extract::<f64>() {
        Ok(number) if is_number => Setting::Number(number),
        _ => Setting::Text(value.str()?.to_cow()?.into_owned()),
    })
}

/// Names and values of one configuration.
type Configuration<'py> = Vec<(String, Bound<'py, PyAny>)>;

/// The text of a value that a name has in a configuration or a launch. A stage that is given counts by what is in its
/// file.
fn text_of(
    name: &str,
    value: &Bound<'_, PyAny>,
    usual: fn(&Bound<'_, PyAny>) -> PyResult<String>,
) -> PyResult<String> {
    match value.extract::<String>() {
        Ok(path) if name == IR_OVERRIDE && !path.is_empty() => Ok(named_file(&path)),
        _ => usual(value),
    }
}

/// As `str` has it.
fn plain(value: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(value.str()?.to_cow()?.into_owned())
}

/// As `repr` has it; an array by its dtype, since its elements are no part of a key.
fn quoted(value: &Bound<'_, PyAny>) -> PyResult<String> {
    match value.getattr_opt("dtype")? {
        Some(dtype) => plain(&dtype),
        None => Ok(value.repr()?.to_cow()?.into_owned()),
    }
}

/// The texts by which configurations are known; further ones of the same text get a number.
fn texts(configurations: &[Configuration<'_>]) -> PyResult<Vec<String>> {
    let mut texts: Vec<String> = Vec::new();
    for configuration in configurations {
        let part = |(name, value): &(String, Bound<'_, PyAny>)| {
            Ok(format!("{name}: {}", text_of(name, value, plain)?))
        };
        let parts = configuration.iter().map(part);
        let text = parts.collect::<PyResult<Vec<String>>>()?.join(", ");
        let same = texts.iter().filter(|other| **other == text).count();
        texts.push(if same == 0 { text } else { format!("{text} #{}", same + 1) });
    }
    Ok(texts)
}

/// What the target in use adds to a subject.
fn describe_place(py: Python<'_>, subject: &mut Subject, settings: &Settings) -> PyResult<()> {
    let active = Active::get(py)?;
    let ordinal = active.place.site(py, None)?.ordinal as usize;
    let properties =
        active.context.target.devices().into_iter().nth(ordinal).map(|device| device.properties());
    let missing = || PyRuntimeError::new_err(format!("device {ordinal} is not there any more"));
    let properties = properties.ok_or_else(missing)?;
    let facts = active.context.target.facts();
    let unit = if facts.backend == "cpu" { "cores" } else { "SMs" };
    subject.device = format!("{}, {} {unit}", properties.name, properties.numbers["multiprocessor_count"]);
    subject.machine = format!("{} {}\n{}", facts.backend, facts.arch, active.context.target.machine());
    subject.version = env!("CARGO_PKG_VERSION").to_owned();
    subject.options.push(("settings".to_owned(), format!("{:?}", settings.code)));
    subject.options.extend(set_by_knobs(active.context.target.as_ref()));
    if let Some(digest) = overriding(&subject.kernel, settings) {
        subject.options.push(("overrides".to_owned(), digest.to_string()));
    }
    Ok(())
}

/// One tuning.
#[pyclass(module = "deuteron._core", frozen)]
pub(crate) struct Tuning(Mutex<Session>);

impl Tuning {
    fn session(&self) -> MutexGuard<'_, Session> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Tuning {
    /// Goes on from what is on disk, if results are to be kept there.
    ///
    /// `subject` is `(kernel, source, values, dtypes, options, method)`; `configurations` are lists of names and
    /// values.
    #[new]
    #[pyo3(signature = (subject, configurations, *, search, budget, seed, budget_ms, keep))]
    #[allow(clippy::too_many_arguments)] // Keywords, of one caller.
    fn new(
        py: Python<'_>,
        subject: PySubject<'_>,
        configurations: Vec<Configuration<'_>>,
        search: &str,
        budget: Option<usize>,
        seed: u64,
        budget_ms: f64,
        keep: bool,
    ) -> PyResult<Tuning> {
        let strategy = Strategy::parse(search).map_err(PyValueError::new_err)?;
        let settings = Settings::current();
        let (kernel, source, values, dtypes, options, method) = subject;
        let option = |(name, value): (String, Bound<'_, PyAny>)| {
            let text = text_of(&name, &value, quoted)?;
            Ok((name, text))
        };
        let options = options.into_iter().map(option).collect::<PyResult<Vec<_>>>()?;
        let mut subject = Subject { kernel, source, values, dtypes, options, method, ..Subject::default() };
        describe_place(py, &mut subject, &settings)?;
        let texts = texts(&configurations)?;
        let point = |configuration: &Configuration<'_>| {
            configuration.iter().map(|(name, value)| Ok((name.clone(), setting(value)?))).collect()
        };
        let points = configurations.iter().map(point).collect::<PyResult<Vec<_>>>()?;
        let results = if keep { Results::of(&settings) } else { None };
        let search = Search::new(strategy, &points, budget, seed);
        Ok(Tuning(Mutex::new(Session::new(subject, texts, search, results, budget_ms))))
    }

    /// What to try next; empty when the search is over.
    fn next(&self) -> Vec<usize> {
        self.session().next()
    }

    /// Begins to time a configuration by runs.
    fn begin(&self, number: usize) {
        self.session().begin(number);
    }

    /// How many more runs are wanted.
    fn wanted(&self, number: usize) -> usize {
        self.session().wanted(number)
    }

    /// Adds times of runs, and how long taking them took, in milliseconds.
    fn add(&self, number: usize, times: Vec<f64>, spent_ms: f64) {
        self.session().add(number, &times, spent_ms);
    }

    /// Takes the runs as the outcome.
    fn end(&self, py: Python<'_>, number: usize) {
        py.detach(|| self.session().end(number));
    }

    /// Sets the times that a benchmark of the user's own gave.
    fn timed(&self, py: Python<'_>, number: usize, median: f64, low: f64, high: f64) {
        let times = Times { median, low, high };
        let outcome = if times.are_sound() {
            Outcome::Timed(times)
        } else {
            Outcome::Failed(format!("the benchmark gave {median} for it"))
        };
        py.detach(|| self.session().set(number, outcome));
    }

    /// Says that a configuration cannot run.
    fn failed(&self, py: Python<'_>, number: usize, reason: String) {
        py.detach(|| self.session().set(number, Outcome::Failed(reason)));
    }

    /// The fastest configuration that runs.
    fn best(&self) -> Option<usize> {
        self.session().best()
    }

    /// Median, 20 % and 80 % quantile of a configuration; infinite for one that cannot run, `None` for one that was not
    /// tried.
    fn times(&self, number: usize) -> Option<(f64, f64, f64)> {
        let session = self.session();
        let times = session.outcome(number)?.times();
        Some(times.map_or((f64::INFINITY, f64::INFINITY, f64::INFINITY), |t| (t.median, t.low, t.high)))
    }

    /// The last round: how many turns, and who runs how often in each.
    fn finals(&self) -> (usize, Vec<(usize, usize)>) {
        let finals = self.session().finals();
        (finals.turns, finals.runs)
    }

    /// Whether anything was measured, and not only read.
    #[getter]
    fn has_measured(&self) -> bool {
        self.session().has_measured()
    }

    /// One line about how far it is.
    fn progress(&self) -> String {
        self.session().progress()
    }

    /// The configurations that cannot run, with their reasons.
    fn failures(&self) -> Vec<(usize, String)> {
        self.session().failures().into_iter().map(|(number, reason)| (number, reason.to_owned())).collect()
    }

    /// The same as lines of text.
    fn failures_text(&self) -> String {
        self.session().failures_text()
    }

    /// Forgets what is known, here and on disk.
    fn forget(&self, py: Python<'_>) {
        py.detach(|| self.session().forget());
    }
}

/// Kernel, source, values, dtypes, options, method.
type PySubject<'py> =
    (String, String, Vec<(String, String)>, Vec<String>, Vec<(String, Bound<'py, PyAny>)>, String);

/// Python functions that run on threads of their own; they are meant to compile, which they do without Python's lock.
#[pyclass(module = "deuteron._core", frozen)]
pub(crate) struct Compiling(Mutex<Option<Workers<PyResult<()>>>>);

#[pymethods]
impl Compiling {
    /// Starts the functions, which work with this device.
    #[new]
    fn new(py: Python<'_>, jobs: Vec<Py<PyAny>>) -> PyResult<Compiling> {
        let active = Active::get(py)?;
        let ordinal = active.place.site(py, None)?.ordinal;
        let target = active.context.target.clone();
        let job = |job: Py<PyAny>| -> Box<dyn FnOnce() -> PyResult<()> + Send> {
            Box::new(move || Python::attach(|py| guard(|| job.call0(py).map(drop))))
        };
        let jobs = jobs.into_iter().map(job).collect();
        // A thread without the device says so when it loads a kernel.
        let prepare = move || drop(target.set_current_device(ordinal));
        Ok(Compiling(Mutex::new(Some(py.detach(|| Workers::start(jobs, prepare))))))
    }

    /// Waits for the next that is done: its number, and what it raised. `None` when all are done.
    fn next(&self, py: Python<'_>) -> PyResult<Option<(usize, Option<PyErr>)>> {
        loop {
            let next = py.detach(|| {
                let workers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                workers.as_ref().map_or(Next::Finished, |workers| workers.next(LOOK_AT_SIGNALS))
            });
            match next {
                Next::Done(number, result) => return Ok(Some((number, result.err()))),
                Next::Waiting => py.check_signals()?,
                Next::Finished => return Ok(None),
            }
        }
    }

    /// Starts no further one, and waits for those that run.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }
}

impl Drop for Compiling {
    fn drop(&mut self) {
        // The threads need Python's lock to finish.
        Python::attach(|py| self.close(py));
    }
}
