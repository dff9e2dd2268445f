//! Devices for Python: properties, memory, events, and loading what was compiled before.

use super::active::Active;
use crate::errors::{OrRaise, to_py};
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::prelude::{Bound, PyResult, Python, pyclass, pyfunction, pymethods};
use pyo3::types::{PyAnyMethods, PyBytes, PyDict};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use target::{Artifact, Device, DeviceFacts, HostFacts, LaunchFacts, LoadedKernel, Stage, TargetError};

/// What array libraries call the devices of the target in use; `"cpu"` for those that work in the host's memory.
#[pyfunction]
pub(crate) fn arrays(py: Python<'_>) -> PyResult<&'static str> {
    Ok(Active::get(py)?.place.arrays)
}

/// Whether the target in use can run kernels here, and on how many devices.
#[pyfunction]
pub(crate) fn device_count(py: Python<'_>) -> PyResult<usize> {
    Ok(Active::get(py)?.context.target.devices().len())
}

/// The number of the device that this thread works with.
#[pyfunction]
pub(crate) fn current_device(py: Python<'_>) -> PyResult<u32> {
    Ok(Active::get(py)?.place.site(py, None)?.ordinal)
}

/// Makes this thread work with another device.
#[pyfunction]
pub(crate) fn set_current_device(py: Python<'_>, number: u32) -> PyResult<()> {
    let active = Active::get(py)?;
    // A number that does not exist is a wrong value here, not a failed launch.
    let count = active.context.target.devices().len();
    if number as usize >= count {
        return Err(PyValueError::new_err(format!("there is no device {number}; there are {count}")));
    }
    active.context.target.set_current_device(number).map_err(runtime::RuntimeError::from).or_raise(py)
}

/// The current stream of the current device. That of another device can be told where torch is loaded.
#[pyfunction]
pub(crate) fn current_stream(py: Python<'_>, number: u32) -> PyResult<u64> {
    Active::get(py)?.place.stream_of(py, number)
}

fn device(py: Python<'_>, number: usize) -> PyResult<Arc<dyn Device>> {
    let devices = Active::get(py)?.context.target.devices();
    let count = devices.len();
    let missing = || PyValueError::new_err(format!("there is no device {number}; there are {count}"));
    devices.into_iter().nth(number).ok_or_else(missing)
}

/// What a device is and can do.
#[pyfunction]
pub(crate) fn device_properties(py: Python<'_>, number: usize) -> PyResult<Bound<'_, PyDict>> {
    let properties = device(py, number)?.properties();
    let all = PyDict::new(py);
    for (name, value) in &properties.numbers {
        all.set_item(name, value)?;
    }
    all.set_item("name", &properties.name)?;
    Ok(all)
}

/// Waits for everything launched so far.
#[pyfunction]
#[pyo3(signature = (number=0))]
pub(crate) fn synchronize(py: Python<'_>, number: usize) -> PyResult<()> {
    let device = device(py, number)?;
    py.detach(|| device.synchronize().map_err(runtime::RuntimeError::from)).or_raise(py)
}

/// Module, function, registers, spills and the largest block of a loaded kernel.
type LoadedBinary = (u64, u64, u32, u32, u32);

/// Loads the bytes of a kernel.
#[pyfunction]
pub(crate) fn load_binary(
    py: Python<'_>,
    name: &str,
    kernel: &[u8],
    shared: u64,
    number: usize,
) -> PyResult<LoadedBinary> {
    // Whoever loads bytes launches them by their handle, so they stay for the life of the process.
    static LOADED: Mutex<Vec<Arc<dyn LoadedKernel>>> = Mutex::new(Vec::new());
    let stage = Stage {
        name: Active::get(py)?.context.target.binary().to_owned(),
        bytes: kernel.to_vec(),
        text: false,
    };
    let facts = Active::get(py)?.context.target.facts();
    // Whoever launches by the handle says how many warps.
    let launch = match facts.warp_size {
        1 => LaunchFacts::Host(HostFacts::default()),
        lanes => LaunchFacts::Device(DeviceFacts::new(facts.arch, 1, lanes)),
    };
    let artifact = Artifact {
        name: name.to_owned(),
        stages: vec![stage],
        params: Vec::new(),
        shared,
        launch,
        metadata: BTreeMap::new(),
    };
    let device = device(py, number)?;
    let loaded = py.detach(|| device.load(&artifact).map_err(runtime::RuntimeError::from)).or_raise(py)?;
    let facts =
        (loaded.handle(), loaded.handle(), loaded.n_regs(), loaded.n_spills(), loaded.n_max_threads());
    LOADED.lock().unwrap_or_else(PoisonError::into_inner).push(loaded);
    Ok(facts)
}

fn raise<T>(py: Python<'_>, result: Result<T, TargetError>) -> PyResult<T> {
    result.map_err(|error| to_py(py, runtime::RuntimeError::from(error)))
}

/// A point in a stream of a device.
#[pyclass(module = "deuteron._core", frozen)]
pub(crate) struct Event {
    device: Arc<dyn Device>,
    event: u64,
}

#[pymethods]
impl Event {
    #[new]
    #[pyo3(signature = (number, stream=0))]
    fn new(py: Python<'_>, number: usize, stream: u64) -> PyResult<Event> {
        let device = device(py, number)?;
        let event = raise(py, device.record_event(stream))?;
        Ok(Event { device, event })
    }

    /// Milliseconds until another event, after waiting for that one.
    fn elapsed_time(&self, py: Python<'_>, end: &Event) -> PyResult<f64> {
        raise(py, py.detach(|| self.device.elapsed_ms(self.event, end.event)))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        self.device.free_event(self.event);
    }
}

/// Memory of a device, for programs without an array library for it.
#[pyclass(module = "deuteron._core", frozen)]
pub(crate) struct Buffer {
    device: Arc<dyn Device>,
    address: u64,
    bytes: u64,
}

#[pymethods]
impl Buffer {
    #[new]
    fn new(py: Python<'_>, number: usize, bytes: u64) -> PyResult<Buffer> {
        let device = device(py, number)?;
        let address = raise(py, device.alloc(bytes))?;
        Ok(Buffer { device, address, bytes })
    }

    /// The address of its first byte.
    fn data_ptr(&self) -> u64 {
        self.address
    }

    fn __len__(&self) -> usize {
        self.bytes as usize
    }

    /// Sets every byte to zero, in the order of a stream.
    #[pyo3(signature = (stream=0))]
    fn zero_(&self, py: Python<'_>, stream: u64) -> PyResult<()> {
        // SAFETY: the memory is ours and lives as long as `self`.
        raise(py, py.detach(|| unsafe { self.device.fill(self.address, 0, self.bytes, stream) }))
    }

    /// Copies bytes into it, `at` bytes behind its beginning.
    #[pyo3(signature = (from, at=0))]
    fn write(&self, py: Python<'_>, from: &[u8], at: u64) -> PyResult<()> {
        let address = self.place(at, from.len() as u64)?;
        // SAFETY: as above, and so many bytes are there.
        raise(py, unsafe { self.device.copy_in(address, from) })
    }

    /// Its bytes from `at` on, or so many of them.
    #[pyo3(signature = (at=0, bytes=None))]
    fn read<'py>(&self, py: Python<'py>, at: u64, bytes: Option<u64>) -> PyResult<Bound<'py, PyBytes>> {
        let count = bytes.unwrap_or(self.bytes.saturating_sub(at));
        let address = self.place(at, count)?;
        let mut bytes = vec![0u8; count as usize];
        // SAFETY: as above, and so many bytes are there.
        raise(py, py.detach(|| unsafe { self.device.copy_out(&mut bytes, address) }))?;
        Ok(PyBytes::new(py, &bytes))
    }
}

impl Buffer {
    /// The address of so many bytes of it.
    fn place(&self, at: u64, bytes: u64) -> PyResult<u64> {
        if at.checked_add(bytes).is_none_or(|end| end > self.bytes) {
            let text = format!("{bytes} bytes at {at} do not fit a buffer of {}", self.bytes);
            return Err(PyBufferError::new_err(text));
        }
        Ok(self.address + at)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the memory is ours, and a launch that still uses it is the caller's mistake. An error cannot be told
        // here; the next call of the device tells of it.
        let _ = unsafe { self.device.free(self.address, self.bytes) };
    }
}
