"""`@jit(extensions=[…])`: what kernels may use beyond the language, on every engine."""

import numpy as np
import pytest

import deuteron as triton
import deuteron.language as tl

ENGINES = ["cpu", "interpreter", "sm_90"]


@triton.jit(extensions=["loop_exits"])
def exits(x, out, n, limit, skipped):
    total = 0
    last = -1
    for i in range(n):
        value = tl.load(x + i)
        if value == skipped:
            continue
        if value > limit:
            break
        total += value
        last = i
    tl.store(out, total)
    tl.store(out + 1, last)
    count = 0
    while True:
        count += 1
        if count % 2 == 1:
            if count < n:
                continue
            else:
                break
        elif count > limit:
            break
        total -= count
    tl.store(out + 2, count)
    tl.store(out + 3, total)


def exits_in_python(x, n, limit, skipped):
    total, last = 0, -1
    for i in range(n):
        if x[i] == skipped:
            continue
        if x[i] > limit:
            break
        total += x[i]
        last = i
    result = [total, last]
    count = 0
    while True:
        count += 1
        if count % 2 == 1:
            if count < n:
                continue
            break
        if count > limit:
            break
        total -= count
    return [*result, count, total]


@pytest.mark.parametrize("limit", [-1, 4, 6, 100])
def test_loops_are_left_and_go_on(engine, limit):
    x = np.random.default_rng().integers(0, 8, 20).astype(np.int32)
    for n in (0, 1, 7, 20):
        out = np.full(4, -77, np.int32)
        exits[(1, )](x, out, n, limit, 3)
        assert out.tolist() == exits_in_python(x, n, limit, 3), (n, limit)


@triton.jit(extensions=["loop_exits"])
def find(x, rows, columns, wanted):
    for i in range(rows):
        for j in range(columns - 1, -1, -1):
            value = tl.load(x + i * columns + j)
            if value == wanted:
                return i * 1000 + j
            if value < 0:
                break
        if i == 5:
            return -2
    return -1


@triton.jit(extensions=["loop_exits"])
def finds(x, out, rows, columns, wanted):
    tl.store(out, find(x, rows, columns, wanted))
    for i in range(rows):
        if tl.load(x + i) == wanted:
            return
        tl.store(out + 1, i)
    tl.store(out + 1, -5)


def find_in_python(x, wanted):
    for i, row in enumerate(x):
        for j in range(len(row) - 1, -1, -1):
            if row[j] == wanted:
                return i * 1000 + j
            if row[j] < 0:
                break
        if i == 5:
            return -2
    return -1


@pytest.mark.parametrize("rows", [0, 2, 9])
def test_functions_return_from_loops(engine, rows):
    for seed in range(3):
        x = np.random.default_rng(seed).integers(-1, 12, (rows, 6)).astype(np.int32)
        out = np.full(2, -77, np.int32)
        flat = np.append(x.ravel(), np.int32(0))
        finds[(1, )](flat, out, rows, 6, 4)
        at = [i for i in range(rows) if flat[i] == 4]
        expected = -5 if not at else -77 if at[0] == 0 else at[0] - 1
        assert out.tolist() == [find_in_python(x, 4), expected]


@triton.jit(extensions=["loop_exits"])
def unrolled(x, out, N: tl.constexpr, SMALL: tl.constexpr):
    block = tl.zeros((4, ), tl.float32)
    for i in tl.static_range(8):
        if SMALL and i == 3:
            break
        if i % 2 == 1:
            continue
        loaded = tl.load(x + i * 4 + tl.arange(0, 4))
        if tl.sum(loaded, 0) > N:
            break
        block += loaded
    tl.store(out + tl.arange(0, 4), block)


@pytest.mark.parametrize("small", [False, True])
def test_unrolled_loops(engine, small):
    x = np.arange(32, dtype=np.float32).reshape(8, 4)
    expected = np.zeros(4, np.float32)
    for i in range(8):
        if small and i == 3 or i % 2 == 0 and x[i].sum() > 80:
            break
        if i % 2 == 0:
            expected += x[i]
    out = np.full(4, np.nan, np.float32)
    unrolled[(1, )](x, out, 80, small)
    np.testing.assert_array_equal(out, expected)


@triton.jit(extensions=["floor_division"])
def divides(a, b, quotients, rests, x, y, floats, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    left, right = tl.load(a + at), tl.load(b + at)
    tl.store(quotients + at, left // right)
    rest = left
    rest %= right
    tl.store(rests + at, rest)
    tl.store(floats + at, tl.load(x + at) % tl.load(y + at))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
def test_divisions_round_down(engine, dtype):
    random = np.random.default_rng()
    a, b = random.integers(-100, 100, 128).astype(dtype), random.integers(-9, 9, 128).astype(dtype)
    b[b == 0] = 7
    x, y = random.normal(size=128).astype(np.float32), random.normal(size=128).astype(np.float32)
    quotients, rests, floats = np.zeros(128, dtype), np.zeros(128, dtype), np.full(128, np.nan, np.float32)
    divides[(1, )](a, b, quotients, rests, x, y, floats, 128)
    np.testing.assert_array_equal(quotients, a // b)
    np.testing.assert_array_equal(rests, a % b)
    np.testing.assert_allclose(floats, x % y, rtol=1e-6, atol=1e-6)


@triton.jit(extensions=["pointer_difference"])
def distances(x, y, out, n):
    at = tl.arange(0, 8)
    tl.store(out + at, (x + at * 3) - x - (n - 1))
    tl.store(out + 8, (y + n) - y)


def test_pointers_have_differences(engine):
    out = np.zeros(9, np.int64)
    distances[(1, )](np.zeros(64, np.float64), np.zeros(64, np.int8), out, 5)
    assert out.tolist() == [3 * i - 4 for i in range(8)] + [5]


def test_extensions_are_off_unless_asked_for():

    @triton.jit
    def breaks(out, n):
        for i in range(n):
            break

    with pytest.raises(triton.CompilationError, match="Break"):
        breaks[(1, )](np.zeros(1, np.int32), 3)

    @triton.jit
    def divide(out, a, b):
        tl.store(out, a // b)

    out = np.zeros(1, np.int32)
    divide[(1, )](out, -7, 2)
    assert out[0] == -3 and divide.extensions == [] and exits.extensions == ["loop_exits"]
    with pytest.raises(ValueError, match="there is no extension `goto`; there are loop_exits"):
        triton.jit(extensions=["goto"])(lambda: None)


@triton.jit(extensions=["block_indexing"])
def parts(x, out, at, M: tl.constexpr, N: tl.constexpr):
    block = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N))
    half = block[:, N // 2:]
    tl.store(out + tl.arange(0, M)[:, None] * (N // 2) + tl.arange(0, N // 2), half)
    out += M * N // 2
    tl.store(out + tl.arange(0, N), block[-1])
    out += N
    tl.store(out + tl.arange(0, M), block[:, 3])
    out += M
    tl.store(out, block[1, 2])
    tl.store(out + 1, block[at][at + 1])
    out += 2
    tl.store(out + tl.arange(0, M)[:, None] * 4 + tl.arange(0, 4), block[:, 1:5])
    out += M * 4
    tl.store(out + tl.arange(0, M)[:, None] * (N // 2) + tl.arange(0, N // 2), block[::-1, 1::2])
    out += M * N // 2
    tl.store(out + tl.arange(0, 2)[:, None, None] * 2 + tl.arange(0, 2), (block > 0)[1:3, None, ::N // 2].to(tl.float32))


@pytest.mark.parametrize("m, n", [(4, 8), (16, 64)])
def test_parts_of_blocks_are_read(engine, m, n):
    x = np.random.default_rng().standard_normal((m, n)).astype(np.float32)
    at = 2
    expected = [x[:, n // 2:], x[-1], x[:, 3], x[1, 2], x[at, at + 1], x[:, 1:5], x[::-1, 1::2], x[1:3, ::n // 2] > 0]
    expected = np.concatenate([np.ravel(part).astype(np.float32) for part in expected])
    out = np.full(expected.size, np.nan, np.float32)
    parts[(1, )](x, out, at, m, n)
    np.testing.assert_array_equal(out, expected)


@triton.jit(extensions=["block_indexing"])
def assigned_parts(x, y, out, at, rounds, M: tl.constexpr, N: tl.constexpr):
    where = tl.arange(0, M)[:, None] * N + tl.arange(0, N)
    block = tl.load(x + where)
    other = tl.load(y + tl.arange(0, M))
    kept = block
    block[:, 2] = other
    block[0] = 7
    block[at, 1:3] += 1.5
    block[1:3, ::-2] = other[:2, None]
    for i in range(rounds):
        block[i, i] = i
    tl.store(out + where, block)
    tl.store(out + M * N + where, kept)


@pytest.mark.parametrize("m, n", [(4, 8), (16, 64)])
def test_parts_of_blocks_are_assigned(engine, m, n):
    random = np.random.default_rng()
    x, y = random.standard_normal((m, n)).astype(np.float32), random.standard_normal(m).astype(np.float32)
    out = np.full((2, m, n), np.nan, np.float32)
    at, rounds = 1, 3
    assigned_parts[(1, )](x, y, out, at, rounds, m, n)
    expected = x.copy()
    expected[:, 2] = y
    expected[0] = 7
    expected[at, 1:3] += 1.5
    expected[1:3, ::-2] = y[:2, None]
    expected[range(rounds), range(rounds)] = range(rounds)
    np.testing.assert_array_equal(out[0], expected)
    np.testing.assert_array_equal(out[1], x)


def test_parts_have_sizes_that_blocks_have(engine):

    @triton.jit(extensions=["block_indexing"])
    def three(x):
        tl.store(x + tl.arange(0, 4), tl.arange(0, 8)[1:4])

    @triton.jit(extensions=["block_indexing"])
    def outside(x):
        tl.store(x, tl.arange(0, 8)[8])

    x = np.zeros(8, np.int32)
    with pytest.raises(triton.TritonError, match="a power of two of elements, this one has 3 of 8"):
        three[(1, )](x)
    with pytest.raises(triton.TritonError, match="index 8 is out of range for a dimension of 8 elements"):
        outside[(1, )](x)


@triton.jit(extensions=["half_math"])
def half_functions(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at, at < n)
    tl.store(out + at, tl.exp(value), at < n)
    tl.store(out + n + at, value.abs().sqrt() + tl.sigmoid(value), at < n)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_functions_of_halves(engine, dtype):
    torch = pytest.importorskip("torch")
    kind = getattr(torch, dtype)
    x = torch.randn(100).to(kind)
    out = torch.full((200, ), float("nan"), dtype=kind)
    half_functions[(1, )](x, out, 100, 128)
    wide = x.double()
    tolerance = 2.0**-10 if dtype == "float16" else 2.0**-7
    torch.testing.assert_close(out[:100].double(), wide.exp(), rtol=tolerance, atol=0)
    torch.testing.assert_close(out[100:].double(), wide.abs().sqrt() + wide.sigmoid(), rtol=3 * tolerance, atol=tolerance)


def test_functions_of_halves_are_off(engine):

    @triton.jit
    def plain(x):
        tl.store(x, tl.exp(tl.load(x)))

    with pytest.raises(triton.TritonError, match="Expected dtype .'fp32', 'fp64'. but got fp16"):
        plain[(1, )](np.zeros(1, np.float16))
