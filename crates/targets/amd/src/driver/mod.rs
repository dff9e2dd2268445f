//! The HIP runtime: its library, loaded at run time, and its devices.
//!
//! Not yet run on AMD hardware: what is here was tested against a table of functions that tests make. A launch is one call and waits
//! for nothing, but for kernels that print: what they have written is read when they are over.

pub mod api;
mod device;
mod error;
mod module;
#[cfg(test)]
mod testing;

pub use device::Gpu;

use api::{Api, Properties};
use error::{check, status};
use libloading::Library;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use target::TargetError;

/// Names a library of the runtime.
const LIBRARY_VARIABLE: &str = "TRITON_LIBHIP_PATH";
/// Folders of ROCm.
const FOLDER_VARIABLES: [&str; 2] = ["HIP_PATH", "ROCM_PATH"];
const USUAL_FOLDER: &str = "/opt/rocm";
/// Names of the library, in the order in which they are tried.
const LIBRARIES: [&str; 3] = ["libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6"];

/// The oldest version that has all functions used here: 6.0.
const OLDEST: i32 = 60_000_000;

/// The runtime of this machine.
#[derive(Debug)]
pub struct Driver {
    pub(crate) api: Api,
    /// `10^7 * major + 10^5 * minor + patch`.
    version: i32,
    gpus: OnceLock<Vec<Arc<Gpu>>>,
}

/// The runtime of this machine, looked for once.
///
/// # Errors
/// Says what was searched and what is missing.
pub fn driver() -> Result<&'static Driver, TargetError> {
    static DRIVER: OnceLock<Result<&'static Driver, TargetError>> = OnceLock::new();
    DRIVER.get_or_init(|| Driver::with_api(load()?)).clone()
}

/// The files to try: one that the process has loaded already comes first, as a second copy beside it would not know its streams.
fn candidates(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> Vec<PathBuf> {
    let named = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(file) = named(LIBRARY_VARIABLE) {
        return vec![file];
    }
    let folders = FOLDER_VARIABLES.iter().filter_map(|name| named(name)).chain([PathBuf::from(USUAL_FOLDER)]);
    let in_folders = folders.map(|folder| folder.join("lib").join(LIBRARIES[0]));
    LIBRARIES.iter().map(PathBuf::from).chain(in_folders).collect()
}

/// The runtime's functions. The library stays loaded: nothing could say when the last user of it is gone.
fn load() -> Result<Api, TargetError> {
    let files = candidates(|name| std::env::var_os(name));
    let mut problems = Vec::new();
    for file in &files {
        match loaded(file).map_or_else(|| open(file), Ok) {
            Ok(library) => {
                let library: &'static Library = Box::leak(Box::new(library));
                return Api::from_library(library).map_err(|symbol| {
                    TargetError::Missing(format!(
                        "the HIP runtime at {} has no function {symbol}: it is older than ROCm 6.0, which is needed to launch kernels",
                        file.display()
                    ))
                });
            }
            Err(error) => problems.push(format!("{}: {error}", file.display())),
        }
    }
    Err(TargetError::Missing(format!(
        "there is no HIP runtime here: {}. Kernels can be compiled for AMD GPUs, but not launched; {LIBRARY_VARIABLE} names the library \
         where it is elsewhere",
        problems.join("; ")
    )))
}

fn open(file: &PathBuf) -> Result<Library, libloading::Error> {
    // SAFETY: loading the runtime runs its initialisers, which are made to be run in any process.
    unsafe { Library::new(file) }
}

/// The library of this name that the process has loaded, if it has.
#[cfg(unix)]
fn loaded(file: &PathBuf) -> Option<Library> {
    use libloading::os::unix;
    /// `RTLD_NOLOAD`.
    const ONLY_LOADED: i32 = 4;
    // SAFETY: nothing is loaded.
    let library = unsafe { unix::Library::open(Some(file), unix::RTLD_NOW | ONLY_LOADED) };
    library.ok().map(Library::from)
}

#[cfg(not(unix))]
fn loaded(_file: &PathBuf) -> Option<Library> {
    None
}

impl Driver {
    /// The runtime behind a table of functions. It lives as long as the process, as kernels and buffers refer to it.
    ///
    /// # Errors
    /// When it does not start, has no device, or is too old.
    pub fn with_api(api: Api) -> Result<&'static Driver, TargetError> {
        let missing = |refused: error::Refused| {
            let text = error::describe(&api, refused.status);
            TargetError::Missing(format!("the HIP runtime could not {}: {text}", refused.doing))
        };
        let (mut version, mut count) = (0, 0);
        // SAFETY: the functions are the runtime's, and the places for the answers are valid.
        unsafe {
            check((api.init)(0), "start").map_err(missing)?;
            check((api.driver_get_version)(&raw mut version), "tell its version").map_err(missing)?;
            let counted = (api.get_device_count)(&raw mut count);
            if counted != status::NO_DEVICE {
                check(counted, "count its devices").map_err(missing)?;
            }
        }
        if version < OLDEST {
            return Err(TargetError::Missing(format!(
                "the HIP runtime here is {}; 6.0 or newer is needed",
                version_text(version)
            )));
        }
        if count <= 0 {
            let text = error::describe(&api, status::NO_DEVICE);
            return Err(TargetError::Missing(format!("the HIP runtime sees no device: {text}")));
        }
        let driver: &'static Driver = Box::leak(Box::new(Driver { api, version, gpus: OnceLock::new() }));
        let mut gpus = Vec::new();
        for ordinal in 0..count.unsigned_abs() {
            let mut properties = Box::new(Properties([0; api::PROPERTY_BYTES]));
            // SAFETY: the place is larger than the structure.
            let status = unsafe { (api.get_device_properties)(&raw mut *properties, ordinal as i32) };
            check(status, "tell the properties of a device").map_err(missing)?;
            gpus.push(Arc::new(Gpu::new(driver, ordinal, properties)));
        }
        driver.gpus.get_or_init(|| gpus);
        Ok(driver)
    }

    /// The version, for people.
    pub fn version(&self) -> String {
        version_text(self.version)
    }

    /// The devices that the process may use.
    pub fn gpus(&self) -> &[Arc<Gpu>] {
        self.gpus.get().map_or(&[], Vec::as_slice)
    }

    /// The number of the device that this thread works with.
    pub(crate) fn current(&self) -> Result<u32, TargetError> {
        let mut ordinal = 0;
        // SAFETY: `ordinal` is a place for the answer.
        let status = unsafe { (self.api.get_device)(&raw mut ordinal) };
        check(status, "tell the current device").map_err(|refused| refused.report(&self.api))?;
        Ok(ordinal.unsigned_abs())
    }

    /// Makes a device the one that this thread works with.
    pub(crate) fn set_current(&self, ordinal: u32) -> Result<(), TargetError> {
        // SAFETY: any number may be given.
        let status = unsafe { (self.api.set_device)(ordinal as i32) };
        check(status, "change the current device").map_err(|refused| refused.report(&self.api))
    }
}

fn version_text(version: i32) -> String {
    format!("HIP {}.{}.{}", version / 10_000_000, version / 100_000 % 100, version % 100_000)
}

#[cfg(test)]
mod tests;
