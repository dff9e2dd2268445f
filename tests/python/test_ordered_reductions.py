"""Reductions by functions that tell the order of their arguments: neighbours alone are combined, the earlier one first."""

import numpy as np
import pytest
import triton
import triton.language as tl


@triton.jit
def earlier(a, b):
    return a


@triton.jit
def later(a, b):
    return b


@triton.jit
def composed(slope, offset, next_slope, next_offset):
    """`x * slope + offset`, and then the next of these functions of `x`."""
    return slope * next_slope, offset * next_slope + next_offset


@triton.jit
def together(mean, squares, weight, other_mean, other_squares, other_weight):
    """Mean and squared deviations of two sets of numbers, after Chan, Golub and LeVeque, "Updating formulae" (1979)."""
    apart = other_mean - mean
    total = weight + other_weight
    share = tl.where(total == 0, 0.0, other_weight / total)
    return mean + apart * share, squares + other_squares + apart * apart * weight * share, total


@triton.jit
def reduced(x_ptr, y_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, AXIS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    x = tl.load(x_ptr + at)
    SIZE: tl.constexpr = ROWS if AXIS == 1 else COLUMNS
    y_ptrs = y_ptr + tl.arange(0, SIZE)
    tl.store(y_ptrs, tl.reduce(x, AXIS, earlier))
    tl.store(y_ptrs + SIZE, tl.reduce(x, AXIS, later))
    slope, offset = tl.reduce((tl.where(x > 0, 0.5, -0.75).to(x.dtype), x), AXIS, composed)
    tl.store(y_ptrs + 2 * SIZE, slope)
    tl.store(y_ptrs + 3 * SIZE, offset)
    ones = tl.full((ROWS, COLUMNS), 1.0, x.dtype)
    mean, squares, _ = tl.reduce((x, x * 0, ones), AXIS, together)
    tl.store(y_ptrs + 4 * SIZE, mean)
    tl.store(y_ptrs + 5 * SIZE, squares)


@triton.jit
def in_a_loop(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Mean and deviations of a row of any length, as compilers of models write it: lanes first, in a loop."""
    row = tl.program_id(0)
    mean = tl.zeros((BLOCK, ), tl.float32)
    squares = tl.zeros((BLOCK, ), tl.float32)
    weight = tl.zeros((BLOCK, ), tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0)
        count = weight + 1
        apart = x - mean
        new = mean + apart / count
        squares = tl.where(at < n, squares + apart * (x - new), squares)
        mean = tl.where(at < n, new, mean)
        weight = tl.where(at < n, count, weight)
    mean, squares, weight = tl.reduce((mean, squares, weight), 0, together)
    tl.store(y_ptr + row * 3, mean)
    tl.store(y_ptr + row * 3 + 1, squares)
    tl.store(y_ptr + row * 3 + 2, weight)


SHAPES = [(1, 2), (1, 16), (1, 64), (1, 4096), (2, 2048), (4, 8), (8, 4), (64, 64), (16, 512), (32, 2), (2, 2)]
ARCHES = [None, "avx2", "x86-64"]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("arch", ARCHES)
def test_neighbours_are_combined(rng, shape, axis, dtype, arch):
    x = rng.standard_normal(shape).astype(dtype)
    size = shape[1 - axis]
    y = np.full((6, size), np.nan, dtype)
    options = {} if arch is None else {"arch": arch}
    reduced[(1, )](x, y, *shape, axis, **options)
    rows = (x if axis == 1 else x.T).astype(np.float64)
    np.testing.assert_array_equal(y[0], rows[:, 0])
    np.testing.assert_array_equal(y[1], rows[:, -1])
    slopes = np.where(rows > 0, 0.5, -0.75)
    slope, offset = slopes[:, 0], rows[:, 0]
    for column in range(1, rows.shape[1]):
        slope, offset = slope * slopes[:, column], offset * slopes[:, column] + rows[:, column]
    close = 1e-5 if dtype == np.float32 else 1e-13
    # Products of thousands of numbers below one are zero, by way of denormal ones.
    np.testing.assert_allclose(y[2], slope, rtol=close, atol=1e-37)
    np.testing.assert_allclose(y[3], offset, rtol=close, atol=10 * close)
    deviations = rows - rows.mean(1, keepdims=True)
    np.testing.assert_allclose(y[4], rows.mean(1), rtol=close, atol=close)
    np.testing.assert_allclose(y[5], (deviations**2).sum(1), rtol=10 * close, atol=10 * close)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 1000, 3000])
@pytest.mark.parametrize("block", [64, 1024])
def test_rows_of_any_length(rng, n, block):
    x = (rng.standard_normal((3, n)) + 100).astype(np.float32)
    y = np.full((3, 3), np.nan, np.float32)
    in_a_loop[(3, )](x, y, n, block)
    exact = x.astype(np.float64)
    np.testing.assert_allclose(y[:, 0], exact.mean(1), rtol=1e-6)
    np.testing.assert_allclose(y[:, 1], ((exact - exact.mean(1, keepdims=True))**2).sum(1), rtol=2e-4, atol=1e-6)
    np.testing.assert_array_equal(y[:, 2], n)


def test_lanes_are_combined_as_vectors():
    x, y = np.zeros((1, 4096), np.float32), np.zeros(6, np.float32)
    text = reduced[(1, )](x, y, 1, 4096, 1, arch="avx2").asm["llir"]
    assert "fdiv contract <16 x float>" in text
