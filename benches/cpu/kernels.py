"""The kernels that are measured and are not among the examples."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def gelu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    tl.store(y_ptr + offsets, 0.5 * x * (1 + libdevice.tanh(inner)), mask=mask)


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, stride_a, stride_b, stride_c, TILE_M: tl.constexpr,
                  TILE_N: tl.constexpr, TILE_K: tl.constexpr):
    rows = tl.program_id(1) * TILE_M + tl.arange(0, TILE_M)
    columns = tl.program_id(0) * TILE_N + tl.arange(0, TILE_N)
    depth = tl.arange(0, TILE_K)
    sums = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for k in range(0, K, TILE_K):
        a = tl.load(a_ptr + rows[:, None] * stride_a + (k + depth)[None, :],
                    mask=(rows[:, None] < M) & (k + depth[None, :] < K), other=0.0)
        b = tl.load(b_ptr + (k + depth)[:, None] * stride_b + columns[None, :],
                    mask=(k + depth[:, None] < K) & (columns[None, :] < N), other=0.0)
        sums = tl.dot(a, b, sums)
    tl.store(c_ptr + rows[:, None] * stride_c + columns[None, :], sums.to(c_ptr.dtype.element_ty),
             mask=(rows[:, None] < M) & (columns[None, :] < N))


@triton.jit
def argmax_kernel(x_ptr, y_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + columns, mask=columns < n, other=-float("inf"))
    tl.store(y_ptr + row, tl.argmax(x, axis=0))


@triton.jit
def cumsum_kernel(x_ptr, y_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + columns, mask=columns < n, other=0.0)
    tl.store(y_ptr + row * stride + columns, tl.cumsum(x, axis=0), mask=columns < n)


def mapped(function):
    """A kernel that calls a function of one argument on every element."""

    @triton.jit
    def map_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets, mask=offsets < n)
        tl.store(y_ptr + offsets, function(x), mask=offsets < n)

    return map_kernel
