//! Tensors, devices and streams of torch, asked of its library and not of its Python classes.
//!
//! The library has a C interface that it keeps stable (`aoti_torch_…`, made for compiled models). It wants the address
//! of a tensor, which lies inside the Python object; where, is found once in a process and checked against what Python
//! says. Whatever cannot be had this way is asked in Python: the answers are the same, a microsecond later.

use frontend::DType;
use libloading::Library;
use pyo3::prelude::{Borrowed, Bound, PyAny, PyResult, Python};
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyAnyMethods, PyType};
use pyo3::{ffi, intern};
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use target::Extent;

/// Functions of the interface give 0 for success.
type Code = i32;
type Read<T> = unsafe extern "C" fn(*mut c_void, *mut T) -> Code;
/// How far the storage of a tensor goes: its bytes, and the elements in front of the tensor.
type Storage = [Read<i64>; 2];
type Number = unsafe extern "C" fn() -> i32;
type StreamOf = unsafe extern "C" fn(i32, *mut *mut c_void) -> Code;
type Profiling = unsafe extern "C" fn() -> bool;
type CurrentDevice = unsafe extern "C" fn(*mut i32) -> Code;

/// Element types by the names of the interface.
const DTYPES: &[(&str, DType)] = &[
    ("bool", DType::Int1),
    ("int8", DType::Int8),
    ("int16", DType::Int16),
    ("int32", DType::Int32),
    ("int64", DType::Int64),
    ("uint8", DType::UInt8),
    ("uint16", DType::UInt16),
    ("uint32", DType::UInt32),
    ("uint64", DType::UInt64),
    ("float16", DType::Fp16),
    ("bfloat16", DType::Bf16),
    ("float32", DType::Fp32),
    ("float64", DType::Fp64),
    ("float8_e5m2", DType::Fp8E5),
    ("float8_e5m2fnuz", DType::Fp8E5B16),
    ("float8_e4m3fn", DType::Fp8E4Nv),
    ("float8_e4m3fnuz", DType::Fp8E4B8),
];

/// What C++ calls the question whether a profiler records the thread. It belongs to no stable interface; where it is
/// missing, launches go as if there were no profiler.
const PROFILER_ENABLED: &[u8] = b"_ZN5torch8profiler4impl15profilerEnabledEv\0";

/// Numbers of element types are below this.
const MOST_DTYPES: usize = 64;

/// What is read of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tensor {
    pub(crate) address: u64,
    pub(crate) dtype: DType,
    /// The kind of its device by torch's numbers; see [`Shim::device_code`].
    pub(crate) device: i32,
}

/// The functions, and where a tensor lies in its Python object.
#[derive(Debug)]
pub(crate) struct Shim {
    library: Library,
    data: Read<*mut c_void>,
    dtype: Read<i32>,
    device: Read<i32>,
    storage: Option<Storage>,
    dtypes: [Option<DType>; MOST_DTYPES],
    offset: usize,
}

static SHIM: PyOnceLock<Option<Shim>> = PyOnceLock::new();
/// The types `torch.Tensor` and `torch.nn.Parameter`, if their instances can be read through the interface; else 0.
static PLAIN: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// Whether this is the type `torch.Tensor` or `torch.nn.Parameter`, and its instances can be read quickly. Other
/// subclasses may mean something else by their address, and are asked in Python.
#[inline]
pub(crate) fn is_plain(ty: *mut ffi::PyTypeObject) -> bool {
    PLAIN.iter().any(|plain| plain.load(Ordering::Relaxed) == ty as usize)
}

/// Finds out whether this tensor can be read through the interface; if it can, [`is_plain`] says so from now on.
#[cold]
pub(crate) fn learn(object: Borrowed<'_, '_, PyAny>, ty: &Bound<'_, PyType>) -> PyResult<bool> {
    let py = object.py();
    let modules = py.import("sys")?.getattr("modules")?;
    let Ok(torch) = modules.get_item("torch") else { return Ok(false) };
    let parameter = torch.getattr_opt("nn")?.map(|nn| nn.getattr_opt("Parameter")).transpose()?.flatten();
    let types = [torch.getattr_opt("Tensor")?, parameter];
    let which = types.iter().position(|plain| plain.as_ref().is_some_and(|plain| plain.is(ty)));
    let Some(which) = which else { return Ok(false) };
    let found = SHIM.get_or_init(py, || Shim::find(object)).is_some();
    if found {
        // The type is never freed: torch's modules hold it, and so does the list of known types.
        PLAIN[which].store(ty.as_ptr() as usize, Ordering::Relaxed);
    }
    Ok(found)
}

/// Reads a tensor for which [`is_plain`] holds; `None` where it has no memory, or elements that kernels do not know.
#[inline]
pub(crate) fn read(object: Borrowed<'_, '_, PyAny>) -> Option<Tensor> {
    let shim = SHIM.get(object.py())?.as_ref()?;
    let (mut data, mut dtype, mut device) = (std::ptr::null_mut(), -1, -1);
    // SAFETY: the object is a `torch.Tensor`, which holds a tensor at this place; each function has a place for its
    // answer.
    let codes = unsafe {
        let tensor = object.as_ptr().byte_add(shim.offset).cast::<c_void>();
        [
            (shim.data)(tensor, &raw mut data),
            (shim.dtype)(tensor, &raw mut dtype),
            (shim.device)(tensor, &raw mut device),
        ]
    };
    if codes != [0; 3] {
        return None;
    }
    let dtype = shim.dtypes.get(usize::try_from(dtype).ok()?).copied().flatten()?;
    Some(Tensor { address: data as u64, dtype, device })
}

/// The storage of a tensor for which [`is_plain`] holds, as far as the interface tells.
pub(crate) fn storage(object: Borrowed<'_, '_, PyAny>) -> Option<Extent> {
    let shim = SHIM.get(object.py())?.as_ref()?;
    let [size, offset] = shim.storage?;
    let tensor = read(object)?;
    let (mut bytes, mut before) = (-1, -1);
    // SAFETY: the object is a `torch.Tensor`, which holds a tensor at this place; each function has a place for its
    // answer.
    let codes = unsafe {
        let tensor = object.as_ptr().byte_add(shim.offset).cast::<c_void>();
        [size(tensor, &raw mut bytes), offset(tensor, &raw mut before)]
    };
    let before = u64::try_from(before).ok()?.checked_mul(u64::from(tensor.dtype.bits().div_ceil(8)))?;
    let base = tensor.address.checked_sub(before)?;
    (codes == [0; 2]).then_some(Extent { base, len: u64::try_from(bytes).ok()?, writable: true })
}

/// The number that torch has for a kind of device, if it is loaded.
pub(crate) fn device_code(py: Python<'_>, name: &str) -> Option<i32> {
    SHIM.get(py)?.as_ref()?.number(&format!("aoti_torch_device_type_{name}"))
}

impl Shim {
    /// The interface with the place found by this tensor.
    fn find(tensor: Borrowed<'_, '_, PyAny>) -> Option<Shim> {
        let library = loaded("libtorch_cpu.so")?;
        // SAFETY: these are the types of the interface's header, the same since it was made.
        let (data, dtype, device) = unsafe {
            (
                *library.get::<Read<*mut c_void>>(b"aoti_torch_get_data_ptr\0").ok()?,
                *library.get::<Read<i32>>(b"aoti_torch_get_dtype\0").ok()?,
                *library.get::<Read<i32>>(b"aoti_torch_get_device_type\0").ok()?,
            )
        };
        let storage =
            [b"aoti_torch_get_storage_size\0".as_slice(), b"aoti_torch_get_storage_offset\0"].map(|name| {
                // SAFETY: as above.
                unsafe { library.get::<Read<i64>>(name) }.ok().map(|found| *found)
            });
        let storage = storage[0].zip(storage[1]).map(|(size, offset)| [size, offset]);
        let offset = place(tensor)?;
        let mut shim = Shim { library, data, dtype, device, storage, dtypes: [None; MOST_DTYPES], offset };
        for (name, dtype) in DTYPES {
            let number = shim.number(&format!("aoti_torch_dtype_{name}"));
            if let Some(slot) = number.and_then(|number| shim.dtypes.get_mut(usize::try_from(number).ok()?)) {
                *slot = Some(*dtype);
            }
        }
        Some(shim)
    }

    /// What a function without arguments answers.
    fn number(&self, symbol: &str) -> Option<i32> {
        let symbol = format!("{symbol}\0");
        // SAFETY: the interface has such functions alone under these names.
        let function = *unsafe { self.library.get::<Number>(symbol.as_bytes()) }.ok()?;
        // SAFETY: it reads a constant.
        Some(unsafe { function() })
    }
}

/// Where the tensor lies in its Python object: behind the head, perhaps with a flag before it. Python tells what is
/// there.
fn place(tensor: Borrowed<'_, '_, PyAny>) -> Option<usize> {
    let py = tensor.py();
    let wanted: usize = tensor.getattr(intern!(py, "_cdata")).ok()?.extract().ok()?;
    let size: usize = tensor.get_type().getattr("__basicsize__").ok()?.extract().ok()?;
    let head = size_of::<ffi::PyObject>();
    [head, head + size_of::<usize>()].into_iter().filter(|offset| offset + size_of::<usize>() <= size).find(
        |offset| {
            // SAFETY: the object has at least so many bytes.
            let word = unsafe { tensor.as_ptr().byte_add(*offset).cast::<usize>().read() };
            word == wanted && word != 0
        },
    )
}

/// A library that the process has loaded already.
#[cfg(target_os = "linux")]
fn loaded(name: &str) -> Option<Library> {
    use libloading::os::unix;
    /// Of `dlfcn.h`: find, but do not load.
    const RTLD_NOLOAD: i32 = 4;
    // SAFETY: nothing is loaded, so nothing is run.
    unsafe { unix::Library::open(Some(name), unix::RTLD_NOW | RTLD_NOLOAD) }.ok().map(Library::from)
}

/// Other systems have other names for the library; there, tensors are asked in Python.
#[cfg(not(target_os = "linux"))]
fn loaded(_name: &str) -> Option<Library> {
    None
}

/// How torch says which device and which stream are the current ones.
#[derive(Debug)]
pub(crate) struct Streams {
    /// Keeps the functions where they are.
    _library: Option<Library>,
    device: Option<CurrentDevice>,
    stream: Option<StreamOf>,
    profiling: Option<Profiling>,
    /// The same in Python.
    slow: Option<(pyo3::Py<PyAny>, pyo3::Py<PyAny>)>,
}

static STREAMS: PyOnceLock<Option<Streams>> = PyOnceLock::new();

/// What torch has for such devices; `None` where it is not loaded or not made for them.
#[inline]
fn streams(py: Python<'_>, arrays: &str) -> PyResult<Option<&'static Streams>> {
    match STREAMS.get(py) {
        Some(streams) => Ok(streams.as_ref()),
        None if !is_imported(py) => Ok(None),
        None => Ok(STREAMS.get_or_try_init(py, || Streams::find(py, arrays))?.as_ref()),
    }
}

/// The current device and its current stream, as torch has them; `None` where torch is not loaded or not made for such
/// devices.
#[inline]
pub(crate) fn current(py: Python<'_>, arrays: &str) -> PyResult<Option<(u32, u64)>> {
    let Some(streams) = streams(py, arrays)? else { return Ok(None) };
    let device = streams.device(py)?;
    Ok(Some((device.unsigned_abs(), streams.stream(py, device)?)))
}

/// The current stream of a device, as torch has it.
#[inline]
pub(crate) fn stream_of(py: Python<'_>, arrays: &str, device: u32) -> PyResult<Option<u64>> {
    let streams = streams(py, arrays)?;
    streams.map(|streams| streams.stream(py, device as i32)).transpose()
}

/// Whether torch's profiler records this thread.
#[inline]
pub(crate) fn is_profiling(py: Python<'_>) -> bool {
    let asked = STREAMS.get(py).and_then(Option::as_ref).and_then(|streams| streams.profiling);
    // SAFETY: the function takes nothing and reads what belongs to the thread.
    asked.is_some_and(|is_profiling| unsafe { is_profiling() })
}

/// Whether torch was imported. A half-imported one counts as not there.
fn is_imported(py: Python<'_>) -> bool {
    let Ok(modules) = py.import("sys").and_then(|sys| sys.getattr("modules")) else { return false };
    modules.get_item("torch").is_ok_and(|torch| torch.hasattr("Tensor").unwrap_or(false))
}

impl Streams {
    fn find(py: Python<'_>, arrays: &str) -> PyResult<Option<Streams>> {
        let native = py.import("torch")?.getattr("_C")?;
        let slow = (
            native.getattr_opt(format!("_{arrays}_getDevice"))?,
            native.getattr_opt(format!("_{arrays}_getCurrentRawStream"))?,
        );
        let (Some(device), Some(stream)) = slow else { return Ok(None) };
        let slow = Some((device.unbind(), stream.unbind()));
        let library = loaded(&format!("libtorch_{arrays}.so"));
        let symbol = format!("aoti_torch_get_current_{arrays}_stream\0");
        // SAFETY: these are the types of the interface's header.
        let stream = library
            .as_ref()
            .and_then(|library| unsafe { library.get::<StreamOf>(symbol.as_bytes()).ok() })
            .map(|found| *found);
        let host = loaded("libtorch_cpu.so");
        let device = host
            .as_ref()
            // SAFETY: as above.
            .and_then(|library| unsafe {
                library.get::<CurrentDevice>(b"aoti_torch_get_current_device_index\0").ok()
            })
            .map(|found| *found);
        let profiling = host
            .as_ref()
            // SAFETY: the symbol is that of `bool torch::profiler::impl::profilerEnabled()`, its types in its name.
            .and_then(|library| unsafe { library.get::<Profiling>(PROFILER_ENABLED).ok() })
            .map(|found| *found);
        Ok(Some(Streams { _library: library, device, stream, profiling, slow }))
    }

    #[inline]
    fn device(&self, py: Python<'_>) -> PyResult<i32> {
        let mut device = -1;
        // SAFETY: the function has a place for its answer.
        let known =
            self.device.is_some_and(|current| unsafe { current(&raw mut device) } == 0 && device >= 0);
        if known { Ok(device) } else { self.ask_device(py) }
    }

    #[inline]
    fn stream(&self, py: Python<'_>, device: i32) -> PyResult<u64> {
        let mut stream = std::ptr::null_mut();
        // SAFETY: as above.
        let known = self.stream.is_some_and(|current| unsafe { current(device, &raw mut stream) } == 0);
        if known { Ok(stream as u64) } else { self.ask_stream(py, device) }
    }

    #[cold]
    fn ask_device(&self, py: Python<'_>) -> PyResult<i32> {
        self.slow.as_ref().map_or(Ok(0), |(device, _)| device.call0(py)?.extract(py))
    }

    #[cold]
    fn ask_stream(&self, py: Python<'_>, device: i32) -> PyResult<u64> {
        self.slow.as_ref().map_or(Ok(0), |(_, stream)| stream.call1(py, (device,))?.extract(py))
    }
}
