"""Quotients and remainders of blocks of integers, by one divisor and by many: all ends of their ranges, multiples and neighbours."""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl

TYPES = {np.int8: torch.int8, np.uint8: torch.uint8, np.int16: torch.int16, np.uint16: torch.uint16, np.int32: torch.int32,
         np.uint32: torch.uint32}
ENGINES = ["", "avx2", "x86-64", "interpreter"]


@triton.jit
def by_many(x_ptr, y_ptr, q_ptr, r_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    y = tl.load(y_ptr + at, mask=at < n, other=0)
    tl.store(q_ptr + at, x // y, mask=at < n)
    tl.store(r_ptr + at, x % y, mask=at < n)


@triton.jit
def by_one(x_ptr, y_ptr, q_ptr, r_ptr, n, BLOCK: tl.constexpr):
    y = tl.load(y_ptr + tl.program_id(0))
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        to = tl.program_id(0) * n + at
        x = tl.load(x_ptr + at, mask=at < n, other=0)
        tl.store(q_ptr + to, x // y, mask=at < n)
        tl.store(r_ptr + to, x % y, mask=at < n)


def on(engine, kernel, grid, *arguments):
    if engine == "interpreter":
        triton.jit(interpret=True)(kernel.fn)[grid](*arguments)
    else:
        triton.jit(interpret=False)(kernel.fn)[grid](*arguments, arch=engine)


def tensor(array):
    return torch.from_numpy(array.view(np.dtype(array.dtype.str.replace("u", "i")))).view(TYPES[array.dtype.type])


def dividends(dtype, rng, divisors):
    info = np.iinfo(dtype)
    ends = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, info.max // 2, info.max // 2 + 1]
    drawn = rng.integers(info.min, info.max, 300, dtype=dtype, endpoint=True)
    times = rng.integers(-1000, 1000, len(divisors))
    multiples = [int(y) * int(k) + d for y, k in zip(divisors, times) for d in (-1, 0, 1)]
    most = [info.max // int(y) * int(y) + d for y in divisors for d in (-1, 0, 1)]
    return np.array([x for x in [*ends, *drawn, *multiples, *most] if info.min <= x <= info.max], dtype)


def divisors(dtype, rng):
    info = np.iinfo(dtype)
    ends = [1, 2, 3, 5, 7, 10, info.max, info.max - 1, info.max // 2, info.max // 3]
    ends += [-1, -2, -3, -7, info.min, info.min + 1] if info.min else []
    drawn = rng.integers(info.min, info.max, 24, dtype=dtype, endpoint=True)
    small = rng.integers(1, 100, 16)
    return np.array([y for y in [*ends, *drawn, *small] if y], dtype)


def expected(x, y):
    """Toward zero, in integers that hold all of them; the least number by -1 wraps."""
    wide_x, wide_y = x.astype(np.int64), y.astype(np.int64)
    q = np.sign(wide_x) * np.sign(wide_y) * (np.abs(wide_x) // np.abs(wide_y))
    return q.astype(x.dtype), (wide_x - q * wide_y).astype(x.dtype)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: dtype.__name__)
def test_by_many(engine, dtype, rng):
    some = divisors(dtype, rng)
    x = dividends(dtype, rng, some)
    x, y = np.tile(x, len(some)), np.repeat(some, len(x))
    q, r = np.zeros_like(x), np.zeros_like(x)
    on(engine, by_many, (triton.cdiv(len(x), 512), ), *(tensor(a) for a in (x, y, q, r)), len(x), 512)
    want = expected(x, y)
    np.testing.assert_array_equal(q, want[0])
    np.testing.assert_array_equal(r, want[1])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: dtype.__name__)
def test_by_one(engine, dtype, rng):
    some = divisors(dtype, rng)
    x = dividends(dtype, rng, some)
    q, r = (np.zeros((len(some), len(x)), dtype) for _ in range(2))
    on(engine, by_one, (len(some), ), *(tensor(a) for a in (x, some, q.ravel(), r.ravel())), len(x), 64)
    want = expected(x[None, :], some[:, None])
    np.testing.assert_array_equal(q, want[0])
    np.testing.assert_array_equal(r, want[1])


@pytest.mark.parametrize("engine", ENGINES[:3])
def test_zero_divides_some_way(engine):
    x, y = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    q, r = np.zeros_like(x), np.zeros_like(x)
    on(engine, by_many, (1, ), *(tensor(a) for a in (x, y, q, r)), 64, 64)


def test_no_element_is_divided_by_itself():
    kernel = triton.jit(interpret=False)(by_one.fn).warmup(*[torch.int32] * 4, 4096, 1024, grid=(1, ), arch="avx512")
    assert "idivl" not in kernel.asm["asm"] and "vcvttpd2dq" in kernel.asm["asm"]
