"""A product of matrices that lie in any order, for tests of launches that copy what they load."""

import deuteron as triton
import deuteron.language as tl


def any_product_kernel():
    """A fresh kernel, so that each test sees its own compiles."""

    def product(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, BLOCK_M: tl.constexpr,
                BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
        row, column = tl.program_id(0), tl.program_id(1)
        offs_m = (row * BLOCK_M + tl.arange(0, BLOCK_M)) % M
        offs_n = (column * BLOCK_N + tl.arange(0, BLOCK_N)) % N
        offs_k = tl.arange(0, BLOCK_K)
        a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
        b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn
        total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for step in range(0, tl.cdiv(K, BLOCK_K)):
            left = K - step * BLOCK_K
            a = tl.load(a_ptrs, mask=offs_k[None, :] < left, other=0.0)
            b = tl.load(b_ptrs, mask=offs_k[:, None] < left, other=0.0)
            total = tl.dot(a, b, total, input_precision="ieee")
            a_ptrs += BLOCK_K * stride_ak
            b_ptrs += BLOCK_K * stride_bk
        offs_m, offs_n = row * BLOCK_M + tl.arange(0, BLOCK_M), column * BLOCK_N + tl.arange(0, BLOCK_N)
        mask = (offs_m < M)[:, None] & (offs_n < N)[None, :]
        tl.store(c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :], total.to(c_ptr.dtype.element_ty), mask=mask)

    return triton.jit(product)


def launch(kernel, a, b, c, tile, **options):
    """The kernel of a launch that multiplies `a` by `b`, whose strides may be any."""
    (m, k), n = a.shape, b.shape[1]
    grid = (triton.cdiv(m, tile[0]), triton.cdiv(n, tile[1]))
    return kernel[grid](a, b, c, m, n, k, *a.stride(), *b.stride(), c.stride(0), *tile, **options)


def copiers(tmp_path):
    """How many kernels were compiled that copy rows."""
    return len(list((tmp_path / "dump").rglob("copy_rows.ttgir")))
