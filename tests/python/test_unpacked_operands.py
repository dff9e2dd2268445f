"""Left operands of dots that are unpacked from weights of 4 and 8 bits in registers, and sums that loops carry
transposed.
"""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl

ENGINES = ["cpu", "interpreter", "sm_80", "sm_90", "gfx942"]


@triton.jit
def product(w_ptr, s_ptr, x_ptr, y_ptr, K, M: tl.constexpr, N: tl.constexpr, BLOCK_K: tl.constexpr,
            BITS: tl.constexpr, TURNED: tl.constexpr):
    """``w @ x``, or its transpose where the loop turns its sums. Weights of 4 bits lie two in a byte along K, with a scale a row."""
    rows, columns, along = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK_K)
    if TURNED:
        total = tl.zeros((N, M), dtype=tl.float32)
    else:
        total = tl.zeros((M, N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        if BITS == 4:
            packed = tl.load(w_ptr + rows[:, None] * (K // 2) + (k // 2 + tl.arange(0, BLOCK_K // 2))[None, :])
            low = ((packed << 4).to(tl.int8) >> 4).to(tl.bfloat16)
            high = (packed >> 4).to(tl.bfloat16)
            w = tl.join(low, high).reshape(M, BLOCK_K)
        else:
            w = tl.load(w_ptr + rows[:, None] * K + (k + along)[None, :]).to(tl.bfloat16)
        w = w * tl.load(s_ptr + rows)[:, None]
        x = tl.load(x_ptr + (k + along)[:, None] * N + columns[None, :])
        if TURNED:
            total = tl.dot(w, x, total.T).T
        else:
            total = tl.dot(w, x, total)
    if TURNED:
        tl.store(y_ptr + columns[:, None] * M + rows[None, :], total)
    else:
        tl.store(y_ptr + rows[:, None] * N + columns[None, :], total)


@pytest.mark.parametrize("num_warps", [4, 8])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("bits, depth", [(4, 256), (4, 64), (8, 320)])
def test_weights_of_few_bits(engine, rng, bits, depth, turned, num_warps):
    m, n, block = 128, 64, 64
    weights = rng.integers(-8, 8, (m, depth)).astype(np.int8)
    packed = weights
    if bits == 4:
        packed = ((weights[:, 1::2].astype(np.int16) << 4) | (weights[:, ::2] & 15)).astype(np.int8)
    scales = torch.from_numpy(2.0 ** rng.integers(-3, 3, m)).bfloat16()
    x = torch.from_numpy(rng.integers(-4, 5, (depth, n)).astype(np.float32)).bfloat16()
    y = torch.full((n, m) if turned else (m, n), float("nan"))
    compiled = product[(1,)](torch.from_numpy(packed), scales, x, y, depth, m, n, block, bits, turned,
                             num_warps=num_warps)
    expected = (weights.astype(np.float64) * scales.double().numpy()[:, None]) @ x.double().numpy()
    # Small whole numbers and powers of two: every sum is exact.
    np.testing.assert_array_equal(y.numpy(), expected.T if turned else expected)
    if engine == "sm_90":
        # Two instructions along k begin together, for each 64 rows of a warp group.
        parts = compiled.asm["ptx"].split("wgmma.fence.sync.aligned;\n\twgmma.mma_async")[1:]
        assert len(parts) == (block // 16 // 2) * (m // 64) // (num_warps // 4)
        between = [part.rsplit("wgmma.mma_async", 1)[1] for part in parts[:-1]]
        assert all("mul" in text for text in between), "a part is computed in front of the one before it"
