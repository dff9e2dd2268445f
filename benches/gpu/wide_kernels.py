"""Kernels that people run, beyond those of the examples: norms in one block, grouped matmul, split-K."""

import triton
import triton.language as tl


@triton.jit
def layer_norm_one_block(x_ptr, out_ptr, w_ptr, b_ptr, stride, n, eps, BLOCK: tl.constexpr):
    """A row a program; weights and biases are loaded where they are used."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n
    centered = tl.where(mask, x - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(centered * centered, axis=0) / n + eps)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * stride + cols, (centered * rstd * w + b).to(tl.float16), mask=mask)


@triton.jit
def rms_norm(x_ptr, out_ptr, w_ptr, stride, n, eps, BLOCK: tl.constexpr):
    """A row a program."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    rstd = tl.rsqrt(tl.sum(x * x, axis=0) / n + eps)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * stride + cols, (x * rstd * w).to(tl.float16), mask=mask)


@triton.jit
def cross_entropy(x_ptr, label_ptr, out_ptr, stride, n, BLOCK: tl.constexpr):
    """The loss of a row, with a running maximum."""
    row = tl.program_id(0)
    largest = tl.full([BLOCK], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + cols, mask=cols < n, other=float("-inf")).to(tl.float32)
        higher = tl.maximum(largest, x)
        scale = tl.where(higher == float("-inf"), 0.0, tl.exp(largest - higher))
        total = total * scale + tl.where(x == float("-inf"), 0.0, tl.exp(x - higher))
        largest = higher
    peak = tl.max(largest, axis=0)
    scale = tl.where(largest == float("-inf"), 0.0, tl.exp(largest - peak))
    picked = tl.load(x_ptr + row * stride + tl.load(label_ptr + row)).to(tl.float32)
    tl.store(out_ptr + row, peak + tl.log(tl.sum(total * scale, axis=0)) - picked)


@triton.jit
def grouped_matmul(a_ptrs_ptr, b_ptrs_ptr, c_ptrs_ptr, sizes_ptr, strides_ptr, groups, PROGRAMS: tl.constexpr,
                   M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Tiles of several products whose places and sizes are in memory; sizes are multiples of the tiles."""
    tile = tl.program_id(0)
    first = 0
    for group in range(groups):
        rows = tl.load(sizes_ptr + group * 3)
        cols = tl.load(sizes_ptr + group * 3 + 1)
        depth = tl.load(sizes_ptr + group * 3 + 2)
        tiles_n = tl.cdiv(cols, N)
        tiles = tl.cdiv(rows, M) * tiles_n
        while tile >= first and tile < first + tiles:
            lda = tl.load(strides_ptr + group * 3)
            ldb = tl.load(strides_ptr + group * 3 + 1)
            ldc = tl.load(strides_ptr + group * 3 + 2)
            a_ptr = tl.load(a_ptrs_ptr + group).to(tl.pointer_type(tl.float16))
            b_ptr = tl.load(b_ptrs_ptr + group).to(tl.pointer_type(tl.float16))
            c_ptr = tl.load(c_ptrs_ptr + group).to(tl.pointer_type(tl.float16))
            m = (tile - first) // tiles_n * M + tl.arange(0, M)
            n = (tile - first) % tiles_n * N + tl.arange(0, N)
            k = tl.arange(0, K)
            a_ptrs = a_ptr + m[:, None] * lda + k[None, :]
            b_ptrs = b_ptr + k[:, None] * ldb + n[None, :]
            acc = tl.zeros((M, N), dtype=tl.float32)
            for _ in range(0, tl.cdiv(depth, K)):
                tl.multiple_of(a_ptrs, [16, 16])
                tl.multiple_of(b_ptrs, [16, 16])
                acc += tl.dot(tl.load(a_ptrs), tl.load(b_ptrs))
                a_ptrs += K
                b_ptrs += K * ldb
            tl.store(c_ptr + m[:, None] * ldc + n[None, :], acc.to(tl.float16))
            tile += PROGRAMS
        first = first + tiles


@triton.jit
def split_k_matmul(a_ptr, b_ptr, c_ptr, m, n, k, lda, ldb, ldc, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
                   SPLIT: tl.constexpr):
    """Each program adds its share of the depth to the result."""
    tile_n, tile_m, share = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    rows = (tile_m * M + tl.arange(0, M)) % m
    cols = (tile_n * N + tl.arange(0, N)) % n
    depth = share * K + tl.arange(0, K)
    a_ptrs = a_ptr + rows[:, None] * lda + depth[None, :]
    b_ptrs = b_ptr + depth[:, None] * ldb + cols[None, :]
    acc = tl.zeros((M, N), dtype=tl.float32)
    for _ in range(0, tl.cdiv(k, K * SPLIT)):
        acc += tl.dot(tl.load(a_ptrs), tl.load(b_ptrs))
        a_ptrs += K * SPLIT
        b_ptrs += K * SPLIT * ldb
    out_rows = tile_m * M + tl.arange(0, M)
    out_cols = tile_n * N + tl.arange(0, N)
    mask = (out_rows[:, None] < m) & (out_cols[None, :] < n)
    tl.atomic_add(c_ptr + out_rows[:, None] * ldc + out_cols[None, :], acc, mask=mask, sem="relaxed")
