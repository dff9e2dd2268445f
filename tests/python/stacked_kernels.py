"""Kernels that load from one matrix of several that lie apart."""

import deuteron as triton
import deuteron.language as tl


@triton.jit
def products(a_ptr, b_ptr, c_ptr, M, N, K, az, am, bz, bk, cz, cm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ROWS: tl.constexpr,
             WIDE: tl.constexpr):
    z = tl.program_id(2)
    if WIDE:
        z = z.to(tl.int64)
    rows, cols, ks = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    at_m, at_n = (rows % M, cols % N) if ROWS == "remainder" else (rows, cols)
    a_ptrs = a_ptr + z * az + at_m[:, None] * am + ks[None, :]
    b_ptrs = b_ptr + z * bz + ks[:, None] * bk + at_n[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a_mask, b_mask = ks[None, :] < K - k * BK, ks[:, None] < K - k * BK
        if ROWS == "mask":
            a_mask, b_mask = a_mask & (rows[:, None] < M), b_mask & (cols[None, :] < N)
        total = tl.dot(tl.load(a_ptrs, mask=a_mask, other=0.0), tl.load(b_ptrs, mask=b_mask, other=0.0), total)
        a_ptrs += BK
        b_ptrs += BK * bk
    tl.store(c_ptr + z * cz + rows[:, None] * cm + cols[None, :], total, mask=(rows[:, None] < M) & (cols[None, :] < N))


@triton.jit
def products_of_known_sizes(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, az: tl.constexpr, am: tl.constexpr,
                            bz: tl.constexpr, bk: tl.constexpr, cz: tl.constexpr, cm: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                            BK: tl.constexpr, ROWS: tl.constexpr, WIDE: tl.constexpr):
    products(a_ptr, b_ptr, c_ptr, M, N, K, az, am, bz, bk, cz, cm, BM, BN, BK, ROWS, WIDE)


@triton.jit
def heads(q_ptr, k_ptr, v_ptr, o_ptr, N, D, HEADS, qz, qh, qn, kz, kh, kn, oz, oh, on, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
          GROUP: tl.constexpr):
    z, h = tl.program_id(1) // HEADS, tl.program_id(1) % HEADS
    q_ptr += z * qz + h * qh
    k_ptr += z * kz + h // GROUP * kh
    v_ptr += z * kz + h // GROUP * kh
    rows, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BD)
    q = tl.load(q_ptr + rows[:, None] * qn + d[None, :], mask=(rows[:, None] < N) & (d[None, :] < D), other=0.0)
    total = tl.zeros((BM, BD), tl.float32)
    for start in range(0, N, BN):
        at = start + tl.arange(0, BN)
        mask = (at[:, None] < N) & (d[None, :] < D)
        k = tl.load(k_ptr + at[:, None] * kn + d[None, :], mask=mask, other=0.0)
        v = tl.load(v_ptr + at[:, None] * kn + d[None, :], mask=mask, other=0.0)
        total = tl.dot((tl.dot(q, k.T) * 0.1).to(tl.float16), v, total)
    tl.store(o_ptr + z * oz + h * oh + rows[:, None] * on + d[None, :], total, mask=(rows[:, None] < N) & (d[None, :] < D))
