"""`%` of floats is exact on every engine, whatever the quotient."""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl

ENGINES = ["cpu", "interpreter", "sm_80", "sm_90", "gfx942"]


@triton.jit
def rests(x_ptr, y_ptr, z_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(z_ptr + i, tl.load(x_ptr + i) % tl.load(y_ptr + i))


def numbers(rng, kind, dtype, count):
    info = torch.finfo(dtype)
    if kind == "near":
        return rng.standard_normal(count)
    if kind == "far":
        # Quotients past all bits of the format now and then.
        return rng.standard_normal(count) * 2.0**rng.integers(-20, 21, count).clip(-8 if dtype == torch.float16 else -20, 8)
    if kind == "any":
        least, most = np.log2(info.tiny), np.log2(info.max)
        return rng.choice([-1.0, 1.0], count) * 2.0**rng.uniform(least - 5, most, count)
    special = [0.0, -0.0, 1.0, -1.0, 3.0, np.inf, -np.inf, np.nan, info.tiny, info.max, -info.max, info.smallest_normal / 4]
    return rng.choice(special, count)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("kind", ["near", "far", "any", "special"])
def test_rests_are_exact(rng, engine, dtype, kind):
    count = 1024
    x, y = (torch.from_numpy(numbers(rng, kind, dtype, count)).to(dtype) for _ in range(2))
    # Multiples, and their neighbours, of divisors: quotients that are rounded up to the next integer.
    whole = torch.from_numpy(rng.integers(-3000, 3000, count // 2).astype(np.float64))
    x[: count // 2] = (y[: count // 2].double() * whole).to(dtype)
    z = torch.full((count, ), 7.0, dtype=dtype)
    rests[(4, )](x, y, z, count // 4, num_warps=1)
    with np.errstate(invalid="ignore"):
        expected = np.fmod(x.double().numpy(), y.double().numpy())
    got = z.double().numpy()
    assert np.array_equal(got, expected, equal_nan=True)
    numbers_alone = ~np.isnan(expected)
    assert np.array_equal(np.signbit(got[numbers_alone]), np.signbit(expected[numbers_alone]))
