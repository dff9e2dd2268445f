"""Kernels with known bottlenecks."""

import triton
import triton.language as tl


@triton.jit
def softmax_naive(in_ptr, output_ptr, row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    in_max = -float("inf")
    for offset in range(0, n_cols, BLOCK_SIZE):
        columns = tl.arange(0, BLOCK_SIZE) + offset
        data = tl.load(in_ptr + pid * row_stride + columns, mask=columns < n_cols, other=-float("inf"))
        in_max = tl.maximum(in_max, tl.max(data, axis=-1))
    in_sum = 0.0
    for offset in range(0, n_cols, BLOCK_SIZE):
        columns = tl.arange(0, BLOCK_SIZE) + offset
        data = tl.load(in_ptr + pid * row_stride + columns, mask=columns < n_cols, other=-float("inf"))
        in_sum = in_sum + tl.sum(tl.exp(data - in_max), axis=-1)
    for offset in range(0, n_cols, BLOCK_SIZE):
        columns = tl.arange(0, BLOCK_SIZE) + offset
        data = tl.load(in_ptr + pid * row_stride + columns, mask=columns < n_cols)
        result = tl.exp(data - in_max) / in_sum
        tl.store(output_ptr + pid * row_stride + columns, result, mask=columns < n_cols)


@triton.jit
def transposed_copy(x_ptr, y_ptr, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    line = tl.load(x_ptr + row * stride + columns, mask=columns < n)
    tl.store(y_ptr + columns * stride + row, line, mask=columns < n)


@triton.jit
def transposed_tiles(x_ptr, y_ptr, stride, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    block = tl.load(x_ptr + rows[:, None] * stride + columns[None, :])
    tl.store(y_ptr + columns[None, :] * stride + rows[:, None], block)


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm, EXACT: tl.constexpr,
           BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + rows[:, None] * stride_am + depth[None, :]
    b_ptrs = b_ptr + depth[:, None] * stride_bk + columns[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs)
        b = tl.load(b_ptrs)
        total = tl.dot(a, b, total, input_precision="ieee" if EXACT else "tf32")
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * stride_bk
    tl.store(c_ptr + rows[:, None] * stride_cm + columns[None, :], total.to(c_ptr.dtype.element_ty))


@triton.jit
def chosen_rows(q_ptr, kv_ptr, index_ptr, out_ptr, n, WIDTH: tl.constexpr, TAIL: tl.constexpr, ROWS: tl.constexpr,
                BLOCK: tl.constexpr):
    program = tl.program_id(0).to(tl.int64)
    rows, width, tail = tl.arange(0, ROWS)[:, None], tl.arange(0, WIDTH)[None, :], tl.arange(0, TAIL)[None, :]
    q_rows = q_ptr + (program * ROWS + rows) * (WIDTH + TAIL)
    q, q_tail = tl.load(q_rows + width), tl.load(q_rows + WIDTH + tail)
    top = tl.full([ROWS], -float("inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    out = tl.zeros([ROWS, WIDTH], tl.float32)
    for start in range(0, n, BLOCK):
        places = start + tl.arange(0, BLOCK)
        index = tl.load(index_ptr + program * n + places, mask=places < n, other=-1)
        chosen = index >= 0
        key_rows = kv_ptr + tl.where(chosen, index, 0)[:, None] * (WIDTH + TAIL)
        keys = tl.load(key_rows + width, mask=chosen[:, None], other=0)
        key_tails = tl.load(key_rows + WIDTH + tail, mask=chosen[:, None], other=0)
        scores = tl.dot(q_tail, tl.trans(key_tails), tl.dot(q, tl.trans(keys)))
        scores = tl.where(chosen[None, :], scores, -float("inf"))
        above = tl.maximum(top, tl.max(scores, axis=1))
        powers = tl.exp(scores - above[:, None])
        scale = tl.exp(top - above)
        total = total * scale + tl.sum(powers, axis=1)
        out = out * scale[:, None] + tl.dot(powers.to(keys.dtype), keys)
        top = above
    tl.store(out_ptr + (program * ROWS + rows) * WIDTH + width, (out / total[:, None]).to(tl.bfloat16))
