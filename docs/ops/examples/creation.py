"""Examples of operations that make blocks."""

import numpy as np

import deuteron as triton
import deuteron.language as tl

# %% tl.arange
@triton.jit
def count(out_ptr):
    offsets = tl.arange(0, 8)
    tl.store(out_ptr + offsets, offsets * offsets)


out = np.empty(8, np.int32)
count[(1, )](out)
assert out.tolist() == [0, 1, 4, 9, 16, 25, 36, 49]


# %% tl.full
@triton.jit
def fill(out_ptr, value):
    tl.store(out_ptr + tl.arange(0, 4), tl.full((4, ), value, tl.float32))


out = np.empty(4, np.float32)
fill[(1, )](out, 2.5)
assert out.tolist() == [2.5] * 4
