"""Examples of types and conversions."""

import numpy as np

import deuteron as triton
import deuteron.language as tl

# %% tl.cast
@triton.jit
def halve(x_ptr, out_ptr):
    x = tl.load(x_ptr + tl.arange(0, 4))
    tl.store(out_ptr + tl.arange(0, 4), (x / 2).to(tl.float16))


x, out = np.array([1, 2, 3, 5], np.int32), np.empty(4, np.float16)
halve[(1, )](x, out)
assert out.tolist() == [0.5, 1.0, 1.5, 2.5]


# %% tl.constexpr
@triton.jit
def scale(x_ptr, out_ptr, n, FACTOR: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    if FACTOR == 1:  # decided while compiling: one of the two lines is all that is left
        y = x
    else:
        y = x * FACTOR
    tl.store(out_ptr + offsets, y, mask=mask)


x, out = np.random.rand(100).astype(np.float32), np.empty(100, np.float32)
scale[(2, )](x, out, 100, FACTOR=3, BLOCK=64)
np.testing.assert_allclose(out, 3 * x)
