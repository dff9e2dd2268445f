"""Examples of reductions, scans and sorts."""

import numpy as np

import deuteron as triton
import deuteron.language as tl

# %% tl.max
@triton.jit
def row_maxima(x_ptr, value_ptr, index_ptr, N: tl.constexpr):
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * N + tl.arange(0, N))
    value, index = tl.max(x, axis=0, return_indices=True)
    tl.store(value_ptr + row, value)
    tl.store(index_ptr + row, index)


x = np.random.rand(5, 128).astype(np.float32)
value, index = np.empty(5, np.float32), np.empty(5, np.int32)
row_maxima[(5, )](x, value, index, N=128)
np.testing.assert_array_equal(value, x.max(axis=1))
np.testing.assert_array_equal(index, x.argmax(axis=1))


# %% tl.reduce
@triton.jit
def product_of(a, b):
    return a * b


@triton.jit
def products(x_ptr, out_ptr):
    x = tl.load(x_ptr + tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :])
    tl.store(out_ptr + tl.arange(0, 4), tl.reduce(x, 1, product_of))


x, out = np.random.rand(4, 8), np.empty(4)
products[(1, )](x, out)
np.testing.assert_allclose(out, x.prod(axis=1))


# %% tl.cumsum
@triton.jit
def offsets_of(length_ptr, out_ptr, N: tl.constexpr):
    lengths = tl.load(length_ptr + tl.arange(0, N))
    tl.store(out_ptr + tl.arange(0, N), tl.cumsum(lengths, 0) - lengths)


lengths, out = np.array([3, 1, 4, 1, 5, 9, 2, 6], np.int32), np.empty(8, np.int32)
offsets_of[(1, )](lengths, out, N=8)
assert out.tolist() == [0, 3, 4, 8, 9, 14, 23, 25]


# %% tl.associative_scan
@triton.jit
def linear(a1, b1, a2, b2):
    # First x -> a1 * x + b1, then x -> a2 * x + b2.
    return a1 * a2, b1 * a2 + b2


@triton.jit
def recurrence(a_ptr, b_ptr, out_ptr, N: tl.constexpr):
    a, b = tl.load(a_ptr + tl.arange(0, N)), tl.load(b_ptr + tl.arange(0, N))
    _, states = tl.associative_scan((a, b), 0, linear)
    tl.store(out_ptr + tl.arange(0, N), states)


a, b = np.random.rand(2, 16)
out = np.empty(16)
recurrence[(1, )](a, b, out, N=16)
state = 0.0
for i in range(16):
    state = a[i] * state + b[i]
    np.testing.assert_allclose(out[i], state)


# %% tl.sort
@triton.jit
def median(x_ptr, out_ptr, N: tl.constexpr):
    row = tl.program_id(0)
    ordered = tl.sort(tl.load(x_ptr + row * N + tl.arange(0, N)))
    tl.store(out_ptr + row * N + tl.arange(0, N), ordered)


x = np.random.rand(3, 64).astype(np.float32)
out = np.empty_like(x)
median[(3, )](x, out, N=64)
np.testing.assert_array_equal(out, np.sort(x, axis=1))


# %% tl.histogram
@triton.jit
def count(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0)
    tl.store(out_ptr + tl.arange(0, 16), tl.histogram(x, 16, mask=offsets < n))


x, out = np.random.randint(0, 16, 200).astype(np.int32), np.empty(16, np.int32)
count[(1, )](x, out, 200, BLOCK=256)
np.testing.assert_array_equal(out, np.bincount(x, minlength=16))
