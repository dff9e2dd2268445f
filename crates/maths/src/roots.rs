//! Square roots: `sqrt` is the machine's own, `rsqrt` its reciprocal.

use super::builder::Builder;
use llir::Value;

/// The square root, correctly rounded.
pub(super) fn sqrt(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    b.sqrt(x[0])
}

/// `1 / sqrt(x)`: two correctly rounded steps, hence below one and a half units; 0 gives an infinity of its sign.
pub(super) fn rsqrt(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let root = b.sqrt(x[0]);
    let one = b.float(1.0);
    b.fdiv(one, root)
}
