"""Sorting along the last dimension with bitonic networks.

A block of 2**n elements is seen as a hypercube with n dimensions of size 2; a compare-and-swap stage works along one of
them, numbered from the innermost.
"""


@jit
def _position_bit(n_dims: tl.constexpr, bit: tl.constexpr):
    """0 and 1 along one dimension of the hypercube, broadcast along the others."""
    return tl.reshape(tl.arange(0, 2), [1] * (n_dims - bit - 1) + [2] + [1] * bit)


@jit
def _compare_and_swap(x, descending, bit: tl.constexpr):
    n_dims: tl.constexpr = tl._log2(x.numel)
    as_int: tl.constexpr = tl._int_dtype(x.dtype.primitive_bitwidth)
    own = x.to(as_int, bitcast=True)
    # A pair's exclusive or, combined with one of the two, gives the other.
    partner = (own ^ tl.xor_sum(own, n_dims - 1 - bit, True)).to(x.dtype, bitcast=True)
    right = _position_bit(n_dims, bit)
    return tl.where((x > partner) != (descending ^ right).to(tl.int1), partner, x)


@jit
def _merge(x, stages: tl.constexpr, order: tl.constexpr):
    """Merges bitonic runs of 2**stages elements: 0 ascending, 1 descending, 2 by turns."""
    if order == 2:
        descending = _position_bit(tl._log2(x.numel), stages)
    else:
        descending = order
    for stage in tl.static_range(stages):
        x = _compare_and_swap(x, descending, stages - 1 - stage)
    return x


@jit
def _sort_or_select(x, k: tl.constexpr, dim: tl.constexpr, descending: tl.constexpr):
    last: tl.constexpr = len(x.shape) - 1
    tl.static_assert(dim is None or dim == last or dim == -1, "only minor dimension is currently supported")
    if k is not None:
        tl.static_assert(k > 0, "topk: k must be greater than 0")
        tl.static_assert(tl._is_power_of_two(k), "topk: k must be a power of two")
        tl.static_assert(k <= x.shape[last], "topk: k must not exceed the size of the selected dimension")
    log_n: tl.constexpr = tl._log2(x.shape[last])
    log_k: tl.constexpr = log_n if k is None else tl._log2(k)
    if log_k == 0:
        if descending:
            found = tl.max(x, axis=last, keep_dims=True)
        else:
            found = tl.min(x, axis=last, keep_dims=True)
        return found.to(x.dtype)
    else:
        cube = tl.reshape(x, [2] * tl._log2(x.numel))
        for i in tl.static_range(1, log_k + 1):
            cube = _merge(cube, i, 2 if i < log_n else descending)
        # Each round keeps the better half of every pair of runs.
        for i in tl.static_range(log_k + 1, log_n + 1):
            if descending:
                kept = tl.max(cube, axis=tl._log2(cube.numel) - 1 - log_k)
            else:
                kept = tl.min(cube, axis=tl._log2(cube.numel) - 1 - log_k)
            cube = _merge(kept.to(x.dtype), log_k, 2 if i < log_n else descending)
        return tl.reshape(cube, x.shape[:-1] + [2**log_k])


@jit
def sort(x, dim: tl.constexpr = None, descending: tl.constexpr = 0):
    """The elements in order along the last dimension."""
    return _sort_or_select(x, None, dim, descending)


@jit
def topk(x, k: tl.constexpr, dim: tl.constexpr = None, descending: tl.constexpr = True):
    """The `k` largest (or smallest) elements along the last dimension, in order."""
    return _sort_or_select(x, k, dim, descending)


@jit
def bitonic_merge(x, dim: tl.constexpr = None, descending: tl.constexpr = 0):
    """The elements of a bitonic sequence in order along the last dimension."""
    last: tl.constexpr = len(x.shape) - 1
    tl.static_assert(dim is None or dim == last or dim == -1, "only minor dimension is currently supported")
    cube = tl.reshape(x, [2] * tl._log2(x.numel))
    return tl.reshape(_merge(cube, tl._log2(x.shape[last]), descending), x.shape)
