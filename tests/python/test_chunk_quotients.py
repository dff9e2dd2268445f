"""Quotients and remainders of indices whose divisor is a multiple of a chunk, in loops and reductions: one number and a
run of neighbours for each chunk; and those that only look so."""

import numpy as np
import pytest
import triton
import triton.language as tl

ENGINES = ["cpu", "interpreter", "sm_90", "gfx942"]
ARCHES = [None, "avx2", "x86-64"]


def options(arch):
    return {} if arch is None else {"arch": arch}


@triton.jit
def of_channels(x_ptr, out_ptr, n, channels, D: tl.constexpr, BLOCK: tl.constexpr):
    """The sum of each channel of images `[n, channels, D]`."""
    channel = tl.program_id(0)
    total = tl.zeros([1, BLOCK], tl.float32)
    for start in range(0, n * D, BLOCK):
        index = start + tl.arange(0, BLOCK)[None, :]
        mask = index < n * D
        x = tl.load(x_ptr + (index // D * channels + channel) * D + index % D, mask=mask, other=0)
        total += tl.where(mask, x * (1 + index // D), 0)
    tl.store(out_ptr + channel, tl.sum(total))


@triton.jit
def digits(quotient_ptr, rest_ptr, first, D: tl.constexpr, BLOCK: tl.constexpr, WRAPS: tl.constexpr):
    """Quotients and remainders of numbers from anywhere on."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    index = at * 1103515245 + first if WRAPS else first + at
    most = tl.max(index // D)
    tl.store(quotient_ptr + at, index // D)
    tl.store(rest_ptr + at, index % D + 0 * most)


@triton.jit
def wrapping(out_ptr, STEP: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr):
    """Numbers of programs times a number that wraps around."""
    index = tl.program_id(0) * STEP + tl.arange(0, BLOCK)
    tl.store(out_ptr + tl.program_id(0) * 2, tl.sum(index // D))
    tl.store(out_ptr + tl.program_id(0) * 2 + 1, tl.sum(index % D))


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("divisor", [3136, 784, 196, 49, 64, 48, 16, 8, 100])
@pytest.mark.parametrize("block", [64, 512])
def test_channels_of_images(divisor, block, arch):
    rng = np.random.default_rng(divisor)
    x = rng.standard_normal((5, 3, divisor)).astype(np.float32)
    out = np.full(3, np.nan, np.float32)
    of_channels[(3, )](x, out, 5, 3, divisor, block, **options(arch))
    weights = np.arange(1, 6)[:, None, None]
    np.testing.assert_allclose(out, (x.astype(np.float64) * weights).sum((0, 2)), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("divisor", [3136, 48])
def test_engines_agree(divisor, engine):
    x = np.random.default_rng(2).standard_normal((2, 3, divisor)).astype(np.float32)
    out = np.full(3, np.nan, np.float32)
    of_channels[(3, )](x, out, 2, 3, divisor, 128)
    np.testing.assert_allclose(out, (x.astype(np.float64) * [[[1]], [[2]]]).sum((0, 2)), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("first", [0, 5, 4096, -4096, -7, -1, 2**31 - 256])
@pytest.mark.parametrize("divisor", [64, 3136, 100])
@pytest.mark.parametrize("wraps", [False, True])
def test_numbers_from_anywhere_on(first, divisor, wraps, arch):
    quotient, rest = np.full((2, 256), 99, np.int32)
    digits[(4, )](quotient, rest, first, divisor, 64, wraps, **options(arch))
    index = np.arange(256, dtype=np.int64) * (1103515245 if wraps else 1) + first
    index = index.astype(np.int32).astype(np.int64)
    want = np.trunc(index / divisor).astype(np.int64)
    np.testing.assert_array_equal(quotient, want)
    np.testing.assert_array_equal(rest, index - want * divisor)


@pytest.mark.parametrize("step", [64, 1 << 16, 1 << 24, 1103515264])
def test_programs_whose_numbers_wrap_around(step, engine):
    out = np.zeros((300, 2), np.int32)
    wrapping[(300, )](out, step, 3136, 64)
    index = (np.arange(300, dtype=np.int64)[:, None] * step + np.arange(64)).astype(np.int32).astype(np.int64)
    quotient = np.trunc(index / 3136).astype(np.int64)
    np.testing.assert_array_equal(out[:, 0], quotient.sum(1).astype(np.int32))
    np.testing.assert_array_equal(out[:, 1], (index - quotient * 3136).sum(1).astype(np.int32))


@triton.jit
def permuted(x_ptr, out_ptr, n, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, BLOCK: tl.constexpr):
    """Planes `[A, B, C]` become `[B, A, C]`, twice as large."""
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c, a, b = index % C, index // C % A, index // (C * A)
    x = tl.load(x_ptr + c + C * b + B * C * a, mask=index < n)
    tl.store(out_ptr + index, x * 2, mask=index < n)


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("shift", [0, 1, 16])
@pytest.mark.parametrize("shape", [(40, 24, 64), (7, 300, 48), (1100, 1100, 16), (5, 6, 7)])
def test_stores_past_the_caches_begin_at_the_first_element(shape, shift, arch):
    count = np.prod(shape)
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    buffer = np.full(count + 64, np.nan, np.float32)
    out = buffer[shift:shift + count]
    permuted[(triton.cdiv(count, 256), )](x, out, count, *shape, 256, **options(arch))
    np.testing.assert_array_equal(out.reshape(shape[1], shape[0], shape[2]), x.transpose(1, 0, 2) * 2)
    assert np.isnan(buffer[:shift]).all() and np.isnan(buffer[shift + count:]).all()


def test_no_gather_is_left():
    x, out = np.zeros((2, 3, 3136), np.float32), np.zeros(3, np.float32)
    text = of_channels[(3, )](x, out, 2, 3, 3136, 512, arch="x86-64-v4").asm["llir"]
    assert "masked.gather" not in text and "<16 x float>" in text
    text = of_channels[(3, )](x, out, 2, 3, 49, 512, arch="x86-64-v4").asm["llir"]
    assert "masked.gather" in text, "these runs begin anywhere"
    x = np.zeros((8, 16, 64), np.float32)
    text = permuted[(32, )](x, np.zeros_like(x), x.size, *x.shape, 256, arch="x86-64-v4").asm["llir"]
    assert "masked.gather" not in text and "nontemporal" in text
