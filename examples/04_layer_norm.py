"""Layer normalisation, forward and backward: gradients of the weights are summed in groups behind locks."""

import common
import numpy as np
import triton
import triton.language as tl


@triton.jit
def layer_norm_forward(x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, row_stride, n_cols, eps,
                       BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    y_ptr += row * row_stride
    x_ptr += row * row_stride
    # Mean
    total = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for offset in range(0, n_cols, BLOCK_SIZE):
        cols = offset + tl.arange(0, BLOCK_SIZE)
        total += tl.load(x_ptr + cols, mask=cols < n_cols, other=0.).to(tl.float32)
    mean = tl.sum(total, axis=0) / n_cols
    # Variance
    squares = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for offset in range(0, n_cols, BLOCK_SIZE):
        cols = offset + tl.arange(0, BLOCK_SIZE)
        x = tl.load(x_ptr + cols, mask=cols < n_cols, other=0.).to(tl.float32)
        x = tl.where(cols < n_cols, x - mean, 0.)
        squares += x * x
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / n_cols + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    # Normalise, scale and shift
    for offset in range(0, n_cols, BLOCK_SIZE):
        cols = offset + tl.arange(0, BLOCK_SIZE)
        mask = cols < n_cols
        w = tl.load(w_ptr + cols, mask=mask)
        b = tl.load(b_ptr + cols, mask=mask)
        x = tl.load(x_ptr + cols, mask=mask, other=0.).to(tl.float32)
        tl.store(y_ptr + cols, (x - mean) * rstd * w + b, mask=mask)


@triton.jit
def layer_norm_backward_dx(dx_ptr, dy_ptr, dw_ptr, db_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, lock_ptr, row_stride,
                           n_cols, GROUPS: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * row_stride + cols, mask=mask, other=0).to(tl.float32)
    dy = tl.load(dy_ptr + row * row_stride + cols, mask=mask, other=0).to(tl.float32)
    w = tl.load(w_ptr + cols, mask=mask).to(tl.float32)
    mean = tl.load(mean_ptr + row)
    rstd = tl.load(rstd_ptr + row)
    # Gradient of the input
    xhat = tl.where(mask, (x - mean) * rstd, 0.)
    wdy = tl.where(mask, w * dy, 0.)
    c1 = tl.sum(xhat * wdy, axis=0) / n_cols
    c2 = tl.sum(wdy, axis=0) / n_cols
    tl.store(dx_ptr + row * row_stride + cols, (wdy - (xhat * c1 + c2)) * rstd, mask=mask)
    # Gradients of weight and bias: rows of a group add to one partial sum, one after the other
    partial_dw = (dy * xhat).to(w.dtype)
    partial_db = dy.to(w.dtype)
    lock = row % GROUPS
    lock_ptr += lock
    count_ptr = lock_ptr + GROUPS
    dw_ptrs = dw_ptr + lock * n_cols + cols
    db_ptrs = db_ptr + lock * n_cols + cols
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    count = tl.load(count_ptr)
    # The first of a group finds nothing to add to
    if count == 0:
        tl.atomic_xchg(count_ptr, 1)
    else:
        partial_dw += tl.load(dw_ptrs, mask=mask)
        partial_db += tl.load(db_ptrs, mask=mask)
    tl.store(dw_ptrs, partial_dw, mask=mask)
    tl.store(db_ptrs, partial_db, mask=mask)
    # All stores come before the lock is given back
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


@triton.jit
def layer_norm_backward_dwdb(partial_dw_ptr, partial_db_ptr, dw_ptr, db_ptr, n_groups, n_cols,
                             BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr):
    pid = tl.program_id(0)
    cols = pid * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    dw = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    db = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for i in range(0, n_groups, BLOCK_SIZE_M):
        rows = i + tl.arange(0, BLOCK_SIZE_M)
        mask = (rows[:, None] < n_groups) & (cols[None, :] < n_cols)
        offs = rows[:, None] * n_cols + cols[None, :]
        dw += tl.load(partial_dw_ptr + offs, mask=mask, other=0.)
        db += tl.load(partial_db_ptr + offs, mask=mask, other=0.)
    tl.store(dw_ptr + cols, tl.sum(dw, axis=0), mask=cols < n_cols)
    tl.store(db_ptr + cols, tl.sum(db, axis=0), mask=cols < n_cols)


EPS = 1e-5


def forward(x, w, b, y, mean, rstd):
    """Fills `y`, and the mean and the reciprocal deviation of each row."""
    n_rows, n_cols = x.shape
    block_size = min(triton.next_power_of_2(n_cols), 4096)
    layer_norm_forward[(n_rows, )](x, y, w, b, mean, rstd, common.stride(x, 0), n_cols, EPS, BLOCK_SIZE=block_size,
                                   num_warps=8)


def backward(dy, x, w, mean, rstd, groups=64):
    """The gradients of input, weight and bias."""
    n_rows, n_cols = x.shape
    dx = common.poisoned(n_rows, n_cols)
    dw, db = common.poisoned(n_cols), common.poisoned(n_cols)
    partial_dw, partial_db = common.poisoned(groups, n_cols), common.poisoned(groups, n_cols)
    locks = common.zeros(2 * groups, dtype="int32")
    layer_norm_backward_dx[(n_rows, )](dx, dy, partial_dw, partial_db, x, w, mean, rstd, locks, common.stride(x, 0),
                                       n_cols, GROUPS=groups, BLOCK_SIZE=triton.next_power_of_2(n_cols), num_warps=8)

    def grid(meta):
        return (triton.cdiv(n_cols, meta["BLOCK_SIZE_N"]), )

    layer_norm_backward_dwdb[grid](partial_dw, partial_db, dw, db, min(groups, n_rows), n_cols, BLOCK_SIZE_M=32,
                                   BLOCK_SIZE_N=128)
    return dx, dw, db


def reference(x, w, b, dy):
    """Forward and backward in float64."""
    mean = x.mean(axis=1, keepdims=True)
    rstd = 1 / np.sqrt(x.var(axis=1, keepdims=True) + EPS)
    xhat = (x - mean) * rstd
    wdy = w * dy
    c1 = (xhat * wdy).mean(axis=1, keepdims=True)
    c2 = wdy.mean(axis=1, keepdims=True)
    return xhat * w + b, (wdy - (xhat * c1 + c2)) * rstd, (dy * xhat).sum(axis=0), dy.sum(axis=0)


def inputs(n_rows, n_cols):
    """Data, weight, bias and a gradient."""
    return (common.randn(n_rows, n_cols, seed=7), common.randn(n_cols, seed=8), common.randn(n_cols, seed=9),
            common.randn(n_rows, n_cols, seed=10))


SIZES = ((1151, 8192), (300, 781), (7, 33))


def checks():
    """Forward and backward on a power of two and on odd sizes, against float64."""
    for n_rows, n_cols in SIZES:
        x, w, b, dy = inputs(n_rows, n_cols)
        y, mean, rstd = common.poisoned(n_rows, n_cols), common.poisoned(n_rows), common.poisoned(n_rows)
        forward(x, w, b, y, mean, rstd)
        results = y, *backward(dy, x, w, mean, rstd)
        expected = reference(*(common.to_numpy(t) for t in (x, w, b, dy)))
        for name, result, wanted in zip(("y", "dx", "dw", "db"), results, expected):
            label = f"layer norm {name}, {n_rows}x{n_cols}"
            yield common.Check(label, common.max_difference(result, wanted), common.steps(6, wanted))


def measurements():
    """Bandwidth of the forward pass: the matrix read and written once."""
    n_rows, n_cols = 4096, 4096
    x, w, b, _ = inputs(n_rows, n_cols)
    y, mean, rstd = common.zeros(n_rows, n_cols), common.zeros(n_rows), common.zeros(n_rows)
    values, weight, bias = (common.to_numpy(t, None) for t in (x, w, b))
    out = np.empty_like(values)

    def numpy_layer_norm():
        np.subtract(values, values.mean(axis=1, keepdims=True), out=out)
        rstd = 1 / np.sqrt(np.einsum("ij,ij->i", out, out) / n_cols + EPS)
        np.multiply(out, rstd[:, None], out=out)
        np.multiply(out, weight, out=out)
        np.add(out, bias, out=out)

    layer_norm = common.torch and common.torch.nn.functional.layer_norm
    yield common.Measurement(
        f"layer norm forward, {n_rows}x{n_cols}", 2 * 4 * n_rows * n_cols, "GB/s",
        deuteron=lambda: forward(x, w, b, y, mean, rstd), numpy=numpy_layer_norm,
        torch=common.torch and (lambda: layer_norm(x, (n_cols, ), w, b, EPS)))


def main():
    """Checks and measures."""
    common.run(__name__)


if __name__ == "__main__":
    main()
