"""Dots of a few rows, whose right operand is read where it lies: against binary64, at edges, beside guard pages."""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from test_cpu_limits import Guarded


@triton.jit
def masked(a_ptr, b_ptr, c_ptr, M, N, K, am, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
           TURNED: tl.constexpr, MASK_A: tl.constexpr):
    """`c = a @ b`, each block behind its masks."""
    rm, rn, rk = tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        inside = rk < K - k
        mask = (rm < M)[:, None] & (inside | (not MASK_A))[None, :]
        a = tl.load(a_ptr + rm[:, None] * am + (k + rk)[None, :], mask=mask, other=0)
        if TURNED:
            b = tl.trans(tl.load(b_ptr + rn[:, None] * bn + (k + rk)[None, :] * bk,
                                 mask=inside[None, :] & (rn < N)[:, None], other=0))
        else:
            b = tl.load(b_ptr + rn[None, :] * bn + (k + rk)[:, None] * bk,
                        mask=inside[:, None] & (rn < N)[None, :], other=0)
        acc = tl.dot(a.to(b.dtype), b, acc, input_precision="ieee")
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm < M)[:, None] & (rn < N)[None, :])


@triton.jit
def in_blocks(a_ptr, b_ptr, c_ptr, M, N, K, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """`c = a @ b` by blocks of rows as well, which share blocks of `b`."""
    rm, rn = tl.program_id(1) * BM + tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        a = tl.load(a_ptr + rm[:, None] * K + rk[None, :], mask=(rm < M)[:, None] & (rk < K)[None, :], other=0)
        b = tl.load(b_ptr + rk[:, None] * bk + rn[None, :] * bn, mask=(rk < K)[:, None] & (rn < N)[None, :], other=0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm < M)[:, None] & (rn < N)[None, :])


@triton.jit
def wrapping(a_ptr, b_ptr, c_ptr, M, N, K, am, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """The same as tutorials write it: indices wrap around, pointers move."""
    rm, rn, rk = tl.arange(0, BM) % M, (tl.program_id(0) * BN + tl.arange(0, BN)) % N, tl.arange(0, BK)
    a_ptrs = a_ptr + rm[:, None] * am + rk[None, :]
    b_ptrs = b_ptr + rk[:, None] * bk + rn[None, :] * bn
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_ptrs, mask=rk[None, :] < K - k * BK, other=0)
        b = tl.load(b_ptrs, mask=rk[:, None] < K - k * BK, other=0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_ptrs += BK
        b_ptrs += BK * bk
    rm, rn = tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm < M)[:, None] & (rn < N)[None, :])


@triton.jit
def gathered(a_ptr, b_ptr, rows_ptr, c_ptr, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """`c = a @ b[rows]`; sums begin with what `c` holds."""
    rm, rn = tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    c_ptrs = c_ptr + rm[:, None] * N + rn[None, :]
    acc = tl.load(c_ptrs)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        rows = tl.load(rows_ptr + rk)
        a = tl.load(a_ptr + rm[:, None] * K + rk[None, :])
        b = tl.load(b_ptr + rows[:, None] * N + rn[None, :])
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(c_ptrs, acc)


@triton.jit
def by_sums(x_ptr, w_ptr, start_ptr, y_ptr, N, K, wk, wn, batch_x, batch_w, BN: tl.constexpr, BK: tl.constexpr,
            ALONG: tl.constexpr, FIRST: tl.constexpr):
    """`y = start + x @ w` for each row of a batch, by sums of products along either dimension of a tile."""
    batch, rn, rk = tl.program_id(1), tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, BK)
    x_ptr, w_ptr, y_ptr = x_ptr + batch * batch_x, w_ptr + batch * batch_w, y_ptr + batch * N
    acc = tl.load(start_ptr + rn, mask=rn < N, other=0.0)
    for k in range(0, K, BK):
        x = tl.load(x_ptr + k + rk, mask=k + rk < K, other=0.0).to(tl.float32)
        if ALONG == 0:
            w = tl.load(w_ptr + (k + rk)[:, None] * wk + rn[None, :] * wn,
                        mask=(k + rk < K)[:, None] & (rn < N)[None, :], other=0.0).to(tl.float32)
            product = x[:, None] * w if FIRST else w * x[:, None]
        else:
            w = tl.load(w_ptr + (k + rk)[None, :] * wk + rn[:, None] * wn,
                        mask=(k + rk < K)[None, :] & (rn < N)[:, None], other=0.0).to(tl.float32)
            product = x[None, :] * w if FIRST else w * x[None, :]
        acc += tl.sum(product, ALONG)
    tl.store(y_ptr + rn, acc, mask=rn < N)


@triton.jit
def sums_beside_others(x_ptr, w_ptr, y_ptr, z_ptr, K, BN: tl.constexpr, BK: tl.constexpr):
    """The sum is read in the loop as well, and its result is used in several ways behind it."""
    rn, rk = tl.arange(0, BN), tl.arange(0, BK)
    acc, seen = tl.zeros((BN, ), tl.float32), 0.0
    for k in range(0, K, BK):
        x = tl.load(x_ptr + k + rk)
        w = tl.load(w_ptr + rn[:, None] * K + (k + rk)[None, :])
        acc += tl.sum(x[None, :] * w, 1)
        seen += tl.sum(acc)
    tl.store(y_ptr + rn, acc * 2)
    tl.store(z_ptr, seen + tl.sum(acc))


def matrices(m, n, k, order, dtype="float32", special=False):
    """Fresh random matrices: the right one row by row (`C`) or column by column (`F`)."""
    random = np.random.default_rng()
    a, b = (random.standard_normal(shape, dtype=np.float32) for shape in ((m, k), (k, n)))
    if special:
        for matrix in (a, b):
            places = random.integers(0, matrix.size, 3)
            matrix.flat[places] = [np.nan, np.inf, -np.inf]
    a, b = (torch.from_numpy(matrix).to(getattr(torch, dtype)) for matrix in (a, b))
    b = b if order == "C" else b.t().contiguous().t()
    return a, b


def expected(a, b):
    with np.errstate(invalid="ignore"):
        return a.double().numpy() @ b.double().numpy()


def agrees(c, wanted, k):
    """Sums of `k` products of standard normal numbers, in any order of binary32; NaN and infinity in their places."""
    c = c.double().numpy()
    assert np.array_equal(np.isnan(c), np.isnan(wanted))
    finite = np.isfinite(wanted)
    assert np.array_equal(c[~finite], wanted[~finite], equal_nan=True)
    assert np.abs(c[finite] - wanted[finite]).max(initial=0) <= 4e-6 * k


SHAPES = [(1, 256, 512), (1, 259, 517), (3, 131, 130), (5, 64, 63), (16, 129, 1030), (16, 1, 1), (2, 33, 31),
          (7, 128, 64)]
TILES = [(16, 128, 64), (16, 32, 128), (1, 64, 32), (4, 16, 16), (8, 8, 8), (2, 64, 4), (16, 4, 64)]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("turned", [False, True])
def test_masked_blocks_of_any_size(dtype, order, turned):
    for m, n, k in SHAPES:
        for bm, bn, bk in TILES:
            if m > bm:
                continue
            a, b = matrices(m, n, k, order, dtype)
            c = torch.full((m, n), float("nan"))
            masked[(triton.cdiv(n, bn), )](a, b, c, m, n, k, k, *b.stride(), bm, bn, bk, turned, True)
            agrees(c, expected(a, b), k)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_indices_that_wrap_around(dtype, order):
    for m, n, k in SHAPES:
        for bm, bn, bk in TILES:
            if m > bm:
                continue
            a, b = matrices(m, n, k, order, dtype)
            c = torch.full((m, n), float("nan"))
            wrapping[(triton.cdiv(n, bn), )](a, b, c, m, n, k, k, *b.stride(), bm, bn, bk)
            agrees(c, expected(a, b), k)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(1, 256, 512), (5, 131, 515)])
def test_nan_and_infinity(order, shape):
    m, n, k = shape
    a, b = matrices(m, n, k, order, special=True)
    c = torch.zeros((m, n))
    masked[(triton.cdiv(n, 64), )](a, b, c, m, n, k, k, *b.stride(), 16, 64, 64, False, True)
    agrees(c, expected(a, b), k)


@pytest.mark.parametrize("order", ["C", "F"])
def test_what_is_masked_off_is_zero_and_multiplied(order):
    """Behind the end of k, `a` holds an infinity and `b` is masked off: infinity times zero is NaN."""
    m, n, k = 2, 64, 40
    a, b = matrices(m, n, 64, order)
    a[1, 50] = float("inf")
    c = torch.zeros((m, n))
    masked[(1, )](a, b, c, m, n, k, 64, *b.stride(), 16, 64, 64, False, False)
    wanted = expected(a[:, :k], b[:k])
    wanted[1] = np.nan
    agrees(c, wanted, k)


def test_rows_that_are_gathered_and_sums_that_go_on():
    for bn, bk, n, k in [(64, 32, 192, 256), (16, 8, 32, 64)]:
        a, b = matrices(16, n, k, "C")
        rows = torch.randint(0, k, (k, ), dtype=torch.int64)
        c = torch.randn(16, n)
        wanted = c.double().numpy() + expected(a, b[rows])
        gathered[(n // bn, )](a, b, rows, c, n, k, 16, bn, bk)
        agrees(c, wanted, k)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("at_end", [False, True])
def test_nothing_outside_is_touched(order, at_end):
    for m, n, k in [(1, 131, 67), (3, 64, 64), (2, 130, 129)]:
        a, b = matrices(m, n, k, order)
        memory = b if order == "C" else b.t()
        guarded = Guarded()
        inner = torch.from_numpy(guarded.array(memory.numpy(), at_end))
        own = inner if order == "C" else inner.t()
        left = torch.from_numpy(guarded.array(a.numpy(), at_end))
        c = torch.from_numpy(guarded.array(np.zeros((m, n), np.float32), at_end))
        masked[(triton.cdiv(n, 64), )](left, own, c, m, n, k, k, *own.stride(), 16, 64, 32, False, True)
        agrees(c, expected(a, b), k)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("along", [0, 1])
def test_sums_of_products(dtype, order, along):
    for n, k, bn, bk, first in [(256, 512, 64, 64, True), (131, 517, 32, 128, False), (33, 31, 16, 16, True),
                                (1, 1, 8, 8, True), (70, 1030, 2, 64, False), (259, 130, 128, 4, True)]:
        batch = 3
        all_a, all_b = zip(*(matrices(1, n, k, "C", dtype, special=number == 1) for number in range(batch)))
        x, w = torch.cat(all_a), torch.stack(all_b)
        w = w if order == "C" else w.transpose(1, 2).contiguous().transpose(1, 2)
        start, y = torch.randn(n), torch.full((batch, n), float("nan"))
        by_sums[(triton.cdiv(n, bn), batch)](x, w, start, y, n, k, w.stride(1), w.stride(2), x.stride(0), w.stride(0),
                                             bn, bk, along, first)
        wanted = start.double().numpy() + np.concatenate([expected(a, b) for a, b in zip(all_a, all_b)])
        agrees(y, wanted, k)


def test_sums_that_are_read_in_the_loop():
    n, k, bk = 32, 256, 64
    a, b = matrices(1, n, k, "F")
    y, z = torch.zeros(n), torch.zeros(1)
    sums_beside_others[(1, )](a, b.t(), y, z, k, n, bk)
    parts = np.cumsum([expected(a[:, at:at + bk], b[at:at + bk])[0] for at in range(0, k, bk)], axis=0)
    agrees(y, 2 * parts[-1], k)
    assert abs(float(z) - parts.sum() - parts[-1].sum()) <= 1e-3


def digest(seed):
    """What kernels compute from numbers that follow from a seed."""
    random = np.random.default_rng(seed)
    found = hashlib.sha256()
    for m, n, k, order in [(1, 700, 515, "C"), (1, 700, 515, "F"), (16, 300, 700, "C"), (16, 300, 700, "F")]:
        a, b = (torch.from_numpy(random.standard_normal(shape, dtype=np.float32)) for shape in ((m, k), (k, n)))
        b = b if order == "C" else b.t().contiguous().t()
        c = torch.zeros(m, n)
        masked[(triton.cdiv(n, 32), )](a, b, c, m, n, k, k, *b.stride(), 16, 32, 64, False, True)
        found.update(c.numpy().tobytes())
    for m, n, k, order in [(16, 1000, 1030, "C"), (17, 1000, 1030, "C"), (16, 999, 515, "F"), (21, 999, 1515, "F")]:
        for dtype in (torch.float32, torch.bfloat16):
            a, b = (torch.from_numpy(random.standard_normal(shape, dtype=np.float32)).to(dtype) for shape in ((m, k), (k, n)))
            b = b if order == "C" else b.t().contiguous().t()
            c = torch.zeros(m, n)
            in_blocks[(triton.cdiv(n, 32), triton.cdiv(m, 16))](a, b, c, m, n, k, *b.stride(), 16, 32, 64)
            agrees(c, expected(a, b), k)
            found.update(c.numpy().tobytes())
    return found.hexdigest()


def test_results_do_not_depend_on_the_number_of_threads():
    seed = int.from_bytes(os.urandom(4), "little")
    script = f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})\n" \
             f"import deuteron; deuteron.install(); import test_operands_in_place as t; print(t.digest({seed}))"

    def run(threads):
        environment = {**os.environ, "DEUTERON_NUM_THREADS": str(threads)}
        return subprocess.run([sys.executable, "-c", script], env=environment, check=True, capture_output=True,
                              text=True).stdout

    alone = run(1)
    assert len(alone.strip()) == 64
    assert alone == run(2) == run(3), f"seed {seed}"
