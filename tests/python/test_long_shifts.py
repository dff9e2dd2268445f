"""Shifts by the width of an integer and more give zeros, or copies of the sign, on every engine."""

import numpy as np
import pytest

import deuteron as triton
import deuteron.language as tl

ENGINES = ["cpu", "interpreter", "cuda:80", "cuda:90", "hip:gfx942", "hip:gfx1100"]


@triton.jit
def shifted(x_ptr, by_ptr, left_ptr, right_ptr, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    x, by = tl.load(x_ptr + i), tl.load(by_ptr + i)
    tl.store(left_ptr + i, x << by)
    tl.store(right_ptr + i, x >> by)


@triton.jit
def unpacked(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.load(x_ptr + i // 8) >> i % 8 * 4 & 15)


def run(engine, kernel, grid, *args):
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = engine if ":" in engine else ""
        triton.jit(kernel.fn, interpret=engine == "interpreter")[grid](*args)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize("n", [1, 64])
def test_amounts_of_the_width_and_more(rng, engine, kind, n):
    info = np.iinfo(kind)
    x = rng.integers(info.min, info.max, 128, kind, endpoint=True)
    by = np.resize(np.array([0, 1, info.bits - 1, info.bits, info.bits + 1, 2 * info.bits, 100, 33]), 128).astype(kind)
    left, right = np.zeros(128, kind), np.zeros(128, kind)
    run(engine, shifted, (128 // n, ), x, by, left, right, n)
    long = by >= info.bits
    np.testing.assert_array_equal(left, np.where(long, 0, x << np.where(long, 0, by)).astype(kind))
    rest = np.where(x < 0, -1, 0).astype(kind)
    np.testing.assert_array_equal(right, np.where(long, rest, x >> np.where(long, 0, by)).astype(kind))


@pytest.mark.parametrize("engine", ENGINES)
def test_amounts_that_are_known_to_be_smaller(rng, engine):
    x = rng.integers(-2**31, 2**31, 16, np.int32)
    out = np.zeros(128, np.int32)
    run(engine, unpacked, (1, ), x, out, 128)
    np.testing.assert_array_equal(out, np.repeat(x, 8) >> np.tile(np.arange(8, dtype=np.int32) * 4, 16) & 15)
