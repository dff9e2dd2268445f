"""Examples of what helps to debug."""

import numpy as np

import deuteron as triton
import deuteron.language as tl

# %% tl.static_assert
@triton.jit
def first_half(x_ptr, out_ptr, N: tl.constexpr):
    tl.static_assert(N % 2 == 0, "N must be even")
    offsets = tl.arange(0, N // 2)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets))


x, out = np.arange(8.0), np.empty(4)
first_half[(1, )](x, out, N=8)
try:
    first_half[(1, )](x, out, N=7)
except triton.CompilationError as error:
    assert "N must be even" in str(error)
else:
    raise AssertionError("compiled with an odd N")


# %% tl.device_print
@triton.jit
def show(x_ptr):
    offsets = tl.arange(0, 4)
    tl.device_print("x", tl.load(x_ptr + offsets))


show[(1, )](np.array([1.5, 2.5, 3.5, 4.5], np.float32))
