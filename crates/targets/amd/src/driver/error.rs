//! What the runtime says when it refuses, in words that lead on.

use super::api::{Api, Status};
use std::ffi::{CStr, c_char};
use target::TargetError;

/// Statuses that are looked at.
pub(crate) mod status {
    use super::Status;

    pub(crate) const SUCCESS: Status = 0;
    pub(crate) const INVALID_VALUE: Status = 1;
    pub(crate) const NO_DEVICE: Status = 100;
    pub(crate) const LAUNCH_OUT_OF_RESOURCES: Status = 701;
    pub(crate) const COOPERATIVE_LAUNCH_TOO_LARGE: Status = 720;
}

/// What a status says, what to do about it, and whether an earlier launch failed, after which the device answers nothing more.
type Advice = (Status, &'static str, bool);

/// The advice there is; a status without a row stands with the runtime's own words.
static ADVICE: &[Advice] = &[
    (2, "free some memory, or use smaller tensors", false),
    (3, "in a process that was forked after the GPU was used, use the start method \"spawn\"", false),
    (
        100,
        "check `rocminfo`, HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES, and that you may open /dev/kfd and /dev/dri",
        false,
    ),
    (101, "check HIP_VISIBLE_DEVICES", false),
    (200, "the code object is damaged, or its version is newer than the runtime", false),
    (209, "the kernel was compiled for another architecture than this device has", false),
    (720, "a cooperative launch needs room for all programs at once: use a smaller grid", false),
    (
        700,
        "the kernel read or wrote memory that is not its own: check the masks and the bounds of its accesses",
        true,
    ),
    (702, "the kernel ran too long", true),
    (710, "an assertion of the kernel failed", true),
    (719, "the kernel failed on the device", true),
];

fn advice(status: Status) -> Option<&'static Advice> {
    ADVICE.iter().find(|advice| advice.0 == status)
}

/// The words for a status: the runtime's, and the advice there is.
pub(crate) fn describe(api: &Api, status: Status) -> String {
    let ask = |function: unsafe extern "C" fn(Status) -> *const c_char| {
        // SAFETY: any number may be asked for.
        let text = unsafe { function(status) };
        // SAFETY: what the runtime gives is a C string that it keeps.
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    };
    let name = ask(api.get_error_name).unwrap_or_else(|| "an unknown error".to_owned());
    let meaning = ask(api.get_error_string).map(|text| format!(", {text}")).unwrap_or_default();
    let advice = advice(status).map(|advice| format!(": {}", advice.1)).unwrap_or_default();
    format!("{name} ({status}{meaning}){advice}")
}

/// A call that the runtime refused.
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
    /// The error for people.
    #[cold]
    pub(crate) fn report(self, api: &Api) -> TargetError {
        let text = describe(api, self.status);
        let is_late = advice(self.status).is_some_and(|advice| advice.2);
        TargetError::Launch(if is_late {
            format!(
                "a launch failed on the device: {text}. Launches do not wait, so it may have been an earlier one; with \
                 HIP_LAUNCH_BLOCKING=1 the error comes with its own launch. The device answers nothing more in this process"
            )
        } else {
            format!("the HIP runtime could not {}: {text}", self.doing)
        })
    }
}
