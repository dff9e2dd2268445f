"""Constants at the ends of their types, in offsets, masks and loops."""

import numpy as np

import deuteron as triton
import deuteron.language as tl

ENGINES = ["cpu", "interpreter", "sm_90", "gfx942"]

LEAST = -2**63
GREATEST = 2**63 - 1


@triton.jit
def without_the_sign(p, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK).to(tl.int64)
    tl.store(out + (at & 0x7FFFFFFFFFFFFFFF), tl.load(p + at))


def test_a_mask_of_all_bits_but_the_sign(engine):
    x, out = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    without_the_sign[(1, )](x, out, 64)
    assert np.array_equal(out, x)


@triton.jit
def far_comparisons(out, n, BY: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, (at.to(tl.int64) + BY < n).to(tl.int32))


def test_sums_with_the_least_number_are_compared(engine):
    for limit in (LEAST + 700, LEAST, 0, GREATEST):
        out = np.full(4096, -1, np.int32)
        far_comparisons[(1, )](out, limit, LEAST, 4096)
        assert np.array_equal(out, [at + LEAST < limit for at in range(4096)]), limit


@triton.jit
def far_differences(p, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK).to(tl.int64)
    far = at * 4611686018427387904 - -9223372036854775808
    near = -32768 - (at * -9223372036854775808)
    tl.store(out + at, far)
    tl.store(out + BLOCK + at, near, mask=near <= -1)
    tl.store(out + 2 * BLOCK + at, (n.to(tl.int64) - -9223372036854775808) - at)


def test_differences_from_the_least_number(engine):
    x, out = np.arange(64, dtype=np.int64), np.zeros(192, np.int64)
    far_differences[(1, )](x, out, -5, 64)
    wrapped = [(value + 2**63) % 2**64 - 2**63 for value in [at * 2**62 + 2**63 for at in range(64)]]
    near = [(value + 2**63) % 2**64 - 2**63 for value in [-32768 + at * 2**63 for at in range(64)]]
    assert out[:64].tolist() == wrapped
    assert out[64:128].tolist() == [value if value <= -1 else 0 for value in near]
    assert out[128:].tolist() == [-5 + 2**63 - at for at in range(64)]


@triton.jit
def far_remainders(p, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK).to(tl.int64)
    places = at % -9223372036854775808
    tl.store(out + places, tl.load(p + places, mask=places != -129), mask=(places == 32) | (at < 20))


def test_remainders_by_the_least_number(engine):
    x, out = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    far_remainders[(1, )](x, out, 64)
    assert np.array_equal(out, np.where((x == 32) | (x < 20), x, 0))


@triton.jit
def far_places(out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for i in range(0, n):
        offsets = at.to(tl.int64) * -9223372036854775808 + i
        tl.store(out + offsets, tl.load(out + offsets, mask=at == 0, other=0) + i, mask=at == 0)
        tl.store(out + i, tl.load(out + offsets, mask=at == 0, other=0).to(tl.int32).sum() + 1)


def test_offsets_that_are_multiples_of_the_least_number(engine):
    out = np.zeros(8, np.int32)
    far_places[(1, )](out, 8, 64)
    assert np.array_equal(out, np.arange(8) + 1)
