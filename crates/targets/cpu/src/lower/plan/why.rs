//! Why a block goes through memory between two loops, rather than being computed and used in one.

use std::fmt;

/// Who needs a block other than the loop that computes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Why {
    /// A loop that cannot be fused with the one that computes it.
    Apart,
    /// A loop that reads it at other positions.
    Moved,
    /// An operation that takes the whole of it.
    Whole(&'static str),
    /// What is behind the region, or its next iteration.
    Leaving,
    /// A write behind it may change what it is loaded from.
    Overwritten,
}

impl Why {
    /// The same where a value is needed at other positions than its own.
    pub(super) fn moved(self) -> Why {
        if self == Why::Apart { Why::Moved } else { self }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Apart => {
                f.write_str("a later loop reads it, which cannot be fused with the one that computes it")
            }
            Why::Moved => f.write_str("a loop reads it at other positions than it is computed at"),
            Why::Whole(name) => write!(f, "`{name}` takes the whole of it"),
            Why::Leaving => f.write_str("it leaves the loop or branch"),
            Why::Overwritten => f.write_str("what it is loaded from may be written behind it"),
        }
    }
}
