"""Programs, and operations that make blocks or change their shape: signatures and documentation."""

from ._builtin import builtin


@builtin
def program_id(axis):
    """The number of the running program along `axis`.

    Args:
        axis: 0, 1 or 2, a constexpr.

    Returns:
        An int32 scalar from 0 to ``num_programs(axis) - 1``.
    """


@builtin
def num_programs(axis):
    """How many programs the launch has along `axis` (0, 1 or 2), an int32 scalar."""


@builtin
def arange(start, end):
    """The block ``[start, start + 1, …, end - 1]`` of int32.

    Args:
        start, end: constexprs with ``end > start`` that fit int32; ``end - start`` must be a power of two.

    Errors:
        ``arange's range must be a power of 2``, and a bound that is not known at compile time.
    """


@builtin
def full(shape, value, dtype):
    """A block of one value.

    Args:
        shape: a tuple of constexpr powers of two, 2**20 elements at most.
        value: a number or a scalar of the kernel; it is cast to `dtype`. Of an integer that is too large the low bits count.
        dtype: the element type.
    """


@builtin
def to_tensor(x):
    """A constexpr or Python number as a run-time scalar: bool gives int1; an int the first of int32, uint32, int64 and
    uint64 that holds it; a float fp32 where it fits its range, else fp64."""


@builtin
def broadcast(input, other) -> "tuple[tensor, tensor]":
    """Both blocks with their common shape: dimensions of size 1 are repeated, missing leading ones are inserted.

    Errors:
        Sizes that differ where neither is 1.
    """


@builtin
def broadcast_to(input, *shape):
    """`input` repeated to `shape`.

    Args:
        input: a block of the same rank, each size equal to the target's or 1; or a scalar.
        shape: constexprs, or one tuple of them.
    """


@builtin
def expand_dims(input, axis):
    """`input` with dimensions of size 1 inserted.

    Args:
        axis: an int or a tuple of them, positions in the result; negative ones count from its end.
    """


@builtin
def permute(input, *dims):
    """`input` with its dimensions in another order.

    Args:
        dims: every dimension once, as arguments or as one tuple.
    """


@builtin
def trans(input, *dims):
    """The transposed block: `dims` as in `permute`; without them, the last two dimensions swap."""


@builtin
def reshape(input, *shape, can_reorder=False):
    """The same elements in row-major order under another shape.

    Args:
        shape: constexpr powers of two with the same product, as arguments or one tuple.
        can_reorder: deprecated; lets the compiler choose the order of elements.
    """


@builtin
def view(input, *shape, _semantic=None):
    """Deprecated: `reshape` that may reorder elements."""


@builtin
def cat(input, other, can_reorder=False, dim=0):
    """Two blocks of the same shape and element type one after the other.

    Args:
        dim: the dimension that grows.
        can_reorder: deprecated; lets elements come in any order.
    """


@builtin
def join(a, b):
    """Two blocks (broadcast to one shape) side by side in a new last dimension of size 2."""


@builtin
def split(a) -> "tuple[tensor, tensor]":
    """The two halves of a block whose last dimension has size 2; the inverse of `join`."""


@builtin
def cast(input, dtype, fp_downcast_rounding=None, bitcast=False):
    """`input` as another element type.

    Args:
        dtype: the element type of the result.
        fp_downcast_rounding: ``"rtne"`` (nearest even, the default) or ``"rtz"`` (towards zero), for a conversion to
            a narrower float only.
        bitcast: keep the bits instead of the value; widths must be equal.

    A float becomes an integer by truncation; anything becomes int1 by ``!= 0``. What does not fit becomes the nearest end
    of the type; of 8-bit types it is the low half of what 16 bits would hold (200.0 is -56 as int8), as with Triton on
    NVIDIA GPUs. NaN gives any integer.
    """


@builtin
def gather(src, index, axis):
    """Elements of `src` picked along `axis`: ``out[i, j] = src[index[i, j], j]`` for axis 0.

    Args:
        src: a block.
        index: a block of integers of the same rank; equal sizes except along `axis`.
        axis: a constexpr.
    """


@builtin
def histogram(input, num_bins, mask=None):
    """How often each of ``0 … num_bins - 1`` occurs.

    Args:
        input: a block of rank 1 of integers; values outside the bins are not counted.
        num_bins: a constexpr power of two.
        mask: elements where it is false are not counted.

    Returns:
        An int32 block of `num_bins` elements.
    """
