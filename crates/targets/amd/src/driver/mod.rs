//! The HIP runtime: its library, loaded at run time, and its devices.
//!
//! What all drivers do stands in [`gpu::driver`]; here is what this one does otherwise. Not yet run on AMD hardware:
//! what is here was tested against a table of functions that tests make. A launch is one call and waits for nothing,
//! but for kernels that print: what they have written is read when they are over.

pub mod api;
mod device;
mod launch;
mod load;
mod log_memory;
mod properties;
mod settings;
mod terms;
#[cfg(test)]
mod testing;

pub use device::{Hip, HipKernel};
pub(crate) use settings::settings;

use api::{Api, SYMBOLS};
use gpu::driver::Vendor;
use std::path::PathBuf;
use std::sync::OnceLock;
use target::TargetError;

/// The runtime of this machine.
pub type Driver = gpu::driver::Driver<Hip>;
/// One of its devices.
pub type Gpu = gpu::driver::Gpu<Hip>;
/// A kernel on a device.
type Module = gpu::driver::Kernel<Hip>;

/// Names a library of the runtime.
const LIBRARY_VARIABLE: &str = "TRITON_LIBHIP_PATH";
/// Folders of ROCm.
const FOLDER_VARIABLES: [&str; 2] = ["HIP_PATH", "ROCM_PATH"];
const USUAL_FOLDER: &str = "/opt/rocm";
/// Names of the library, in the order in which they are tried.
const LIBRARIES: [&str; 3] = ["libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6"];

/// The runtime of this machine, looked for once.
///
/// # Errors
/// Says what was searched and what is missing.
pub fn driver() -> Result<&'static Driver, TargetError> {
    static DRIVER: OnceLock<Result<&'static Driver, TargetError>> = OnceLock::new();
    let files = || candidates(|name| std::env::var_os(name));
    DRIVER.get_or_init(|| Driver::with_api(load_library(&files())?)).clone()
}

/// The version of a runtime, for people.
pub(crate) fn version(driver: &Driver) -> String {
    Hip::version_text(driver.version())
}

/// The number of the device that this thread works with.
pub(crate) fn current(driver: &Driver) -> Result<u32, TargetError> {
    device::current(driver).map_err(|refused| driver.report(refused))
}

/// Makes a device the one that this thread works with.
pub(crate) fn set_current(driver: &Driver, ordinal: u32) -> Result<(), TargetError> {
    device::set_current(driver, ordinal).map_err(|refused| driver.report(refused))
}

/// The files to try: one that the process has loaded already comes first, as a second copy beside it would not know its
/// streams.
fn candidates(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> Vec<PathBuf> {
    let named = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(file) = named(LIBRARY_VARIABLE) {
        return vec![file];
    }
    let folders = FOLDER_VARIABLES.iter().filter_map(|name| named(name)).chain([PathBuf::from(USUAL_FOLDER)]);
    let in_folders = folders.map(|folder| folder.join("lib").join(LIBRARIES[0]));
    LIBRARIES.iter().map(PathBuf::from).chain(in_folders).collect()
}

fn load_library(files: &[PathBuf]) -> Result<Api, TargetError> {
    let (library, file) = gpu::driver::find(files).map_err(|problems| {
        TargetError::Missing(format!(
            "there is no HIP runtime here: {problems}. Kernels can be compiled for AMD GPUs, but not launched; {LIBRARY_VARIABLE} names the \
             library where it is elsewhere"
        ))
    })?;
    Api::from_library(library, &SYMBOLS).map_err(|symbol| {
        TargetError::Missing(format!(
            "the HIP runtime at {} has no function {symbol}: it is older than ROCm 6.0, which is needed to launch kernels",
            file.display()
        ))
    })
}

#[cfg(test)]
mod tests;
