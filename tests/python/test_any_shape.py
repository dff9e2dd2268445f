"""Blocks whose sizes are no powers of two (`@jit(extensions=["any_shape"])`), on every engine, against float64.

Memory ends at a page that may not be touched, behind a block or in front of it, and holds NaN and infinities.
"""

import numpy as np
import pytest
from test_cpu_limits import Guarded

import deuteron as triton
import deuteron.language as tl

ENGINES = ["cpu", "interpreter", "sm_90", "gfx942"]
SIZES = (1, 3, 5, 7, 48, 80, 96, 100, 192, 1000)

any_shape = triton.jit(extensions=["any_shape"])


class Memory:
    """Arrays next to memory that may not be touched, on either side."""

    def __init__(self, at_end=True):
        self.guarded = Guarded()
        self.at_end = at_end

    def __call__(self, values):
        return self.guarded.array(values, self.at_end)

    def empty(self, shape, dtype=np.float32):
        """An array of what no kernel should leave there."""
        return self(np.full(shape, 77, dtype))


@pytest.fixture(params=(True, False), ids=("at end", "at begin"))
def memory(request):
    """Where the untouchable page is."""
    return Memory(request.param)


def numbers(*shape):
    """Fresh numbers every time; a failure shows them."""
    return np.random.default_rng().standard_normal(shape).astype(np.float32)


def with_specials(values):
    """The values with NaN, infinities and a negative zero among them."""
    flat = values.reshape(-1)
    for at, special in zip((1, 2, 4, 6), (np.nan, np.inf, -np.inf, -0.0)):
        if at < flat.size:
            flat[at] = special
    return values


@any_shape
def vector_add(x, y, out, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + at, tl.load(x + at) + tl.load(y + at))


@pytest.mark.parametrize("n", SIZES)
def test_vector_add(engine, memory, n):
    x, y = with_specials(numbers(3 * n)), numbers(3 * n)
    out = memory.empty(3 * n)
    vector_add[(3, )](memory(x), memory(y), out, n)
    np.testing.assert_array_equal(out, x + y)


@any_shape
def softmax(x, out, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    row = tl.load(x + at)
    row = tl.exp(row - tl.max(row, axis=0))
    tl.store(out + at, row / tl.sum(row, axis=0))


@pytest.mark.parametrize("n", (*SIZES, 781))
def test_softmax(engine, memory, n):
    x = numbers(3, n) * 4 - 30
    out = memory.empty((3, n))
    softmax[(3, )](memory(x), out, n)
    shifted = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(out, shifted / shifted.sum(axis=1, keepdims=True), rtol=1e-5, atol=1e-7)


@any_shape
def layer_norm(x, weight, bias, out, eps, M: tl.constexpr, N: tl.constexpr):
    columns = tl.arange(0, N)
    at = tl.arange(0, M)[:, None] * N + columns[None, :]
    rows = tl.load(x + at)
    mean = tl.sum(rows, axis=1) / N
    centred = rows - mean[:, None]
    variance = tl.sum(centred * centred, axis=1) / N
    normed = centred * tl.rsqrt(variance + eps)[:, None]
    tl.store(out + at, normed * tl.load(weight + columns) + tl.load(bias + columns))


@pytest.mark.parametrize("m, n", ((3, 5), (5, 80), (7, 100), (1, 1000)))
def test_layer_norm(engine, memory, m, n):
    x, weight, bias = numbers(m, n) + 5, numbers(n), numbers(n)
    out = memory.empty((m, n))
    layer_norm[(1, )](memory(x), memory(weight), memory(bias), out, 1e-5, m, n)
    wide = x.astype(np.float64)
    normed = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(out, normed * weight + bias, rtol=2e-4, atol=2e-4)


@any_shape
def matmul(a, b, out, K, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    rows = tl.program_id(0) * TM + tl.arange(0, TM)
    columns = tl.program_id(1) * TN + tl.arange(0, TN)
    width = tl.num_programs(1) * TN
    depth = tl.arange(0, TK)
    total = tl.zeros((TM, TN), tl.float32)
    for k in range(0, K, TK):
        left = tl.load(a + rows[:, None] * K + (k + depth)[None, :])
        right = tl.load(b + (k + depth)[:, None] * width + columns[None, :])
        total = tl.dot(left, right, total, input_precision="ieee")
    tl.store(out + rows[:, None] * width + columns[None, :], total)


@pytest.mark.parametrize("tile", ((80, 48, 96), (48, 80, 16), (16, 96, 48), (96, 16, 100)))
@pytest.mark.parametrize("dtype", (np.float32, np.float16))
def test_matmul(engine, memory, tile, dtype):
    m, n, k = tile
    a, b = numbers(2 * m, 2 * k).astype(dtype), numbers(2 * k, n).astype(dtype)
    out = memory.empty((2 * m, n))
    matmul[(2, 1)](memory(a), memory(b), out, 2 * k, *tile)
    np.testing.assert_allclose(out, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-4, atol=2e-4)


@any_shape
def attention(q, k, v, out, scale, length, BLOCK: tl.constexpr, STEP: tl.constexpr, D: tl.constexpr):
    rows, dims = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + dims[None, :])
    highest = tl.full((BLOCK, ), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK, ), tl.float32)
    sums = tl.zeros((BLOCK, D), tl.float32)
    for start in range(0, length, STEP):
        keys = start + tl.arange(0, STEP)
        key = tl.load(k + keys[None, :] * D + dims[:, None])
        value = tl.load(v + keys[:, None] * D + dims[None, :])
        scores = tl.dot(query, key) * scale
        new = tl.maximum(highest, tl.max(scores, 1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(highest - new)
        total = total * shrink + tl.sum(weights, 1)
        sums = tl.dot(weights.to(value.dtype), value, sums * shrink[:, None])
        highest = new
    tl.store(out + rows[:, None] * D + dims[None, :], sums / total[:, None])


@pytest.mark.parametrize("d, step", ((80, 16), (96, 48), (192, 32)))
def test_attention(engine, memory, d, step):
    q, k, v = (numbers(96, d).astype(np.float16) for _ in range(3))
    out = memory.empty((96, d))
    attention[(2, )](memory(q), memory(k), memory(v), out, d**-0.5, 96, 48, step, d)
    scores = q.astype(np.float64) @ k.astype(np.float64).T * d**-0.5
    weights = np.exp(scores - scores.max(1, keepdims=True))
    np.testing.assert_allclose(out, weights / weights.sum(1, keepdims=True) @ v.astype(np.float64), rtol=5e-3, atol=5e-3)


@any_shape
def combined(x, sums, tops, places, running, back, total, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    block = tl.load(x + at)
    tl.store(sums + tl.arange(0, N), tl.sum(block, axis=0))
    top, place = tl.max(block, axis=1, return_indices=True)
    tl.store(tops + tl.arange(0, M), top)
    tl.store(places + tl.arange(0, M), place)
    tl.store(running + at, tl.cumsum(block, axis=1))
    tl.store(back + at, tl.cumsum(block, axis=0, reverse=True))
    tl.store(total, tl.sum(block))
    tl.store(total + 1, tl.min(block))


@pytest.mark.parametrize("m, n", ((3, 5), (7, 48), (5, 100), (1, 1000), (12, 80), (8, 3)))
def test_reductions_and_scans(engine, memory, m, n):
    x = np.random.default_rng().integers(-50, 0, (m, n)).astype(np.int32)
    sums, tops, places = memory.empty(n, np.int32), memory.empty(m, np.int32), memory.empty(m, np.int32)
    running, back, total = memory.empty((m, n), np.int32), memory.empty((m, n), np.int32), memory.empty(2, np.int32)
    combined[(1, )](memory(x), sums, tops, places, running, back, total, m, n)
    np.testing.assert_array_equal(sums, x.sum(0))
    np.testing.assert_array_equal(tops, x.max(1))
    np.testing.assert_array_equal(places, x.argmax(1))
    np.testing.assert_array_equal(running, x.cumsum(1))
    np.testing.assert_array_equal(back, x[::-1].cumsum(0)[::-1])
    assert total.tolist() == [x.sum(), x.min()]


@any_shape
def with_nan(x, out, N: tl.constexpr):
    block = tl.load(x + tl.arange(0, N))
    tl.store(out, tl.max(block, axis=0))
    tl.store(out + 1, tl.min(block, axis=0))
    tl.store(out + 2, tl.sum(block, axis=0))


def test_nan_and_infinities_in_reductions(engine, memory):
    for values, expected in (([np.nan, -1, -2], [-1, -2, np.nan]), ([np.nan] * 3, [np.nan] * 3),
                             ([-np.inf] * 5, [-np.inf] * 3), ([np.inf, 1, 2], [np.inf, 1, np.inf])):
        out = memory.empty(3)
        with_nan[(1, )](memory(np.array(values, np.float32)), out, len(values))
        np.testing.assert_array_equal(out, np.array(expected, np.float32))


@any_shape
def ordered(x, up, down, best, places, turned, N: tl.constexpr, K: tl.constexpr):
    at = tl.arange(0, N)
    block = tl.load(x + at)
    tl.store(up + at, tl.sort(block))
    tl.store(down + at, tl.sort(block, descending=True))
    tl.store(best + tl.arange(0, K), tl.topk(block, K))
    tl.store(places + at, tl.argsort(block))
    tl.store(turned + at, tl.flip(block))


@pytest.mark.parametrize("n, k", ((3, 2), (7, 7), (100, 5), (48, 16), (64, 10)))
@pytest.mark.parametrize("dtype", (np.float32, np.int32, np.int8, np.uint16))
def test_order(engine, memory, n, k, dtype):
    random = np.random.default_rng()
    x = (random.standard_normal(n) * 40).astype(np.float64)
    x = np.abs(x).astype(dtype) if dtype is np.uint16 else x.astype(dtype)
    if dtype is np.float32:
        x[0], x[1] = np.inf, -np.inf
    up, down, best, turned = memory.empty(n, dtype), memory.empty(n, dtype), memory.empty(k, dtype), memory.empty(n, dtype)
    places = memory.empty(n, np.int32)
    ordered[(1, )](memory(x), up, down, best, places, turned, n, k)
    np.testing.assert_array_equal(up, np.sort(x))
    np.testing.assert_array_equal(down, np.sort(x)[::-1])
    np.testing.assert_array_equal(best, np.sort(x)[::-1][:k])
    np.testing.assert_array_equal(places, np.argsort(x, kind="stable"))
    np.testing.assert_array_equal(turned, x[::-1])


def test_sorting_keeps_every_number_beside_nan(engine, memory):
    x = np.array([np.nan, 3, -np.inf, np.inf, -np.nan, 1, 2], np.float32)
    up, down, best, turned = (memory.empty(7) for _ in range(4))
    places = memory.empty(7, np.int32)
    ordered[(1, )](memory(x), up, down, best, places, turned, 7, 7)
    np.testing.assert_array_equal(up, np.sort(x))
    np.testing.assert_array_equal(down, np.sort(x)[::-1])
    np.testing.assert_array_equal(places, np.argsort(x, kind="stable"))


@any_shape
def moved(x, y, out, N: tl.constexpr, M: tl.constexpr):
    a, b = tl.load(x + tl.arange(0, N)), tl.load(y + tl.arange(0, N))
    tl.store(out + tl.arange(0, 2 * N), tl.cat(a, b, can_reorder=False))
    out += 2 * N
    tl.store(out + tl.arange(0, 2 * N), tl.interleave(a, b))
    out += 2 * N
    matrix = tl.reshape(a, (N // M, M))
    tl.store(out + tl.arange(0, M)[:, None] * (N // M) + tl.arange(0, N // M)[None, :], matrix.T)
    out += N
    tl.store(out + tl.arange(0, N), tl.ravel(matrix.T))
    out += N
    tl.store(out + tl.arange(0, N), tl.gather(a, (tl.arange(0, N) * 3 + 1) % N, 0))
    out += N
    both = tl.join(a, b)
    first, second = both.split()
    tl.store(out + tl.arange(0, N), first - second)


@pytest.mark.parametrize("n, m", ((6, 3), (15, 5), (48, 3), (100, 20), (96, 16), (7, 1)))
def test_moving_elements(engine, memory, n, m):
    x, y = np.random.default_rng().integers(-99, 99, (2, n)).astype(np.int32)
    out = memory.empty(8 * n, np.int32)
    moved[(1, )](memory(x), memory(y), out, n, m)
    matrix = x.reshape(n // m, m).T.reshape(-1)
    picked = x[(np.arange(n) * 3 + 1) % n]
    expected = [x, y, np.stack([x, y], 1).reshape(-1), matrix, matrix, picked, x - y]
    np.testing.assert_array_equal(out, np.concatenate(expected))


@any_shape
def counted(x, bins, N: tl.constexpr, B: tl.constexpr):
    tl.store(bins + tl.arange(0, B), tl.histogram(tl.load(x + tl.arange(0, N)), B))


def test_histogram_counts_nothing_beyond(engine, memory):
    x = np.random.default_rng().integers(0, 12, 100).astype(np.int32)
    bins = memory.empty(12, np.int32)
    counted[(1, )](memory(x), bins, 100, 12)
    np.testing.assert_array_equal(bins, np.bincount(x, minlength=12))


@any_shape
def atomics(counter, flags, x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    old = tl.atomic_add(counter + at, tl.load(x + at))
    swapped = tl.atomic_cas(flags + at, at, at + 100)
    tl.store(out + at, old + swapped)


@pytest.mark.parametrize("n", (1, 3, 48, 100))
def test_atomics(engine, memory, n):
    x = np.arange(n, dtype=np.int32) + 5
    counter, flags = memory(np.full(n, 7, np.int32)), memory((np.arange(n) // 2 * 2).astype(np.int32))
    before, out = flags.copy(), memory.empty(n, np.int32)
    atomics[(1, )](counter, flags, memory(x), out, n)
    np.testing.assert_array_equal(counter, x + 7)
    np.testing.assert_array_equal(flags, np.where(before == np.arange(n), before + 100, before))
    np.testing.assert_array_equal(out, before + 7)


@any_shape
def by_descriptors(x, out, rows, columns, M: tl.constexpr, N: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [M, N])
    target = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [M, N])
    row, column = tl.program_id(0) * M, tl.program_id(1) * N
    target.store([row, column], source.load([row, column]) * 2)


@any_shape
def by_block_pointers(x, out, rows, columns, M: tl.constexpr, N: tl.constexpr):
    at = (tl.program_id(0) * M, tl.program_id(1) * N)
    source = tl.make_block_ptr(x, (rows, columns), (columns, 1), at, (M, N), (1, 0))
    target = tl.make_block_ptr(out, (rows, columns), (columns, 1), at, (M, N), (1, 0))
    tl.store(target, tl.load(source, boundary_check=(0, 1)) * 2, boundary_check=(0, 1))


@pytest.mark.parametrize("kernel", (by_descriptors, by_block_pointers), ids=("descriptors", "block pointers"))
@pytest.mark.parametrize("m, n", ((3, 12), (5, 48), (48, 80), (7, 100)))
def test_blocks_of_tensors(engine, memory, kernel, m, n):
    rows, columns = 2 * m + 1, 2 * n - 4
    x = with_specials(numbers(rows, columns))
    out = memory.empty((rows, columns))
    kernel[(3, 2)](memory(x), out, rows, columns, m, n)
    np.testing.assert_array_equal(out, x * 2)


@triton.jit(extensions=["any_shape", "block_indexing"])
def parts(x, out, N: tl.constexpr, K: tl.constexpr):
    block = tl.load(x + tl.arange(0, N))
    tl.store(out + tl.arange(0, K), block[:K])
    tl.store(out + K + tl.arange(0, N - K), block[K:])
    block[:K] = block[K - 1::-1]
    block[N - 1] = 5
    tl.store(out + N + tl.arange(0, N), block)
    tl.store(out + 2 * N, tl.sum(block[:K]))


@pytest.mark.parametrize("n, k", ((7, 3), (100, 33), (64, 48), (5, 4)))
def test_slices(engine, memory, n, k):
    x = np.random.default_rng().integers(-99, 99, n).astype(np.int32)
    out = memory.empty(2 * n + 1, np.int32)
    parts[(1, )](memory(x), out, n, k)
    changed = x.copy()
    changed[:k] = x[:k][::-1]
    changed[n - 1] = 5
    np.testing.assert_array_equal(out, np.concatenate([x, changed, [changed[:k].sum()]]))


@any_shape
def in_control_flow(x, out, count, N: tl.constexpr):
    at = tl.arange(0, N)
    block = tl.load(x + at)
    other = tl.zeros((N, ), tl.int32)
    for i in range(count):
        if i % 2 == 0:
            block, other = block + i, block
        else:
            other += 1
    while tl.sum(block) < 1000:
        block = block * 2 + 1
    tl.store(out + at, block)
    tl.store(out + N + at, other)


@pytest.mark.parametrize("n", (3, 100))
def test_values_of_loops_and_branches(engine, memory, n):
    x = np.arange(1, n + 1, dtype=np.int32)
    out = memory.empty(2 * n, np.int32)
    in_control_flow[(1, )](memory(x), out, 5, n)
    block, other = x, np.zeros(n, np.int32)
    for i in range(5):
        if i % 2 == 0:
            block, other = block + i, block
        else:
            other = other + 1
    while block.sum() < 1000:
        block = block * 2 + 1
    np.testing.assert_array_equal(out, np.concatenate([block, other]))


@any_shape
def affine(m, t, m2, t2):
    return m * m2, t * m2 + t2


@any_shape
def own_functions(m, t, out, N: tl.constexpr):
    at = tl.arange(0, N)
    pair = tl.load(m + at), tl.load(t + at)
    _, forth = tl.associative_scan(pair, 0, affine)
    _, back = tl.associative_scan(pair, 0, affine, reverse=True)
    tl.store(out + at, forth)
    tl.store(out + N + at, back)


@pytest.mark.parametrize("n", (3, 7, 100))
def test_scans_by_own_functions(engine, memory, n):
    m, t = np.random.default_rng().integers(-1, 2, (2, n)).astype(np.int32)
    out = memory.empty(2 * n, np.int32)
    own_functions[(1, )](memory(m), memory(t), out, n)

    def scanned(m, t):
        total = [t[0]]
        for factor, summand in zip(m[1:], t[1:]):
            total.append(total[-1] * factor + summand)
        return total

    np.testing.assert_array_equal(out, np.concatenate([scanned(m, t), scanned(m[::-1], t[::-1])[::-1]]))


@any_shape
def random_numbers(out, seed, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.rand(seed, at))


def test_random_numbers_are_those_of_larger_blocks(engine, memory):
    small, large = memory.empty(100), memory.empty(128)
    random_numbers[(1, )](small, 42, 100)
    random_numbers[(1, )](large, 42, 128)
    np.testing.assert_array_equal(small, large[:100])


@any_shape
def printed(x, N: tl.constexpr):
    block = tl.load(x + tl.arange(0, N))
    tl.device_assert(block > 0, "positive")
    tl.device_print("x:", block)


def test_prints_and_asserts_of_what_is_there(engine, memory, capfd):
    printed[(1, )](memory(np.array([4, 5, 6], np.int32)), 3, debug=True)
    lines = sorted(line.split("idx")[1].strip() for line in capfd.readouterr().out.splitlines() if "idx" in line)
    assert lines == ["(0) x: 4", "(1) x: 5", "(2) x: 6"]


@triton.jit
def without(x, N: tl.constexpr):
    tl.store(x + tl.arange(0, N), 1)


@triton.jit
def zeros_without(x, N: tl.constexpr):
    tl.store(x, tl.sum(tl.zeros((N, 4), tl.float32)))


def test_off_unless_asked_for(engine):
    x = np.zeros(8, np.float32)
    with pytest.raises(triton.TritonError, match="arange's range must be a power of 2(.|\n)*any_shape"):
        without[(1, )](x, 5)
    with pytest.raises(triton.TritonError, match="must be a power of 2(.|\n)*any_shape"):
        zeros_without[(1, )](x, 3)


@any_shape
def too_large(x, M: tl.constexpr, N: tl.constexpr):
    tl.store(x, tl.sum(tl.zeros((M, N), tl.float32)))


def test_limits_count_rounded_sizes(engine):
    with pytest.raises(triton.TritonError, match="rounded up to powers of two"):
        too_large[(1, )](np.zeros(1, np.float32), 513, 1025)
