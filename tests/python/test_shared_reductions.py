"""Reductions by many warps to many elements a lane: lanes share the elements, and hand on what comes out."""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl

ENGINES = ["cpu", "interpreter", "sm_80", "sm_90", "gfx942"]


@triton.jit
def reduced(x_ptr, sum_ptr, max_ptr, at_ptr, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(x_ptr + i[:, None] * N + j[None, :])
    top, at = tl.max(x, AXIS, return_indices=True)
    kept = j if AXIS == 0 else i
    tl.store(sum_ptr + kept, tl.sum(x, AXIS))
    tl.store(max_ptr + kept, top)
    tl.store(at_ptr + kept, at)


@triton.jit
def spread(x_ptr, y_ptr, rows, N: tl.constexpr, R: tl.constexpr, K: tl.constexpr):
    # Each part of a column less the column's largest, twice: the memory of one reduction is that of the next.
    i, j, k = tl.arange(0, R), tl.arange(0, N), tl.arange(0, K)
    at = (i[:, None, None] * N + j[None, :, None]) * K + k[None, None, :]
    x = tl.load(x_ptr + at, mask=(i < rows)[:, None, None], other=float("-inf"))
    y = x - tl.max(x, 0, keep_dims=True)
    y = y - tl.sum(tl.where(y == 0, 1.0, 0.0), 0, keep_dims=True)
    tl.store(y_ptr + at, y, mask=(i < rows)[:, None, None])


# Rows, columns, the axis, warps: 2 to 16 partial results of each of so many elements; some in which lanes share none.
SIZES = [(256, 32, 0, 16), (128, 64, 0, 8), (8, 1024, 1, 8), (16, 512, 1, 4), (32, 256, 1, 8), (512, 8, 0, 16),
         (2, 2048, 1, 16), (64, 128, 0, 4), (1024, 16, 0, 2), (64, 64, 1, 8)]


@pytest.mark.parametrize("m, n, axis, warps", SIZES)
@pytest.mark.parametrize("dtype", [torch.int32, torch.float32, torch.bfloat16])
def test_sums_and_places(rng, engine, m, n, axis, warps, dtype):
    # Few different numbers: many are the largest, of which the first is meant, and all sums have few bits.
    x = rng.integers(-1, 2, (m, n))
    kept = n if axis == 0 else m
    sums = torch.full((kept, ), -77, dtype=torch.int32 if dtype == torch.int32 else torch.float32)
    top, at = torch.full((kept, ), -77, dtype=dtype), torch.full((kept, ), -77, dtype=torch.int32)
    reduced[(1, )](torch.from_numpy(x).to(dtype), sums, top, at, m, n, axis, num_warps=warps)
    assert np.array_equal(sums.double().numpy(), x.sum(axis))
    assert np.array_equal(top.double().numpy(), x.max(axis))
    assert np.array_equal(at.numpy(), x.argmax(axis))


@pytest.mark.parametrize("rows, n, k, warps", [(61, 8, 16, 8), (256, 32, 1, 16), (100, 4, 8, 4), (7, 2, 64, 8)])
def test_results_go_everywhere(rng, engine, rows, n, k, warps):
    x = np.round(rng.standard_normal((rows, n, k)) * 8).astype(np.float32)
    x[rng.integers(rows), rng.integers(n), rng.integers(k)] = np.inf
    y = torch.full((rows, n, k), float("nan"))
    spread[(1, )](torch.from_numpy(x), y, rows, n, triton.next_power_of_2(rows), k, num_warps=warps)
    with np.errstate(invalid="ignore"):
        expected = x - x.max(0)
    expected = expected - (expected == 0).sum(0)
    assert np.array_equal(y.numpy(), expected, equal_nan=True)
