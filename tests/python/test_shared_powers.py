"""Powers by an exponent that is one number for all elements and comes as an argument."""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl
from deuteron.language.extra import libdevice

ENGINES = ["cpu", "interpreter", "sm_80", "sm_90", "gfx942"]


@triton.jit
def raised(x_ptr, y_ptr, exponent, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=1.0)
    tl.store(y_ptr + i, libdevice.pow(x, exponent), mask=i < n)


@triton.jit
def raised_by_loaded(x_ptr, exponents_ptr, y_ptr, count, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    x = tl.load(x_ptr + i, mask=i < n, other=1.0)
    for k in range(count):
        total += libdevice.pow(x, tl.load(exponents_ptr + k))
    tl.store(y_ptr + i, total, mask=i < n)


SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 3e38, -3e38, 1e-45, -1e-45, 1e-30, 1e-13, -1e-13, 1e13, 1e-20]


def close(actual, expected, units):
    """Within so many units in the last place of float32, infinities and signed zeros alike."""
    single = expected.astype(np.float32)
    exact = ~np.isfinite(single) | (single == 0)
    assert np.array_equal(actual[exact], single[exact], equal_nan=True)
    assert np.array_equal(np.signbit(actual[exact & (single == 0)]), np.signbit(single[exact & (single == 0)]))
    rest = ~exact
    distance = np.abs(actual[rest].astype(np.float64) - expected[rest]) / np.spacing(np.abs(single[rest]))
    assert distance.max(initial=0) <= units


@pytest.mark.parametrize("kind", [int, float])
@pytest.mark.parametrize("exponent", [-3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 17])
def test_powers(rng, engine, exponent, kind):
    x = np.concatenate([SPECIAL, rng.normal(size=500) * 4, np.exp(rng.normal(size=77) * 8)]).astype(np.float32)
    y = torch.full((len(x), ), -777.0)
    raised[(1, )](torch.from_numpy(x), y, kind(exponent), len(x), 1024, num_warps=2)
    with np.errstate(all="ignore"):
        expected = np.power(x.astype(np.float64), exponent)
        # What overflows in float32 is infinite.
        expected = np.where(np.abs(expected) > 3.4028235677973366e38, np.copysign(np.inf, expected), expected)
        expected = np.where(np.isnan(x) & (exponent != 0), np.nan, expected)
    close(y.numpy(), expected, 1.6)


def test_powers_of_doubles(rng, engine):
    x = rng.normal(size=200) * 10
    for exponent in (2, 3, 4, 7):
        y = torch.full((200, ), -777.0, dtype=torch.float64)
        raised[(1, )](torch.from_numpy(x), y, exponent, 200, 256, num_warps=1)
        np.testing.assert_allclose(y.numpy(), x**exponent, rtol=4e-16 if exponent < 7 else 2e-15)


def test_exponents_from_memory(rng, engine):
    x = (rng.normal(size=100)).astype(np.float32)
    exponents = torch.tensor([2, 5, 3, 0, 4, 1, 2], dtype=torch.int32)
    y = torch.full((100, ), -777.0)
    raised_by_loaded[(1, )](torch.from_numpy(x), exponents, y, len(exponents), 100, 128, num_warps=1)
    expected = sum(x.astype(np.float64)**int(k) for k in exponents)
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-5, atol=1e-5)
