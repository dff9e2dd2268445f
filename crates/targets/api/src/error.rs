//! What can go wrong below ttir, in words for the person who wrote the kernel.

use std::fmt;

/// An error of a target or a device. Its text says what happened and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetError {
    /// The kernel cannot be compiled for this target. `location` is `file:line:column` where it is known.
    Compile {
        /// What is wrong, and the way out.
        message: String,
        /// Where in the source.
        location: Option<String>,
    },
    /// More of something is needed than there is.
    OutOfResources {
        /// What: `shared memory`, `threads`, ….
        name: String,
        /// How much is needed.
        required: u64,
        /// How much there is.
        limit: u64,
    },
    /// A library or tool is missing: what was searched, how to get it.
    Missing(String),
    /// A binary could not be loaded.
    Load(String),
    /// A launch failed, `device_assert` among the reasons.
    Launch(String),
    /// An invariant of ours is broken; please report it.
    Internal(String),
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TargetError::Compile { message, location: Some(location) } => write!(f, "{location}: {message}"),
            TargetError::Compile { message, location: None } => f.write_str(message),
            TargetError::OutOfResources { name, required, limit } => write!(
                f,
                "out of resource: {name}, Required: {required}, Hardware limit: {limit}. Reducing block sizes or \
                 `num_stages` may help."
            ),
            TargetError::Missing(message) | TargetError::Load(message) | TargetError::Launch(message) => {
                f.write_str(message)
            }
            TargetError::Internal(message) => write!(f, "internal error (please report it): {message}"),
        }
    }
}

impl std::error::Error for TargetError {}
