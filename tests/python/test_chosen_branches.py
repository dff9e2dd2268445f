"""Branches that make blocks of few steps, which a CPU computes both: as the branch says, whatever the other one does."""

import numpy as np
import pytest
import triton
import triton.language as tl

ENGINES = ["cpu", "interpreter", "sm_90", "gfx942"]


@triton.jit
def running(x_ptr, mean_ptr, spread_ptr, rows, n, BLOCK: tl.constexpr):
    """Mean and variance of columns; the first row begins them."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mean, spread, count = tl.zeros([BLOCK], tl.float32), tl.zeros([BLOCK], tl.float32), tl.zeros([BLOCK], tl.float32)
    for row in range(rows):
        x = tl.load(x_ptr + row * n + at, mask=at < n, other=0)
        if row == 0:
            mean, spread, count = x, tl.zeros_like(x), tl.full([BLOCK], 1.0, tl.float32)
        else:
            step = x - mean
            count = count + 1
            mean = mean + step / count
            spread = spread + step * (x - mean)
    tl.store(mean_ptr + at, mean, mask=at < n)
    tl.store(spread_ptr + at, spread / count, mask=at < n)


@triton.jit
def divided(x_ptr, by_ptr, out_ptr, flag, n, BLOCK: tl.constexpr):
    """A quotient where a flag says that divisors are not zero."""
    at = tl.arange(0, BLOCK)
    x, by = tl.load(x_ptr + at, mask=at < n, other=1), tl.load(by_ptr + at, mask=at < n, other=1)
    if flag > 0:
        y = x // by
        scale = 2
    else:
        y = x
        scale = 3
    tl.store(out_ptr + at, y * scale, mask=at < n)


@triton.jit
def nested(x_ptr, out_ptr, total_ptr, a, b, BLOCK: tl.constexpr):
    """Branches within branches, with a number beside the block, and one that only one of them changes."""
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    y, number = x, 0
    if a > 0:
        if b > 0:
            y = -x
            number = 5
        else:
            y = tl.where(at % 2 == 0, x, 0.0)
    else:
        number = 7
        y = y * 0.5
    tl.store(out_ptr + at, y + number)
    tl.store(total_ptr, number)


@triton.jit
def read_if(x_ptr, out_ptr, flag, far, BLOCK: tl.constexpr):
    """What is far away is read where a flag says so."""
    at = tl.arange(0, BLOCK)
    if flag > 0:
        y = tl.load(x_ptr + far + at)
    else:
        y = tl.full([BLOCK], 3.0, tl.float32)
    tl.store(out_ptr + at, y)


@pytest.mark.parametrize("rows", [0, 1, 2, 17])
def test_the_first_row_begins(rows, engine):
    x = (np.random.default_rng(rows).standard_normal((max(rows, 1), 77)) + 2).astype(np.float32)
    mean, spread = np.full((2, 77), np.nan, np.float32)
    running[(3, )](x, mean, spread, rows, 77, 32)
    if rows == 0:
        assert (mean == 0).all() and np.isnan(spread).all()
        return
    np.testing.assert_allclose(mean, x.astype(np.float64).mean(0), rtol=1e-5)
    np.testing.assert_allclose(spread, x.astype(np.float64).var(0), rtol=1e-4, atol=1e-6)


def test_what_is_no_number_stays_where_it_was(engine):
    x = np.ones((3, 64), np.float32)
    x[0, 3], x[1, 5], x[2, 7] = np.nan, np.inf, -np.inf
    mean, spread = np.zeros((2, 64), np.float32)
    running[(2, )](x, mean, spread, 3, 64, 32)
    assert (~np.isfinite(mean)).nonzero()[0].tolist() == [3, 5, 7]


def test_a_quotient_is_not_computed_unasked(engine):
    x, by = np.arange(1, 41, dtype=np.int32), np.zeros(40, np.int32)
    out = np.zeros(40, np.int32)
    divided[(1, )](x, by, out, 0, 40, 64)
    np.testing.assert_array_equal(out, x * 3)
    divided[(1, )](x, by + 7, out, 1, 40, 64)
    np.testing.assert_array_equal(out, x // 7 * 2)


def test_nothing_is_read_unasked(engine):
    x, out = np.arange(128, dtype=np.float32), np.zeros(64, np.float32)
    read_if[(1, )](x, out, 0, 1 << 40, 64)
    assert (out == 3).all()
    read_if[(1, )](x, out, 1, 64, 64)
    np.testing.assert_array_equal(out, x[64:])


@pytest.mark.parametrize("a", [0, 3])
@pytest.mark.parametrize("b", [0, 3])
def test_branches_within_branches(a, b, engine):
    x = np.random.default_rng(4).standard_normal(64).astype(np.float32)
    out, total = np.zeros(64, np.float32), np.zeros(1, np.int32)
    nested[(1, )](x, out, total, a, b, 64)
    even = np.where(np.arange(64) % 2 == 0, x, 0)
    y, number = (x * 0.5, 7) if not a else (-x, 5) if b else (even, 0)
    np.testing.assert_allclose(out, y + number, rtol=1e-6)
    assert total[0] == number


def test_one_loop_is_left_of_an_iteration():
    x, mean, spread = np.zeros((4, 512), np.float32), np.zeros(512, np.float32), np.zeros(512, np.float32)
    text = running[(1, )](x, mean, spread, 4, 512, 512, arch="x86-64-v4").asm["llir"]
    stored = [line for line in text.splitlines() if line.strip().startswith("store <16 x float>")]
    # Of blocks that branches yield there would be twice as many.
    assert 0 < len(stored) <= 50, len(stored)
