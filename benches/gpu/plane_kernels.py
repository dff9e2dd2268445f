"""Products over planes and lines of tiles, of one matrix or of several, and attention whose masks end rows and columns."""

import triton
import triton.language as tl


@triton.jit
def product_of_tile(a_ptr, b_ptr, c_ptr, m, n, k, row, column, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """One tile of a product of matrices whose rows lie one behind the other."""
    rows, cols, depth = row * M + tl.arange(0, M), column * N + tl.arange(0, N), tl.arange(0, K)
    a_ptrs = a_ptr + rows[:, None] * k + depth[None, :]
    b_ptrs = b_ptr + depth[:, None] * n + cols[None, :]
    acc = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        a = tl.load(a_ptrs, mask=(rows[:, None] < m) & (depth[None, :] < k - start), other=0.0)
        b = tl.load(b_ptrs, mask=(depth[:, None] < k - start) & (cols[None, :] < n), other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += K
        b_ptrs += K * n
    mask = (rows[:, None] < m) & (cols[None, :] < n)
    tl.store(c_ptr + rows[:, None] * n + cols[None, :], acc.to(c_ptr.dtype.element_ty), mask=mask)


@triton.jit
def plane_matmul(a_ptr, b_ptr, c_ptr, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Tiles of rows along the first axis of the grid, of columns along the second, matrices along the third."""
    batch = tl.program_id(2)
    a_ptr, b_ptr, c_ptr = a_ptr + batch * m * k, b_ptr + batch * k * n, c_ptr + batch * m * n
    product_of_tile(a_ptr, b_ptr, c_ptr, m, n, k, tl.program_id(0), tl.program_id(1), M, N, K)


@triton.jit
def line_matmul(a_ptr, b_ptr, c_ptr, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Tiles line by line along the only axis of the grid."""
    tiles = tl.cdiv(n, N)
    product_of_tile(a_ptr, b_ptr, c_ptr, m, n, k, tl.program_id(0) // tiles, tl.program_id(0) % tiles, M, N, K)


@triton.jit
def masked_attention(q_ptr, k_ptr, v_ptr, out_ptr, length, size, scale, heads, stride_z, stride_h, stride_n, M: tl.constexpr,
                     N: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    """Attention of a head of `size` numbers, which the columns of a block are more than, over rows of any number."""
    batch, head = tl.program_id(1) // heads, tl.program_id(1) % heads
    start = batch * stride_z + head * stride_h
    rows, depth = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, D)
    places = rows[:, None] * stride_n + depth[None, :]
    inside = (rows[:, None] < length) & (depth[None, :] < size)
    q = tl.load(q_ptr + start + places, mask=inside, other=0.0)
    acc = tl.zeros((M, D), tl.float32)
    most, total = tl.full((M, ), float("-inf"), tl.float32), tl.zeros((M, ), tl.float32)
    end = tl.minimum(tl.program_id(0) * M + M, length) if CAUSAL else length
    for first in range(0, end, N):
        keys = first + tl.arange(0, N)
        mask = (keys[:, None] < length) & (depth[None, :] < size)
        k = tl.load(k_ptr + start + keys[:, None] * stride_n + depth[None, :], mask=mask, other=0.0)
        scores = tl.dot(q, k.T) * scale
        seen = keys[None, :] < length
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, float("-inf"))
        largest = tl.maximum(most, tl.max(scores, 1))
        shares, left = tl.math.exp2(scores - largest[:, None]), tl.math.exp2(most - largest)
        total, most = total * left + tl.sum(shares, 1), largest
        v = tl.load(v_ptr + start + keys[:, None] * stride_n + depth[None, :], mask=mask, other=0.0)
        acc = tl.dot(shares.to(v.dtype), v, acc * left[:, None])
    tl.store(out_ptr + start + places, (acc / total[:, None]).to(out_ptr.dtype.element_ty), mask=inside)
