//! The CUDA driver: its library, loaded at run time, and its devices.
//!
//! What all drivers do stands in [`gpu::driver`]; here is what this one does otherwise. Contexts are the primary ones
//! of the devices, which torch and every other user of the CUDA runtime share. A launch waits for nothing, and
//! allocates nothing where it is captured in a graph.

pub mod api;
mod context;
mod device;
mod launch;
mod launch_maps;
mod link;
mod load;
mod properties;
mod replay;
pub mod tensor_map;
mod terms;
#[cfg(test)]
pub(crate) mod testing;
mod zeros;

pub(crate) use context::current_ordinal;
pub use device::{Cuda, CudaKernel};
pub use link::LinkOptions;

use crate::knobs::DRIVER_VARIABLE;
use api::{Api, SYMBOLS};
use std::path::PathBuf;
use std::sync::OnceLock;
use target::TargetError;

/// The driver of this machine.
pub type Driver = gpu::driver::Driver<Cuda>;
/// One of its devices.
pub type Gpu = gpu::driver::Gpu<Cuda>;
/// A kernel on a device.
type Module = gpu::driver::Kernel<Cuda>;

/// Names of the driver's library, in the order in which they are tried.
#[cfg(not(windows))]
const LIBRARIES: &[&str] = &["libcuda.so.1", "libcuda.so"];
/// Names of the driver's library, in the order in which they are tried.
#[cfg(windows)]
const LIBRARIES: &[&str] = &["nvcuda.dll"];

/// The driver of this machine, looked for once.
///
/// # Errors
/// Says what was searched and what is missing.
pub fn driver() -> Result<&'static Driver, TargetError> {
    static DRIVER: OnceLock<Result<&'static Driver, TargetError>> = OnceLock::new();
    DRIVER.get_or_init(|| Driver::with_api(load_library()?)).clone()
}

fn load_library() -> Result<Api, TargetError> {
    let files = candidates();
    let (library, _) = gpu::driver::find(&files).map_err(|problems| {
        TargetError::Missing(format!(
            "there is no NVIDIA driver here: {problems}. Kernels can be compiled for such a GPU, but not launched"
        ))
    })?;
    Api::from_library(library, &SYMBOLS).map_err(|symbol| {
        TargetError::Missing(format!(
            "the NVIDIA driver here has no function {symbol}: it is older than version 525 (CUDA 12.0), which is needed to launch kernels"
        ))
    })
}

/// The files to try: those of a folder that somebody names, else those that the loader finds.
fn candidates() -> Vec<PathBuf> {
    let folder = std::env::var_os(DRIVER_VARIABLE).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let file = |name: &&str| folder.as_ref().map_or_else(|| name.into(), |folder| folder.join(name));
    LIBRARIES.iter().map(file).collect()
}

#[cfg(test)]
mod tests;
