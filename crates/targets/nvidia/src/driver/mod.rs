//! The CUDA driver: its library, loaded at run time, and its devices.
//!
//! Contexts are the primary ones of the devices, which torch and every other user of the CUDA runtime share. A launch waits for
//! nothing, and allocates nothing where it is captured in a graph.

pub mod api;
mod context;
mod device;
mod error;
mod launch;
mod launch_maps;
mod link;
mod module;
mod properties;
mod replay;
pub mod tensor_map;
#[cfg(test)]
pub(crate) mod testing;
mod trail;

pub use device::Gpu;
pub(crate) use launch::WARP;
pub use link::LinkOptions;
pub(crate) use module::{CUBIN, PTX};

use crate::knobs::DRIVER_VARIABLE;
use api::Api;
use error::check;
use libloading::Library;
use std::sync::{Arc, OnceLock};
use target::TargetError;
use trail::Trail;

/// Names of the driver's library, in the order in which they are tried.
#[cfg(not(windows))]
const LIBRARIES: &[&str] = &["libcuda.so.1", "libcuda.so"];
/// Names of the driver's library, in the order in which they are tried.
#[cfg(windows)]
const LIBRARIES: &[&str] = &["nvcuda.dll"];

/// The oldest version of the driver's interface that has all functions used here: CUDA 12.0, driver 525.
const OLDEST: i32 = 12_000;

/// The driver of this machine.
#[derive(Debug)]
pub struct Driver {
    pub(crate) api: Api,
    /// The version of CUDA that it has, as `1000 * major + 10 * minor`.
    version: i32,
    gpus: OnceLock<Vec<Arc<Gpu>>>,
    pub(crate) trail: Trail,
    /// Whether kernels may be launched by graphs.
    replays: bool,
}

/// The driver of this machine, looked for once.
///
/// # Errors
/// Says what was searched and what is missing.
pub fn driver() -> Result<&'static Driver, TargetError> {
    static DRIVER: OnceLock<Result<&'static Driver, TargetError>> = OnceLock::new();
    DRIVER.get_or_init(|| Driver::with_api(load()?)).clone()
}

/// The driver's functions. The library stays loaded: nothing could say when the last user of it is gone.
fn load() -> Result<Api, TargetError> {
    let mut problems = Vec::new();
    for name in candidates() {
        // SAFETY: loading the driver runs its initialisers, which are made to be run in any process.
        match unsafe { Library::new(&name) } {
            Ok(library) => {
                let library: &'static Library = Box::leak(Box::new(library));
                return Api::from_library(library).map_err(|symbol| {
                    TargetError::Missing(format!(
                        "the NVIDIA driver here has no function {symbol}: it is older than version 525 (CUDA 12.0), which is \
                         needed to launch kernels"
                    ))
                });
            }
            Err(error) => problems.push(reason(&name, &error)),
        }
    }
    Err(TargetError::Missing(format!(
        "there is no NVIDIA driver here: {}. Kernels can be compiled for such a GPU, but not launched",
        problems.join("; ")
    )))
}

/// The files to try: those of a folder that somebody names, else those that the loader finds.
fn candidates() -> Vec<String> {
    let folder =
        std::env::var_os(DRIVER_VARIABLE).filter(|folder| !folder.is_empty()).map(std::path::PathBuf::from);
    let file = |name: &&str| match &folder {
        Some(folder) => folder.join(name).display().to_string(),
        None => (*name).to_owned(),
    };
    LIBRARIES.iter().map(file).collect()
}

/// Why a library could not be loaded: the loader's own words, where it has any.
fn reason(name: &str, error: &libloading::Error) -> String {
    let source = std::error::Error::source(error);
    source.map_or_else(|| format!("{name}: {error}"), ToString::to_string)
}

impl Driver {
    /// The driver behind a table of functions. It lives as long as the process, as kernels and buffers refer to it.
    ///
    /// # Errors
    /// When it does not start, has no device, or is too old.
    pub fn with_api(api: Api) -> Result<&'static Driver, TargetError> {
        let missing = |refused: error::Refused| {
            let text = error::describe(&api, refused.status);
            TargetError::Missing(format!("the NVIDIA driver could not {}: {text}", refused.doing))
        };
        let (mut version, mut count) = (0, 0);
        // SAFETY: the functions are the driver's, and the places for the answers are valid.
        unsafe {
            check((api.init)(0), "start").map_err(missing)?;
            check((api.driver_get_version)(&raw mut version), "tell its version").map_err(missing)?;
            check((api.device_get_count)(&raw mut count), "count its devices").map_err(missing)?;
        }
        if version < OLDEST {
            return Err(TargetError::Missing(format!(
                "the NVIDIA driver here is for CUDA {}.{}; version 525 (CUDA 12.0) or newer is needed",
                version / 1000,
                version % 1000 / 10
            )));
        }
        if count == 0 {
            return Err(TargetError::Missing(
                "the NVIDIA driver sees no device: check `nvidia-smi` and CUDA_VISIBLE_DEVICES".into(),
            ));
        }
        let driver = Driver {
            api,
            version,
            gpus: OnceLock::new(),
            trail: Trail::new(),
            replays: replay::is_wanted(version, std::env::vars_os()),
        };
        let driver: &'static Driver = Box::leak(Box::new(driver));
        let gpus = (0..count.unsigned_abs()).map(|ordinal| Gpu::new(driver, ordinal).map(Arc::new));
        let gpus = gpus.collect::<Result<Vec<_>, _>>().map_err(missing)?;
        driver.gpus.get_or_init(|| gpus);
        Ok(driver)
    }

    /// The version of CUDA that the driver has, as `1000 * major + 10 * minor`.
    pub fn version(&self) -> i32 {
        self.version
    }

    /// The devices that the process may use.
    pub fn gpus(&self) -> &[Arc<Gpu>] {
        self.gpus.get().map_or(&[], Vec::as_slice)
    }

    #[cold]
    pub(crate) fn report(&self, refused: error::Refused) -> TargetError {
        refused.report(&self.api, &self.trail.newest())
    }
}

#[cfg(test)]
mod tests;
