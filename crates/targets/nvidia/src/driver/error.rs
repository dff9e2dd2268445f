//! What the driver says when it refuses, in words that lead on.

use super::api::{Api, Status};
use std::ffi::{CStr, c_char};
use target::TargetError;

/// Statuses that are looked at.
pub(crate) mod status {
    use super::Status;

    pub(crate) const SUCCESS: Status = 0;
    pub(crate) const INVALID_VALUE: Status = 1;
    pub(crate) const OUT_OF_MEMORY: Status = 2;
    pub(crate) const LAUNCH_OUT_OF_RESOURCES: Status = 701;
    pub(crate) const COOPERATIVE_LAUNCH_TOO_LARGE: Status = 720;
}

/// What a status says and what to do about it.
struct Advice {
    status: Status,
    text: &'static str,
    /// Whether it tells of an earlier launch, after which the process can do nothing more on the device.
    sticky: bool,
}

const fn row(status: Status, text: &'static str) -> Advice {
    Advice { status, text, sticky: false }
}

const fn sticky(status: Status, text: &'static str) -> Advice {
    Advice { status, text, sticky: true }
}

/// The advice there is; a status without a row stands with the driver's own words.
static ADVICE: &[Advice] = &[
    row(2, "free some memory, or use smaller tensors"),
    row(3, "in a process that was forked after the GPU was used, use the start method \"spawn\""),
    row(4, "the process is ending, and the driver has shut down"),
    row(34, "a stub library was found in place of the driver: take its folder out of LD_LIBRARY_PATH"),
    row(46, "another process has the device for itself, or it needs a reset"),
    row(100, "check `nvidia-smi`, and that CUDA_VISIBLE_DEVICES names a device"),
    row(101, "check CUDA_VISIBLE_DEVICES"),
    row(209, "the kernel was compiled for another architecture than this device has"),
    row(218, "the assembler of the driver refuses the PTX"),
    row(221, "the driver's own assembler (libnvidia-ptxjitcompiler) is missing: install the whole driver"),
    row(222, "the PTX needs a newer driver: update it, or set ptx_version to an older one"),
    row(720, "a cooperative launch needs room for all programs at once: use a smaller grid"),
    row(803, "the loaded driver library and the kernel module differ: restart the machine after an update"),
    row(804, "the compatibility package in use does not fit this device"),
    sticky(
        700,
        "the kernel read or wrote memory that is not its own: check the masks and the bounds of its accesses",
    ),
    sticky(702, "the kernel ran longer than the display's time limit"),
    sticky(710, "an assertion of the kernel failed; its text is on the standard error stream"),
    sticky(714, "the kernel damaged its own stack"),
    sticky(715, "the device met an instruction that it does not know"),
    sticky(716, "the kernel used an address that is not a multiple of the size of its access"),
    sticky(717, "the kernel used an address in the wrong address space"),
    sticky(718, "the kernel jumped out of its code"),
    sticky(719, "the kernel failed on the device"),
];

fn advice(status: Status) -> Option<&'static Advice> {
    ADVICE.iter().find(|advice| advice.status == status)
}

/// Whether a status tells of an earlier launch that broke the context.
pub(crate) fn is_sticky(status: Status) -> bool {
    advice(status).is_some_and(|advice| advice.sticky)
}

/// The words for a status: the driver's, and the advice there is.
pub(crate) fn describe(api: &Api, status: Status) -> String {
    let ask = |function: unsafe extern "C" fn(Status, *mut *const c_char) -> Status| {
        let mut text = std::ptr::null();
        // SAFETY: `text` is a place for the answer.
        let known = unsafe { function(status, &raw mut text) } == status::SUCCESS && !text.is_null();
        // SAFETY: what the driver gives is a C string that it keeps.
        known.then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    };
    let name = ask(api.get_error_name).unwrap_or_else(|| "an unknown error".to_owned());
    let meaning = ask(api.get_error_string).map(|text| format!(", {text}")).unwrap_or_default();
    let advice = advice(status).map(|advice| format!(": {}", advice.text)).unwrap_or_default();
    format!("{name} ({status}{meaning}){advice}")
}

/// A call that the driver refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) status: Status,
    /// What was to be done: `load a module`.
    pub(crate) doing: &'static str,
}

/// Turns a status into a result.
#[inline]
pub(crate) fn check(status: Status, doing: &'static str) -> Result<(), Refused> {
    if status == status::SUCCESS { Ok(()) } else { Err(Refused { status, doing }) }
}

impl Refused {
    /// The error for people. `trail` names the kernels that were launched last, the newest first.
    #[cold]
    pub(crate) fn report(self, api: &Api, trail: &[&str]) -> TargetError {
        let text = describe(api, self.status);
        if !is_sticky(self.status) {
            return TargetError::Launch(format!("the driver could not {}: {text}", self.doing));
        }
        let launched = match trail {
            [] => "no kernel of this compiler was launched here before".to_owned(),
            [one] => format!("the last kernel launched was `{one}`"),
            [one, others @ ..] => {
                format!("the last kernel launched was `{one}`, before it `{}`", others.join("`, `"))
            }
        };
        TargetError::Launch(format!(
            "a launch failed on the device: {text}. Launches do not wait, so it was an earlier one ({launched}); with \
             CUDA_LAUNCH_BLOCKING=1 the error comes with its own launch. The device answers nothing more in this process"
        ))
    }
}
