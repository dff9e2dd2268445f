"""Reductions along one axis, or over all elements where `axis` is None."""


@jit
def _sum_combine(a, b):
    return a + b


@jit
def _xor_combine(a, b):
    return a ^ b


@jit
def _or_combine(a, b):
    return a | b


@jit
def _elementwise_max(a, b):
    return tl.maximum(a, b)


@jit
def _elementwise_min(a, b):
    return tl.minimum(a, b)


@jit
def _argmax_combine_tie_break_left(value1, index1, value2, index2):
    first = value1 > value2 or (value1 == value2 and index1 < index2)
    return tl.where(first, value1, value2), tl.where(first, index1, index2)


@jit
def _argmax_combine_tie_break_fast(value1, index1, value2, index2):
    first = value1 > value2
    return tl.where(first, value1, value2), tl.where(first, index1, index2)


@jit
def _argmin_combine_tie_break_left(value1, index1, value2, index2):
    first = value1 < value2 or (value1 == value2 and index1 < index2)
    return tl.where(first, value1, value2), tl.where(first, index1, index2)


@jit
def _argmin_combine_tie_break_fast(value1, index1, value2, index2):
    first = value1 < value2
    return tl.where(first, value1, value2), tl.where(first, index1, index2)


@jit
def _with_indices(input, axis, combine_fn, keep_dims):
    """Reduces values together with their positions along `axis`."""
    along: tl.constexpr = tl._wrap_axis(axis, len(input.shape))
    index = tl.arange(0, input.shape[along])
    if len(input.shape) > 1:
        index = tl.expand_dims(index, tl._other_axes(along, len(input.shape)))
        index = tl.broadcast_to(index, input.shape)
    return tl.reduce((input, index), along, combine_fn, keep_dims=keep_dims)


@jit
def max(input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False):
    """The largest element along an axis, with its position on request. Narrow types are widened to 32 bits."""
    if return_indices:
        if return_indices_tie_break_left:
            return _with_indices(input, axis, _argmax_combine_tie_break_left, keep_dims)
        else:
            return _with_indices(input, axis, _argmax_combine_tie_break_fast, keep_dims)
    else:
        return tl.reduce(input.to(tl._minmax_dtype(input.dtype)), axis, _elementwise_max, keep_dims=keep_dims)


@jit
def min(input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False):
    """The smallest element along an axis, with its position on request. Narrow types are widened to 32 bits."""
    if return_indices:
        if return_indices_tie_break_left:
            return _with_indices(input, axis, _argmin_combine_tie_break_left, keep_dims)
        else:
            return _with_indices(input, axis, _argmin_combine_tie_break_fast, keep_dims)
    else:
        return tl.reduce(input.to(tl._minmax_dtype(input.dtype)), axis, _elementwise_min, keep_dims=keep_dims)


@jit
def argmax(input, axis, tie_break_left=True, keep_dims=False):
    """The position of the largest element along an axis."""
    _, index = tl.max(input, axis, return_indices=True, return_indices_tie_break_left=tie_break_left,
                      keep_dims=keep_dims)
    return index


@jit
def argmin(input, axis, tie_break_left=True, keep_dims=False):
    """The position of the smallest element along an axis."""
    _, index = tl.min(input, axis, return_indices=True, return_indices_tie_break_left=tie_break_left,
                      keep_dims=keep_dims)
    return index


@jit
def sum(input, axis=None, keep_dims=False, dtype: tl.constexpr = None):
    """The sum along an axis, in `dtype`; integers narrower than 32 bits are widened to 32."""
    return tl.reduce(input.to(tl._sum_dtype(input.dtype, dtype)), axis, _sum_combine, keep_dims=keep_dims)


@jit
def xor_sum(input, axis=None, keep_dims=False):
    """The exclusive or of integers along an axis."""
    tl.static_assert(input.type.scalar.is_int(), "xor_sum only supported for integers")
    return tl.reduce(input, axis, _xor_combine, keep_dims=keep_dims)


@jit
def reduce_or(input, axis, keep_dims=False):
    """The bitwise or of integers along an axis."""
    tl.static_assert(input.type.scalar.is_int(), "reduce_or only supported for integers")
    return tl.reduce(input, axis, _or_combine, keep_dims=keep_dims)


@jit
def _argmax_combine(value1, index1, value2, index2, tie_break_left):
    """The larger of two values with its position; of equal ones the first where `tie_break_left`."""
    if tie_break_left:
        return _argmax_combine_tie_break_left(value1, index1, value2, index2)
    else:
        return _argmax_combine_tie_break_fast(value1, index1, value2, index2)


@jit
def _argmin_combine(value1, index1, value2, index2, tie_break_left):
    """The smaller of two values with its position; of equal ones the first where `tie_break_left`."""
    if tie_break_left:
        return _argmin_combine_tie_break_left(value1, index1, value2, index2)
    else:
        return _argmin_combine_tie_break_fast(value1, index1, value2, index2)
