"""Examples of random numbers."""

import numpy as np

import deuteron as triton
import deuteron.language as tl

# %% tl.rand
@triton.jit
def dropout(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    keep = tl.rand(seed, offsets) > p
    tl.store(out_ptr + offsets, tl.where(keep, x / (1 - p), 0.0), mask=mask)


x, out = np.ones(10_000, np.float32), np.empty(10_000, np.float32)
dropout[(triton.cdiv(10_000, 1024), )](x, out, 10_000, 0.25, 7, BLOCK=1024)
assert 0.7 < (out > 0).mean() < 0.8
