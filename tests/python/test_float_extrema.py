"""Extrema of floats in memory, which are two integer atomics: one for numbers of each sign."""

import re

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl


ENGINES = ["cpu", "interpreter", "sm_80", "sm_90", "gfx942"]


@triton.jit
def extrema(x_ptr, high_ptr, low_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * N + tl.arange(0, N))
    tl.atomic_max(high_ptr, tl.max(x))
    tl.atomic_min(low_ptr, tl.min(x))


@triton.jit
def columns(x_ptr, high_ptr, N: tl.constexpr, R: tl.constexpr):
    """The greatest of each column; the rows of a block meet at one address."""
    rows = tl.program_id(0) * R + tl.arange(0, R)
    x = tl.load(x_ptr + rows[:, None] * N + tl.arange(0, N)[None, :])
    tl.atomic_max(high_ptr + tl.arange(0, N)[None, :] + rows[:, None] * 0, x)


@triton.jit
def followed(x_ptr, high_ptr, out_ptr):
    """What stands behind an extremum sees it."""
    tl.atomic_max(high_ptr, tl.load(x_ptr + tl.program_id(0)))
    tl.store(out_ptr, tl.load(high_ptr + tl.program_id(0)))


@pytest.mark.parametrize("shift", [-5.0, 0.0, 5.0])
def test_extrema_of_rows(engine, rng, shift):
    x = torch.from_numpy(rng.standard_normal((7, 64)).astype(np.float32)) + shift
    high, low = torch.full((1,), -np.inf), torch.full((1,), np.inf)
    extrema[(7,)](x, high, low, 64)
    assert (high.item(), low.item()) == (x.max().item(), x.min().item())


@pytest.mark.parametrize("shift", [-5.0, 0.0, 5.0])
def test_rows_that_meet(engine, rng, shift):
    x = torch.from_numpy(rng.standard_normal((24, 32)).astype(np.float32)) + shift
    high = torch.full((32,), -np.inf)
    columns[(3,)](x, high, 32, 8)
    assert torch.equal(high, x.max(dim=0).values)


@pytest.mark.parametrize("before, value", [(-3.0, 2.0), (3.0, -2.0), (-3.0, -2.0), (-2.0, -3.0)])
def test_what_follows_sees_it(engine, before, value):
    high, out = torch.tensor([before]), torch.tensor([777.0])
    followed[(1,)](torch.tensor([value]), high, out)
    assert out.item() == high.item() == max(before, value)


@triton.jit
def integers(x_ptr, at_ptr, N: tl.constexpr):
    """The same two atomics of integers: all elements meet at one address, each maximum in front of each minimum."""
    x = tl.load(x_ptr + tl.arange(0, N))
    places = at_ptr + tl.arange(0, N) * 0
    tl.atomic_max(places, x)
    tl.atomic_min(places.to(tl.pointer_type(tl.uint32)), x.to(tl.uint32, bitcast=True))


def test_integers_keep_their_order(engine, rng):
    x = torch.from_numpy(rng.integers(1, 1000, 64, dtype=np.int32))
    at = torch.zeros(1, dtype=torch.int32)
    compiled = integers[(1,)](x, at, 64, num_warps=2)
    assert at.item() == x.min().item()
    if engine == "sm_90":
        order = re.findall(r"red\S+\.max\.s32|fence\.acq_rel\.gpu|red\S+\.min\.u32", compiled.asm["ptx"])
        assert [word.split(".")[-2] for word in order] == ["max", "acq_rel", "min"]
