//! What a driver says when it refuses, in words that lead on.

use super::Status;
use target::TargetError;

/// Statuses that are looked at; drivers have the same numbers for them.
pub mod status {
    use super::Status;

    /// It was done.
    pub const SUCCESS: Status = 0;
    /// An argument is wrong.
    pub const INVALID_VALUE: Status = 1;
    /// There is not so much memory.
    pub const OUT_OF_MEMORY: Status = 2;
    /// There is no device.
    pub const NO_DEVICE: Status = 100;
    /// A kernel needs more registers than there are.
    pub const LAUNCH_OUT_OF_RESOURCES: Status = 701;
    /// Not all programs of a cooperative launch have room at the same time.
    pub const COOPERATIVE_LAUNCH_TOO_LARGE: Status = 720;
}

/// What a status says and what to do about it.
#[derive(Clone, Copy, Debug)]
pub struct Advice {
    status: Status,
    text: &'static str,
    /// Whether an earlier launch caused it, after which the process can do nothing more on the device.
    late: bool,
}

/// Advice for a call that was refused.
pub const fn row(status: Status, text: &'static str) -> Advice {
    Advice { status, text, late: false }
}

/// Advice for a launch that failed earlier.
pub const fn late(status: Status, text: &'static str) -> Advice {
    Advice { status, text, late: true }
}

/// The advice that holds for every driver; a status without a row stands with the driver's own words.
static ADVICE: &[Advice] = &[
    row(2, "free some memory, or use smaller tensors"),
    row(3, "in a process that was forked after the GPU was used, use the start method \"spawn\""),
    row(209, "the kernel was compiled for another architecture than this device has"),
    row(720, "a cooperative launch needs room for all programs at once: use a smaller grid"),
    late(
        700,
        "the kernel read or wrote memory that is not its own: check the masks and the bounds of its accesses",
    ),
    late(702, "the kernel ran longer than the driver allows"),
    late(710, "an assertion of the kernel failed; its text is on the standard error stream"),
    late(719, "the kernel failed on the device"),
];

/// How a vendor's driver is spoken of.
#[derive(Debug)]
pub struct Terms {
    /// What it is called, behind "the".
    pub name: &'static str,
    /// What is needed in place of a driver that is too old, behind "the driver here is 1.2;".
    pub needed: &'static str,
    /// The setting by which an error comes with its own launch.
    pub blocking: &'static str,
    /// What its documentation calls memory that the lanes of a thread block share.
    pub shared: &'static str,
    /// The vendor's advice, which goes before what holds for all.
    pub advice: &'static [Advice],
}

impl Terms {
    fn advice(&self, status: Status) -> Option<&'static Advice> {
        self.advice.iter().chain(ADVICE).find(|advice| advice.status == status)
    }

    /// Whether a status was caused by an earlier launch that broke the context.
    pub(super) fn is_late(&self, status: Status) -> bool {
        self.advice(status).is_some_and(|advice| advice.late)
    }

    /// The words for a status: the driver's name and meaning of it, and the advice there is.
    pub(super) fn describe(&self, status: Status, [name, meaning]: [Option<String>; 2]) -> String {
        let name = name.unwrap_or_else(|| "an unknown error".to_owned());
        let meaning = meaning.map(|text| format!(", {text}")).unwrap_or_default();
        let advice = self.advice(status).map(|advice| format!(": {}", advice.text)).unwrap_or_default();
        format!("{name} ({status}{meaning}){advice}")
    }

    /// The error for people. `launched` names the kernels that were launched last, the newest first.
    #[cold]
    pub(super) fn report(&self, refused: Refused, text: &str, launched: &[&str]) -> TargetError {
        let Terms { name, blocking, .. } = self;
        if !self.is_late(refused.status) {
            return TargetError::Launch(format!("the {name} could not {}: {text}", refused.doing));
        }
        let launched = match launched {
            [] => "no kernel of this compiler was launched here before".to_owned(),
            [one] => format!("the last kernel launched was `{one}`"),
            [one, others @ ..] => {
                format!("the last kernel launched was `{one}`, before it `{}`", others.join("`, `"))
            }
        };
        TargetError::Launch(format!(
            "a launch failed on the device: {text}. Launches do not wait, so it was an earlier one ({launched}); with {blocking}=1 the \
             error comes with its own launch. The device answers nothing more in this process"
        ))
    }
}

/// A call that the driver refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What it answered.
    pub status: Status,
    /// What was to be done: `load a module`.
    pub doing: &'static str,
}

/// Turns a status into a result.
///
/// # Errors
/// Where it is not success.
#[inline]
pub fn check(status: Status, doing: &'static str) -> Result<(), Refused> {
    if status == status::SUCCESS { Ok(()) } else { Err(Refused { status, doing }) }
}
