"""Examples of loads and stores."""

import numpy as np

import deuteron as triton
import deuteron.language as tl

# %% tl.load
@triton.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, x, mask=mask)


x, out = np.random.rand(1000), np.full(1024, -1.0)
copy[(triton.cdiv(1000, 256), )](x, out, 1000, BLOCK=256)
np.testing.assert_array_equal(out[:1000], x)
assert (out[1000:] == -1).all()  # nothing is written where the mask is false


# %% tl.store
@triton.jit
def tile(x_ptr, out_ptr, stride, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    places = rows[:, None] * stride + columns[None, :]
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    x = tl.load(x_ptr + places, mask=mask)
    tl.store(out_ptr + places, 2 * x, mask=mask)


x = np.random.rand(50, 70).astype(np.float32)
out = np.empty_like(x)
tile[(triton.cdiv(50, 16), triton.cdiv(70, 32))](x, out, 70, 50, 70, BM=16, BN=32)
np.testing.assert_array_equal(out, 2 * x)
