"""The part of the language that is written in the language itself; its text is inside the compiler."""

from ._builtin import builtin, show
from ._constexpr import constexpr


@builtin
def cdiv(x, div) -> "Any":
    """``(x + div - 1) // div``: how many pieces of `div` cover `x`. On constexprs the result is one."""


@builtin
def sigmoid(x):
    """``1 / (1 + exp(-x))``, element by element; fp32 or fp64."""


@builtin
def softmax(x, dim=None, *, keep_dims=None, ieee_rounding=False):
    """``exp(x - max(x)) / sum(exp(x - max(x)))`` along `dim`.

    Args:
        x: a block of floats.
        dim: the dimension; 0 when it is not given.
        keep_dims: deprecated, without effect on the shape of the result.
        ieee_rounding: divide with IEEE rounding.
    """


@builtin
def ravel(x, can_reorder=False):
    """All elements of `x` in one dimension, in row-major order."""


@builtin
def swizzle2d(i, j, size_i, size_j, size_g) -> "tuple[tensor, tensor]":
    """Reorders the positions of a ``size_i`` by ``size_j`` grid so that groups of `size_g` rows are walked column by
    column.

    Returns:
        The new ``(i, j)``.
    """


@builtin
def zeros(shape, dtype):
    """A block of zeros: `shape` a tuple of constexpr powers of two, `dtype` the element type."""


@builtin
def zeros_like(input):
    """Zeros of the shape and element type of `input`."""


@builtin
def max(input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False) -> "Any":
    """The largest element along `axis`, or of all.

    Args:
        input: a block; narrow types are compared as int32 or fp32.
        axis: a constexpr, or None for all dimensions.
        return_indices: return ``(values, indices)``.
        return_indices_tie_break_left: of equal elements take the first index.
        keep_dims: keep `axis` with size 1.
    """


@builtin
def argmax(input, axis, tie_break_left=True, keep_dims=False):
    """The int32 index of the largest element along `axis`; of equal ones the first when `tie_break_left`."""


@builtin
def min(input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False) -> "Any":
    """The smallest element along `axis`, or of all; arguments as of `max`."""


@builtin
def argmin(input, axis, tie_break_left=True, keep_dims=False):
    """The int32 index of the smallest element along `axis`; of equal ones the first when `tie_break_left`."""


@builtin
def sum(input, axis=None, keep_dims=False, dtype=None):
    """The sum along `axis`, or of all elements.

    Args:
        input: a block.
        axis: a constexpr, or None for all dimensions.
        keep_dims: keep `axis` with size 1.
        dtype: the type to add in; by default integers narrower than 32 bits become int32 or uint32, floats stay.
    """


@builtin
def xor_sum(input, axis=None, keep_dims=False):
    """The exclusive or of all elements along `axis`; integers."""


@builtin
def reduce_or(input, axis, keep_dims=False):
    """The bitwise or of all elements along `axis`; integers."""


@builtin
def cumsum(input, axis=0, reverse=False, dtype=None):
    """Running sums along `axis`.

    Args:
        reverse: from the end.
        dtype: the type to add in; as in `sum`.
    """


@builtin
def cumprod(input, axis=0, reverse=False, dtype=None):
    """Running products along `axis`; arguments as of `cumsum`."""


@builtin
def sort(x, dim=None, descending=constexpr(0), return_indices=False):
    """The elements in order along the last dimension.

    Args:
        x: a block.
        dim: the last dimension (the default); no other is possible.
        descending: the largest first.
        return_indices: also give where the elements were; equal ones stay in their order, and NaN is the largest.
    """


@builtin
def argsort(x, dim=None, descending=constexpr(0)):
    """The positions of the elements in order along the last dimension; equal ones stay in their order, and NaN is the largest."""


@builtin
def topk(x, k, dim=None, descending=True, return_indices=False):
    """The `k` largest elements (or the smallest, when not `descending`) along the last dimension, in order; `k` is a
    constexpr power of two. With `return_indices` also where they were. Of integers and floats of fewer than 32 bits fewer
    than all come as int32 and fp32, as `tl.max` gives them, without `return_indices`."""


@builtin
def bitonic_merge(x, dim=None, descending=constexpr(0)):
    """Puts a bitonic sequence (one that rises, then falls) along the last dimension in order."""


@builtin
def flip(x, dim=None):
    """The elements in reverse along `dim`; the last dimension when it is not given."""


@builtin
def interleave(a, b):
    """The elements of two blocks in turn along the last dimension, which doubles."""


@builtin
def squeeze(x, dim):
    """`x` without the dimension `dim`, which has size 1."""


@builtin
def unsqueeze(x, dim):
    """`x` with a dimension of size 1 at `dim`."""


@builtin
def _elementwise_max(a, b):
    """The larger of two elements, as `max` combines them."""


@builtin
def _elementwise_min(a, b):
    """The smaller of two elements, as `min` combines them."""


@builtin
def _sum_combine(a, b):
    """The sum of two elements, as `sum` combines them."""


@builtin
def _prod_combine(a, b):
    """The product of two elements, as `cumprod` combines them."""


@builtin
def _xor_combine(a, b):
    """The exclusive or of two elements, as `xor_sum` combines them."""


@builtin
def _or_combine(x, y):
    """The bitwise or of two elements, as `reduce_or` combines them."""


@builtin
def _argmax_combine(value1, index1, value2, index2, tie_break_left) -> "Any":
    """The larger of two values with its position; of equal ones the first when `tie_break_left`."""


@builtin
def _argmax_combine_tie_break_left(value1, index1, value2, index2) -> "Any":
    """The larger of two values with its position; of equal ones the first."""


@builtin
def _argmax_combine_tie_break_fast(value1, index1, value2, index2) -> "Any":
    """The larger of two values with its position; of equal ones the second."""


@builtin
def _argmin_combine(value1, index1, value2, index2, tie_break_left) -> "Any":
    """The smaller of two values with its position; of equal ones the first when `tie_break_left`."""


@builtin
def _argmin_combine_tie_break_left(value1, index1, value2, index2) -> "Any":
    """The smaller of two values with its position; of equal ones the first."""


@builtin
def _argmin_combine_tie_break_fast(value1, index1, value2, index2) -> "Any":
    """The smaller of two values with its position; of equal ones the second."""


@builtin
def _compare_and_swap(x, flip, i):
    """A stage of a bitonic network: `x` has a power of two of elements and only dimensions of size 2, and pairs along the `i`-th from
    the innermost are put in order, in the other one where `flip` is 1."""


@builtin
def sort_impl(x, k=None, dim=None, descending=constexpr(0)):
    """The elements in order along the last dimension, or the first `k` of them."""


@show
def _log2(i):
    """The logarithm to the base 2 of a power of two, on plain numbers and constexprs."""
    value = getattr(i, "value", i)
    result = value.bit_length() - 1
    return constexpr(result) if isinstance(i, constexpr) else result


_log2.__deuteron_constexpr_function__ = True


@show
def _is_power_of_two(i):
    """Whether a number or constexpr is a power of two."""
    value = getattr(i, "value", i)
    result = value > 0 and value & (value - 1) == 0
    return constexpr(result) if isinstance(i, constexpr) else result


_is_power_of_two.__deuteron_constexpr_function__ = True
