"""Examples of operations that change shapes."""

import numpy as np

import deuteron as triton
import deuteron.language as tl

# %% tl.expand_dims
@triton.jit
def outer(x_ptr, y_ptr, out_ptr):
    x = tl.load(x_ptr + tl.arange(0, 4))
    y = tl.load(y_ptr + tl.arange(0, 8))
    # `x[:, None]` is short for `tl.expand_dims(x, 1)`; the product broadcasts both to 4 by 8.
    table = x[:, None] * y[None, :]
    tl.store(out_ptr + tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :], table)


x, y = np.random.rand(4).astype(np.float32), np.random.rand(8).astype(np.float32)
out = np.empty((4, 8), np.float32)
outer[(1, )](x, y, out)
np.testing.assert_array_equal(out, np.outer(x, y))


# %% tl.reshape
@triton.jit
def pair_sums(x_ptr, out_ptr):
    pairs = tl.load(x_ptr + tl.arange(0, 16)).reshape(8, 2)
    tl.store(out_ptr + tl.arange(0, 8), tl.sum(pairs, axis=1))


x, out = np.arange(16, dtype=np.int32), np.empty(8, np.int32)
pair_sums[(1, )](x, out)
assert out.tolist() == [1, 5, 9, 13, 17, 21, 25, 29]


# %% tl.trans
@triton.jit
def transpose(x_ptr, out_ptr):
    rows, columns = tl.arange(0, 4)[:, None], tl.arange(0, 8)[None, :]
    x = tl.load(x_ptr + rows * 8 + columns)
    tl.store(out_ptr + tl.arange(0, 8)[:, None] * 4 + tl.arange(0, 4)[None, :], x.T)


x, out = np.random.rand(4, 8).astype(np.float32), np.empty((8, 4), np.float32)
transpose[(1, )](x, out)
np.testing.assert_array_equal(out, x.T)


# %% tl.join
@triton.jit
def complex_product(a_ptr, b_ptr, out_ptr):
    # Real and imaginary parts alternate in memory.
    offsets = tl.arange(0, 4)[:, None] * 2 + tl.arange(0, 2)[None, :]
    a_re, a_im = tl.split(tl.load(a_ptr + offsets))
    b_re, b_im = tl.split(tl.load(b_ptr + offsets))
    product = tl.join(a_re * b_re - a_im * b_im, a_re * b_im + a_im * b_re)
    tl.store(out_ptr + offsets, product)


a, b = (np.random.rand(4) + 1j * np.random.rand(4) for _ in range(2))
out = np.empty(4, np.complex128)
complex_product[(1, )](a.view(np.float64), b.view(np.float64), out.view(np.float64))
np.testing.assert_allclose(out, a * b)


# %% tl.gather
@triton.jit
def look_up(table_ptr, index_ptr, out_ptr):
    table = tl.load(table_ptr + tl.arange(0, 16))
    index = tl.load(index_ptr + tl.arange(0, 4))
    tl.store(out_ptr + tl.arange(0, 4), tl.gather(table, index, axis=0))


table, index = np.random.rand(16).astype(np.float32), np.array([3, 3, 15, 0], np.int32)
out = np.empty(4, np.float32)
look_up[(1, )](table, index, out)
np.testing.assert_array_equal(out, table[index])
