"""Weights by `i // d` and `i % d` of the index of a block, run by run where `d` is large: against NumPy, at edges."""

import re

import numpy as np
import pytest
import triton
import triton.language as tl
from test_cpu_limits import Guarded


@triton.jit
def scale(x_ptr, w_ptr, b_ptr, y_ptr, n, d, C, start, BLOCK: tl.constexpr):
    i = start + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    x = tl.load(x_ptr + i, mask=inside, other=0.0)
    w = tl.load(w_ptr + i // d % C, mask=inside, other=0.0)
    b = tl.load(b_ptr + i % d, mask=inside, other=0.0)
    tl.store(y_ptr + i, x * w + b, mask=inside)


@triton.jit
def scale_by_constant(x_ptr, w_ptr, b_ptr, y_ptr, n, d: tl.constexpr, C: tl.constexpr, start, BLOCK: tl.constexpr):
    i = start + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    x = tl.load(x_ptr + i, mask=inside, other=0.0)
    w = tl.load(w_ptr + i // d % C, mask=inside, other=0.0)
    b = tl.load(b_ptr + i % d, mask=inside, other=0.0)
    tl.store(y_ptr + i, x * w + b, mask=inside)


@triton.jit
def without_masks(x_ptr, w_ptr, y_ptr, d, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i) - tl.load(w_ptr + i // d))


@triton.jit
def two_masks(x_ptr, w_ptr, y_ptr, z_ptr, n, m, d, BLOCK: tl.constexpr):
    """Two stores that end at different places, and one load without a mask."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=7.0)
    w = tl.load(w_ptr + i // d)
    tl.store(y_ptr + i, x * w, mask=i < n)
    tl.store(z_ptr + i, x + w, mask=i < m)


@triton.jit
def from_below(x_ptr, w_ptr, y_ptr, n, d, BLOCK: tl.constexpr):
    """Indices from -5 on: quotients are rounded towards zero."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK) - 5
    x = tl.load(x_ptr + i, mask=(i >= 0) & (i < n), other=1.0)
    w = tl.load(w_ptr + i // d + 5, mask=i < n, other=0.0)
    tl.store(y_ptr + i + 5, x * w, mask=i < n)


DIVISORS = [1, 3, 16, 63, 64, 65, 100, 127, 128, 129, 784, 1000, 3136, 5000, 1 << 20]


def arrays(n, d, c):
    random = np.random.default_rng()
    x = random.standard_normal(n, dtype=np.float32)
    x[random.integers(0, n, 3)] = [np.nan, np.inf, -np.inf]
    return x, random.standard_normal(c, dtype=np.float32), random.standard_normal(d, dtype=np.float32)


@pytest.mark.parametrize("kernel", [scale, scale_by_constant], ids=["argument", "constant"])
@pytest.mark.parametrize("block", [64, 1024, 4096])
def test_weights_of_channels(kernel, block):
    for d in DIVISORS:
        for n, c, start in [(10007, 5, 0), (8192, 3, 0), (5003, 1, 37)]:
            x, w, b = arrays(n, min(d, n), c)
            y = np.full(n, 99, np.float32)
            kernel[(triton.cdiv(n - start, block), )](x, w, b, y, n, d, c, start, block)
            i = np.arange(n)
            with np.errstate(invalid="ignore"):
                wanted = x.astype(np.float64) * w[i // d % c] + b[i % d]
            wanted[:start] = 99
            np.testing.assert_allclose(y, wanted, rtol=3e-7, atol=3e-7)


@pytest.mark.parametrize("d", DIVISORS)
def test_blocks_without_masks(d):
    n, block = 8192, 2048
    x, _, _ = arrays(n, 1, 1)
    w = np.random.default_rng().standard_normal(n // d + 1, dtype=np.float32)
    y = np.full(n, 99, np.float32)
    without_masks[(n // block, )](x, w, y, d, block)
    np.testing.assert_array_equal(y, x - w[np.arange(n) // d])


@pytest.mark.parametrize("d", DIVISORS)
def test_stores_that_end_at_different_places(d):
    n, m, block = 3001, 3700, 1024
    x, _, _ = arrays(n, 1, 1)
    w = np.random.default_rng().standard_normal(4096 // d + 1, dtype=np.float32)
    y, z = np.full(n, 99, np.float32), np.full(m, 99, np.float32)
    two_masks[(4, )](x, w, y, z, n, m, d, block)
    padded, weights = np.concatenate([x, np.full(m - n, 7, np.float32)]), w[np.arange(m) // d]
    np.testing.assert_array_equal(y, x * weights[:n])
    np.testing.assert_array_equal(z, padded + weights)


@pytest.mark.parametrize("d", DIVISORS)
def test_indices_below_zero(d):
    n, block = 3001, 1024
    x, _, _ = arrays(n, 1, 1)
    w = np.random.default_rng().standard_normal(n // d + 6, dtype=np.float32)
    y = np.full(n + 5, 99, np.float32)
    from_below[(3, )](x, w, y, n, d, block)
    i = np.arange(-5, n)
    quotients = np.trunc(i / d).astype(np.int64)
    wanted = np.where(i >= 0, x[np.maximum(i, 0)], np.float32(1)) * w[quotients + 5]
    np.testing.assert_array_equal(y[:3072], wanted[:3072])


@pytest.mark.parametrize("at_end", [False, True])
def test_nothing_outside_is_touched(at_end):
    for n, d in [(10007, 784), (3000, 1000), (130, 64)]:
        c = -(-n // d)
        x, w, b = arrays(n, d, c)
        guarded = Guarded()
        x, w, b = (guarded.array(values, at_end) for values in (x, w, b))
        y = guarded.array(np.zeros(n, np.float32), at_end)
        scale[(triton.cdiv(n, 1024), )](x, w, b, y, n, d, c, 0, 1024)
        i = np.arange(n)
        with np.errstate(invalid="ignore"):
            wanted = x.astype(np.float64) * w[i // d % c] + b[i % d]
        np.testing.assert_allclose(y, wanted, rtol=3e-7, atol=3e-7)


@triton.jit
def looked_up(index_ptr, x_ptr, y_ptr, n, d: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """Rows by their number, from the end where it is below zero, as compilers of models write it."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = tl.load(index_ptr + i // d, mask=i < n)
    row = tl.where(row < 0, row + ROWS, row)
    tl.store(y_ptr + i, tl.load(x_ptr + row * d + i % d, mask=i < n) + 1, mask=i < n)


@pytest.mark.parametrize("d", [96, 128, 256, 1000, 2048])
@pytest.mark.parametrize("block", [64, 1024, 4096])
def test_rows_that_are_looked_up(d, block):
    random = np.random.default_rng()
    x, index = random.standard_normal((7, d), dtype=np.float32), random.integers(-7, 7, 9)
    y = np.full((9, d), 99, np.float32)
    kernel = looked_up[(triton.cdiv(9 * d, block), )](index, x, y, 9 * d, d, 7, block)
    np.testing.assert_array_equal(y, x[index] + 1)
    if d == 2048:
        # There is a loop over runs, each of which has one row.
        assert re.search(r"= sdiv i64 %\d+, 2048\n", kernel.asm["llir"])
