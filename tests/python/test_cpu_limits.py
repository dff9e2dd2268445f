"""What the CPU target promises of every kernel: masked-off lanes touch no memory, results do not depend on the number of
threads, and packed operands that programs share are those of the right program."""

import ctypes
import hashlib
import mmap
import os
import subprocess
import sys

import numpy as np
import pytest
import triton
import triton.language as tl

PAGE = mmap.PAGESIZE


@triton.jit
def softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + columns, mask=columns < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * n + columns, e / tl.sum(e, axis=0), mask=columns < n)


@triton.jit
def norm_in_a_loop(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * n + columns, mask=columns < n, other=0.0)
    mean = tl.sum(total, axis=0) / n
    most = tl.full([BLOCK], -float("inf"), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + columns, mask=columns < n, other=0.0)
        most = tl.maximum(most, tl.where(columns < n, tl.abs(x - mean), 0.0))
    scale = 1 / tl.max(most, axis=0)
    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + columns, mask=columns < n)
        tl.store(y_ptr + row * n + columns, (x - mean) * scale, mask=columns < n)


@triton.jit
def scan(x_ptr, y_ptr, n, BLOCK: tl.constexpr, REVERSE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + columns, mask=columns < n, other=0.0)
    tl.store(y_ptr + row * n + columns, tl.cumsum(x, axis=0, reverse=REVERSE), mask=columns < n)


@triton.jit
def argmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + columns, mask=columns < n, other=-float("inf"))
    tl.store(y_ptr + row, tl.argmax(x, axis=0))


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, TILE: tl.constexpr, DEPTH: tl.constexpr, BY_ROWS: tl.constexpr):
    first, second = tl.program_id(0), tl.program_id(1)
    if BY_ROWS:
        first, second = second, first
    rows, columns = second * TILE + tl.arange(0, TILE), first * TILE + tl.arange(0, TILE)
    depth = tl.arange(0, DEPTH)
    sums = tl.zeros((TILE, TILE), dtype=tl.float32)
    for k in range(0, K, DEPTH):
        a = tl.load(a_ptr + rows[:, None] * K + (k + depth)[None, :],
                    mask=(rows[:, None] < M) & (k + depth[None, :] < K), other=0.0)
        b = tl.load(b_ptr + (k + depth)[:, None] * N + columns[None, :],
                    mask=(k + depth[:, None] < K) & (columns[None, :] < N), other=0.0)
        sums = tl.dot(a, b, sums)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], sums, mask=(rows[:, None] < M) & (columns[None, :] < N))


class Guarded:
    """Arrays of which the memory right before and right behind is not there."""

    def __init__(self):
        self.maps = []

    def array(self, values, at_end):
        """A copy of `values` that ends, or begins, at a page that may not be touched."""
        values = np.ascontiguousarray(values)
        pages = -(-values.nbytes // PAGE)
        memory = mmap.mmap(-1, (pages + 2) * PAGE)
        whole = np.frombuffer(memory, np.uint8)
        address = whole.ctypes.data
        libc = ctypes.CDLL(None, use_errno=True)
        for page in (address, address + (pages + 1) * PAGE):
            assert libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(PAGE), 0) == 0
        start = (pages + 1) * PAGE - values.nbytes if at_end else PAGE
        inner = whole[start:start + values.nbytes].view(values.dtype).reshape(values.shape)
        inner[...] = values
        self.maps.append(memory)
        return inner


def random_rows(rows, n):
    """Fresh numbers every time; a failure shows them."""
    return np.random.default_rng().standard_normal((rows, n), dtype=np.float32)


def exact_softmax(x):
    shifted = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def exact_norm(x):
    centered = x.astype(np.float64) - x.astype(np.float64).mean(axis=1, keepdims=True)
    return centered / np.abs(centered).max(axis=1, keepdims=True)


ROWS = {
    "softmax": (lambda x, y, n, block: softmax[(len(x), )](x, y, n, block), exact_softmax),
    "norm": (lambda x, y, n, block: norm_in_a_loop[(len(x), )](x, y, n, block // 2), exact_norm),
    "cumsum": (lambda x, y, n, block: scan[(len(x), )](x, y, n, block, False),
               lambda x: x.astype(np.float64).cumsum(axis=1)),
    "cumsum backwards": (lambda x, y, n, block: scan[(len(x), )](x, y, n, block, True),
                         lambda x: x.astype(np.float64)[:, ::-1].cumsum(axis=1)[:, ::-1]),
}


@pytest.mark.parametrize("at_end", (True, False))
@pytest.mark.parametrize("n", (2, 7, 31, 63, 781, 1023))
@pytest.mark.parametrize("name", ROWS)
def test_masked_lanes_of_rows_touch_no_memory(name, n, at_end):
    run, exact = ROWS[name]
    guarded, values = Guarded(), random_rows(3, n)
    x, y = guarded.array(values, at_end), guarded.array(np.full_like(values, np.nan), at_end)
    run(x, y, n, 1024)
    np.testing.assert_allclose(y, exact(values), rtol=3e-5, atol=3e-5)


@pytest.mark.parametrize("at_end", (True, False))
@pytest.mark.parametrize("n", (5, 100, 1000))
def test_masked_lanes_of_argmax_touch_no_memory(n, at_end):
    guarded, values = Guarded(), random_rows(9, n)
    values[1, :] = values[1, 0]
    x, y = guarded.array(values, at_end), guarded.array(np.full(9, -1, np.int32), at_end)
    argmax[(9, )](x, y, n, 1024)
    assert (y == values.argmax(axis=1)).all()


@pytest.mark.parametrize("at_end", (True, False))
@pytest.mark.parametrize("M, N, K, tile", ((33, 47, 65, 32), (100, 3, 129, 64), (1, 130, 31, 32)))
def test_masked_lanes_of_matrix_products_touch_no_memory(M, N, K, tile, at_end):
    guarded = Guarded()
    a, b = random_rows(M, K), random_rows(K, N)
    arrays = [guarded.array(values, at_end) for values in (a, b, np.full((M, N), np.nan, np.float32))]
    matmul[(triton.cdiv(N, tile), triton.cdiv(M, tile))](*arrays, M, N, K, tile, 32, False)
    np.testing.assert_allclose(arrays[2], a.astype(np.float64) @ b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("by_rows", (False, True))
@pytest.mark.parametrize("M, N, K", ((320, 352, 700), (64, 224, 40000)))
def test_programs_share_packed_operands_of_the_right_program(M, N, K, by_rows):
    # The second size leaves room for fewer packed operands than there are.
    a, b, c = random_rows(M, K), random_rows(K, N), np.full((M, N), np.nan, np.float32)
    grid = (triton.cdiv(N, 32), triton.cdiv(M, 32))
    matmul[grid[::-1] if by_rows else grid](a, b, c, M, N, K, 32, 32, by_rows)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b, rtol=1e-3, atol=2e-5 * K**0.5)


def test_a_row_may_be_its_own_output():
    x = random_rows(40, 1000)
    expected = exact_softmax(x)
    softmax[(40, )](x, x, 1000, 1024)
    np.testing.assert_allclose(x, expected, rtol=1e-5, atol=1e-7)


def digest(seed):
    """What all these kernels make of the numbers of a seed, as one hash."""
    random = np.random.default_rng(seed)
    found = hashlib.sha256()
    x = random.standard_normal((257, 781), dtype=np.float32)
    for run, _ in ROWS.values():
        y = np.zeros_like(x)
        run(x, y, 781, 1024)
        found.update(y.tobytes())
    a, b = (random.standard_normal(shape, dtype=np.float32) for shape in ((300, 500), (500, 310)))
    c = np.zeros((300, 310), np.float32)
    matmul[(10, 10)](a, b, c, 300, 310, 500, 32, 32, False)
    found.update(c.tobytes())
    return found.hexdigest()


def test_results_do_not_depend_on_the_number_of_threads():
    seed = int.from_bytes(os.urandom(4), "little")
    script = f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})\n" \
             f"import deuteron; deuteron.install(); import test_cpu_limits as t; print(t.digest({seed}))"

    def run(threads):
        environment = {**os.environ, "DEUTERON_NUM_THREADS": str(threads)}
        return subprocess.run([sys.executable, "-c", script], env=environment, check=True, capture_output=True,
                              text=True).stdout

    alone = run(1)
    assert len(alone.strip()) == 64
    assert alone == run(2), f"seed {seed}"
