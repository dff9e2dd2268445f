"""Kernels over rows that models run beside their products: gradients of a norm, rotary embedding, lookups, scans, sorts."""

import triton
import triton.language as tl


@triton.jit
def layer_norm_backward(x_ptr, dy_ptr, w_ptr, mean_ptr, rstd_ptr, dx_ptr, dw_ptr, db_ptr, stride, rows, n,
                        BLOCK: tl.constexpr, PROGRAMS: tl.constexpr):
    """Gradients of rows; each program takes every PROGRAMS-th row and keeps its own sums for weights and biases."""
    program = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    dw = tl.zeros([BLOCK], tl.float32)
    db = tl.zeros([BLOCK], tl.float32)
    for row in range(program, rows, PROGRAMS):
        x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
        mean = tl.load(mean_ptr + row)
        rstd = tl.load(rstd_ptr + row)
        normal = tl.where(mask, (x - mean) * rstd, 0.0)
        scaled = w * dy
        along = tl.sum(normal * scaled, axis=0) / n
        level = tl.sum(scaled, axis=0) / n
        dx = (scaled - (normal * along + level)) * rstd
        tl.store(dx_ptr + row * stride + cols, dx.to(tl.float16), mask=mask)
        dw += dy * normal
        db += dy
    tl.store(dw_ptr + program * n + cols, dw, mask=mask)
    tl.store(db_ptr + program * n + cols, db, mask=mask)


@triton.jit
def column_sums(dw_ptr, db_ptr, w_out_ptr, b_out_ptr, rows, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """The sums that programs kept, added up."""
    cols = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    dw = tl.zeros([ROWS, COLUMNS], tl.float32)
    db = tl.zeros([ROWS, COLUMNS], tl.float32)
    for start in range(0, rows, ROWS):
        row = start + tl.arange(0, ROWS)
        mask = (row[:, None] < rows) & (cols[None, :] < n)
        at = row[:, None] * n + cols[None, :]
        dw += tl.load(dw_ptr + at, mask=mask, other=0.0)
        db += tl.load(db_ptr + at, mask=mask, other=0.0)
    tl.store(w_out_ptr + cols, tl.sum(dw, axis=0).to(tl.float16), mask=cols < n)
    tl.store(b_out_ptr + cols, tl.sum(db, axis=0).to(tl.float16), mask=cols < n)


@triton.jit
def rotary_embedding(x_ptr, cos_ptr, sin_ptr, out_ptr, length, HEADS: tl.constexpr, HALF: tl.constexpr):
    """The halves of each head of a token, rotated by the angles of its position."""
    token = tl.program_id(0)
    half = tl.arange(0, HALF)
    cos = tl.load(cos_ptr + token % length * HALF + half)[None, :]
    sin = tl.load(sin_ptr + token % length * HALF + half)[None, :]
    at = (token * HEADS + tl.arange(0, HEADS)[:, None]) * 2 * HALF + half[None, :]
    one = tl.load(x_ptr + at).to(tl.float32)
    two = tl.load(x_ptr + at + HALF).to(tl.float32)
    tl.store(out_ptr + at, (one * cos - two * sin).to(tl.float16))
    tl.store(out_ptr + at + HALF, (two * cos + one * sin).to(tl.float16))


@triton.jit
def embedding(table_ptr, index_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """The row of a table for each index."""
    token = tl.program_id(0).to(tl.int64)
    row = tl.load(index_ptr + token)
    cols = tl.arange(0, BLOCK)
    value = tl.load(table_ptr + row * n + cols, mask=cols < n)
    tl.store(out_ptr + token * n + cols, value, mask=cols < n)


@triton.jit
def running_sums(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Sums of the numbers up to each of a row."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
    tl.store(out_ptr + row * n + cols, tl.cumsum(x, axis=0), mask=cols < n)


@triton.jit
def sorted_rows(x_ptr, out_ptr, N: tl.constexpr):
    """A row in ascending order."""
    row = tl.program_id(0)
    cols = tl.arange(0, N)
    tl.store(out_ptr + row * N + cols, tl.sort(tl.load(x_ptr + row * N + cols)))


@triton.jit
def transposed(x_ptr, out_ptr, rows, cols, M: tl.constexpr, N: tl.constexpr):
    """Tiles of a matrix, each stored where it belongs in the transposed one."""
    m = tl.program_id(0) * M + tl.arange(0, M)
    n = tl.program_id(1) * N + tl.arange(0, N)
    tile = tl.load(x_ptr + m[:, None] * cols + n[None, :], mask=(m[:, None] < rows) & (n[None, :] < cols))
    tl.store(out_ptr + n[:, None] * rows + m[None, :], tl.trans(tile), mask=(n[:, None] < cols) & (m[None, :] < rows))
