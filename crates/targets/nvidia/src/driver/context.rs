//! Which device a thread works with.

use super::api::Handle;
use super::{Cuda, Driver};
use gpu::driver::{Refused, Vendor, check};

/// Keeps a device's context the current one of this thread; the one of before comes back at the end, if there was one.
#[derive(Debug)]
pub struct Entered<'a> {
    driver: &'a Driver,
    before: Handle,
}

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.before.is_null() {
            // SAFETY: the context was the current one of this thread a moment ago.
            unsafe { (self.driver.api.ctx_set_current)(self.before) };
        }
    }
}

/// The context of this thread; null for none.
#[inline]
fn current(driver: &Driver) -> Result<Handle, Refused> {
    let mut context = std::ptr::null_mut();
    // SAFETY: `context` is a place for the answer.
    check(unsafe { (driver.api.ctx_get_current)(&raw mut context) }, "read the current context")?;
    Ok(context)
}

/// The number of the device that this thread works with: the first where it has chosen none.
pub(crate) fn current_ordinal(driver: &Driver) -> Result<u32, Refused> {
    let current = current(driver)?;
    if current.is_null() {
        return Ok(0);
    }
    if let Some(gpu) = driver.gpus().iter().find(|gpu| gpu.is_context(current)) {
        return Ok(gpu.ordinal);
    }
    let mut handle = 0;
    // SAFETY: `handle` is a place for the answer, and there is a current context.
    check(unsafe { (driver.api.ctx_get_device)(&raw mut handle) }, "read the current device")?;
    Ok(driver.gpus().iter().find(|gpu| gpu.handle == handle).map_or(0, |gpu| gpu.ordinal))
}

/// Makes a device's context the current one until the result is dropped. A thread that had none keeps this one, as with
/// the CUDA runtime.
#[inline]
pub(super) fn enter(cuda: &Cuda) -> Result<Entered<'static>, Refused> {
    let driver = cuda.driver;
    let context = cuda.context()?;
    let current = current(driver)?;
    if current == context {
        return Ok(Entered { driver, before: std::ptr::null_mut() });
    }
    // SAFETY: the context was retained and is never released.
    check(unsafe { (driver.api.ctx_set_current)(context) }, "change the current context")?;
    Ok(Entered { driver, before: current })
}

impl Cuda {
    #[inline]
    fn context(&self) -> Result<Handle, Refused> {
        let retain = || {
            let mut context: Handle = std::ptr::null_mut();
            // SAFETY: the handle is the driver's, and `context` is a place for the answer.
            let status =
                unsafe { (self.driver.api.device_primary_ctx_retain)(&raw mut context, self.handle) };
            check(status, "open the device's context").map(|()| context as usize)
        };
        self.context.get_or_init(retain).map(|address| address as Handle)
    }

    /// Whether a context is this device's.
    fn is_context(&self, context: Handle) -> bool {
        matches!(self.context.get(), Some(Ok(address)) if *address == context as usize)
    }

    /// Makes this device the one that the thread works with from now on.
    pub(crate) fn make_current(&self) -> Result<(), Refused> {
        let entered = self.enter()?;
        std::mem::forget(entered);
        Ok(())
    }
}
