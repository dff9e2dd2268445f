"""Examples of user-defined elementwise code."""

import numpy as np

import deuteron as triton
import deuteron.language as tl

# %% tl.map_elementwise
@triton.jit
def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@triton.jit
def steps_of(x_ptr, out_ptr):
    x = tl.load(x_ptr + tl.arange(0, 8))
    tl.store(out_ptr + tl.arange(0, 8), tl.map_elementwise(collatz, x))


x, out = np.arange(1, 9, dtype=np.int32), np.empty(8, np.int32)
steps_of[(1, )](x, out)
assert out.tolist() == [0, 1, 7, 2, 5, 8, 16, 3]
