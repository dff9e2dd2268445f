"""Dots of a few rows with many columns, and of many rows with a few columns, on AMD GPUs: by matrix instructions of 4 × 4 blocks."""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl

TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32, "i8": torch.int8}


@triton.jit
def product(a_ptr, b_ptr, c_ptr, rows, columns, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, STEP: tl.constexpr, SUM: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, STEP)
    acc = tl.zeros((M, N), SUM)
    for start in range(0, K, STEP):
        a = tl.load(a_ptr + m[:, None] * K + (start + k)[None, :], mask=m[:, None] < rows, other=0)
        b = tl.load(b_ptr + (start + k)[:, None] * columns + n[None, :], mask=n[None, :] < columns, other=0)
        acc = tl.dot(a, b, acc, input_precision="ieee", out_dtype=SUM)
    tl.store(c_ptr + m[:, None] * columns + n[None, :], acc, mask=(m[:, None] < rows) & (n[None, :] < columns))


def numbers(rng, name, *shape):
    if name == "i8":
        return torch.from_numpy(rng.integers(-128, 128, shape, dtype=np.int8))
    return torch.from_numpy(rng.standard_normal(shape).astype(np.float32)).to(TYPES[name])


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("M, N, step, num_warps", [(4, 64, 64, 1), (64, 4, 64, 1), (8, 128, 64, 4), (128, 8, 128, 2), (4, 64, 64, 4)])
def test_products(arch, name, M, N, step, num_warps, rng):
    K = 2 * step
    rows, columns = M - 1, N - 1
    a, b = numbers(rng, name, rows, K), numbers(rng, name, K, columns)
    is_int = name == "i8"
    c = torch.full((rows, columns), 7, dtype=torch.int32) if is_int else torch.full((rows, columns), np.nan)
    if not is_int:
        a[0, 0], b[1, 1] = np.inf, np.nan
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = f"hip:{arch}"
        kernel = product[(1, )](a, b, c, rows, columns, M, N, K, step, tl.int32 if is_int else tl.float32, num_warps=num_warps)
    few = "4, 64" if M < N else "64, 4"
    assert f"instrShape = [{few}, " in kernel.asm["ttgir"]
    with np.errstate(invalid="ignore"):
        expected = a.double().numpy() @ b.double().numpy()
        size = np.abs(a.double().numpy()) @ np.abs(b.double().numpy())
    if is_int:
        assert np.array_equal(c.numpy(), expected)
    else:
        np.testing.assert_array_equal(np.isnan(c.numpy()), np.isnan(expected))
        finite = np.isfinite(expected)
        assert (np.abs(c.double().numpy() - expected)[finite] <= 1e-6 * size[finite]).all()
        np.testing.assert_array_equal(c.numpy()[np.isinf(expected)], expected[np.isinf(expected)])
