"""fp8e4b15, which no hardware has: what operations on it give, on every engine."""

import numpy as np
import pytest

import deuteron as triton
import deuteron.language as tl

# Those below infinity of the format's cousins; 0x7f and 0xff are numbers like others.
BYTES = np.arange(256, dtype=np.uint8)


def values(bits):
    magnitude = bits & 0x7f
    exponent, fraction = (magnitude >> 3).astype(int), (magnitude & 7).astype(float)
    absolute = np.where(exponent == 0, fraction / 8 * 2.0**-14, (1 + fraction / 8) * 2.0**(exponent - 15.0))
    return np.where(bits & 0x80, -absolute, absolute)


def nearest(numbers):
    """The bytes of the nearest numbers of up to 1.75; what is halfway goes away from zero."""
    candidates = values(np.arange(0x7f, dtype=np.uint8))
    above = np.clip(np.searchsorted(candidates, np.abs(numbers)), 1, len(candidates) - 1)
    half = (candidates[above - 1] + candidates[above]) / 2
    return np.where(np.abs(numbers) >= half, above, above - 1).astype(np.uint8) | (np.signbit(numbers) * 0x80).astype(np.uint8)


@triton.jit
def operations(x_ptr, y_ptr, out_ptr, flags_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    y = tl.load(y_ptr + at)
    tl.store(out_ptr + at, x + y)
    tl.store(out_ptr + N + at, x * y)
    tl.store(out_ptr + 2 * N + at, x - 0.5)
    tl.store(out_ptr + 3 * N + at, -x)
    tl.store(out_ptr + 4 * N + at, tl.abs(x))
    tl.store(out_ptr + 5 * N + at, tl.maximum(x, y))
    tl.store(out_ptr + 6 * N + at, tl.clamp(x, y, 1.0))
    tl.store(out_ptr + 7 * N + at, tl.fma(x, y, x))
    tl.store(flags_ptr + at, (x < y).to(tl.int8))
    tl.store(flags_ptr + N + at, (x == y).to(tl.int8))


@pytest.mark.parametrize("engine", ["cpu", "interpreter", "cuda:90", "hip:gfx942"])
def test_operations(engine, rng):
    x, y = BYTES.copy(), rng.permutation(BYTES)
    y[:16] = x[:16]
    out, flags = np.zeros(8 * 256, np.uint8), np.zeros(2 * 256, np.int8)
    with triton.knobs.runtime.scope():
        if engine == "interpreter":
            triton.knobs.runtime.interpret = True
        elif engine != "cpu":
            triton.knobs.runtime.emulate = engine
        as_floats = [triton.reinterpret(array, tl.float8e4b15) for array in (x, y, out)]
        operations[(1, )](*as_floats, flags, N=256)
    a, b = values(x), values(y)
    expected = [nearest(a + b), nearest(a * b), nearest(a - 0.5), x ^ 0x80, x & 0x7f, nearest(np.maximum(a, b)),
                nearest(np.minimum(np.maximum(a, b), 1.0)), nearest(a * b + a)]
    for number, (found, wanted) in enumerate(zip(out.reshape(8, 256), expected, strict=True)):
        # Of zeros the sign is left open.
        differs = (found != wanted) & ((found | wanted) & 0x7f != 0)
        assert not differs.any(), (number, x[differs], y[differs], found[differs], wanted[differs])
    assert np.array_equal(flags[:256], a < b) and np.array_equal(flags[256:], a == b)
