//! `kernel[grid]`: an object whose call goes straight into the launch, by Python's vectorcall protocol.
//!
//! PyO3 classes are called with a tuple and a dictionary, which would have to be made for every launch. So this type is
//! made by hand: arguments arrive as a slice of pointers, and nothing is allocated on the way. The memory of the last
//! launcher that went away serves the next one.

use super::bind::Call;
use super::{predict, run};
use crate::errors::guard;
use crate::kernel::function::JitFunction;
use crate::kernel::grid::Grid;
use pyo3::ffi;
use pyo3::prelude::{Borrowed, Bound, Py, PyAny, PyErr, PyResult, Python};
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use smallvec::SmallVec;
use std::ffi::{c_int, c_void};
use std::mem::offset_of;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A kernel with its grid.
#[repr(C)]
struct Launcher {
    object: ffi::PyObject,
    vectorcall: ffi::vectorcallfunc,
    /// A reference to the [`JitFunction`].
    function: *mut ffi::PyObject,
    /// A reference to a callable grid; null where the grid is `fixed`.
    grid: *mut ffi::PyObject,
    fixed: target::Grid,
}

/// Makes `kernel[grid]`.
#[inline]
pub(crate) fn bind<'py>(
    function: &Bound<'py, JitFunction>,
    grid: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = function.py();
    let (grid, fixed) = match Grid::read(grid)? {
        Grid::Fixed(fixed) => (null_mut(), fixed),
        Grid::Callable(callable) => (callable.into_ptr(), [0; 3]),
        Grid::None | Grid::Ahead(_) => (null_mut(), [0; 3]),
    };
    let ty = launcher_type(py)?.as_ptr().cast::<ffi::PyTypeObject>();
    // SAFETY: the type is ready, and its instances have the layout of `Launcher`. The collector may see a new one from
    // the begin: its references are null. All other fields are set before anybody else sees it. A spare one is shown to
    // the collector again when it is whole.
    unsafe {
        let spare = SPARE.swap(null_mut(), Ordering::Acquire);
        let object = if spare.is_null() {
            ffi::PyType_GenericAlloc(ty, 0)
        } else {
            ffi::PyObject_Init(spare.cast(), ty)
        };
        if object.is_null() {
            ffi::Py_XDECREF(grid);
            return Err(PyErr::fetch(py));
        }
        let launcher = object.cast::<Launcher>();
        (&raw mut (*launcher).vectorcall).write(call);
        (*launcher).function = function.clone().into_ptr();
        (*launcher).grid = grid;
        (*launcher).fixed = fixed;
        if !spare.is_null() {
            ffi::PyObject_GC_Track(object.cast());
        }
        Ok(Bound::from_owned_ptr(py, object))
    }
}

/// Memory of a launcher that nobody holds any more, or null. It is no object: the collector does not know it, and
/// nothing in it is a reference.
static SPARE: AtomicPtr<Launcher> = AtomicPtr::new(null_mut());

/// Calls a launcher.
unsafe extern "C" fn call(
    callable: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    nargsf: usize,
    kwnames: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: Python calls this while this thread holds its lock.
    let py = unsafe { Python::assume_attached() };
    let result = guard(|| {
        // SAFETY: Python hands over what vectorcall promises: `callable` is an instance of our type, `args` has as many
        // pointers to live objects as there are positional arguments and names.
        unsafe { launch_with(py, callable.cast::<Launcher>(), args, nargsf, kwnames) }
    });
    match result {
        Ok(object) => object.into_ptr(),
        Err(error) => {
            error.restore(py);
            null_mut()
        }
    }
}

/// # Safety
/// `launcher` is an instance of our type; `args`, `nargsf` and `kwnames` are those of a vectorcall.
unsafe fn launch_with<'py>(
    py: Python<'py>,
    launcher: *mut Launcher,
    args: *const *mut ffi::PyObject,
    nargsf: usize,
    kwnames: *mut ffi::PyObject,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: `kwnames` is null or a tuple of strings; the launcher's fields are as `bind` has set them.
    unsafe {
        let named = if kwnames.is_null() { 0 } else { ffi::PyTuple_Size(kwnames) };
        let total = ffi::PyVectorcall_NARGS(nargsf) as usize + named as usize;
        let values = if total == 0 { &[][..] } else { std::slice::from_raw_parts(args, total) };
        let function = Borrowed::<PyAny>::from_ptr(py, (*launcher).function);
        let function = function.cast_unchecked::<JitFunction>();
        let grid = match Borrowed::<PyAny>::from_ptr_or_opt(py, (*launcher).grid) {
            Some(callable) => Grid::Callable(callable.to_owned()),
            None => {
                let fixed = (*launcher).fixed;
                if let Some(launched) = predict::launch(py, function.get(), fixed, values, kwnames)? {
                    return Ok(launched);
                }
                Grid::Fixed(fixed)
            }
        };
        let names: SmallVec<[*mut ffi::PyObject; 16]> =
            (0..named).map(|at| ffi::PyTuple_GetItem(kwnames, at)).collect();
        run::run(&function, grid, &Call::new(values, &names, kwnames))
    }
}

unsafe extern "C" fn traverse(object: *mut ffi::PyObject, visit: ffi::visitproc, arg: *mut c_void) -> c_int {
    let launcher = object.cast::<Launcher>();
    // SAFETY: Python's collector hands over a live instance; its fields are null or references that it holds.
    unsafe {
        let ty = ffi::Py_TYPE(object).cast::<ffi::PyObject>();
        for held in [(*launcher).function, (*launcher).grid, ty] {
            if !held.is_null() {
                let stop = visit(held, arg);
                if stop != 0 {
                    return stop;
                }
            }
        }
    }
    0
}

unsafe extern "C" fn dealloc(object: *mut ffi::PyObject) {
    let launcher = object.cast::<Launcher>();
    // SAFETY: nobody holds the instance any more. Its references go, then its memory, then its reference to the type,
    // in the order that Python asks of a heap type.
    unsafe {
        ffi::PyObject_GC_UnTrack(object.cast());
        ffi::Py_XDECREF((*launcher).function);
        ffi::Py_XDECREF((*launcher).grid);
        let ty = ffi::Py_TYPE(object);
        let before = SPARE.swap(launcher, Ordering::AcqRel);
        if !before.is_null() {
            ffi::PyObject_GC_Del(before.cast());
        }
        ffi::Py_DECREF(ty.cast());
    }
}

/// The type, made once.
fn launcher_type<'py>(py: Python<'py>) -> PyResult<&'py Bound<'py, PyType>> {
    static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    Ok(TYPE.get_or_try_init(py, || make_type(py))?.bind(py))
}

fn make_type(py: Python<'_>) -> PyResult<Py<PyType>> {
    // Python keeps a pointer to the member table, so it lives as long as the process.
    let members = Box::leak(Box::new([
        ffi::PyMemberDef {
            name: c"__vectorcalloffset__".as_ptr(),
            type_code: ffi::Py_T_PYSSIZET,
            offset: offset_of!(Launcher, vectorcall) as ffi::Py_ssize_t,
            flags: ffi::Py_READONLY,
            doc: std::ptr::null(),
        },
        ffi::PyMemberDef::default(),
    ]));
    let slot = |slot: c_int, pfunc: *mut c_void| ffi::PyType_Slot { slot, pfunc };
    let mut slots = [
        slot(ffi::Py_tp_call, ffi::PyVectorcall_Call as *mut c_void),
        slot(ffi::Py_tp_dealloc, dealloc as *mut c_void),
        slot(ffi::Py_tp_traverse, traverse as *mut c_void),
        slot(ffi::Py_tp_members, members.as_mut_ptr().cast()),
        slot(0, null_mut()),
    ];
    let flags = ffi::Py_TPFLAGS_DEFAULT | ffi::Py_TPFLAGS_HAVE_GC | ffi::Py_TPFLAGS_HAVE_VECTORCALL;
    let mut spec = ffi::PyType_Spec {
        name: c"deuteron._core.Launcher".as_ptr(),
        basicsize: size_of::<Launcher>() as c_int,
        itemsize: 0,
        flags: flags as u32,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the description is complete, ends with a zero slot, and its strings and members live for ever.
    let ty = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyType_FromSpec(&raw mut spec)) }?;
    Ok(ty.cast_into::<PyType>()?.unbind())
}
