"""Examples of programs and loops."""

import numpy as np

import deuteron as triton
import deuteron.language as tl

# %% tl.program_id
@triton.jit
def which(out_ptr):
    row = tl.program_id(0)
    column = tl.program_id(1)
    tl.store(out_ptr + row * tl.num_programs(1) + column, 10 * row + column)


out = np.empty((2, 3), np.int32)
which[(2, 3)](out)
assert out.tolist() == [[0, 1, 2], [10, 11, 12]]


# %% tl.range
@triton.jit
def row_sums(x_ptr, out_ptr, n_columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK, ), tl.float32)
    for start in tl.range(0, n_columns, BLOCK, num_stages=2):
        columns = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * n_columns + columns, mask=columns < n_columns, other=0.0)
    tl.store(out_ptr + row, tl.sum(total))


x = np.random.rand(4, 1000).astype(np.float32)
out = np.empty(4, np.float32)
row_sums[(4, )](x, out, 1000, BLOCK=256)
np.testing.assert_allclose(out, x.sum(axis=1), rtol=1e-5)


# %% tl.static_range
@triton.jit
def powers(out_ptr, N: tl.constexpr):
    for i in tl.static_range(N):
        tl.store(out_ptr + i, 2**i)


out = np.empty(5, np.int32)
powers[(1, )](out, N=5)
assert out.tolist() == [1, 2, 4, 8, 16]


# %% tl.condition
@triton.jit
def digits(n, out_ptr):
    count = 0
    while tl.condition(n > 0, disable_licm=True):
        n = n // 10
        count += 1
    tl.store(out_ptr, count)


out = np.empty(1, np.int32)
digits[(1, )](98432, out)
assert out[0] == 5
