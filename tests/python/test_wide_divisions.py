"""Divisions of 64 bits by constants, which are products on NVIDIA GPUs."""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl

ENGINES = ["cpu", "interpreter", "sm_90", "gfx942"]
DIVISORS = [1, 2, 3, 5, 7, 10, 12, 64, 641, 11008, 2**31 - 1, 2**32, 2**32 + 1, 3 * 2**40, 2**62 + 1, 2**63 - 1]


@triton.jit
def divided(x, quotients, rests, D: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i)
    tl.store(quotients + i, value // D)
    tl.store(rests + i, value % D)


@pytest.mark.parametrize("signed", [True, False])
def test_quotients_and_rests_are_exact(rng, engine, signed):
    limits = np.iinfo(np.int64 if signed else np.uint64)
    bounds = [limits.min, limits.min + 1, -2 if signed else 2, -1 if signed else 1, 0, 1, limits.max - 1, limits.max]
    for divisor in DIVISORS + ([-divisor for divisor in DIVISORS[2:]] if signed else [2**64 - 1, 2**63 + 1]):
        near = [k * divisor + by for k in (1, 2, 1000, limits.max // abs(divisor)) for by in (-1, 0, 1)]
        values = bounds + [value for value in near if limits.min <= value <= limits.max]
        values += [int(value) for value in rng.integers(limits.min, limits.max, 64 - len(values), dtype=limits.dtype)]
        x = torch.from_numpy(np.array(values, limits.dtype))
        found = [torch.empty_like(x) for _ in range(2)]
        divided[(1, )](x, *found, divisor, 64, num_warps=1)
        # Rounded to zero, as in C.
        quotients = [abs(value) // abs(divisor) * (-1 if (value < 0) != (divisor < 0) else 1) for value in values]
        expected = [quotients, [value - divisor * quotient for value, quotient in zip(values, quotients)]]
        assert [block.tolist() for block in found] == expected, divisor
