"""Programs of several blocks (``num_ctas``) against float64: blocks share memory, barriers and products."""

import importlib
import math

import pytest
import torch

import deuteron as triton
import deuteron.language as tl

seeds = importlib.import_module("seed_kernels")
matmul_example = importlib.import_module("03_matmul")
layer_norm_example = importlib.import_module("04_layer_norm")
attention_example = importlib.import_module("06_attention")

pytestmark = pytest.mark.skipif(torch.cuda.is_available() and torch.cuda.get_device_capability()[0] < 9,
                                reason="NOT RUN: this GPU has no clusters")


def close(result, expected, atol, rtol):
    torch.testing.assert_close(result.double(), expected.double(), atol=atol, rtol=rtol, equal_nan=True)


@triton.jit
def moves(x_ptr, out_ptr, total_ptr, ROWS: tl.constexpr, COLS: tl.constexpr):
    pid = tl.program_id(0)
    rows, cols = tl.arange(0, ROWS), tl.arange(0, COLS)
    at = rows[:, None] * COLS + cols[None, :]
    x = tl.load(x_ptr + pid * ROWS * COLS + at)
    y = tl.cumsum(x, axis=0) + tl.max(x, axis=0)[None, :] + tl.sum(x, axis=1)[:, None]
    y = tl.gather(y, (ROWS - 1 - rows)[:, None].broadcast_to(ROWS, COLS), axis=0)
    tl.store(out_ptr + pid * ROWS * COLS + cols[:, None] * ROWS + rows[None, :], tl.trans(y))
    before = tl.atomic_add(total_ptr, 1)
    tl.atomic_max(total_ptr + 1, before)
    bins = tl.histogram((tl.reshape(x, (ROWS * COLS, )).abs() * 4).to(tl.int32), 16)
    tl.atomic_add(total_ptr + 2 + tl.arange(0, 16), bins)


@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("num_ctas", [1, 2, 4, 8, 16])
def test_blocks_work_together(num_ctas, warps, rng):
    programs, rows, cols = 300, 64, 128
    x = torch.randint(-8, 8, (programs, rows, cols), generator=rng, device="cuda").float() / 2
    out = torch.empty(programs, cols, rows, device="cuda")
    total = torch.zeros(18, dtype=torch.int32, device="cuda")
    moves[(programs, )](x, out, total, ROWS=rows, COLS=cols, num_ctas=num_ctas, num_warps=warps)
    y = x.cumsum(1) + x.amax(1, keepdim=True) + x.sum(2, keepdim=True)
    assert torch.equal(out, y.flip(1).transpose(1, 2))
    assert total[0] == programs and total[1] == programs - 1
    assert torch.equal(total[2:].long(), torch.bincount((x.abs() * 4).long().flatten(), minlength=99)[:16])


@pytest.mark.parametrize("num_ctas", [2, 4])
@pytest.mark.parametrize("n", [1, 1000, 1 << 20])
def test_vector_add(n, num_ctas, rng):
    x, y = (torch.randn(n, generator=rng, device="cuda") for _ in range(2))
    out = torch.full((n + 3, ), 7.0, device="cuda")
    seeds.add_kernel[(triton.cdiv(n, 1024), )](x, y, out, n, BLOCK_SIZE=1024, num_ctas=num_ctas)
    assert torch.equal(out[:n], x + y) and (out[n:] == 7).all()


@pytest.mark.parametrize("num_ctas", [2, 4])
@pytest.mark.parametrize("shape", [(3, 17), (127, 1000), (64, 12672)])
def test_softmax(shape, num_ctas, rng):
    x = 5 * torch.randn(shape, generator=rng, device="cuda")
    if shape[1] > 100:
        x[0, 3] = -math.inf
        x[1, 5], x[2, 7] = math.nan, 1e30
    expected = torch.softmax(x.double(), 1)
    block = triton.next_power_of_2(shape[1])
    for kernel, size in ((seeds.fused_softmax_kernel, block), (seeds.softmax_kernel_naive, 512),
                         (seeds.softmax_kernel_v1, 512)):
        out = torch.full_like(x, 9)
        kernel[(shape[0], )](x, out, x.stride(0), shape[1], size, num_ctas=num_ctas)
        close(out, expected, 1e-6, 1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("num_ctas", [2, 4])
def test_layer_norm(dtype, num_ctas, rng):
    rows, cols = 33, 1000
    x = (2 * torch.randn(rows, cols, generator=rng, device="cuda") + 1).to(dtype)
    w, b = (torch.rand(cols, generator=rng, device="cuda").to(dtype) for _ in range(2))
    out, mean, rstd = torch.empty_like(x), *(torch.empty(rows, device="cuda") for _ in range(2))
    layer_norm_example.layer_norm_forward[(rows, )](x, out, w, b, mean, rstd, x.stride(0), cols, 1e-5, BLOCK_SIZE=512,
                                                    num_warps=4, num_ctas=num_ctas)
    expected = torch.nn.functional.layer_norm(x.double(), (cols, ), w.double(), b.double(), 1e-5)
    tolerance = {torch.float32: 1e-5, torch.float16: 4e-3}[dtype]
    close(out, expected, tolerance, tolerance)


@pytest.mark.parametrize("configuration", [(128, 256, 64, 8, 3), (128, 128, 64, 4, 4), (64, 64, 32, 4, 3), (16, 16, 16, 1, 1)])
@pytest.mark.parametrize("shape", [(512, 512, 512), (200, 131, 77)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("num_ctas", [2, 4])
def test_matmul(configuration, shape, dtype, transposed, num_ctas, rng):
    (m, n, k), (bm, bn, bk, warps, stages) = shape, configuration
    a = torch.randn(m, k, generator=rng, device="cuda").to(dtype)
    b = torch.randn(n, k, generator=rng, device="cuda").to(dtype).T if transposed else torch.randn(
        k, n, generator=rng, device="cuda").to(dtype)
    c = torch.empty(m, n, device="cuda", dtype=dtype)
    matmul_example.matmul_kernel[(triton.cdiv(m, bm) * triton.cdiv(n, bn), )](
        a, b, c, m, n, k, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1), BLOCK_SIZE_M=bm,
        BLOCK_SIZE_N=bn, BLOCK_SIZE_K=bk, GROUP_SIZE_M=8, ACTIVATION="leaky_relu", num_warps=warps, num_stages=stages,
        num_ctas=num_ctas)
    expected = torch.nn.functional.leaky_relu(a.double() @ b.double(), 0.01)
    atol, rtol = {torch.float16: (2e-3, 2e-3), torch.float32: (4e-3, 2e-3)}[dtype]
    close(c, expected, atol * math.sqrt(k), rtol)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("width", [64, 128])
@pytest.mark.parametrize("configuration", [(64, 64, 4, 2), (128, 64, 4, 3), (256, 64, 8, 2)])
@pytest.mark.parametrize("num_ctas", [2, 4])
def test_attention(causal, width, configuration, num_ctas, rng):
    (m, n, warps, stages), rows = configuration, 500
    q, k, v = (torch.randn(3, rows, width, generator=rng, device="cuda").to(torch.float16) for _ in range(3))
    out = torch.empty_like(q)
    attention_example.attention_forward[(triton.cdiv(rows, m), 3)](
        q, k, v, out, 1 / math.sqrt(width), q.stride(0), q.stride(1), rows, BLOCK_M=m, BLOCK_N=n, HEAD_DIM=width,
        CAUSAL=causal, num_warps=warps, num_stages=stages, num_ctas=num_ctas)
    expected = torch.nn.functional.scaled_dot_product_attention(q.double(), k.double(), v.double(), is_causal=causal)
    close(out, expected, 3e-3, 5e-3)
