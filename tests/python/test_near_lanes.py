"""Lanes that lie near each other in a known order (every second element, a row from its end): against NumPy, beside
guard pages, in full, behind a condition and behind masks."""

import numpy as np
import pytest
import triton
import triton.language as tl
from test_cpu_limits import Guarded


@triton.jit
def taken(x_ptr, y_ptr, first, n, given, STEP: tl.constexpr, BLOCK: tl.constexpr, OTHER: tl.constexpr):
    """`y[i] = x[first + i * STEP]` for the first `n`, of all that BLOCK and a condition leave."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if n is None:
        x = tl.load(x_ptr + first + i * STEP)
        tl.store(y_ptr + i, x)
    elif OTHER:
        x = tl.load(x_ptr + first + i * STEP, mask=(i < n) & given, other=77)
        tl.store(y_ptr + i, x)
    else:
        x = tl.load(x_ptr + first + i * STEP, mask=i < n)
        tl.store(y_ptr + i, x, mask=i < n)


@triton.jit
def grey(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """The mean of the three colours of each pixel, which lie side by side."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, ), tl.int32)
    for colour in tl.static_range(3):
        total += tl.load(x_ptr + 3 * i + colour, mask=i < n, other=0).to(tl.int32)
    tl.store(y_ptr + i, (total // 3).to(tl.uint8), mask=i < n)


@triton.jit
def turned(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Pairs of neighbours, turned by a quarter."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    even, odd = tl.load(x_ptr + 2 * i, mask=i < n), tl.load(x_ptr + 2 * i + 1, mask=i < n)
    tl.store(y_ptr + 2 * i, -odd, mask=i < n)
    tl.store(y_ptr + 2 * i + 1, even, mask=i < n)


DTYPES = [np.int8, np.uint16, np.float16, np.int32, np.float32, np.float64, np.int64]
ARCHES = [None, "avx2", "x86-64"]


def options(arch):
    return {} if arch is None else {"arch": arch}


def some(rng, dtype, count):
    """Random numbers of a type in all of their bits but what makes a NaN."""
    if np.issubdtype(dtype, np.floating):
        return rng.standard_normal(count).astype(dtype)
    ends = np.iinfo(dtype)
    return rng.integers(ends.min, ends.max, count, dtype, endpoint=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("step", [2, 3, 4, 7, 16, -1, -2, -3])
@pytest.mark.parametrize("arch", ARCHES)
def test_lanes_are_taken(rng, dtype, step, arch):
    guarded, block = Guarded(), 64
    for n in (None, 1, 5, 63, 64, 97, 128):
        count = 128 if n is None else n
        numbers = some(rng, dtype, (count - 1) * abs(step) + 1)
        for at_end in (False, True):
            x = guarded.array(numbers, at_end)
            first = 0 if step > 0 else len(x) - 1
            expected = numbers[::step][:count]
            y = np.full(128, 3, dtype)
            taken[(2, )](x, y, first, n, True, step, block, False, **options(arch))
            np.testing.assert_array_equal(y[:count], expected)
            assert (y[count:] == 3).all()
            if n is not None:
                for given in (True, False):
                    taken[(2, )](x, y, first, n, given, step, block, True, **options(arch))
                    np.testing.assert_array_equal(y[:count], expected if given else np.full(count, 77, dtype))
                    assert (y[count:] == 77).all()


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("n", [1, 50, 640, 1001])
def test_colours_of_pixels(rng, n, arch):
    guarded = Guarded()
    for at_end in (False, True):
        x = guarded.array(some(rng, np.uint8, 3 * n), at_end)
        y = np.zeros(n, np.uint8)
        grey[(triton.cdiv(n, 128), )](x, y, n, 128, **options(arch))
        np.testing.assert_array_equal(y, x.astype(np.int64).reshape(n, 3).sum(1) // 3)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 31, 256, 333])
def test_pairs_are_turned(rng, dtype, n):
    x, y = some(rng, dtype, 2 * n), np.zeros(2 * n, dtype)
    turned[(triton.cdiv(n, 64), )](x, y, n, 64)
    np.testing.assert_array_equal(y.reshape(n, 2), np.stack([-x[1::2], x[::2]], 1))


def test_no_gather_is_left():
    x, y = np.zeros(256, np.float32), np.zeros(128, np.float32)
    for n in (None, 100):
        text = taken[(2, )](x, y, 0, n, True, 2, 64, False).asm["llir"]
        assert "shufflevector" in text and "masked.gather" not in text
    # Too far apart.
    far = np.zeros(20 * 128, np.float32)
    assert "masked.gather" in taken[(2, )](far, y, 0, None, True, 20, 64, False, arch="avx2").asm["llir"]
