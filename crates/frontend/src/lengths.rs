//! How long ranges, and tuples and texts that `+` and `*` make, are.

use crate::diagnostic::Fault;

/// The most elements of a tuple, and bytes of a text, that repeating one may give.
const MAX_REPEATED: usize = 1 << 20;

/// How often something of a length is repeated by `* count`: never where the count is negative.
pub(crate) fn repetitions(count: i128, length: usize) -> Result<usize, Fault> {
    if length == 0 {
        return Ok(0);
    }
    let count = usize::try_from(count.max(0)).unwrap_or(usize::MAX);
    match count.checked_mul(length) {
        Some(total) if total <= MAX_REPEATED => Ok(count),
        _ => {
            Err(format!("the result of `*` is too large: it may have at most {MAX_REPEATED} elements").into())
        }
    }
}

/// Whether something of one length may be put behind something of another.
pub(crate) fn joined(left: usize, right: usize) -> Result<(), Fault> {
    match left.checked_add(right) {
        Some(total) if total <= MAX_REPEATED => Ok(()),
        _ => {
            Err(format!("the result of `+` is too large: it may have at most {MAX_REPEATED} elements").into())
        }
    }
}

/// How many numbers a range has; none where its step is zero.
pub(crate) fn range_length(start: i128, end: i128, step: i128) -> Option<u128> {
    let is_empty = if step > 0 { start >= end } else { start <= end };
    let last = start.abs_diff(end).saturating_sub(1).checked_div(step.unsigned_abs())?;
    Some(if is_empty { 0 } else { last + 1 })
}

/// A number of a range: it lies between the ends, even where the way to it does not.
pub(crate) fn range_element(start: i128, step: i128, index: u128) -> i128 {
    start.wrapping_add(step.wrapping_mul(index.cast_signed()))
}
