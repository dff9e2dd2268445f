"""Scans that count conditions: where elements go that a mask keeps."""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl

ENGINES = ["cpu", "interpreter", "sm_80", "sm_90", "gfx942"]


@triton.jit
def counted(x_ptr, y_ptr, limit, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    kept = tl.load(x_ptr + at) < limit
    tl.store(y_ptr + at, tl.cumsum(kept.to(y_ptr.dtype.element_ty), AXIS, reverse=REVERSE))


@triton.jit
def compacted(x_ptr, y_ptr, count_ptr, n, limit, BLOCK: tl.constexpr):
    total = 0
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n, other=0)
        kept = (x < limit) & (i < n)
        places = total + tl.cumsum(kept.to(tl.int32), 0) - 1
        tl.store(y_ptr + places, x, mask=kept)
        total += tl.sum(kept.to(tl.int32), 0)
    tl.store(count_ptr, total)


SIZES = [(1, 128, 1, 4), (1, 2048, 1, 4), (1, 4096, 1, 8), (1, 16, 1, 1), (8, 64, 1, 2), (64, 8, 0, 4),
         (256, 4, 0, 8), (4, 1024, 1, 4), (1, 2, 1, 4)]


@pytest.mark.parametrize("m, n, axis, warps", SIZES)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtypes", [(torch.int32, torch.int32), (torch.int64, torch.int64), (torch.int8, torch.int16)])
def test_counts(rng, engine, m, n, axis, warps, reverse, dtypes):
    x, limit = rng.integers(-50, 50, (m, n)), int(rng.integers(-50, 50))
    y = torch.full((m, n), -7, dtype=dtypes[1])
    counted[(1, )](torch.from_numpy(x).to(dtypes[0]), y, limit, m, n, axis, reverse, num_warps=warps)
    kept = x < limit
    expected = np.cumsum(np.flip(kept, axis) if reverse else kept, axis)
    assert np.array_equal(y.numpy(), np.flip(expected, axis) if reverse else expected)


@pytest.mark.parametrize("n, block, warps", [(1000, 256, 4), (333, 64, 1), (5000, 2048, 8), (77, 128, 2)])
def test_compaction(rng, engine, n, block, warps):
    x = rng.integers(-100, 100, n).astype(np.int32)
    y, count = torch.full((n, ), -777, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    compacted[(1, )](torch.from_numpy(x), y, count, n, 13, block, num_warps=warps)
    kept = x[x < 13]
    assert count.item() == len(kept)
    assert np.array_equal(y.numpy(), np.concatenate([kept, np.full(n - len(kept), -777)]))
