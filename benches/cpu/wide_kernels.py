"""Kernels that models run beside their large products: norms, losses, gathers, skinny products, optimizer steps."""

import triton
import triton.language as tl


@triton.jit
def rms_norm(x_ptr, w_ptr, y_ptr, n, eps, BLOCK: tl.constexpr):
    """A row over the root of its mean square, scaled."""
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    mask = columns < n
    x = tl.load(x_ptr + row * n + columns, mask=mask, other=0.0)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / n + eps)
    tl.store(y_ptr + row * n + columns, x * scale * tl.load(w_ptr + columns, mask=mask), mask=mask)


@triton.jit
def cross_entropy(x_ptr, label_ptr, loss_ptr, n, BLOCK: tl.constexpr):
    """The logarithm of the sum of powers of a row, less the number at its label."""
    row = tl.program_id(0)
    greatest = tl.full((), -float("inf"), tl.float32)
    total = tl.zeros((), tl.float32)
    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + columns, mask=columns < n, other=-float("inf"))
        higher = tl.maximum(greatest, tl.max(x, axis=0))
        total = total * tl.exp(greatest - higher) + tl.sum(tl.exp(x - higher), axis=0)
        greatest = higher
    at_label = tl.load(x_ptr + row * n + tl.load(label_ptr + row))
    tl.store(loss_ptr + row, tl.log(total) + greatest - at_label)


@triton.jit
def softmax_backward(y_ptr, dy_ptr, dx_ptr, n, BLOCK: tl.constexpr):
    """Gradients of a row of softmax from its results."""
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    mask = columns < n
    y = tl.load(y_ptr + row * n + columns, mask=mask, other=0.0)
    dy = tl.load(dy_ptr + row * n + columns, mask=mask, other=0.0)
    tl.store(dx_ptr + row * n + columns, y * (dy - tl.sum(y * dy, axis=0)), mask=mask)


@triton.jit
def rotary(x_ptr, cos_ptr, sin_ptr, y_ptr, length, HEADS: tl.constexpr, HALF: tl.constexpr):
    """The halves of each head of a token, rotated by the angles of its position."""
    token, half = tl.program_id(0), tl.arange(0, HALF)
    cos = tl.load(cos_ptr + token % length * HALF + half)[None, :]
    sin = tl.load(sin_ptr + token % length * HALF + half)[None, :]
    at = (token * HEADS + tl.arange(0, HEADS)[:, None]) * 2 * HALF + half[None, :]
    one, two = tl.load(x_ptr + at), tl.load(x_ptr + at + HALF)
    tl.store(y_ptr + at, one * cos - two * sin)
    tl.store(y_ptr + at + HALF, two * cos + one * sin)


@triton.jit
def embedding(table_ptr, index_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """The row of a table for each index."""
    token, columns = tl.program_id(0), tl.arange(0, BLOCK)
    row = tl.load(index_ptr + token)
    tl.store(y_ptr + token * n + columns, tl.load(table_ptr + row * n + columns, mask=columns < n), mask=columns < n)


@triton.jit
def swiglu(gate_ptr, up_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """`silu(gate) * up`."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    gate = tl.load(gate_ptr + at, mask=mask)
    tl.store(y_ptr + at, gate * tl.sigmoid(gate) * tl.load(up_ptr + at, mask=mask), mask=mask)


@triton.jit
def adamw(p_ptr, g_ptr, m_ptr, v_ptr, n, rate, beta1, beta2, eps, decay, corrected1, corrected2, BLOCK: tl.constexpr):
    """One step of AdamW, in place."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    p, g = tl.load(p_ptr + at, mask=mask), tl.load(g_ptr + at, mask=mask)
    m = beta1 * tl.load(m_ptr + at, mask=mask) + (1 - beta1) * g
    v = beta2 * tl.load(v_ptr + at, mask=mask) + (1 - beta2) * g * g
    step = (m / corrected1) / (tl.sqrt(v / corrected2) + eps)
    tl.store(p_ptr + at, p * (1 - rate * decay) - rate * step, mask=mask)
    tl.store(m_ptr + at, m, mask=mask)
    tl.store(v_ptr + at, v, mask=mask)


@triton.jit
def quantize_rows(x_ptr, y_ptr, scale_ptr, n, BLOCK: tl.constexpr):
    """A row as integers of 8 bits, and its scale."""
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    mask = columns < n
    x = tl.load(x_ptr + row * n + columns, mask=mask, other=0.0)
    scale = tl.max(tl.abs(x), axis=0) / 127.0
    level = x / scale
    rounded = tl.where(level < 0, level - 0.5, level + 0.5)
    tl.store(y_ptr + row * n + columns, rounded.to(tl.int8), mask=mask)
    tl.store(scale_ptr + row, scale)


@triton.jit
def transpose(x_ptr, y_ptr, rows, columns, M: tl.constexpr, N: tl.constexpr):
    """Tiles of a matrix, each stored where it belongs in the transposed one."""
    m = tl.program_id(0) * M + tl.arange(0, M)
    n = tl.program_id(1) * N + tl.arange(0, N)
    mask = (m[:, None] < rows) & (n[None, :] < columns)
    tile = tl.load(x_ptr + m[:, None] * columns + n[None, :], mask=mask)
    tl.store(y_ptr + n[None, :] * rows + m[:, None], tile, mask=mask)


@triton.jit
def column_sums(x_ptr, y_ptr, rows, columns, M: tl.constexpr, N: tl.constexpr):
    """The sum of each column."""
    n = tl.program_id(0) * N + tl.arange(0, N)
    sums = tl.zeros((M, N), tl.float32)
    for start in range(0, rows, M):
        m = start + tl.arange(0, M)
        mask = (m[:, None] < rows) & (n[None, :] < columns)
        sums += tl.load(x_ptr + m[:, None] * columns + n[None, :], mask=mask, other=0.0)
    tl.store(y_ptr + n, tl.sum(sums, axis=0), mask=n < columns)


@triton.jit
def group_norm(x_ptr, w_ptr, b_ptr, y_ptr, channels, pixels, eps, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    """A group of GROUP channels of an image, normalized and scaled by channel."""
    image, group = tl.program_id(0), tl.program_id(1)
    n = GROUP * pixels
    at = tl.arange(0, BLOCK)
    mask = at < n
    start = (image * channels + group * GROUP) * pixels
    x = tl.load(x_ptr + start + at, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / n
    centred = tl.where(mask, x - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / n + eps)
    channel = group * GROUP + at // pixels
    w, b = tl.load(w_ptr + channel, mask=mask), tl.load(b_ptr + channel, mask=mask)
    tl.store(y_ptr + start + at, centred * scale * w + b, mask=mask)


@triton.jit
def index_add(y_ptr, index_ptr, x_ptr, n, BLOCK: tl.constexpr):
    """Adds a row to the row that its index names."""
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    mask = columns < n
    x = tl.load(x_ptr + row * n + columns, mask=mask)
    tl.atomic_add(y_ptr + tl.load(index_ptr + row) * n + columns, x, mask=mask)


@triton.jit
def histogram(x_ptr, counts_ptr, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    """How often each number below BINS is there."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    tl.atomic_add(counts_ptr + tl.arange(0, BINS), tl.histogram(x, BINS, mask=at < n), sem="relaxed")


@triton.jit
def sort_rows(x_ptr, y_ptr, N: tl.constexpr):
    """A row in ascending order."""
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y_ptr + at, tl.sort(tl.load(x_ptr + at)))


@triton.jit
def causal_convolution(x_ptr, w_ptr, b_ptr, y_ptr, length, channels, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    """Each channel of a token and of WIDTH - 1 tokens before it, weighted, through silu."""
    token = tl.program_id(0)
    channel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = channel < channels
    position = token % length
    total = tl.load(b_ptr + channel, mask=mask)
    for back in tl.static_range(WIDTH):
        x = tl.load(x_ptr + (token - back) * channels + channel, mask=mask & (position >= back), other=0.0)
        total += x * tl.load(w_ptr + (WIDTH - 1 - back) * channels + channel, mask=mask)
    tl.store(y_ptr + token * channels + channel, total * tl.sigmoid(total), mask=mask)


@triton.jit
def max_pool(x_ptr, y_ptr, height, width, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    """The greatest of each square of SIZE pixels, which do not overlap."""
    plane, row = tl.program_id(0), tl.program_id(1)
    column = tl.arange(0, BLOCK)
    mask = column < width // SIZE
    greatest = tl.full((BLOCK, ), -float("inf"), tl.float32)
    for dy in tl.static_range(SIZE):
        for dx in tl.static_range(SIZE):
            at = plane * height * width + (row * SIZE + dy) * width + column * SIZE + dx
            greatest = tl.maximum(greatest, tl.load(x_ptr + at, mask=mask, other=-float("inf")))
    tl.store(y_ptr + (plane * (height // SIZE) + row) * (width // SIZE) + column, greatest, mask=mask)


@triton.jit
def linear(x_ptr, w_ptr, bias_ptr, y_ptr, M, N, K, w_row, w_column, BIAS: tl.constexpr, TILE_M: tl.constexpr,
           TILE_N: tl.constexpr, TILE_K: tl.constexpr):
    """`x @ w + bias` for a matrix of any strides."""
    m = tl.program_id(1) * TILE_M + tl.arange(0, TILE_M)
    n = tl.program_id(0) * TILE_N + tl.arange(0, TILE_N)
    k = tl.arange(0, TILE_K)
    whole: tl.constexpr = y_ptr.dtype.element_ty == tl.int32
    sums = tl.zeros((TILE_M, TILE_N), tl.int32 if whole else tl.float32)
    for start in range(0, K, TILE_K):
        x = tl.load(x_ptr + m[:, None] * K + (start + k)[None, :], mask=(m[:, None] < M) & (start + k[None, :] < K), other=0)
        w = tl.load(w_ptr + (start + k)[:, None] * w_row + n[None, :] * w_column,
                    mask=(start + k[:, None] < K) & (n[None, :] < N), other=0)
        sums = tl.dot(x, w.to(x.dtype), sums, out_dtype=sums.dtype)
    if BIAS:
        sums += tl.load(bias_ptr + n, mask=n < N)[None, :]
    tl.store(y_ptr + m[:, None] * N + n[None, :], sums.to(y_ptr.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def vector_matrix(x_ptr, w_ptr, y_ptr, N, K, w_row, w_column, TILE_N: tl.constexpr, TILE_K: tl.constexpr):
    """A row times a matrix by sums of products."""
    n = tl.program_id(0) * TILE_N + tl.arange(0, TILE_N)
    k = tl.arange(0, TILE_K)
    sums = tl.zeros((TILE_N, ), tl.float32)
    for start in range(0, K, TILE_K):
        x = tl.load(x_ptr + start + k, mask=start + k < K, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + (start + k)[None, :] * w_row + n[:, None] * w_column,
                    mask=(start + k[None, :] < K) & (n[:, None] < N), other=0.0).to(tl.float32)
        sums += tl.sum(x[None, :] * w, axis=1)
    tl.store(y_ptr + n, sums.to(y_ptr.dtype.element_ty), mask=n < N)


@triton.jit
def decode_attention(q_ptr, k_ptr, v_ptr, y_ptr, scale, length, D: tl.constexpr, BLOCK: tl.constexpr):
    """One query of a head over all keys of it."""
    head = tl.program_id(0)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + head * D + d) * scale
    greatest, total = -float("inf"), 0.0
    sums = tl.zeros((D, ), tl.float32)
    for start in range(0, length, BLOCK):
        at = start + tl.arange(0, BLOCK)
        place = (head * length + at[:, None]) * D + d[None, :]
        keys = tl.load(k_ptr + place, mask=at[:, None] < length, other=0.0)
        score = tl.where(at < length, tl.sum(q[None, :] * keys, axis=1), -float("inf"))
        higher = tl.maximum(greatest, tl.max(score, axis=0))
        weight, old = tl.exp(score - higher), tl.exp(greatest - higher)
        values = tl.load(v_ptr + place, mask=at[:, None] < length, other=0.0)
        sums = sums * old + tl.sum(weight[:, None] * values, axis=0)
        total = total * old + tl.sum(weight, axis=0)
        greatest = higher
    tl.store(y_ptr + head * D + d, sums / total)
