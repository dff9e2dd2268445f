"""`libdevice.round`: to the nearest integer, halves away from zero, where a rounded sum could go wrong."""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl
from deuteron.language.extra import libdevice

ENGINES = ["cpu", "interpreter", "cuda:80", "cuda:90", "hip:gfx942"]


def rounded(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y_ptr + at, libdevice.round(tl.load(x_ptr + at)))


def product_rounded(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y_ptr + at, libdevice.round(tl.load(x_ptr + at) * 0.1))


def run(engine, kernel, x):
    y = torch.full_like(x, 7.25)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = engine if ":" in engine else ""
        triton.jit(kernel, interpret=engine == "interpreter")[(1, )](x, y, x.numel())
    return y.numpy()


def away_from_zero(x):
    """In a wider format, where one half can be added to every number of this one that has a fraction."""
    wide = np.abs(x.astype(np.longdouble))
    whole = np.floor(wide)
    with np.errstate(invalid="ignore"):
        return np.copysign(whole + (wide - whole >= 0.5), x).astype(x.dtype)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_halves_and_their_neighbours(rng, engine, dtype):
    last = 2.0**(np.finfo(dtype).nmant)
    halves = np.array([0.5, 1.5, 2.5, 1001.5, last / 4 + 0.5, last / 2 - 0.5, last / 2 + 0.5, last - 0.5, last + 1, 2 * last + 2], dtype)
    near = np.concatenate([halves, np.nextafter(halves, dtype(0)), np.nextafter(halves, dtype(np.inf))])
    others = np.array([0, np.finfo(dtype).tiny, np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max], dtype)
    drawn = (rng.standard_normal(94) * 10.0**rng.integers(-3, 9, 94)).astype(dtype)
    numbers = np.concatenate([near, others, drawn])
    x = np.concatenate([numbers, -numbers])
    y = run(engine, rounded, torch.from_numpy(x))
    wanted = away_from_zero(x)
    assert np.array_equal(y, wanted) and np.array_equal(np.signbit(y), np.signbit(wanted))


@pytest.mark.parametrize("engine", ENGINES)
def test_no_number_and_infinity(engine):
    y = run(engine, rounded, torch.tensor([np.nan, np.inf, -np.inf, -0.0]))
    assert np.isnan(y[0]) and y[1] == np.inf and y[2] == -np.inf and y[3] == 0 and np.signbit(y[3])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_product_is_rounded_before(engine):
    x = np.arange(-1280, 1280, 5, dtype=np.float32)
    assert np.array_equal(run(engine, product_rounded, torch.from_numpy(x)), away_from_zero(x * np.float32(0.1)))
