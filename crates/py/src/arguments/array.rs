//! Where the elements of an array lie: NumPy, `__array_interface__`, DLPack.

use super::dtype;
use super::kind::DEVICE_INTERFACE;
use crate::devices::place::Place;
use frontend::{DType, Scalar};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::{Borrowed, Bound, Py, PyAny, PyErr, PyResult};
use pyo3::types::{PyAnyMethods, PyStringMethods};
use pyo3::{ffi, intern};
use runtime::specialize::Argument;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU8, Ordering};
use target::Extent;

/// A pointer to elements of a dtype object.
#[inline]
pub(crate) fn pointer(ty: Borrowed<'_, '_, PyAny>, address: u64) -> PyResult<Argument> {
    match dtype::scalar_of(ty)? {
        Some(Scalar::Number(dtype)) => Ok(Argument::Pointer { dtype, address }),
        _ => Err(PyTypeError::new_err(format!("holds elements of type {}, which kernels do not know", &*ty))),
    }
}

/// The head of NumPy's array object, the same since NumPy 1.0 and part of its binary interface.
#[repr(C)]
struct ArrayHead {
    object: ffi::PyObject,
    data: *mut c_void,
    nd: c_int,
    dimensions: *mut isize,
    strides: *mut isize,
    base: *mut ffi::PyObject,
    descr: *mut ffi::PyObject,
}

/// Whether [`ArrayHead`] was found right in this process: 0 not tried, 1 right, 2 wrong.
static HEAD: AtomicU8 = AtomicU8::new(0);

/// An array of NumPy. Its object is read directly, after that was checked once against what Python says.
#[inline]
pub(crate) fn numpy(object: Borrowed<'_, '_, PyAny>, place: &Place) -> PyResult<Argument> {
    if !place.takes_host() {
        return Err(place.wrong_device("cpu"));
    }
    if HEAD.load(Ordering::Relaxed) == 1 {
        // SAFETY: the object is an `ndarray`, whose layout was checked in this process.
        let (address, descr) = unsafe { head(object) };
        // SAFETY: an array holds a reference to its dtype as long as it lives.
        return pointer(unsafe { Borrowed::from_ptr(object.py(), descr) }, address);
    }
    let interface = object.getattr(intern!(object.py(), "__array_interface__"))?;
    let address: u64 = interface.get_item("data")?.get_item(0)?.extract()?;
    let ty = object.getattr(intern!(object.py(), "dtype"))?;
    // SAFETY: the object is an `ndarray`, at least as large as its head in every version of NumPy.
    let seen = unsafe { head(object) };
    let right = seen == (address, ty.as_ptr());
    HEAD.store(if right { 1 } else { 2 }, Ordering::Relaxed);
    pointer(ty.as_borrowed(), address)
}

/// # Safety
/// The object must be a NumPy array.
unsafe fn head(object: Borrowed<'_, '_, PyAny>) -> (u64, *mut ffi::PyObject) {
    let head = object.as_ptr().cast::<ArrayHead>();
    // SAFETY: as the caller promises.
    unsafe { ((*head).data as u64, (*head).descr) }
}

/// The memory of the array that owns the elements of this one; `None` where it must be asked in Python.
pub(crate) fn owner(array: Borrowed<'_, '_, PyAny>) -> Option<Extent> {
    if HEAD.load(Ordering::Relaxed) != 1 {
        return None;
    }
    let mut head = array.as_ptr().cast::<ArrayHead>();
    // SAFETY: the object is an `ndarray`, whose layout was checked in this process; what it is a view of lives as long
    // as it does.
    unsafe {
        let ty = ffi::Py_TYPE(array.as_ptr());
        while !(*head).base.is_null() && ffi::Py_TYPE((*head).base) == ty {
            head = (*head).base.cast();
        }
        let dims = usize::try_from((*head).nd).ok()?;
        let (mut below, mut above, mut item) = (0_isize, 0_isize, None::<isize>);
        for dim in 0..dims {
            let (size, stride) = (*(*head).dimensions.add(dim), *(*head).strides.add(dim));
            if size == 0 {
                return Some(Extent { base: (*head).data as u64, len: 0, writable: true });
            }
            let step = (size - 1).checked_mul(stride)?;
            below = below.checked_add(step.min(0))?;
            above = above.checked_add(step.max(0))?;
            if stride != 0 {
                item = Some(item.map_or(stride.abs(), |item| item.min(stride.abs())));
            }
        }
        // Elements are no longer than the distance between neighbours; without one, longer than those of kernels.
        let len = above.checked_sub(below)?.checked_add(item.unwrap_or(LONGEST))?;
        let base = ((*head).data as u64).wrapping_add_signed(below as i64);
        Some(Extent { base, len: len.cast_unsigned() as u64, writable: true })
    }
}

/// Bytes of the longest elements.
const LONGEST: isize = 8;

/// An object with `__array_interface__`.
pub(crate) fn array_interface(object: Borrowed<'_, '_, PyAny>, place: &Place) -> PyResult<Argument> {
    if !place.takes_host() {
        return Err(place.wrong_device("cpu"));
    }
    described(&object.getattr(intern!(object.py(), "__array_interface__"))?)
}

/// An object that shows memory of a device.
pub(crate) fn device_interface(object: Borrowed<'_, '_, PyAny>, place: &Place) -> PyResult<Argument> {
    if !place.takes_devices() {
        return Err(place.wrong_device("a device"));
    }
    described(&object.getattr(DEVICE_INTERFACE)?)
}

/// The pointer that a dictionary of the array interface describes.
fn described(interface: &Bound<'_, PyAny>) -> PyResult<Argument> {
    let address: u64 = interface.get_item("data")?.get_item(0)?.extract()?;
    let text = interface.get_item("typestr")?.str()?;
    let dtype = of_typestr(&text.to_cow()?).ok_or_else(|| {
        PyTypeError::new_err(format!("holds elements of type {text}, which kernels do not know"))
    })?;
    Ok(Argument::Pointer { dtype, address })
}

/// The type of `<f4`, `|u1`, …; of this machine's byte order only.
fn of_typestr(text: &str) -> Option<DType> {
    let foreign = if cfg!(target_endian = "little") { '>' } else { '<' };
    let (order, rest) = text.split_at_checked(1)?;
    let (kind, size) = rest.split_at_checked(1)?;
    if order.starts_with(foreign) {
        return None;
    }
    let name = match kind {
        "b" => "bool",
        "i" => return DType::int(size.parse::<u32>().ok()? * 8, true),
        "u" => return DType::int(size.parse::<u32>().ok()? * 8, false),
        "f" => ["float16", "float32", "float64"].into_iter().nth(match size {
            "2" => 0,
            "4" => 1,
            "8" => 2,
            _ => return None,
        })?,
        _ => return None,
    };
    dtype::from_text(name)
}

/// The part of DLPack's tensor that is read here.
#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// DLPack's numbers of the host's memory, plain and pinned.
const DL_HOST: [i32; 2] = [1, 3];
/// DLPack's numbers of memory that a device other than the host can reach: its own, the host's pinned, managed.
const DL_DEVICE: [i32; 3] = [2, 3, 13];

/// An object with `__dlpack__`; the capsule it gives stays in `keep`.
pub(crate) fn dlpack(
    object: Borrowed<'_, '_, PyAny>,
    place: &Place,
    keep: &mut Vec<Py<PyAny>>,
) -> PyResult<Argument> {
    let capsule = object.call_method0(intern!(object.py(), "__dlpack__"))?;
    // SAFETY: the object is alive; a capsule of another name is refused by Python.
    let tensor =
        unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), c"dltensor".as_ptr()) }.cast::<DlTensor>();
    if tensor.is_null() {
        return Err(PyErr::take(object.py())
            .unwrap_or_else(|| PyRuntimeError::new_err("gave an empty DLPack capsule")));
    }
    // SAFETY: a capsule of that name holds a `DLManagedTensor`, which begins with the tensor, as long as it lives.
    let tensor = unsafe { &*tensor };
    let is_reached = place.takes_host() && DL_HOST.contains(&tensor.device_type)
        || place.takes_devices() && DL_DEVICE.contains(&tensor.device_type);
    if !is_reached {
        let is_on = match tensor.device_type {
            1 => "cpu".to_owned(),
            other => format!("DLPack device {other}"),
        };
        return Err(place.wrong_device(&is_on));
    }
    let dtype = of_dlpack(tensor.code, tensor.bits, tensor.lanes).ok_or_else(|| {
        PyTypeError::new_err(format!(
            "holds elements of DLPack type (code {}, {} bits, {} lanes), which kernels do not know",
            tensor.code, tensor.bits, tensor.lanes
        ))
    })?;
    let address = tensor.data as u64 + tensor.byte_offset;
    keep.push(capsule.unbind());
    Ok(Argument::Pointer { dtype, address })
}

fn of_dlpack(code: u8, bits: u8, lanes: u16) -> Option<DType> {
    if lanes != 1 {
        return None;
    }
    match (code, bits) {
        (0, bits) => DType::int(u32::from(bits), true),
        (1, bits) => DType::int(u32::from(bits), false),
        (2, 16) => Some(DType::Fp16),
        (2, 32) => Some(DType::Fp32),
        (2, 64) => Some(DType::Fp64),
        (4, 16) => Some(DType::Bf16),
        (6, 8) => Some(DType::Int1),
        _ => None,
    }
}
