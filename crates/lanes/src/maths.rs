//! The project's own elementary functions, written out where they are called.

use crate::cx::Cx;
use crate::error::{Result, plain};
use llir::Value;

/// A function of the library on binary32 or binary64 values.
///
/// # Errors
/// When there is none of this name.
pub(crate) fn call(_cx: &mut Cx<'_>, name: &str, _x: &[Value]) -> Result<Value> {
    Err(plain(format!("there is no function `{name}`; write it with the functions of tl.math")))
}
