"""Kernels of tutorials and examples against float64, on odd sizes, strides, NaN and infinities."""

import importlib
import math

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl

seeds = importlib.import_module("seed_kernels")
matmul_example = importlib.import_module("03_matmul")
layer_norm_example = importlib.import_module("04_layer_norm")
dropout_example = importlib.import_module("05_dropout")
attention_example = importlib.import_module("06_attention")


def close(result, expected, atol, rtol):
    torch.testing.assert_close(result.double(), expected.double(), atol=atol, rtol=rtol, equal_nan=True)


def softmaxes():
    def fused(x, out, warps):
        rows, cols = x.shape
        seeds.fused_softmax_kernel[(rows, )](x, out, x.stride(0), cols, BLOCK_SIZE=triton.next_power_of_2(cols),
                                             num_warps=warps)

    def looped(kernel):
        return lambda x, out, warps: kernel[(x.shape[0], )](x, out, x.stride(0), x.shape[1], 256, num_warps=warps)

    def persistent(x, out, warps):
        rows, cols = x.shape
        seeds.softmax_kernel[(min(rows, 13), )](out, x, x.stride(0), out.stride(0), rows, cols,
                                                BLOCK_SIZE=triton.next_power_of_2(cols), num_stages=3, num_warps=warps)

    return {"fused": fused, "naive": looped(seeds.softmax_kernel_naive), "online": looped(seeds.softmax_kernel_v1),
            "workshop": looped(seeds.online_softmax_kernel), "persistent": persistent}


@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("shape", [(1, 1), (3, 17), (127, 1000), (64, 4096), (5, 12672)])
@pytest.mark.parametrize("name", softmaxes())
def test_softmax(name, shape, warps, rng):
    x = 5 * torch.randn(shape, generator=rng, device="cuda")
    if shape[1] > 100:
        x[0, 3] = -math.inf
        x[1, 5], x[2, 7] = math.nan, 1e30
    out = torch.full_like(x, 9)
    softmaxes()[name](x, out, warps)
    close(out, torch.softmax(x.double(), 1), 1e-6, 1e-5)


@pytest.mark.parametrize("shape", [(7, 1), (33, 1000), (64, 4096), (9, 5001)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_layer_norm(shape, dtype, rng):
    rows, cols = shape
    x = (2 * torch.randn(shape, generator=rng, device="cuda") + 1).to(dtype)
    w, b = (torch.rand(cols, generator=rng, device="cuda").to(dtype) for _ in range(2))
    out, mean, rstd = torch.empty_like(x), *(torch.empty(rows, device="cuda") for _ in range(2))
    block = min(triton.next_power_of_2(cols), 4096)
    layer_norm_example.layer_norm_forward[(rows, )](x, out, w, b, mean, rstd, x.stride(0), cols, 1e-5,
                                                    BLOCK_SIZE=block, num_warps=8)
    expected = torch.nn.functional.layer_norm(x.double(), (cols, ), w.double(), b.double(), 1e-5)
    tolerance = {torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 4e-2}[dtype]
    close(out, expected, tolerance, tolerance)
    close(mean, x.double().mean(1), 1e-5, 1e-5)


MATMULS = [(128, 256, 64, 8, 3), (128, 128, 64, 4, 4), (64, 64, 32, 4, 3), (32, 32, 32, 2, 2), (16, 16, 16, 1, 1)]


@pytest.mark.parametrize("configuration", MATMULS)
@pytest.mark.parametrize("shape", [(128, 256, 64), (512, 512, 512), (127, 61, 33), (200, 131, 77), (1, 5, 300)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("transposed", [False, True])
def test_matmul(configuration, shape, dtype, transposed, rng):
    (m, n, k), (bm, bn, bk, warps, stages) = shape, configuration
    a = torch.randn(m, k, generator=rng, device="cuda").to(dtype)
    b = torch.randn(n, k, generator=rng, device="cuda").to(dtype).T if transposed else torch.randn(
        k, n, generator=rng, device="cuda").to(dtype)
    c = torch.empty(m, n, device="cuda", dtype=dtype)
    grid = (triton.cdiv(m, bm) * triton.cdiv(n, bn), )
    try:
        matmul_example.matmul_kernel[grid](
            a, b, c, m, n, k, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1),
            BLOCK_SIZE_M=bm, BLOCK_SIZE_N=bn, BLOCK_SIZE_K=bk, GROUP_SIZE_M=8, ACTIVATION="leaky_relu", num_warps=warps,
            num_stages=stages)
    except triton.OutOfResources as error:
        # Three stages of the largest tiles in fp32 do not fit: that is said with numbers.
        assert dtype == torch.float32 and error.required > error.limit
        return
    expected = torch.nn.functional.leaky_relu(a.double() @ b.double(), 0.01)
    # fp32 is multiplied as tf32 by default: ten bits of mantissa.
    scale = math.sqrt(k)
    atol, rtol = {torch.float16: (2e-3, 2e-3), torch.bfloat16: (1e-2, 1e-2), torch.float32: (4e-3, 2e-3)}[dtype]
    close(c, expected, atol * scale, rtol)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("width", [32, 64, 128])
@pytest.mark.parametrize("rows", [64, 200, 1024])
@pytest.mark.parametrize("configuration", [(64, 64, 4, 3), (128, 64, 8, 3), (128, 64, 4, 2)])
def test_attention(causal, width, rows, configuration, rng):
    m, n, warps, stages = configuration
    q, k, v = (torch.randn(3, rows, width, generator=rng, device="cuda").to(torch.float16) for _ in range(3))
    out = torch.empty_like(q)
    attention_example.attention_forward[(triton.cdiv(rows, m), 3)](
        q, k, v, out, 1 / math.sqrt(width), q.stride(0), q.stride(1), rows, BLOCK_M=m, BLOCK_N=n, HEAD_DIM=width,
        CAUSAL=causal, num_warps=warps, num_stages=stages)
    expected = torch.nn.functional.scaled_dot_product_attention(q.double(), k.double(), v.double(), is_causal=causal)
    close(out, expected, 3e-3, 5e-3)


def test_dropout_is_the_same_on_every_target(rng):
    x = torch.rand(5000, generator=rng, device="cuda")
    out = torch.empty_like(x)
    dropout_example.seeded_dropout[(triton.cdiv(5000, 1024), )](x, out, 5000, 0.4, 1234, BLOCK_SIZE=1024)
    keep = torch.tensor(dropout_example.uniform(1234, np.arange(5000)), device="cuda") > 0.4
    close(out, torch.where(keep, x.double() / 0.6, 0.0), 1e-5, 1e-5)


@triton.jit
def sorted_rows(x_ptr, out_ptr, ROWS: tl.constexpr, COLS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :]
    tl.store(out_ptr + at, tl.sort(tl.load(x_ptr + at), dim=1))


@pytest.mark.parametrize("shape", [(16, 32), (4, 256), (2, 1024), (1, 4096)])
@pytest.mark.parametrize("warps", [1, 4, 8])
def test_sort(shape, warps, rng):
    x = torch.randn(shape, generator=rng, device="cuda")
    out = torch.full_like(x, math.nan)
    sorted_rows[(1, )](x, out, *shape, num_warps=warps)
    close(out, x.sort(dim=1).values, 0, 0)
