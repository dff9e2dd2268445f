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


@triton.jit
def divided_by_any(x, y, n, quotients, rests, turned, ROUNDS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    one = tl.load(n)
    for _ in range(ROUNDS):
        value, divisor = tl.load(x + i), tl.load(y + i)
        rest = value % divisor
        quotient = value // divisor
        tl.store(quotients + i, quotient)
        tl.store(rests + i, rest)
        # By one number for all, and of what the division above gives.
        tl.store(turned + i, (quotient + 3) % one + value // one)
        x += BLOCK
        y += BLOCK
        quotients += BLOCK
        rests += BLOCK
        turned += BLOCK


def truncated(value, divisor):
    return abs(value) // abs(divisor) * (-1 if (value < 0) != (divisor < 0) else 1)


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("kinds", [("short", "short"), ("short", "long"), ("long", "short"), ("long", "long"), ("mixed", "mixed")])
def test_divisors_that_the_code_does_not_show(rng, engine, signed, kinds):
    # Where all numbers of a lane have 32 bits and no sign, the division has 32 bits as well. In "mixed" some of a warp's
    # lanes go one way and some the other.
    dtype = np.int64 if signed else np.uint64
    limits = np.iinfo(dtype)
    rounds, block = 2, 256
    edges = [value for value in (1, 2, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, limits.max) if value <= limits.max]
    edges += [-value for value in edges[:-1]] + [limits.min] if signed else []

    def numbers(kind):
        short = rng.integers(1, 2**32, rounds * block, dtype=dtype)
        long = rng.integers(max(limits.min, -2**62), 2**62, rounds * block, dtype=dtype)
        some = np.where(rng.random(rounds * block) < 0.9, short, long) if kind == "mixed" else short if kind == "short" else long
        if kind != "short":
            at = rng.choice(rounds * block, len(edges), replace=False)
            some[at] = np.array(edges, dtype)
        return some

    x, y = numbers(kinds[0]), numbers(kinds[1])
    y[(y == 0) | (y == dtype(limits.max if not signed else -1))] = 5
    n = int(rng.integers(2, 2**31))
    found = [torch.zeros(rounds * block, dtype=torch.int64 if signed else torch.uint64) for _ in range(3)]
    divided_by_any[(1, )](torch.from_numpy(x), torch.from_numpy(y), torch.from_numpy(np.array([n], dtype)), *found, rounds, block, num_warps=2)
    pairs = [(int(value), int(divisor)) for value, divisor in zip(x, y)]
    quotients = [truncated(value, divisor) for value, divisor in pairs]
    rests = [value - divisor * quotient for (value, divisor), quotient in zip(pairs, quotients)]

    def wrapped(value):
        value %= 2**64
        return value - 2**64 if signed and value >= 2**63 else value

    sums = [wrapped(quotient + 3) for quotient in quotients]
    turned = [wrapped(total - n * truncated(total, n) + truncated(value, n)) for total, (value, _) in zip(sums, pairs)]
    assert [block.tolist() for block in found] == [quotients, rests, turned]
