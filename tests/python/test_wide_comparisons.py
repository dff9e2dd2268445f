"""Comparisons of indices of 64 bits with numbers of any size."""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl

ENGINES = ["cpu", "interpreter", "sm_80", "sm_90", "gfx942"]


@triton.jit
def masks(i, n, y_ptr, at, size):
    tl.store(y_ptr + at, i < n)
    tl.store(y_ptr + size + at, n >= i)
    tl.store(y_ptr + 2 * size + at, i > n)
    tl.store(y_ptr + 3 * size + at, n <= i)
    tl.store(y_ptr + 4 * size + at, i == n)
    tl.store(y_ptr + 5 * size + at, n != i)


@triton.jit
def of_any(y_ptr, n, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    masks(tl.program_id(0).to(tl.int64) * scale + at, n, y_ptr + tl.program_id(0) * 6 * BLOCK, at, BLOCK)


@triton.jit
def of_short(y_ptr, row, shift, steps, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for k in range(steps):
        i = (k * BLOCK + at - 64).to(tl.int64)
        masks(i + 3, row.to(tl.int64) - shift + 7, y_ptr + k * 6 * BLOCK, at, BLOCK)


def expected(i, n):
    return np.stack([i < n, n >= i, i > n, n <= i, i == n, n != i])


LIMITS = [-2**63, -2**63 + 5, -2**62 - 1, -2**32, -2**31 - 1, -2**30, -1, 0, 3, 127, 511, 1023, 1024, 1025, 2**30 + 2,
          2**31 - 1, 2**31, 2**32 + 9, 2**62, 2**62 + 1, 2**63 - 1]


@pytest.mark.parametrize("scale", [1024, 2**20 + 1, 2**31 - 1])
def test_limits(rng, engine, scale):
    block, programs = 1024, 3
    for n in [*LIMITS, int(rng.integers(0, 3 * block)), 2 * scale + 100]:
        y = torch.full((programs, 6, block), 77, dtype=torch.int8)
        of_any[(programs, )](y, n, scale, block, num_warps=2)
        i = np.arange(programs)[:, None] * scale + np.arange(block)
        assert np.array_equal(y.numpy() != 0, expected(i, n).transpose(1, 0, 2)), n


@pytest.mark.parametrize("row, shift", [(5, 9), (200, 33), (2**31 - 1, -2**31), (-2**31, 2**31 - 1), (1000, 0)])
def test_limits_of_short_numbers(rng, engine, row, shift):
    block, steps = 512, 3
    y = torch.full((steps, 6, block), 77, dtype=torch.int8)
    of_short[(1, )](y, row, shift, steps, block, num_warps=1)
    i = np.arange(steps)[:, None] * block + np.arange(block) - 64 + 3
    # The difference of two numbers of 32 bits wraps around, but one of them has been widened.
    assert np.array_equal(y.numpy() != 0, expected(i, row - shift + 7).transpose(1, 0, 2))
