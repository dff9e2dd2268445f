"""Examples of block pointers."""

import numpy as np

import deuteron as triton
import deuteron.language as tl

# %% tl.make_block_ptr
@triton.jit
def row_sums(x_ptr, out_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    row = tl.program_id(0) * BM
    block = tl.make_block_ptr(x_ptr, shape=(M, N), strides=(N, 1), offsets=(row, 0), block_shape=(BM, BN), order=(1, 0))
    total = tl.zeros((BM, ), tl.float32)
    for _ in range(0, N, BN):
        total += tl.sum(tl.load(block, boundary_check=(0, 1), padding_option="zero"), axis=1)
        block = tl.advance(block, (0, BN))
    rows = row + tl.arange(0, BM)
    tl.store(out_ptr + rows, total, mask=rows < M)


x, out = np.random.rand(10, 100).astype(np.float32), np.empty(10, np.float32)
row_sums[(3, )](x, out, 10, 100, BM=4, BN=32)
np.testing.assert_allclose(out, x.sum(axis=1), rtol=1e-5)
