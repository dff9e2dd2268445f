"""Examples of atomic operations."""

import numpy as np

import deuteron as triton
import deuteron.language as tl

# %% tl.atomic_add
@triton.jit
def dot(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    y = tl.load(y_ptr + offsets, mask=mask, other=0.0)
    tl.atomic_add(out_ptr, tl.sum(x * y))


x, y = np.random.rand(2, 1000)
out = np.zeros(1)
dot[(4, )](x, y, out, 1000, BLOCK=256)
np.testing.assert_allclose(out[0], x @ y)


# %% tl.atomic_cas
@triton.jit
def first_come(lock_ptr, winner_ptr):
    if tl.atomic_cas(lock_ptr, 0, 1) == 0:
        tl.store(winner_ptr, tl.program_id(0))


lock, winner = np.zeros(1, np.int32), np.full(1, -1, np.int32)
first_come[(8, )](lock, winner)
assert lock[0] == 1 and 0 <= winner[0] < 8
