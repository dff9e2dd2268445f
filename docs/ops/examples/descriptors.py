"""Examples of tensor descriptors."""

import numpy as np

import deuteron as triton
import deuteron.language as tl

# %% tl.make_tensor_descriptor
@triton.jit
def double(x_ptr, out_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    out = tl.make_tensor_descriptor(out_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    out.store([row, column], 2 * x.load([row, column]))


x = np.random.rand(50, 72).astype(np.float32)
out = np.empty_like(x)
double[(triton.cdiv(50, 16), triton.cdiv(72, 32))](x, out, 50, 72, BM=16, BN=32)
np.testing.assert_array_equal(out, 2 * x)


# %% tl.tensor_descriptor
from deuteron.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def negate(x, out):
    rows, columns = x.block_shape
    row, column = tl.program_id(0) * rows, tl.program_id(1) * columns
    out.store([row, column], -x.load([row, column]))


x = np.random.rand(50, 72).astype(np.float32)
out = np.empty_like(x)
source, target = (TensorDescriptor.from_tensor(array, [16, 32]) for array in (x, out))
negate[(triton.cdiv(50, 16), triton.cdiv(72, 32))](source, target)
np.testing.assert_array_equal(out, -x)
