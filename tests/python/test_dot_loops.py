"""Loops of dots: operands packed many iterations at once, and shared between programs."""

import numpy as np
import pytest
import torch
import triton
import triton.language as tl


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
           TURN_A: tl.constexpr, TURN_B: tl.constexpr, ACC: tl.constexpr, ROWS_FIRST: tl.constexpr):
    """`c = a @ b` with operands loaded either way round; programs go down the columns, or along the rows."""
    pid = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    pid_m = pid // tiles_n if ROWS_FIRST else pid % tiles_m
    pid_n = pid % tiles_n if ROWS_FIRST else pid // tiles_m
    rm, rn, rk = pid_m * BM + tl.arange(0, BM), pid_n * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), ACC)
    for k in range(0, K, BK):
        inside = rk < K - k
        if TURN_A:
            at = tl.load(a_ptr + rm[None, :] * am + (k + rk)[:, None] * ak,
                         mask=inside[:, None] & (rm < M)[None, :], other=0)
            a = tl.trans(at)
        else:
            a = tl.load(a_ptr + rm[:, None] * am + (k + rk)[None, :] * ak,
                        mask=inside[None, :] & (rm < M)[:, None], other=0)
        if TURN_B:
            bt = tl.load(b_ptr + rn[:, None] * bn + (k + rk)[None, :] * bk,
                         mask=inside[None, :] & (rn < N)[:, None], other=0)
            b = tl.trans(bt)
        else:
            b = tl.load(b_ptr + rn[None, :] * bn + (k + rk)[:, None] * bk,
                        mask=inside[:, None] & (rn < N)[None, :], other=0)
        acc = tl.dot(a, b, acc, out_dtype=ACC, input_precision="ieee")
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm < M)[:, None] & (rn < N)[None, :])


def operands(dtype, m, n, k, seed):
    """Random matrices, and what `a @ b` is."""
    random = np.random.default_rng(seed)
    if np.issubdtype(dtype, np.integer):
        a, b = random.integers(-100, 100, (m, k)).astype(dtype), random.integers(-100, 100, (k, n)).astype(dtype)
        return a, b, a.astype(np.int64) @ b.astype(np.int64)
    a, b = random.standard_normal((m, k)).astype(dtype), random.standard_normal((k, n)).astype(dtype)
    return a, b, a.astype(np.float64) @ b.astype(np.float64)


def steps(array):
    """Strides in elements."""
    return [stride // array.itemsize for stride in array.strides]


ACCUMULATORS = {"float32": tl.float32, "float16": tl.float32, "float64": tl.float64, "int8": tl.int32}


@pytest.mark.parametrize("dtype", ACCUMULATORS)
@pytest.mark.parametrize("turn_a, turn_b", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_operands_of_any_type_and_order(dtype, turn_a, turn_b, order):
    for m, n, k, tiles, rows_first in [(100, 77, 1100, (32, 32, 32), False), (64, 128, 37, (64, 64, 16), True),
                                       (33, 130, 515, (16, 128, 64), False)]:
        a, b, expected = operands(np.dtype(dtype), m, n, k, seed=m)
        a, b = np.asarray(a, order=order), np.asarray(b, order=order)
        c = np.full((m, n), 99, np.int32 if dtype == "int8" else "float64" if dtype == "float64" else "float32")
        bm, bn, bk = tiles
        matmul[(triton.cdiv(m, bm) * triton.cdiv(n, bn), )](
            a, b, c, m, n, k, *steps(a), *steps(b), BM=bm, BN=bn, BK=bk, TURN_A=turn_a, TURN_B=turn_b,
            ACC=ACCUMULATORS[dtype], ROWS_FIRST=rows_first)
        allowed = 0 if dtype == "int8" else 1e-12 * k if dtype == "float64" else 3e-6 * k
        assert np.abs(c - expected).max() <= allowed, (m, n, k)


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2", "float8_e4m3fn"])
@pytest.mark.parametrize("turn_a, turn_b", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_operands_that_are_numbers_of_bf16(dtype, turn_a, turn_b, order):
    """Processors with instructions for pairs of them multiply two neighbours along k at once."""
    for m, n, k, tiles, rows_first in [(100, 77, 1101, (32, 32, 32), False), (64, 128, 37, (64, 64, 16), True),
                                       (33, 130, 515, (16, 128, 64), False), (20, 40, 300, (16, 8, 32), True)]:
        a, b = (torch.from_numpy(x).to(getattr(torch, dtype)) for x in operands(np.dtype("float32"), m, n, k, m)[:2])
        expected = (a.double() @ b.double()).numpy()
        if order == "F":
            a, b = a.T.contiguous().T, b.T.contiguous().T
        c = torch.full((m, n), 99.0)
        bm, bn, bk = tiles
        matmul[(triton.cdiv(m, bm) * triton.cdiv(n, bn), )](
            a, b, c, m, n, k, *a.stride(), *b.stride(), BM=bm, BN=bn, BK=bk, TURN_A=turn_a, TURN_B=turn_b,
            ACC=tl.float32, ROWS_FIRST=rows_first)
        assert np.abs(c.numpy() - expected).max() <= 3e-6 * k, (m, n, k)


@triton.jit
def chain(q_ptr, k_ptr, v_ptr, o_ptr, times, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, ACC: tl.constexpr,
          TURN_Q: tl.constexpr, TURN_K: tl.constexpr, TURN_V: tl.constexpr):
    """`o += (q @ k).to(v) @ v` for blocks of `k` and `v`: loops that do more than add dots."""
    rm, rn, rd = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    q = tl.trans(tl.load(q_ptr + rd[:, None] * M + rm[None, :])) if TURN_Q \
        else tl.load(q_ptr + rm[:, None] * D + rd[None, :])
    o = tl.zeros((M, D), ACC)
    for i in range(times):
        at = i * N + rn
        # Blocks of `k` are its columns; where they are turned, the rows of what is stored.
        k = tl.trans(tl.load(k_ptr + at[:, None] * D + rd[None, :])) if TURN_K \
            else tl.load(k_ptr + rd[:, None] * (times * N) + at[None, :])
        v = tl.load(v_ptr + at[:, None] + rd[None, :] * (times * N)) if TURN_V \
            else tl.load(v_ptr + at[:, None] * D + rd[None, :])
        p = tl.dot(q, k, out_dtype=ACC)
        o += tl.dot((p * 0.125).to(v.dtype), v, out_dtype=ACC) if ACC == tl.float32 else tl.dot(p.to(v.dtype), v)
    tl.store(o_ptr + rm[:, None] * D + rd[None, :], o)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float8_e5m2", "int8"])
@pytest.mark.parametrize("turned", [(0, 0, 0), (1, 0, 1), (0, 1, 0), (0, 1, 1), (1, 1, 0)])
@pytest.mark.parametrize("shape", [(32, 16, 64), (16, 64, 32), (64, 32, 16), (16, 4, 16), (1, 32, 32)])
def test_dots_of_narrow_numbers_in_any_loop(dtype, turned, shape):
    (m, n, d), times = shape, 3
    kind, whole = getattr(torch, dtype), dtype == "int8"
    generator = torch.Generator().manual_seed(m)
    make = lambda *sizes: ((torch.randint(-2, 3, sizes, generator=generator) if whole else  # noqa: E731
                            torch.randn(sizes, generator=generator)).to(kind))
    q, k, v = make(m, d), make(d, times * n), make(times * n, d)
    expected = torch.zeros(m, d, dtype=torch.float64)
    for i in range(times):
        p = q.double() @ k[:, i * n:(i + 1) * n].double()
        p = p.to(torch.int64).to(kind) if whole else (p.float() * 0.125).to(kind)
        expected += p.double() @ v[i * n:(i + 1) * n].double()
    stored = [x.T.contiguous() if turn else x for x, turn in zip((q, k, v), turned)]
    o = torch.full((m, d), 77, dtype=torch.int32 if whole else torch.float32)
    chain[(1, )](*stored, o, times, M=m, N=n, D=d, ACC=tl.int32 if whole else tl.float32, TURN_Q=turned[0],
                 TURN_K=turned[1], TURN_V=turned[2])
    # A rounding of `p` that falls to the other side moves one product by one unit in its last place.
    allowed = 0 if whole else 0.5 if dtype == "float8_e5m2" else 0.05
    assert (o.double() - expected).abs().max() <= allowed


@triton.jit
def many_uses(x_ptr, y_ptr, a_ptr, b_ptr, c_ptr, N: tl.constexpr):
    """One block as a left and a right operand, turned, with a narrow partner, and as numbers."""
    r, two = tl.arange(0, N), tl.arange(0, 2)
    x = tl.load(x_ptr + r[:, None] * N + r[None, :])
    y = tl.load(y_ptr + r[:, None] * 2 + two[None, :])
    a = tl.dot(x, x) + tl.dot(tl.trans(x), x) + x.to(tl.float32)
    tl.store(a_ptr + r[:, None] * N + r[None, :], a)
    tl.store(b_ptr + r[:, None] * 2 + two[None, :], tl.dot(x, y))
    tl.store(c_ptr + r[:, None] * N + r[None, :], x + x)


def test_one_block_in_many_dots():
    n = 32
    x, y = torch.randn(n, n).bfloat16(), torch.randn(n, 2).bfloat16()
    a, b, c = torch.empty(n, n), torch.empty(n, 2), torch.empty(n, n, dtype=torch.bfloat16)
    many_uses[(1, )](x, y, a, b, c, N=n)
    assert (a - (x.double() @ x.double() + x.T.double() @ x.double() + x.double())).abs().max() < 1e-4
    assert (b - x.double() @ y.double()).abs().max() < 1e-4
    assert torch.equal(c, x + x)


def test_bf16_beside_its_limits():
    """NaN and infinities stay in their rows and columns, and large numbers do not overflow on the way; denormal
    operands count as they are or as zero, as the processor has it."""
    m, n, k = 32, 64, 256
    a, b = torch.ones(m, k, dtype=torch.bfloat16), torch.ones(k, n, dtype=torch.bfloat16)
    a[5, 255], a[6, 0], b[100, 17] = torch.nan, torch.inf, -torch.inf
    a[7, 3], b[3, 20] = 2.0**100, 2.0**27
    a[8, 9] = 2.0**-130
    c = torch.empty(m, n)
    matmul[(2, )](a, b, c, m, n, k, k, 1, n, 1, BM=32, BN=32, BK=32, TURN_A=False, TURN_B=False, ACC=tl.float32,
                  ROWS_FIRST=False)
    np.testing.assert_allclose(c.numpy(), (a.double() @ b.double()).numpy(), rtol=1e-5, atol=1e-5)
    b[9] = 2.0**120
    a[8] = 0
    a[8, 9] = 2.0**-130
    matmul[(2, )](a, b, c, m, n, k, k, 1, n, 1, BM=32, BN=32, BK=32, TURN_A=False, TURN_B=False, ACC=tl.float32,
                  ROWS_FIRST=False)
    row = np.delete(c[8].numpy(), 17)
    assert (row == 2.0**-10).all() or (row == 0).all()


def test_nan_and_infinity_stay_in_their_rows_and_columns():
    m, n, k = 70, 90, 700
    a, b, _ = operands(np.dtype("float32"), m, n, k, seed=3)
    a[5, 699], a[6, 0], b[300, 17] = np.nan, np.inf, -np.inf
    c = np.empty((m, n), np.float32)
    matmul[(3 * 3, )](a, b, c, m, n, k, k, 1, n, 1, BM=32, BN=32, BK=32, TURN_A=False, TURN_B=False, ACC=tl.float32,
                      ROWS_FIRST=False)
    with np.errstate(invalid="ignore"):
        expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(c, expected, rtol=1e-4, atol=1e-3)


@triton.jit
def gated(x_ptr, u_ptr, v_ptr, o_ptr, K, N, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Two dots in one loop, with pointers that the loop carries."""
    rm, rn, rk = tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, BK)
    x_ptrs, u_ptrs = x_ptr + rm[:, None] * K + rk[None, :], u_ptr + rk[:, None] * N + rn[None, :]
    v_ptrs = v_ptr + rk[:, None] * N + rn[None, :]
    gate, up = tl.zeros((BM, BN), tl.float32), tl.zeros((BM, BN), tl.float32)
    for _ in range(tl.cdiv(K, BK)):
        x = tl.load(x_ptrs)
        gate += tl.dot(x, tl.load(u_ptrs), input_precision="ieee")
        up = tl.dot(x, tl.load(v_ptrs) * 2, up, input_precision="ieee")
        x_ptrs += BK
        u_ptrs += BK * N
        v_ptrs += BK * N
    tl.store(o_ptr + rm[:, None] * N + rn[None, :], gate * tl.sigmoid(gate) * up)


def test_two_dots_in_one_loop():
    m, n, k = 32, 192, 1024
    x, u, _ = operands(np.dtype("float32"), m, n, k, seed=1)
    _, v, _ = operands(np.dtype("float32"), m, n, k, seed=2)
    x /= 32
    o = np.empty((m, n), np.float32)
    gated[(n // 64, )](x, u, v, o, k, n, BM=32, BN=64, BK=32)
    gate, up = x.astype(np.float64) @ u, x.astype(np.float64) @ v * 2
    np.testing.assert_allclose(o, gate / (1 + np.exp(-gate)) * up, rtol=1e-3, atol=1e-4)


@triton.jit
def two_depths(a_ptr, b_ptr, c_ptr, d_ptr, e_ptr, f_ptr, times, N: tl.constexpr, SHORT: tl.constexpr,
               LONG: tl.constexpr):
    """`e = a @ b` and `f = c @ d` in one loop that goes along their rows at different speed."""
    rn, short, long = tl.arange(0, N), tl.arange(0, SHORT), tl.arange(0, LONG)
    e, f = tl.zeros((N, N), tl.float32), tl.zeros((N, N), tl.float32)
    for i in range(times):
        at, past = i * SHORT + short, i * LONG + long
        a = tl.load(a_ptr + rn[:, None] * (times * SHORT) + at[None, :])
        c = tl.load(c_ptr + rn[:, None] * (times * LONG) + past[None, :])
        e = tl.dot(a, tl.load(b_ptr + at[:, None] * N + rn[None, :]), e, input_precision="ieee")
        f = tl.dot(c, tl.load(d_ptr + past[:, None] * N + rn[None, :]), f, input_precision="ieee")
    tl.store(e_ptr + rn[:, None] * N + rn[None, :], e)
    tl.store(f_ptr + rn[:, None] * N + rn[None, :], f)


@pytest.mark.parametrize("dtypes", [("float32", "float32"), ("bfloat16", "float32"), ("float16", "bfloat16")])
@pytest.mark.parametrize("times", [0, 1, 7, 30])
def test_two_dots_of_different_depth_in_one_loop(dtypes, times):
    n, depths = 32, (16, 64)
    generator = torch.Generator().manual_seed(times)
    pairs = [(torch.randn(n, times * depth, generator=generator).to(getattr(torch, dtype)),
              torch.randn(times * depth, n, generator=generator).to(getattr(torch, dtype)))
             for dtype, depth in zip(dtypes, depths)]
    e, f = torch.full((n, n), 9.0), torch.full((n, n), 9.0)
    two_depths[(1, )](*pairs[0], *pairs[1], e, f, times, N=n, SHORT=depths[0], LONG=depths[1])
    for got, (a, b) in zip((e, f), pairs):
        assert (got - a.double() @ b.double()).abs().max() <= 1e-3


@triton.jit
def powers(a_ptr, x_ptr, times, N: tl.constexpr, BK: tl.constexpr):
    """`x = a @ x`, again and again: what the inner loop reads changes between its runs."""
    rn, rk = tl.arange(0, N), tl.arange(0, BK)
    for _ in range(times):
        acc = tl.zeros((N, N), tl.float32)
        for k in range(0, N, BK):
            a = tl.load(a_ptr + rn[:, None] * N + (k + rk)[None, :])
            x = tl.load(x_ptr + (k + rk)[:, None] * N + rn[None, :])
            acc = tl.dot(a, x, acc, input_precision="ieee")
        tl.store(x_ptr + rn[:, None] * N + rn[None, :], acc)


def test_an_operand_that_the_kernel_writes_is_packed_each_time():
    n, times = 64, 4
    random = np.random.default_rng(5)
    a, x = (random.standard_normal((n, n)).astype("float32") / 8 for _ in range(2))
    expected = np.linalg.matrix_power(a.astype(np.float64), times) @ x
    powers[(1, )](a, x, times, N=n, BK=16)
    np.testing.assert_allclose(x, expected, rtol=1e-3, atol=1e-4)


@triton.jit
def batched(a_ptr, b_ptr, index_ptr, c_ptr, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    """Operands of programs that lie where a tensor says."""
    which = tl.load(index_ptr + tl.program_id(0))
    rm, rn, rk = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    acc = tl.zeros((M, N), tl.float32)
    for k in range(0, K - which, BK):
        inside = k + rk < K - which
        a = tl.load(a_ptr + rm[:, None] * K + (k + rk)[None, :], mask=inside[None, :], other=0)
        b = tl.load(b_ptr + which * K * N + (k + rk)[:, None] * N + rn[None, :], mask=inside[:, None], other=0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(c_ptr + tl.program_id(0) * M * N + rm[:, None] * N + rn[None, :], acc)


def test_programs_share_only_what_is_the_same():
    m, n, k, batches = 16, 32, 600, 7
    random = np.random.default_rng(8)
    a = random.standard_normal((m, k)).astype("float32")
    b = random.standard_normal((batches, k, n)).astype("float32")
    for launch in range(3):
        index = np.sort(random.integers(0, batches, 200)).astype("int32")
        b[3] += launch
        c = np.empty((200, m, n), np.float32)
        batched[(200, )](a, b, index, c, k, M=m, N=n, BK=32)
        for program, which in enumerate(index):
            expected = a[:, :k - which].astype(np.float64) @ b[which, :k - which]
            np.testing.assert_allclose(c[program], expected, rtol=1e-3, atol=1e-3)


def test_a_loop_too_long_for_the_kept_panels():
    m, n, k = 32, 256, 40_000
    a, b, expected = operands(np.dtype("float32"), m, n, k, seed=9)
    c = np.empty((m, n), np.float32)
    matmul[(4, )](a, b, c, m, n, k, k, 1, n, 1, BM=16, BN=128, BK=64, TURN_A=False, TURN_B=False, ACC=tl.float32,
                   ROWS_FIRST=False)
    np.testing.assert_allclose(c, expected, rtol=1e-3, atol=1e-2)


def test_tiles_too_large_to_be_kept():
    m, n, k = 16, 1024, 2100
    a, b, expected = operands(np.dtype("float64"), m, n, k, seed=11)
    c = np.empty((m, n), np.float64)
    matmul[(1, )](a, b, c, m, n, k, k, 1, n, 1, BM=16, BN=1024, BK=1024, TURN_A=False, TURN_B=False, ACC=tl.float64,
                   ROWS_FIRST=False)
    np.testing.assert_allclose(c, expected, rtol=1e-9, atol=1e-9)


@triton.jit
def edges(a_ptr, b_ptr, c_ptr, sums_ptr, M, K, MASKS_B: tl.constexpr, SUMS: tl.constexpr, T: tl.constexpr):
    """Rows from `M` on are loaded and left out of `c`; `sums` has those of all rows."""
    r = tl.arange(0, T)
    acc = tl.zeros((T, T), tl.float32)
    for k in range(0, K, T):
        inside = k + r < K
        a = tl.load(a_ptr + r[:, None] * 2 * T + (k + r)[None, :], mask=inside[None, :], other=0)
        b = tl.load(b_ptr + (k + r)[:, None] * T + r[None, :], mask=inside[:, None] | (not MASKS_B), other=0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(c_ptr + r[:, None] * T + r[None, :], acc, mask=(r < M)[:, None])
    if SUMS:
        tl.store(sums_ptr + r, tl.sum(acc, 1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("m, k", [(1, 33), (31, 63), (64, 128), (5, 100)])
def test_what_is_left_out_is_what_nobody_sees(dtype, m, k):
    """Rows that no store writes are not computed, but a sum over them sees them; zeros are not multiplied by zeros, but
    zeros by infinities are."""
    tile = 64
    torch.manual_seed(m)
    a, b = torch.randn(tile, 2 * tile).to(dtype), torch.randn(2 * tile, tile).to(dtype)
    expected = (a[:, :k].double() @ b[:k].double())
    for sums in (False, True):
        c, rows = torch.full((tile, tile), 7.0), torch.full((tile, ), 7.0)
        edges[(1, )](a, b, c, rows, m, k, MASKS_B=True, SUMS=sums, T=tile)
        assert (c[:m] - expected[:m]).abs().max() <= 1e-4
        assert (c[m:] == 7).all()
        assert (rows - expected.sum(1)).abs().max() <= 1e-3 if sums else (rows == 7).all()
    b[k:] = float("inf")
    edges[(1, )](a, b, c, rows, m, k, MASKS_B=False, SUMS=False, T=tile)
    is_cut = k % tile != 0
    assert c[:m].isnan().all() == is_cut and c[:m].isnan().any() == is_cut


def test_no_iteration_and_one():
    a, b, expected = operands(np.dtype("float32"), 32, 32, 5, seed=10)
    for k in (0, 5):
        c = np.full((32, 32), np.nan, np.float32)
        matmul[(1, )](a, b, c, 32, 32, k, 5, 1, 32, 1, BM=32, BN=32, BK=16, TURN_A=False, TURN_B=False, ACC=tl.float32,
                       ROWS_FIRST=True)
        np.testing.assert_allclose(c, expected if k else np.zeros((32, 32)), atol=1e-5)


@triton.jit
def of_groups(a_ptr, b_ptr, starts_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
              BK: tl.constexpr):
    """`c[g] = a[rows of g].T @ b[rows of g]`: how long the loop is differs from program to program."""
    tiles: tl.constexpr = (M + BM - 1) // BM
    group = tl.program_id(0) // tiles
    first, last = tl.load(starts_ptr + group), tl.load(starts_ptr + group + 1)
    rm = tl.program_id(0) % tiles * BM + tl.arange(0, BM)
    rn, rk = tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, last - first, BK):
        row, inside = first + k + rk, k + rk < last - first
        a = tl.load(a_ptr + row[:, None] * M + rm[None, :], mask=inside[:, None] & (rm < M)[None, :], other=0)
        b = tl.load(b_ptr + row[:, None] * N + rn[None, :], mask=inside[:, None] & (rn < N)[None, :], other=0)
        acc = tl.dot(tl.trans(a), b, acc, input_precision="ieee")
    tl.store(c_ptr + (group * M + rm[:, None]) * N + rn[None, :], acc, mask=(rm < M)[:, None] & (rn < N)[None, :])


@pytest.mark.parametrize("seed", range(4))
def test_programs_whose_loops_have_different_lengths_share_no_stale_operand(seed):
    random = np.random.default_rng(seed)
    groups, rows, m, n = 8, 504, 123, 128
    starts = np.concatenate([[0], np.sort(random.integers(0, rows, groups - 1)), [rows]]).astype(np.int32)
    a, b = (random.standard_normal((rows, width)).astype(np.float32) for width in (m, n))
    c = np.full((groups, m, n), np.nan, np.float32)
    of_groups[(groups * triton.cdiv(m, 64), triton.cdiv(n, 64))](a, b, starts, c, m, n, BM=64, BN=64, BK=16)
    exact = [a[i:j].T.astype(np.float64) @ b[i:j] for i, j in zip(starts, starts[1:])]
    np.testing.assert_allclose(c, np.stack(exact), rtol=1e-4, atol=1e-4)


@triton.jit
def with_scalars(a_ptr, b_ptr, c_ptr, whole_ptr, half_ptr, times, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    """Scalars that the loop carries: `at` and `step` move the operands, all others are read behind the loop alone."""
    rm, rn, rk = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    at, step, other, count, first, second, half = 0, BK, 2 * BK, 5, 1, 1, 1.0
    acc = tl.zeros((M, N), tl.float32)
    for _ in range(times):
        a = tl.load(a_ptr + rm[:, None] * K + (at + rk)[None, :])
        b = tl.load(b_ptr + (at + rk)[:, None] * N + rn[None, :])
        acc = tl.dot(a, b, acc, input_precision="ieee")
        at += step
        step, other = other, step
        count += 3
        first, second = second, (first + second) % 1009
        half *= 0.5
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc)
    tl.store(whole_ptr, at)
    tl.store(whole_ptr + 1, step)
    tl.store(whole_ptr + 2, count)
    tl.store(whole_ptr + 3, first)
    tl.store(whole_ptr + 4, second)
    tl.store(half_ptr, half)


@pytest.mark.parametrize("times", [0, 1, 2, 33, 100])
def test_every_scalar_that_the_loop_carries_is_there_behind_it(times):
    m, n, bk = 16, 32, 16
    at, step, other, count, first, second, half, read = 0, bk, 2 * bk, 5, 1, 1, 1.0, []
    for _ in range(times):
        read += range(at, at + bk)
        at, step, other = at + step, other, step
        count, first, second, half = count + 3, second, (first + second) % 1009, half * 0.5
    a, b, _ = operands(np.dtype("float32"), m, n, 2 * bk * (times + 1), seed=times)
    c, whole, last = np.full((m, n), np.nan, np.float32), np.zeros(5, np.int32), np.zeros(1, np.float32)
    with_scalars[(1, )](a, b, c, whole, last, times, a.shape[1], M=m, N=n, BK=bk)
    assert whole.tolist() == [at, step, count, first, second] and last[0] == np.float32(half)
    np.testing.assert_allclose(c, a[:, read].astype(np.float64) @ b[read], rtol=1e-3, atol=1e-3)
