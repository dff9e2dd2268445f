"""Kernels over tiles that models run: narrow and persistent products, other types, attention backward and over pages."""

import triton
import triton.language as tl


@triton.jit
def matrix_vector(w_ptr, x_ptr, out_ptr, n, k, N: tl.constexpr, K: tl.constexpr):
    """One row by a matrix whose rows lie along the sums."""
    rows = tl.program_id(0) * N + tl.arange(0, N)
    acc = tl.zeros([N, K], tl.float32)
    for start in range(0, k, K):
        cols = start + tl.arange(0, K)
        w = tl.load(w_ptr + rows[:, None] * k + cols[None, :], mask=(rows[:, None] < n) & (cols[None, :] < k), other=0.0)
        x = tl.load(x_ptr + cols, mask=cols < k, other=0.0)
        acc += w.to(tl.float32) * x.to(tl.float32)[None, :]
    tl.store(out_ptr + rows, tl.sum(acc, axis=1).to(tl.float16), mask=rows < n)


@triton.jit
def typed_matmul(a_ptr, b_ptr, c_ptr, m, n, k, b_row, b_col, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
                 SUMS: tl.constexpr):
    """A product with sums of a type; `b` lies either way."""
    tiles = tl.cdiv(n, N)
    rows = tl.program_id(0) // tiles * M + tl.arange(0, M)
    cols = tl.program_id(0) % tiles * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    a_ptrs = a_ptr + (rows % m)[:, None] * k + depth[None, :]
    b_ptrs = b_ptr + depth[:, None] * b_row + (cols % n)[None, :] * b_col
    acc = tl.zeros((M, N), dtype=SUMS)
    for start in range(0, k, K):
        a = tl.load(a_ptrs, mask=depth[None, :] < k - start, other=0)
        b = tl.load(b_ptrs, mask=depth[:, None] < k - start, other=0)
        acc = tl.dot(a, b, acc, out_dtype=SUMS)
        a_ptrs += K
        b_ptrs += K * b_row
    mask = (rows[:, None] < m) & (cols[None, :] < n)
    tl.store(c_ptr + rows[:, None] * n + cols[None, :], acc.to(c_ptr.dtype.element_ty), mask=mask)


@triton.jit
def block_scaled_matmul(a_ptr, b_ptr, a_scale_ptr, b_scale_ptr, c_ptr, m, n, k, M: tl.constexpr, N: tl.constexpr,
                        K: tl.constexpr):
    """8-bit floats with a scale for 128 numbers of a row of `a`, and for 128×128 of `b`, whose rows are columns of the product."""
    tiles = tl.cdiv(n, N)
    rows = tl.program_id(0) // tiles * M + tl.arange(0, M)
    cols = tl.program_id(0) % tiles * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    a_ptrs = a_ptr + (rows % m)[:, None] * k + depth[None, :]
    b_ptrs = b_ptr + depth[:, None] + (cols % n)[None, :] * k
    groups = tl.cdiv(k, K)
    acc = tl.zeros((M, N), dtype=tl.float32)
    for group in range(0, groups):
        a, b = tl.load(a_ptrs), tl.load(b_ptrs)
        a_scale = tl.load(a_scale_ptr + (rows % m) * groups + group)
        b_scale = tl.load(b_scale_ptr + (cols % n) // 128 * groups + group)
        acc += tl.dot(a, b) * (a_scale[:, None] * b_scale[None, :])
        a_ptrs += K
        b_ptrs += K
    mask = (rows[:, None] < m) & (cols[None, :] < n)
    tl.store(c_ptr + rows[:, None] * n + cols[None, :], acc.to(tl.float16), mask=mask)


@triton.jit
def persistent_matmul(a_ptr, b_ptr, c_ptr, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr,
                      PROGRAMS: tl.constexpr):
    """Each program computes every PROGRAMS-th tile, in groups of rows of tiles."""
    tiles_m, tiles_n = tl.cdiv(m, M), tl.cdiv(n, N)
    depth = tl.arange(0, K)
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, PROGRAMS, flatten=True):
        group = tile // (GROUP * tiles_n)
        height = min(tiles_m - group * GROUP, GROUP)
        rows = (group * GROUP + tile % height) * M + tl.arange(0, M)
        cols = tile % (GROUP * tiles_n) // height * N + tl.arange(0, N)
        near_rows = tl.max_contiguous(tl.multiple_of(tl.where(rows < m, rows, 0), M), M)
        near_cols = tl.max_contiguous(tl.multiple_of(tl.where(cols < n, cols, 0), N), N)
        acc = tl.zeros((M, N), dtype=tl.float32)
        for step in range(0, tl.cdiv(k, K)):
            at = step * K + depth
            a = tl.load(a_ptr + near_rows[:, None] * k + at[None, :], mask=at[None, :] < k, other=0.0)
            b = tl.load(b_ptr + at[:, None] * n + near_cols[None, :], mask=at[:, None] < k, other=0.0)
            acc = tl.dot(a, b, acc)
        mask = (rows[:, None] < m) & (cols[None, :] < n)
        tl.store(c_ptr + rows[:, None] * n + cols[None, :], acc.to(tl.float16), mask=mask)


@triton.jit
def gradient_of_keys(q_ptr, k_ptr, v_ptr, do_ptr, dk_ptr, dv_ptr, lse_ptr, delta_ptr, scale, length, M: tl.constexpr,
                     N: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    """Gradients of a block of keys and values; `lse` holds logarithms to base 2, `scale` is for powers of 2."""
    head = tl.program_id(1) * length
    n = tl.program_id(0) * N + tl.arange(0, N)
    d = tl.arange(0, D)
    k = tl.load(k_ptr + (head + n)[:, None] * D + d[None, :])
    v = tl.load(v_ptr + (head + n)[:, None] * D + d[None, :])
    dk = tl.zeros((N, D), dtype=tl.float32)
    dv = tl.zeros((N, D), dtype=tl.float32)
    first = tl.program_id(0) * N // M * M if CAUSAL else 0
    for start in range(first, length, M):
        m = start + tl.arange(0, M)
        q = tl.load(q_ptr + (head + m)[:, None] * D + d[None, :])
        do = tl.load(do_ptr + (head + m)[:, None] * D + d[None, :])
        lse = tl.load(lse_ptr + head + m)
        p = tl.exp2(tl.dot(k, tl.trans(q)) * scale - lse[None, :])
        if CAUSAL:
            p = tl.where(m[None, :] >= n[:, None], p, 0.0)
        dv = tl.dot(p.to(tl.float16), do, dv)
        dp = tl.dot(v, tl.trans(do))
        ds = p * (dp - tl.load(delta_ptr + head + m)[None, :])
        dk = tl.dot(ds.to(tl.float16), q, dk)
    # Scores are scaled for powers of 2, gradients for powers of e.
    tl.store(dk_ptr + (head + n)[:, None] * D + d[None, :], (dk * scale * 0.6931471805599453).to(tl.float16))
    tl.store(dv_ptr + (head + n)[:, None] * D + d[None, :], dv.to(tl.float16))


@triton.jit
def gradient_of_queries(q_ptr, k_ptr, v_ptr, do_ptr, dq_ptr, lse_ptr, delta_ptr, scale, length, M: tl.constexpr,
                        N: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    """Gradients of a block of queries."""
    head = tl.program_id(1) * length
    m = tl.program_id(0) * M + tl.arange(0, M)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + (head + m)[:, None] * D + d[None, :])
    do = tl.load(do_ptr + (head + m)[:, None] * D + d[None, :])
    lse = tl.load(lse_ptr + head + m)
    delta = tl.load(delta_ptr + head + m)
    dq = tl.zeros((M, D), dtype=tl.float32)
    last = tl.minimum(tl.program_id(0) * M + M, length) if CAUSAL else length
    for start in range(0, last, N):
        n = start + tl.arange(0, N)
        k = tl.load(k_ptr + (head + n)[:, None] * D + d[None, :])
        v = tl.load(v_ptr + (head + n)[:, None] * D + d[None, :])
        p = tl.exp2(tl.dot(q, tl.trans(k)) * scale - lse[:, None])
        if CAUSAL:
            p = tl.where(m[:, None] >= n[None, :], p, 0.0)
        dp = tl.dot(do, tl.trans(v))
        ds = p * (dp - delta[:, None])
        dq = tl.dot(ds.to(tl.float16), k, dq)
    tl.store(dq_ptr + (head + m)[:, None] * D + d[None, :], (dq * scale * 0.6931471805599453).to(tl.float16))


@triton.jit
def paged_attention(q_ptr, k_ptr, v_ptr, table_ptr, lengths_ptr, acc_ptr, max_ptr, sum_ptr, scale, table_stride,
                    HEADS: tl.constexpr, GROUP: tl.constexpr, D: tl.constexpr, PAGE: tl.constexpr, SPLITS: tl.constexpr):
    """One token of a sequence, whose keys and values lie in pages, for one of their heads and a share of the pages."""
    batch, head, split = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    length = tl.load(lengths_ptr + batch)
    pages = tl.cdiv(length, PAGE)
    share = tl.cdiv(pages, SPLITS)
    g, d, n = tl.arange(0, GROUP), tl.arange(0, D), tl.arange(0, PAGE)
    own = (batch * HEADS + head) * GROUP + g
    q = tl.load(q_ptr + own[:, None] * D + d[None, :])
    top = tl.full([GROUP], float("-inf"), tl.float32)
    total = tl.zeros([GROUP], tl.float32)
    acc = tl.zeros([GROUP, D], tl.float32)
    for page in range(split * share, tl.minimum(split * share + share, pages)):
        place = tl.load(table_ptr + batch * table_stride + page).to(tl.int64)
        at = ((place * PAGE + n) * HEADS + head)[:, None] * D + d[None, :]
        scores = tl.dot(q, tl.trans(tl.load(k_ptr + at))) * scale
        scores = tl.where(page * PAGE + n[None, :] < length, scores, float("-inf"))
        higher = tl.maximum(top, tl.max(scores, axis=1))
        p = tl.exp2(scores - higher[:, None])
        keep = tl.exp2(top - higher)
        total = total * keep + tl.sum(p, axis=1)
        acc = tl.dot(p.to(tl.float16), tl.load(v_ptr + at), acc * keep[:, None])
        top = higher
    part = own * SPLITS + split
    tl.store(acc_ptr + part[:, None] * D + d[None, :], acc)
    tl.store(max_ptr + part, top)
    tl.store(sum_ptr + part, total)


@triton.jit
def joined_shares(acc_ptr, max_ptr, sum_ptr, out_ptr, D: tl.constexpr, SPLITS: tl.constexpr):
    """What the shares of the pages gave, as one."""
    own = tl.program_id(0)
    s, d = tl.arange(0, SPLITS), tl.arange(0, D)
    top = tl.load(max_ptr + own * SPLITS + s)
    weight = tl.exp2(top - tl.max(top, axis=0))
    total = tl.sum(tl.load(sum_ptr + own * SPLITS + s) * weight, axis=0)
    acc = tl.load(acc_ptr + (own * SPLITS + s)[:, None] * D + d[None, :])
    tl.store(out_ptr + own * D + d, (tl.sum(acc * weight[:, None], axis=0) / total).to(tl.float16))
