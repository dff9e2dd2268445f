"""Sorting along the last dimension with bitonic networks.

A block of 2**n elements is seen as a hypercube with n dimensions of size 2; a compare-and-swap stage works along one of
them, numbered from the innermost. Lines of other sizes are extended by elements that come last.
"""


@jit
def _position_bit(n_dims: tl.constexpr, bit: tl.constexpr):
    """0 and 1 along one dimension of the hypercube, broadcast along the others."""
    return tl.reshape(tl.arange(0, 2), [1] * (n_dims - bit - 1) + [2] + [1] * bit)


@jit
def _compare_and_swap(x, flip, i: tl.constexpr):
    n_dims: tl.constexpr = tl._log2(x.numel)
    as_int: tl.constexpr = tl._int_dtype(x.dtype.primitive_bitwidth)
    own = x.to(as_int, bitcast=True)
    # A pair's exclusive or, combined with one of the two, gives the other.
    partner = (own ^ tl.xor_sum(own, n_dims - 1 - i, True)).to(x.dtype, bitcast=True)
    right = _position_bit(n_dims, i)
    return tl.where((x > partner) != (flip ^ right).to(tl.int1), partner, x)


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
def sort_impl(x, k: tl.constexpr = None, dim: tl.constexpr = None, descending: tl.constexpr = 0):
    last: tl.constexpr = len(x.shape) - 1
    tl.static_assert(dim is None or dim == last or dim == -1, "only minor dimension is currently supported")
    if k is not None:
        _check_k(x, k)
    count: tl.constexpr = x.shape[last] if k is None else k
    if tl._is_power_of_two(x.numel) and tl._is_power_of_two(count):
        return _sort_powers(x, k, descending)
    else:
        # As integers: NaN and the elements that extend lines do not get in each other's way.
        full: tl.constexpr = tl._rounded_up(x.shape)
        keys = _extended(_sort_keys(x), full, descending)
        keys = _sort_powers(keys, tl._rounded_up([count])[0], descending).to(keys.dtype)
        return _of_sort_keys(tl._resized(keys, x.shape[:-1] + [count]), x.dtype)


@jit
def _check_k(x, k: tl.constexpr):
    tl.static_assert(k > 0, "topk: k must be greater than 0")
    tl.static_assert(tl._is_power_of_two(k) or tl._any_shape(x), "topk: k must be a power of two")
    tl.static_assert(k <= x.shape[-1], "topk: k must not exceed the size of the selected dimension")


@jit
def _sort_keys(x):
    """Integers in the order of the elements, NaN the largest."""
    if x.dtype.is_floating():
        bits: tl.constexpr = x.dtype.primitive_bitwidth
        largest: tl.constexpr = (1 << (bits - 1)) - 1
        key = x.to(tl._int_dtype(bits), bitcast=True)
        key = tl.where(x != x, key & largest, key)
        return key ^ ((key >> (bits - 1)) & largest)
    else:
        return x


@jit
def _of_sort_keys(key, dtype: tl.constexpr):
    if dtype.is_floating():
        bits: tl.constexpr = dtype.primitive_bitwidth
        return (key ^ ((key >> (bits - 1)) & ((1 << (bits - 1)) - 1))).to(dtype, bitcast=True)
    else:
        return key


@jit
def _extended(x, shape: tl.constexpr, descending: tl.constexpr):
    """A block of this shape, whose lines end with elements that no other one comes behind."""
    last: tl.constexpr = len(x.shape) - 1
    size: tl.constexpr = x.shape[last]
    bits: tl.constexpr = x.dtype.primitive_bitwidth
    if x.dtype.is_floating():
        worst: tl.constexpr = float("-inf") if descending else float("nan")
    elif x.dtype.is_int_signed():
        worst: tl.constexpr = -(1 << (bits - 1)) if descending else (1 << (bits - 1)) - 1
    else:
        worst: tl.constexpr = 0 if descending else (1 << bits) - 1
    wide = tl._resized(x, shape)
    positions = tl.reshape(tl.arange(0, shape[last]), [1] * last + [shape[last]])
    return tl.where(positions < size, wide, tl.full([1] * (last + 1), worst, x.dtype))


@jit
def _sort_powers(x, k: tl.constexpr, descending: tl.constexpr):
    last: tl.constexpr = len(x.shape) - 1
    log_n: tl.constexpr = tl._log2(x.shape[last])
    log_k: tl.constexpr = log_n if k is None else tl._log2(k)
    if log_k == 0:
        if descending:
            return tl.max(x, axis=last, keep_dims=True)
        else:
            return tl.min(x, axis=last, keep_dims=True)
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
            cube = _merge(kept, log_k, 2 if i < log_n else descending)
        return tl.reshape(cube, x.shape[:-1] + [2**log_k])


@jit
def _comes_later(x, index, partner, other, descending: tl.constexpr):
    """Whether an element stands behind its partner: a total order, in which NaN is the largest and equal elements stay as they are."""
    nan = x != x
    partner_nan = partner != partner
    greater = (x > partner) | (nan & (partner == partner))
    less = (x < partner) | (partner_nan & (x == x))
    ties = (greater == less) & (index > other)
    if descending:
        return less | ties
    else:
        return greater | ties


@jit
def _compare_and_swap_pairs(x, index, turned, descending: tl.constexpr, bit: tl.constexpr):
    n_dims: tl.constexpr = tl._log2(x.numel)
    as_int: tl.constexpr = tl._int_dtype(x.dtype.primitive_bitwidth)
    own = x.to(as_int, bitcast=True)
    partner = (own ^ tl.xor_sum(own, n_dims - 1 - bit, True)).to(x.dtype, bitcast=True)
    other = index ^ tl.xor_sum(index, n_dims - 1 - bit, True)
    right = _position_bit(n_dims, bit)
    swaps = _comes_later(x, index, partner, other, descending) != (turned ^ right).to(tl.int1)
    return tl.where(swaps, partner, x), tl.where(swaps, other, index)


@jit
def _sort_pairs(x, k: tl.constexpr, dim: tl.constexpr, descending: tl.constexpr):
    """The first `k` elements (`None`: all) in order along the last dimension, and where they were."""
    last: tl.constexpr = len(x.shape) - 1
    tl.static_assert(dim is None or dim == last or dim == -1, "only minor dimension is currently supported")
    if k is not None:
        _check_k(x, k)
    count: tl.constexpr = x.shape[last] if k is None else k
    if tl._is_power_of_two(x.numel) and tl._is_power_of_two(count):
        return _sort_pairs_powers(x, k, descending)
    else:
        full: tl.constexpr = tl._rounded_up(x.shape)
        found, index = _sort_pairs_powers(_extended(x, full, descending), tl._rounded_up([count])[0], descending)
        return tl._resized(found, x.shape[:-1] + [count]), tl._resized(index, x.shape[:-1] + [count])


@jit
def _sort_pairs_powers(x, k: tl.constexpr, descending: tl.constexpr):
    last: tl.constexpr = len(x.shape) - 1
    size: tl.constexpr = x.shape[last]
    log_n: tl.constexpr = tl._log2(size)
    positions = tl.reshape(tl.arange(0, size), [1] * last + [size])
    cube = tl.reshape(x, [2] * tl._log2(x.numel))
    index = tl.reshape(tl.broadcast_to(positions, x.shape), [2] * tl._log2(x.numel))
    for i in tl.static_range(1, log_n + 1):
        for stage in tl.static_range(i):
            if i < log_n:
                turned = _position_bit(tl._log2(x.numel), i)
            else:
                turned = 0
            cube, index = _compare_and_swap_pairs(cube, index, turned, descending, i - 1 - stage)
    if k is None:
        return tl.reshape(cube, x.shape), tl.reshape(index, x.shape)
    else:
        return _first(cube, x.shape, k), _first(index, x.shape, k)


@jit
def _first(cube, shape: tl.constexpr, k: tl.constexpr):
    """The first `k` elements along the last dimension of a block of this shape."""
    runs: tl.constexpr = shape[-1] // k
    as_int: tl.constexpr = tl._int_dtype(cube.dtype.primitive_bitwidth)
    bits = tl.reshape(cube.to(as_int, bitcast=True), shape[:-1] + [runs, k])
    is_first = tl.reshape(tl.arange(0, runs), [1] * (len(shape) - 1) + [runs, 1]) == 0
    return tl.xor_sum(tl.where(is_first, bits, 0), len(shape) - 1).to(cube.dtype, bitcast=True)


@jit
def sort(x, dim: tl.constexpr = None, descending: tl.constexpr = 0, return_indices: tl.constexpr = False):
    """The elements in order along the last dimension; with `return_indices` also where they were, equal elements in their order."""
    if return_indices:
        return _sort_pairs(x, None, dim, descending)
    else:
        return sort_impl(x, None, dim, descending)


@jit
def argsort(x, dim: tl.constexpr = None, descending: tl.constexpr = 0):
    """The positions of the elements in order along the last dimension; equal elements stay in their order."""
    return _sort_pairs(x, None, dim, descending)[1]


@jit
def topk(x, k: tl.constexpr, dim: tl.constexpr = None, descending: tl.constexpr = True, return_indices: tl.constexpr = False):
    """The `k` largest (or smallest) elements along the last dimension, in order; with `return_indices` also where they were."""
    if return_indices:
        return _sort_pairs(x, k, dim, descending)
    else:
        return sort_impl(x, k, dim, descending)


@jit
def bitonic_merge(x, dim: tl.constexpr = None, descending: tl.constexpr = 0):
    """The elements of a bitonic sequence in order along the last dimension."""
    last: tl.constexpr = len(x.shape) - 1
    tl.static_assert(dim is None or dim == last or dim == -1, "only minor dimension is currently supported")
    tl.static_assert(tl._is_power_of_two(x.numel), "bitonic_merge: sizes must be powers of two")
    cube = tl.reshape(x, [2] * tl._log2(x.numel))
    return tl.reshape(_merge(cube, tl._log2(x.shape[last]), descending), x.shape)
