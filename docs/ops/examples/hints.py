"""Examples of hints."""

import numpy as np

import deuteron as triton
import deuteron.language as tl

# %% tl.multiple_of
@triton.jit
def copy_rows(x_ptr, out_ptr, row_ptr, stride, N: tl.constexpr):
    # Loaded from memory, so the compiler cannot know: all rows begin at multiples of 16 elements.
    start = tl.multiple_of(tl.load(row_ptr + tl.program_id(0)) * stride, 16)
    x = tl.load(x_ptr + start + tl.arange(0, N))
    tl.store(out_ptr + tl.program_id(0) * N + tl.arange(0, N), x)


x, rows = np.random.rand(8, 64).astype(np.float32), np.array([5, 0, 7], np.int32)
out = np.empty((3, 64), np.float32)
copy_rows[(3, )](x, out, rows, 64, N=64)
np.testing.assert_array_equal(out, x[rows])
