//! Where a launch runs and where its arguments must lie.

use super::torch;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::{PyErr, PyResult, Python};
use runtime::launch::Site;
use std::sync::{Arc, OnceLock};
use target::Target;

/// A target as launches see it.
pub(crate) struct Place {
    /// What array libraries call its devices.
    pub(crate) arrays: &'static str,
    /// Whether its devices work in the host's memory.
    is_host: bool,
    /// Whether arguments may lie anywhere: they are looked at and not used.
    anywhere: bool,
    target: Arc<dyn Target>,
    /// How many devices of it there are here.
    devices: OnceLock<usize>,
    /// The number that torch has for such devices.
    code: OnceLock<Option<i32>>,
}

impl Place {
    pub(crate) fn of(target: &Arc<dyn Target>) -> Place {
        let arrays = target.arrays();
        let (devices, code) = (OnceLock::new(), OnceLock::new());
        Place { arrays, is_host: arrays == "cpu", anywhere: false, target: Arc::clone(target), devices, code }
    }

    /// The same for arguments that only say what a kernel is compiled for: they may lie anywhere.
    pub(crate) fn anywhere(target: &Arc<dyn Target>) -> Place {
        Place { anywhere: true, ..Place::of(target) }
    }

    /// Whether kernels run on a device with memory of its own, not in this process.
    pub(crate) fn has_devices(&self) -> bool {
        !self.is_host
    }

    /// Whether memory of the host is reachable as it is.
    pub(crate) fn takes_host(&self) -> bool {
        self.is_host || self.anywhere
    }

    /// Whether memory of a device that works in memory of its own is reachable.
    pub(crate) fn takes_devices(&self) -> bool {
        !self.is_host || self.anywhere
    }

    /// Whether memory of a kind of device, by the name that array libraries have for it, is this target's.
    pub(crate) fn takes(&self, name: &str) -> bool {
        self.anywhere || name == self.arrays
    }

    /// The current device with its current stream, or the stream that is named: torch's, where torch is loaded.
    #[inline]
    pub(crate) fn site(&self, py: Python<'_>, stream: Option<u64>) -> PyResult<Site> {
        if self.is_host {
            return Ok(Site::default());
        }
        match *self.devices.get_or_init(|| self.target.devices().len()) {
            // Where there is no device torch has none either; loading the kernel says so.
            0 => return Ok(Site::default()),
            // Which of one is the current one needs not be asked.
            1 => {
                let stream = stream.map_or_else(|| self.stream_of(py, 0), Ok)?;
                return Ok(Site { ordinal: 0, stream, observed: torch::is_profiling(py) });
            }
            _ => {}
        }
        let (ordinal, current) = match torch::current(py, self.arrays)? {
            Some(current) => current,
            None => {
                let ordinal = self.target.current_device().map_err(runtime::RuntimeError::from);
                (ordinal.map_err(|error| crate::errors::to_py(py, error))?, 0)
            }
        };
        Ok(Site { ordinal, stream: stream.unwrap_or(current), observed: torch::is_profiling(py) })
    }

    /// The current stream of a device.
    #[inline]
    pub(crate) fn stream_of(&self, py: Python<'_>, ordinal: u32) -> PyResult<u64> {
        if self.is_host {
            return Ok(0);
        }
        Ok(torch::stream_of(py, self.arrays, ordinal)?.unwrap_or(0))
    }

    /// Whether a kind of device, by torch's numbers, is this target's.
    #[inline]
    pub(crate) fn has_code(&self, py: Python<'_>, code: i32) -> bool {
        self.anywhere || *self.code.get_or_init(|| torch::device_code(py, self.arrays)) == Some(code)
    }

    /// The address by which kernels reach memory of the host: pinned memory is reachable from everywhere. Tensors
    /// without elements have none, and no address.
    #[cold]
    pub(crate) fn reach_host(&self, py: Python<'_>, address: u64, is_on: &str) -> PyResult<u64> {
        if self.is_host || address == 0 {
            return Ok(address);
        }
        let ordinal = self.target.current_device().map_err(runtime::RuntimeError::from);
        let ordinal = ordinal.map_err(|error| crate::errors::to_py(py, error))? as usize;
        let device = self.target.devices().into_iter().nth(ordinal);
        device.and_then(|device| device.reachable(address)).ok_or_else(|| self.wrong_device(is_on))
    }

    /// The error for memory that is elsewhere.
    #[cold]
    pub(crate) fn wrong_device(&self, is_on: &str) -> PyErr {
        let device = self.arrays;
        let why = if self.is_host {
            format!("is on {is_on}, but this process's target works in the memory of the host")
        } else {
            format!(
                "is on {is_on}: Pointer argument cannot be accessed from Triton (cpu tensor?), this process's target is {device}"
            )
        };
        PyValueError::new_err(format!(
            "{why}: move it with `.to(\"{device}\")` (or `.{device}()`), or choose another target with DEUTERON_TARGET"
        ))
    }
}
