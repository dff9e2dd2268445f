//! What a thread keeps of the kernels that it runs.

use crate::kernel::globals::PyGlobals;
use frontend::Scalar;
use frontend::typing::Ty;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::{Py, PyAny, PyResult};
use runtime::eager::Session;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Objects by address, with the bytes that stand for them. A reference is held, so that an address never means another
/// object.
pub(super) type Known = FxHashMap<usize, (Py<PyAny>, Box<[u8]>)>;

/// What a thread keeps.
pub(super) struct State {
    /// Tells values of this thread from those of others.
    pub(super) id: u64,
    pub(super) session: Session,
    /// Objects that were operands.
    pub(super) known: Known,
    /// The globals of the launches that run.
    pub(super) globals: Vec<Rc<PyGlobals>>,
    /// Dtype objects that were made for values.
    pub(super) dtypes: FxHashMap<Scalar, Py<PyAny>>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::new(State::new());
}

impl State {
    fn new() -> State {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        State {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            session: Session::default(),
            known: Known::default(),
            globals: Vec::new(),
            dtypes: FxHashMap::default(),
        }
    }

    /// The type of a value that is one block or scalar.
    pub(super) fn type_of(&self, form: u32) -> Option<Ty> {
        self.session.type_of(form)
    }
}

/// Works with what this thread keeps. What works inside must not run Python that may call operations.
pub(super) fn with<T>(work: impl FnOnce(&mut State) -> PyResult<T>) -> PyResult<T> {
    STATE.with(|state| match state.try_borrow_mut() {
        Ok(mut state) => work(&mut state),
        Err(_) => Err(PyRuntimeError::new_err(
            "an operation of the language was called while another one runs, such as by a handler of a signal",
        )),
    })
}
