//! Loading the code object of a kernel on a GPU.

use super::Gpu;
use super::api::{Api, Handle};
use crate::options::HSACO;
use gpu::driver::{Refused, Vendor, check};
use std::ffi::CStr;
use target::{Artifact, DeviceFacts, TargetError};

/// Loads the code object of an artifact and finds the kernel in it.
pub(super) fn load(
    gpu: &Gpu,
    artifact: &Artifact,
    facts: &DeviceFacts,
    symbol: &CStr,
) -> Result<Handle, TargetError> {
    let (own, device) = (&facts.arch, gpu.arch_name());
    if *own != device {
        return Err(TargetError::Load(format!("it was compiled for {own}, and the device is {device}")));
    }
    let code = artifact.stage(HSACO);
    let code = code.ok_or_else(|| TargetError::Load(format!("it has no stage `{HSACO}`")))?;
    let driver = gpu.driver();
    open(&driver.api, code, symbol).map_err(|refused| driver.report(refused))
}

fn open(api: &Api, code: &[u8], symbol: &CStr) -> Result<Handle, Refused> {
    let (mut module, mut function): (Handle, Handle) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the code object is whole, and the runtime copies it; the name is a C string.
    unsafe {
        check((api.module_load_data)(&raw mut module, code.as_ptr().cast()), "load the module")?;
        check(
            (api.module_get_function)(&raw mut function, module, symbol.as_ptr()),
            "find the kernel in its module",
        )?;
    }
    Ok(function)
}
