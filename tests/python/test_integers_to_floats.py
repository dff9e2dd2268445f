"""Integers become numbers of 16 bits by one rounding, on whatever way the code allows."""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl

ENGINES = ["cpu", "interpreter", "cuda:80", "cuda:90", "hip:gfx942"]
WIDTHS = {torch.float16: 11, torch.bfloat16: 8}


@triton.jit
def converted(x_ptr, y_ptr, N: tl.constexpr, HOW: tl.constexpr, BY: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    if HOW == "shift":
        x = x >> BY
    elif HOW == "mask":
        x = x & BY
    tl.store(y_ptr + tl.arange(0, N), x.to(y_ptr.dtype.element_ty))


def rounded(number, bits):
    """The nearest integer of so many significant bits, to even."""
    size, sign = abs(number), -1 if number < 0 else 1
    by = max(size.bit_length() - bits, 0)
    kept, rest, half = size >> by, size & ((1 << by) - 1), (1 << by) // 2
    kept += by > 0 and (rest > half or rest == half and kept % 2 == 1)
    return sign * (kept << by)


def wanted(numbers, dtype):
    whole = [rounded(int(number), WIDTHS[dtype]) for number in numbers]
    # What has so few bits is a float64 as it is; past its range binary16 is infinite.
    most = np.finfo(np.float16).max if dtype == torch.float16 else np.inf
    return np.array([number if abs(number) <= most else np.copysign(np.inf, number) for number in map(float, whole)])


def numbers(rng, kind, bits):
    """Integers near halves of what formats can hold, of every size."""
    info = np.iinfo(kind)
    found = [0, 1, info.max, info.max - 1, info.min, info.min + 1]
    for size in range(1, 8 * np.dtype(kind).itemsize - (info.min < 0)):
        head = int(rng.integers(2**(bits - 1), 2**bits))
        tie = (2 * head + 1) << size >> (bits + 1) if size > bits else int(rng.integers(0, 2**size))
        found += [number for number in (tie - 1, tie, tie + 1) if 0 <= number <= info.max]
    found = found + [-number for number in found if info.min < 0 and number > 0]
    return np.resize(np.array(found, dtype=kind), 512)


CASES = [("plain", 0), ("shift", 8), ("shift", 7), ("shift", 6), ("mask", 15), ("mask", 0xffffff), ("mask", 0x1ffffff)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind, dtype", [(kind, dtype) for kind in (np.int32, np.uint32, np.int16) for dtype in WIDTHS]
                         + [(np.int64, torch.float16)])
def test_one_rounding(rng, engine, kind, dtype):
    x = numbers(rng, kind, WIDTHS[dtype])
    for how, by in CASES if kind in (np.int32, np.uint32) else CASES[:1]:
        y = torch.full((len(x), ), 7.25, dtype=dtype)
        with triton.knobs.runtime.scope():
            triton.knobs.runtime.emulate = engine if ":" in engine else ""
            triton.jit(converted.fn, interpret=engine == "interpreter")[(1, )](torch.from_numpy(x), y, len(x), how, by)
        given = x >> by if how == "shift" else x & by if how == "mask" else x
        got = y.double().numpy()
        assert np.array_equal(got, wanted(given, dtype)), (how, by)
