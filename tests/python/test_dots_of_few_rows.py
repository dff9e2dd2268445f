"""Dots with fewer rows or columns than a matrix instruction makes, on NVIDIA GPUs: by the same instructions, whose other lanes hold copies."""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl

TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp8": torch.float8_e4m3fn, "tf32": torch.float32, "fp64": torch.float64,
         "i8": torch.int8}
SUMS = {"fp64": tl.float64, "i8": tl.int32}
# Rows, columns and step of k.
TILES = [(1, 64, 32), (2, 16, 64), (4, 8, 32), (8, 128, 64), (64, 1, 32), (16, 4, 64), (128, 2, 32), (1, 1, 32), (4, 256, 32)]


@triton.jit
def product(a_ptr, b_ptr, c_ptr, K, M: tl.constexpr, N: tl.constexpr, STEP: tl.constexpr, SUM: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, STEP)
    acc = tl.zeros((M, N), SUM)
    for start in range(0, K, STEP):
        a = tl.load(a_ptr + m[:, None] * K + (start + k)[None, :], mask=(start + k)[None, :] < K, other=0)
        b = tl.load(b_ptr + (start + k)[:, None] * N + n[None, :], mask=(start + k)[:, None] < K, other=0)
        acc = tl.dot(a, b, acc, out_dtype=SUM)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)


def numbers(rng, name, *shape):
    if name == "i8":
        return torch.from_numpy(rng.integers(-128, 128, shape, dtype=np.int8))
    values = torch.from_numpy(rng.standard_normal(shape))
    if name == "tf32":
        # Numbers that the instruction takes as they are.
        return values.to(torch.bfloat16).float()
    return values.to(torch.float32 if name == "fp8" else TYPES[name]).to(TYPES[name])


@pytest.mark.parametrize("arch", [80, 90])
@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("M, N, step", TILES)
def test_products(arch, name, M, N, step, rng):
    K = 3 * step - 5
    a, b = numbers(rng, name, M, K), numbers(rng, name, K, N)
    c = torch.full((M, N), 7, dtype={"fp64": torch.float64, "i8": torch.int32}.get(name, torch.float32))
    if name != "i8":
        a[0, 0] = torch.nan if name == "fp8" else torch.inf
        b[1, N - 1] = torch.nan
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = f"cuda:{arch}"
        kernel = product[(1, )](a, b, c, K, M, N, step, SUMS.get(name, tl.float32))
    assert "mma.sync.aligned" in kernel.asm["ptx"]
    left, right = a.double().numpy(), b.double().numpy()
    with np.errstate(invalid="ignore"):
        expected, size = left @ right, np.abs(left) @ np.abs(right)
    found = c.double().numpy()
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(found[np.isinf(expected)], expected[np.isinf(expected)])
    finite = np.isfinite(expected)
    share = {"i8": 0, "fp64": 1e-14}.get(name, 1e-6)
    assert (np.abs(found[finite] - expected[finite]) <= share * size[finite]).all()


@triton.jit
def products(a_ptr, b_ptr, c_ptr, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    z, m, n, k = (tl.arange(0, B)[:, None, None], tl.arange(0, M)[None, :, None], tl.arange(0, N)[None, None, :],
                  tl.arange(0, K)[None, None, :])
    a = tl.load(a_ptr + (z * M + m) * K + k)
    b = tl.load(b_ptr + (z * K + tl.arange(0, K)[None, :, None]) * N + n)
    tl.store(c_ptr + (z * M + m) * N + n, tl.dot(a, b))


@pytest.mark.parametrize("M, N", [(8, 32), (2, 16), (32, 4), (1, 8)])
@pytest.mark.parametrize("warps", [1, 4, 8])
def test_several_products(M, N, warps, rng):
    a, b, c = numbers(rng, "fp16", 4, M, 32), numbers(rng, "fp16", 4, 32, N), torch.full((4, M, N), torch.nan)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = "cuda:90"
        kernel = products[(1, )](a, b, c, 4, M, N, 32, num_warps=warps)
    assert "mma.sync.aligned" in kernel.asm["ptx"]
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-5, atol=1e-5)


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, o_ptr, length, HEADS: tl.constexpr, DIM: tl.constexpr, STEP: tl.constexpr):
    """One token, and the heads that share its keys and values."""
    h, d, s = tl.arange(0, HEADS), tl.arange(0, DIM), tl.arange(0, STEP)
    q = tl.load(q_ptr + h[:, None] * DIM + d[None, :])
    most, total = tl.full((HEADS, ), float("-inf"), tl.float32), tl.zeros((HEADS, ), tl.float32)
    acc = tl.zeros((HEADS, DIM), tl.float32)
    for start in range(0, length, STEP):
        inside = start + s < length
        k = tl.load(k_ptr + (start + s)[None, :] * DIM + d[:, None], mask=inside[None, :], other=0)
        v = tl.load(v_ptr + (start + s)[:, None] * DIM + d[None, :], mask=inside[:, None], other=0)
        score = tl.where(inside[None, :], tl.dot(q, k), float("-inf"))
        new = tl.maximum(most, tl.max(score, 1))
        p, scale = tl.exp(score - new[:, None]), tl.exp(most - new)
        acc = tl.dot(p.to(v.dtype), v, acc * scale[:, None])
        total, most = total * scale + tl.sum(p, 1), new
    tl.store(o_ptr + h[:, None] * DIM + d[None, :], acc / total[:, None])


@pytest.mark.parametrize("arch", [80, 90])
@pytest.mark.parametrize("heads, dim, step, warps", [(8, 64, 32, 4), (1, 128, 64, 4), (4, 32, 128, 8), (2, 64, 16, 1)])
def test_one_token_attends(arch, heads, dim, step, warps, rng):
    length = 3 * step + 7
    q, k, v = numbers(rng, "fp16", heads, dim), numbers(rng, "fp16", length, dim), numbers(rng, "fp16", length, dim)
    q *= dim**-0.5
    o = torch.full((heads, dim), torch.nan)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = f"cuda:{arch}"
        kernel = attention[(1, )](q, k, v, o, length, heads, dim, step, num_warps=warps)
    assert kernel.asm["ptx"].count("mma.sync.aligned") >= 2
    expected = torch.softmax(q.double() @ k.double().T, 1) @ v.double()
    torch.testing.assert_close(o.double(), expected, rtol=2e-3, atol=2e-3)
