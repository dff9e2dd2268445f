"""Scans of which many warps, or many parts of a lane, have a total: lanes scan those together."""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl

ENGINES = ["cpu", "interpreter", "sm_80", "sm_90", "gfx942"]


@triton.jit
def summed(x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, tl.cumsum(x.to(y_ptr.dtype.element_ty), AXIS, reverse=REVERSE))


@triton.jit
def after(a, b, c, d):
    # The map `x -> a * x + b` and then `x -> c * x + d`: the order matters.
    return a * c, b * c + d


@triton.jit
def composed(a_ptr, b_ptr, c_ptr, d_ptr, N: tl.constexpr, REVERSE: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.associative_scan((tl.load(a_ptr + i), tl.load(b_ptr + i)), 0, after, reverse=REVERSE)
    tl.store(c_ptr + i, a)
    tl.store(d_ptr + i, b)


# Rows and columns, warps: so many totals of so many lines, more than lanes in the last ones, and too few to share.
SIZES = [(1, 4096, 1, 8), (1, 2048, 1, 16), (1, 8192, 1, 4), (4, 2048, 1, 8), (2048, 4, 0, 8), (1, 16384, 1, 8),
         (1, 32, 1, 4), (8, 256, 1, 4), (2, 8192, 1, 16)]


@pytest.mark.parametrize("m, n, axis, warps", SIZES)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtypes", [(torch.int32, torch.int64), (torch.int16, torch.int32)])
def test_sums(rng, engine, m, n, axis, warps, reverse, dtypes):
    x = rng.integers(-1000, 1000, (m, n))
    y = torch.full((m, n), -7, dtype=dtypes[1])
    summed[(1, )](torch.from_numpy(x).to(dtypes[0]), y, m, n, axis, reverse, num_warps=warps)
    turned = np.flip(x, axis) if reverse else x
    expected = np.cumsum(turned, axis)
    assert np.array_equal(y.numpy(), np.flip(expected, axis) if reverse else expected)


def wrapped(number):
    return (number + 2**31) % 2**32 - 2**31


@pytest.mark.parametrize("n, warps", [(4096, 8), (2048, 16), (16384, 8), (1024, 4)])
@pytest.mark.parametrize("reverse", [False, True])
def test_an_order_that_matters(rng, engine, n, warps, reverse):
    # Odd factors, so that products of integers never become zero; everything wraps around.
    a, b = rng.integers(-2**31, 2**31, (2, n)) | 1
    c, d = torch.zeros((2, n), dtype=torch.int32)
    composed[(1, )](*(torch.from_numpy(part.astype(np.int32)) for part in (a, b)), c, d, n, reverse, num_warps=warps)
    factor, offset = 1, 0
    expected = np.zeros((2, n), dtype=np.int64)
    for at in range(n - 1, -1, -1) if reverse else range(n):
        factor, offset = wrapped(factor * int(a[at])), wrapped(offset * int(a[at]) + int(b[at]))
        expected[:, at] = factor, offset
    assert np.array_equal(c.numpy(), expected[0]) and np.array_equal(d.numpy(), expected[1])
