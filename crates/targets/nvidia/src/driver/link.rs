//! PTX to a cubin by the driver's own assembler, in this process.

use super::api::Handle;
use super::{Cuda, Driver};
use crate::assemble::complaints;
use gpu::driver::{Refused, Vendor, check};
use std::ffi::c_void;
use target::TargetError;

/// Numbers of options of the assembler.
pub(super) mod option {
    pub(in crate::driver) const INFO_LOG: i32 = 3;
    pub(in crate::driver) const INFO_LOG_BYTES: i32 = 4;
    pub(in crate::driver) const ERROR_LOG: i32 = 5;
    pub(in crate::driver) const ERROR_LOG_BYTES: i32 = 6;
    pub(in crate::driver) const OPTIMIZATION_LEVEL: i32 = 7;
    pub(in crate::driver) const LINE_INFO: i32 = 13;
}

/// `CU_JIT_INPUT_PTX`.
const INPUT_PTX: i32 = 1;
/// Room for what the assembler says.
const LOG_BYTES: usize = 16 << 10;

/// What to ask of the assembler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkOptions {
    /// From 0 to 4.
    pub optimization: u32,
    /// Whether to keep the lines that `.loc` names.
    pub line_info: bool,
}

impl Default for LinkOptions {
    fn default() -> Self {
        LinkOptions { optimization: 4, line_info: true }
    }
}

impl Cuda {
    /// Makes a cubin for this device.
    ///
    /// # Errors
    /// What the assembler says, with the line of the PTX that it speaks of.
    pub fn link(&self, ptx: &str, options: &LinkOptions) -> Result<Vec<u8>, TargetError> {
        let mut log = vec![0u8; LOG_BYTES];
        let mut info = vec![0u8; LOG_BYTES];
        let linked = self.with(|api| {
            let mut numbers = [
                option::ERROR_LOG,
                option::ERROR_LOG_BYTES,
                option::INFO_LOG,
                option::INFO_LOG_BYTES,
                option::OPTIMIZATION_LEVEL,
                option::LINE_INFO,
            ];
            // The driver takes numbers in place of pointers, by the option's kind.
            let number = |value: usize| std::ptr::without_provenance_mut::<c_void>(value);
            let mut values = [
                log.as_mut_ptr().cast(),
                number(log.len() - 1),
                info.as_mut_ptr().cast(),
                number(info.len() - 1),
                number(options.optimization as usize),
                number(usize::from(options.line_info)),
            ];
            let mut state: Handle = std::ptr::null_mut();
            let count = numbers.len() as u32;
            // SAFETY: there are as many values as numbers; the logs outlive the state.
            let status = unsafe {
                (api.link_create)(count, numbers.as_mut_ptr(), values.as_mut_ptr(), &raw mut state)
            };
            check(status, "start its assembler")?;
            let state = State { driver: self.driver, state };
            Ok(state.run(ptx))
        })?;
        linked.map_err(|refused| {
            let text = String::from_utf8_lossy(&log);
            failure(&self.driver.describe(refused.status), text.trim_end_matches('\0'), ptx)
        })
    }
}

/// A run of the assembler.
struct State {
    driver: &'static Driver,
    state: Handle,
}

impl Drop for State {
    fn drop(&mut self) {
        // SAFETY: the state is ours, and what came out of it was copied.
        unsafe { (self.driver.api.link_destroy)(self.state) };
    }
}

impl State {
    fn run(&self, ptx: &str) -> Result<Vec<u8>, Refused> {
        let api = &self.driver.api;
        let mut text = ptx.as_bytes().to_vec();
        text.push(0);
        let (mut cubin, mut bytes) = (std::ptr::null_mut::<c_void>(), 0usize);
        // SAFETY: the text ends with a zero and is copied; the name is a C string; there are no further options.
        unsafe {
            let none = std::ptr::null_mut();
            let name = c"kernel.ptx".as_ptr();
            let status = (api.link_add_data)(
                self.state,
                INPUT_PTX,
                text.as_mut_ptr().cast(),
                text.len(),
                name,
                0,
                std::ptr::null_mut(),
                none,
            );
            check(status, "assemble PTX")?;
            check((api.link_complete)(self.state, &raw mut cubin, &raw mut bytes), "link a cubin")?;
            Ok(std::slice::from_raw_parts(cubin.cast::<u8>(), bytes).to_vec())
        }
    }
}

/// The error for PTX that the assembler refuses. That is our mistake wherever the PTX is ours, so the text shows the
/// lines.
fn failure(status: &str, log: &str, ptx: &str) -> TargetError {
    let text = format!("the driver's assembler refuses the PTX: {status}\n{}", complaints(log, ptx));
    TargetError::Load(text.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::failure;

    #[test]
    fn the_line_is_shown() {
        let log =
            "ptxas application ptx input, line 2; error   : Unknown symbol '%q'\n\nptxas fatal   : aborted\n";
        let text = failure("CUDA_ERROR_INVALID_PTX", log, ".version 8.0\n  mov.u32 %q, 1;\n").to_string();
        assert!(text.contains("Unknown symbol '%q'\n    | mov.u32 %q, 1;\n  ptxas fatal"), "{text}");
        assert!(failure("x", "line 99; error", "a\n").to_string().ends_with("line 99; error"));
    }
}
