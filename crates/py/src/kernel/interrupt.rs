//! Signals that come while a launch runs: Ctrl-C and alarms end it, as they end anything else in Python.

use pyo3::prelude::{PyErr, Python};
use std::cell::Cell;

thread_local! {
    /// What the handler of a signal raised during the launch of this thread.
    static RAISED: Cell<Option<PyErr>> = const { Cell::new(None) };
}

/// Runs the handlers of signals that have come; whether one of them raised. Only the main thread runs handlers.
pub(crate) fn is_pending() -> bool {
    let raised = Python::attach(|py| py.check_signals()).err();
    let is_raised = raised.is_some();
    RAISED.set(raised);
    is_raised
}

/// What ended the launch before, if it was a signal.
#[cold]
pub(crate) fn take() -> Option<PyErr> {
    RAISED.take()
}
