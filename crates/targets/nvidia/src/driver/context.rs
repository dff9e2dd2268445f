//! Which device a thread works with.

use super::Driver;
use super::api::Handle;
use super::device::Gpu;
use super::error::{Refused, check};

/// Keeps a device's context the current one of this thread; the one of before comes back at the end, if there was one.
pub(crate) struct Entered<'a> {
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

impl Driver {
    /// The context of this thread; null for none.
    #[inline]
    fn current_context(&self) -> Result<Handle, Refused> {
        let mut context = std::ptr::null_mut();
        // SAFETY: `context` is a place for the answer.
        check(unsafe { (self.api.ctx_get_current)(&raw mut context) }, "tell the current context")?;
        Ok(context)
    }

    /// The number of the device that this thread works with: the first where it has chosen none.
    pub(crate) fn current_ordinal(&self) -> Result<u32, Refused> {
        let current = self.current_context()?;
        if current.is_null() {
            return Ok(0);
        }
        if let Some(gpu) = self.gpus().iter().find(|gpu| gpu.is_context(current)) {
            return Ok(gpu.ordinal);
        }
        let mut handle = 0;
        // SAFETY: `handle` is a place for the answer, and there is a current context.
        check(unsafe { (self.api.ctx_get_device)(&raw mut handle) }, "tell the current device")?;
        Ok(self.gpus().iter().find(|gpu| gpu.handle == handle).map_or(0, |gpu| gpu.ordinal))
    }
}

impl Gpu {
    /// Makes the device's context the current one until the result is dropped. A thread that had none keeps this one, as with
    /// the CUDA runtime.
    #[inline]
    pub(crate) fn enter(&self) -> Result<Entered<'static>, Refused> {
        let driver = self.driver;
        let context = self.context()?;
        let current = driver.current_context()?;
        if current == context {
            return Ok(Entered { driver, before: std::ptr::null_mut() });
        }
        // SAFETY: the context was retained and is never released.
        check(unsafe { (driver.api.ctx_set_current)(context) }, "change the current context")?;
        Ok(Entered { driver, before: current })
    }

    /// Makes this device the one that the thread works with from now on.
    pub(crate) fn make_current(&self) -> Result<(), Refused> {
        let entered = self.enter()?;
        std::mem::forget(entered);
        Ok(())
    }
}
