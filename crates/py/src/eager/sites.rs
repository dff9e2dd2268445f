//! Lines of kernels as numbers: cheap to ask for at every access, and a text when one is reported.

use pyo3::ffi;
use pyo3::prelude::{Bound, Py, PyAny, PyAnyMethods, Python};
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// Code objects and lines of them. A reference to the code is held, so that an address never means another one.
#[derive(Default)]
struct Sites {
    numbers: FxHashMap<(usize, i32), u32>,
    lines: Vec<(Py<PyAny>, i32)>,
    /// Whether the code of an address belongs to this package, and the code.
    owned: FxHashMap<usize, (Py<PyAny>, bool)>,
}

thread_local! {
    static SITES: RefCell<Sites> = RefCell::new(Sites::default());
}

/// The line of the innermost function outside this package.
pub(super) fn here(py: Python<'_>) -> Option<u32> {
    SITES.with_borrow_mut(|sites| sites.here(py))
}

/// A line as `file:line`.
pub(super) fn place(py: Python<'_>, number: u32) -> Option<String> {
    let (code, line) = SITES.with_borrow(|sites| {
        let (code, line) = sites.lines.get(number as usize)?;
        Some((code.clone_ref(py), *line))
    })?;
    let file: String = code.bind(py).getattr("co_filename").ok()?.extract().ok()?;
    Some(format!("{file}:{line}"))
}

/// Forgets all lines.
pub(super) fn forget() {
    SITES.take();
}

impl Sites {
    fn here(&mut self, py: Python<'_>) -> Option<u32> {
        // SAFETY: the interpreter's lock is held, and the frame that runs, if there is one, is alive.
        let mut frame = unsafe { Bound::from_borrowed_ptr_or_opt(py, ffi::PyEval_GetFrame().cast()) }?;
        loop {
            // SAFETY: `frame` is a frame, since the interpreter gave it as one; its code is a new reference.
            let code: Bound<'_, PyAny> = unsafe {
                Bound::from_owned_ptr_or_opt(py, ffi::PyFrame_GetCode(frame.as_ptr().cast()).cast())
            }?;
            if !self.is_own(&code) {
                // SAFETY: as above.
                let line = unsafe { ffi::PyFrame_GetLineNumber(frame.as_ptr().cast()) };
                return Some(self.number(code, line));
            }
            frame = frame.getattr("f_back").ok().filter(|frame| !frame.is_none())?;
        }
    }

    fn is_own(&mut self, code: &Bound<'_, PyAny>) -> bool {
        let found = self.owned.entry(code.as_ptr() as usize).or_insert_with(|| {
            let asked = code.py().import("deuteron.runtime.interpreter");
            let owned = asked.and_then(|module| module.call_method1("is_own_code", (code,)));
            let owned = owned.and_then(|owned| owned.extract()).unwrap_or(false);
            (code.clone().unbind(), owned)
        });
        found.1
    }

    fn number(&mut self, code: Bound<'_, PyAny>, line: i32) -> u32 {
        let lines = &mut self.lines;
        *self.numbers.entry((code.as_ptr() as usize, line)).or_insert_with(|| {
            lines.push((code.unbind(), line));
            lines.len() as u32 - 1
        })
    }
}
