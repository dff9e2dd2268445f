"""Upper halves of products beside numbers of 64 bits, for tests of every engine."""

import numpy as np
import torch

import deuteron as triton
import deuteron.language as tl

COUNT = 128


@triton.jit
def differences(x_ptr, y_ptr, d_ptr, out, COUNT: tl.constexpr):
    at = tl.arange(0, COUNT)
    d = tl.load(d_ptr + at)
    high = tl.umulhi(tl.load(x_ptr + at), tl.load(y_ptr + at))
    tl.store(out + at, high - d)
    tl.store(out + COUNT + at, -d + high)
    tl.store(out + 2 * COUNT + at, d - high)
    tl.store(out + 3 * COUNT + at, (d ^ -1) + high)


@triton.jit
def signed_differences(x_ptr, y_ptr, d_ptr, out, COUNT: tl.constexpr):
    at = tl.arange(0, COUNT)
    d = tl.load(d_ptr + at)
    high = tl.extra.libdevice.mulhi(tl.load(x_ptr + at), tl.load(y_ptr + at)).to(tl.uint32, bitcast=True)
    tl.store(out + at, high - d)
    tl.store(out + COUNT + at, high + d)


def check_differences(device, rng):
    """Compares with NumPy, for numbers whose lower half is often 0; returns the compiled kernels."""
    d = rng.integers(-2**31, 2**31, COUNT) << 32 | np.where(rng.random(COUNT) < 0.5, 0, rng.integers(0, 2**32, COUNT))
    d[0] = 0
    kernels = []
    for signed, parts in ((False, 4), (True, 2)):
        dtype = np.int32 if signed else np.uint32
        limits = np.iinfo(dtype)
        x, y = (rng.integers(limits.min, limits.max, COUNT, dtype=dtype, endpoint=True) for _ in range(2))
        high = (x.astype(np.int64 if signed else np.uint64) * y.astype(np.int64 if signed else np.uint64) >> dtype(32)).astype(np.uint32)
        high = high.astype(np.int64)
        expected = [high - d, high + d] if signed else [high - d, high - d, d - high, high - d - 1]
        out = torch.full((parts, COUNT), 7, dtype=torch.int64, device=device)
        kernel = signed_differences if signed else differences
        kernels.append(triton.jit(kernel.fn)[(1, )](*(torch.from_numpy(array).to(device) for array in (x, y, d)), out, COUNT))
        np.testing.assert_array_equal(out.cpu().numpy(), np.stack(expected))
    return kernels
