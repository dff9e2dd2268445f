"""Examples of elementwise functions."""

import numpy as np

import deuteron as triton
import deuteron.language as tl

# %% tl.exp
@triton.jit
def silu(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    # Functions of floats take fp32 and fp64: narrower types are converted first.
    wide = x.to(tl.float32)
    tl.store(out_ptr + offsets, (wide / (1 + tl.exp(-wide))).to(x.dtype), mask=offsets < n)


x, out = np.random.randn(100).astype(np.float16), np.empty(100, np.float16)
silu[(1, )](x, out, 100, BLOCK=128)
wide = x.astype(np.float64)
np.testing.assert_allclose(out, wide / (1 + np.exp(-wide)), atol=2e-3)


# %% tl.where
@triton.jit
def leaky_relu(x_ptr, out_ptr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(out_ptr + tl.arange(0, 64), tl.where(x >= 0, x, 0.01 * x))


x, out = np.random.randn(64).astype(np.float32), np.empty(64, np.float32)
leaky_relu[(1, )](x, out)
np.testing.assert_allclose(out, np.where(x >= 0, x, 0.01 * x), rtol=1e-6)


# %% tl.maximum
@triton.jit
def largest(x_ptr, y_ptr, out_ptr):
    x, y = tl.load(x_ptr + tl.arange(0, 4)), tl.load(y_ptr + tl.arange(0, 4))
    tl.store(out_ptr + tl.arange(0, 4), tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL))


x, y = np.array([1, np.nan, 3, 4], np.float32), np.array([2, 2, np.nan, 0], np.float32)
out = np.empty(4, np.float32)
largest[(1, )](x, y, out)
np.testing.assert_array_equal(out, np.array([2, np.nan, np.nan, 4], np.float32))


# %% tl.softmax
@triton.jit
def softmax(x_ptr, out_ptr, N: tl.constexpr):
    places = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out_ptr + places, tl.softmax(tl.load(x_ptr + places)))


x, out = np.random.randn(3, 64), np.empty((3, 64))
softmax[(3, )](x, out, N=64)
e = np.exp(x - x.max(axis=1, keepdims=True))
np.testing.assert_allclose(out, e / e.sum(axis=1, keepdims=True))
