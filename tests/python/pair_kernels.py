"""A product whose programs can be in pairs, for tests of every engine."""

import deuteron as triton
import deuteron.language as tl


def product_kernel():
    """A fresh kernel of tiles in groups of rows, so that each test sees its own compiles."""

    def product(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm, GROUP: tl.constexpr, BLOCK_M: tl.constexpr,
                BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
        pid = tl.program_id(0)
        rows, columns = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
        first = pid // (GROUP * columns) * GROUP
        size = min(rows - first, GROUP)
        row, column = first + pid % (GROUP * columns) % size, pid % (GROUP * columns) // size
        offs_m = (row * BLOCK_M + tl.arange(0, BLOCK_M)) % M
        offs_n = (column * BLOCK_N + tl.arange(0, BLOCK_N)) % N
        offs_k = tl.arange(0, BLOCK_K)
        a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :]
        b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :]
        total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for step in range(0, tl.cdiv(K, BLOCK_K)):
            left = K - step * BLOCK_K
            a = tl.load(a_ptrs, mask=offs_k[None, :] < left, other=0.0)
            b = tl.load(b_ptrs, mask=offs_k[:, None] < left, other=0.0)
            total = tl.dot(a, b, total)
            a_ptrs += BLOCK_K
            b_ptrs += BLOCK_K * stride_bk
        offs_m, offs_n = row * BLOCK_M + tl.arange(0, BLOCK_M), column * BLOCK_N + tl.arange(0, BLOCK_N)
        mask = (offs_m < M)[:, None] & (offs_n < N)[None, :]
        tl.store(c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :], total.to(c_ptr.dtype.element_ty), mask=mask)

    return triton.jit(product)


def pairs(tmp_path):
    """How many kernels were compiled whose programs are in pairs."""
    return sum("ttg.paired" in path.read_text() for path in (tmp_path / "dump").rglob("*.ttgir"))
