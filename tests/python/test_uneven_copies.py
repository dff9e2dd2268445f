"""Loops that copy blocks of different sizes ahead: a matrix for each dot, and numbers of its rows between them."""

import numpy as np
import pytest

import deuteron as triton
import deuteron.language as tl


@triton.jit
def gradient_of(total, k, q_ptr, m_ptr, d_ptr, start, end, BLOCK: tl.constexpr, D: tl.constexpr, STAGES: tl.constexpr):
    row, column = tl.arange(0, BLOCK), tl.arange(0, D)
    for first in tl.range(start, end, BLOCK, num_stages=STAGES):
        at = first + row
        turned = tl.load(q_ptr + at[None, :] * D + column[:, None])
        m = tl.load(m_ptr + at)
        p = tl.dot(k, turned) - m[None, :]
        d = tl.load(d_ptr + at[:, None] * D + column[None, :])
        total += tl.dot(p.to(tl.float16), d)
    return total


@triton.jit
def gradient(q_ptr, k_ptr, m_ptr, d_ptr, out_ptr, half, n, BLOCK: tl.constexpr, D: tl.constexpr, STAGES: tl.constexpr):
    row, column = tl.arange(0, BLOCK), tl.arange(0, D)
    k = tl.load(k_ptr + row[:, None] * D + column[None, :])
    total = tl.zeros((BLOCK, D), tl.float32)
    total = gradient_of(total, k, q_ptr, m_ptr, d_ptr, 0, half, BLOCK, D, STAGES)
    # The groups of the second loop are half as large, or less.
    total = gradient_of(total, k, q_ptr, m_ptr, d_ptr, half, n, BLOCK // 2, D, STAGES)
    tl.store(out_ptr + row[:, None] * D + column[None, :], total)


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90", "hip:gfx950", "hip:gfx942"])
@pytest.mark.parametrize("stages", [2, 3, 5])
@pytest.mark.parametrize("blocks", [1, 2, 7])
def test_groups_of_copies_differ_in_size(target, stages, blocks, rng):
    block, depth = 64, 64
    n = 2 * blocks * block
    q, d = (rng.standard_normal((n, depth)).astype(np.float16) for _ in range(2))
    k, m = rng.standard_normal((block, depth)).astype(np.float16), rng.standard_normal(n).astype(np.float32)
    out = np.full((block, depth), np.nan, np.float32)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = target
        gradient[(1, )](q, k, m, d, out, n // 2, n, BLOCK=block, D=depth, STAGES=stages, num_warps=4)
    exact = (k.astype(np.float64) @ q.astype(np.float64).T - m) @ d.astype(np.float64)
    # What a sum of 16-bit factors of this size may lose.
    assert np.abs(out - exact).max() < 2e-3 * np.abs(exact).max()


@triton.jit
def rows_of(total, x_ptr, w_ptr, start, end, SIZE: tl.constexpr, K: tl.constexpr, BLOCK: tl.constexpr):
    row, column = tl.arange(0, SIZE), tl.arange(0, BLOCK)
    for first in tl.range(start, end, BLOCK, num_stages=3):
        x = tl.load(x_ptr + row[:, None] * K + first + column[None, :])
        w = tl.load(w_ptr + row[None, :] * K + first + column[:, None])
        total = tl.dot(x, w, total)
    return total


@triton.jit
def rows_times_rows(x_ptr, w_ptr, out_ptr, half, SIZE: tl.constexpr, K: tl.constexpr, BLOCK: tl.constexpr):
    total = tl.zeros((SIZE, SIZE), tl.float32)
    total = rows_of(total, x_ptr, w_ptr, 0, half, SIZE, K, BLOCK)
    total = rows_of(total, x_ptr, w_ptr, half, K, SIZE, K, BLOCK // 2)
    row = tl.arange(0, SIZE)
    tl.store(out_ptr + row[:, None] * SIZE + row[None, :], total)


@pytest.mark.parametrize("target", ["cuda:90", "hip:gfx950"])
def test_smaller_groups_behind_a_wait_that_counts(target, rng):
    size, depth = 128, 1024
    x, w = (rng.standard_normal((size, depth)).astype(np.float16) for _ in range(2))
    out = np.full((size, size), np.nan, np.float32)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = target
        kernel = rows_times_rows[(1, )](x, w, out, 512, SIZE=size, K=depth, BLOCK=64, num_warps=4)
    if target == "hip:gfx950":
        assert kernel.asm["llir"].count("raw.ptr.buffer.load.lds") > 0, "copies go past the registers"
    np.testing.assert_allclose(out, x.astype(np.float64) @ w.astype(np.float64).T, rtol=1e-3, atol=1e-3)
