"""Making and reshaping blocks."""


@jit
def zeros(shape, dtype):
    """A block of zeros."""
    return tl.full(shape, 0, dtype)


@jit
def zeros_like(input):
    """A block of zeros with the shape and type of another."""
    return tl.full(input.shape, 0, input.dtype)


@jit
def ravel(x, can_reorder=False):
    """The elements in one dimension."""
    return tl.reshape(x, [x.numel], can_reorder=can_reorder)


@jit
def interleave(a, b):
    """The elements of two blocks by turns, along the last dimension."""
    pairs = tl.join(a, b)
    if len(pairs.shape) == 1:
        return pairs
    else:
        return tl.reshape(pairs, pairs.shape[:-2] + [2 * pairs.shape[-2]])


@jit
def squeeze(x, dim: tl.constexpr):
    """Without a dimension of size 1."""
    at: tl.constexpr = tl._wrap_axis(dim, len(x.shape))
    tl.static_assert(x.shape[at] == 1, "squeeze: the dimension must have size 1")
    return tl.reshape(x, x.shape[:at] + x.shape[at + 1:])


@jit
def unsqueeze(x, dim: tl.constexpr):
    """With a new dimension of size 1."""
    at: tl.constexpr = tl._wrap_axis(dim, len(x.shape) + 1)
    return tl.reshape(x, x.shape[:at] + [1] + x.shape[at:])


@jit
def flip(x, dim=None):
    """The elements in reverse order along a dimension, by default the last.

    Reversing 2**n elements flips every bit of their positions; `y ^ xor_sum(y)` swaps the two halves of a dimension of
    size 2, so it is done once per bit.
    """
    along: tl.constexpr = len(x.shape) - 1 if dim is None else tl._wrap_axis(dim, len(x.shape))
    size: tl.constexpr = x.shape[along]
    if tl._is_power_of_two(size):
        bits: tl.constexpr = tl._log2(size)
        as_int: tl.constexpr = tl._int_dtype(x.dtype.primitive_bitwidth)
        y = tl.reshape(x.to(as_int, bitcast=True), x.shape[:along] + [2] * bits + x.shape[along + 1:])
        for bit in tl.static_range(bits):
            y = y ^ tl.xor_sum(y, along + bit, True)
        return tl.reshape(y, x.shape).to(x.dtype, bitcast=True)
    else:
        positions = tl.reshape(size - 1 - tl.arange(0, size), [1] * along + [size] + [1] * (len(x.shape) - 1 - along))
        positions = tl.broadcast_to(positions, x.shape)
        if x.dtype == tl.int1:
            return tl.gather(x.to(tl.int8), positions, along).to(tl.int1)
        else:
            return tl.gather(x, positions, along)
