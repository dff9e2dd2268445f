"""Matrices that are loaded along both of their dimensions and stored along one: against NumPy."""

import numpy as np
import pytest
import triton
import triton.language as tl

ENGINES = ["cpu", "interpreter", "sm_90", "gfx942"]
#: fp16 is rounded twice; the rest as float64 rounds it, whole numbers in no way.
NEAR = {np.float16: dict(rtol=2e-3, atol=2e-3), np.float32: dict(rtol=1e-6, atol=1e-6)}
EXACT = dict(rtol=0, atol=0)
ARCHES = [None, "avx2", "x86-64"]


def options(arch):
    return {} if arch is None else {"arch": arch}


@triton.jit
def symmetric(x_ptr, out_ptr, n, OTHER: tl.constexpr, ALONG: tl.constexpr, A: tl.constexpr, B: tl.constexpr):
    """`x + 2 * x.T`, stored along either dimension of its tiles."""
    row = tl.program_id(0) * A + tl.arange(0, A)[:, None]
    column = tl.program_id(1) * B + tl.arange(0, B)[None, :]
    mask = (row < n) & (column < n)
    straight = tl.load(x_ptr + row * n + column, mask=mask, other=OTHER)
    across = tl.load(x_ptr + column * n + row, mask=mask, other=OTHER)
    at = row * n + column if ALONG == 1 else column * n + row
    tl.store(out_ptr + at, straight + 2 * across, mask=mask)


@triton.jit
def in_place(x_ptr, n, A: tl.constexpr):
    """A matrix becomes the sum of itself and its transpose, where it is: loaded before any of it is stored."""
    row, column = tl.arange(0, A)[:, None], tl.arange(0, A)[None, :]
    mask = (row < n) & (column < n)
    straight = tl.load(x_ptr + row * n + column, mask=mask)
    across = tl.load(x_ptr + column * n + row, mask=mask)
    tl.store(x_ptr + row * n + column, straight - across, mask=mask)


@triton.jit
def accumulated(x_ptr, y_ptr, out_ptr, n, count, A: tl.constexpr):
    """Sums over planes of which one is read along columns, which is stored in each iteration as well."""
    row, column = tl.arange(0, A)[:, None], tl.arange(0, A)[None, :]
    mask = (row < n) & (column < n)
    total = tl.zeros([A, A], tl.float32)
    for plane in range(count):
        across = tl.load(x_ptr + plane * n * n + column * n + row, mask=mask, other=0)
        straight = tl.load(y_ptr + plane * n * n + row * n + column, mask=mask, other=0)
        total += across * straight
        tl.store(out_ptr + plane * n * n + row * n + column, total + across, mask=mask)


@triton.jit
def looked_up(index_ptr, x_ptr, out_ptr, n, A: tl.constexpr):
    """Numbers at places that are themselves read across, by which what is read across is found as well."""
    row, column = tl.arange(0, A)[:, None], tl.arange(0, A)[None, :]
    mask = (row < n) & (column < n)
    index = tl.load(index_ptr + column * n + row, mask=mask, other=0)
    found = tl.load(x_ptr + index + column * n + row, mask=mask, other=0)
    straight = tl.load(x_ptr + row * n + column, mask=mask, other=0)
    tl.store(out_ptr + row * n + column, found + straight * index, mask=mask)


def reference(x, along):
    made = x.astype(np.float64) + 2 * x.T.astype(np.float64)
    return made if along == 1 else made.T


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.float16, np.int8])
@pytest.mark.parametrize("tile", [(32, 32), (8, 64), (128, 16), (4, 32), (16, 16)])
@pytest.mark.parametrize("n", [64, 77])
def test_sums_with_a_transpose(n, tile, dtype, arch):
    rng = np.random.default_rng([n, *tile])
    integers = np.issubdtype(dtype, np.integer)
    x = rng.integers(-40, 40, (n, n)).astype(dtype) if integers else rng.standard_normal((n, n)).astype(dtype)
    grid = (triton.cdiv(n, tile[0]), triton.cdiv(n, tile[1]))
    for along in (0, 1):
        out = np.full((n, n), 99, dtype)
        symmetric[grid](x, out, n, 0, along, *tile, **options(arch))
        np.testing.assert_allclose(out, reference(x, along), **NEAR.get(dtype, EXACT))


def test_engines_agree(engine):
    x = np.random.default_rng(3).standard_normal((45, 45)).astype(np.float32)
    x[3, 7], x[40, 2] = np.nan, np.inf
    for along in (0, 1):
        out = np.zeros_like(x)
        symmetric[(2, 2)](x, out, 45, 5.0, along, 32, 32)
        np.testing.assert_allclose(out, reference(x, along), rtol=1e-6)


@pytest.mark.parametrize("n", [16, 31, 64])
def test_a_matrix_that_is_overwritten(n, engine):
    x = np.random.default_rng(n).standard_normal((n, n)).astype(np.float32)
    own = x.copy()
    in_place[(1, )](own, n, 64)
    np.testing.assert_array_equal(own, x - x.T)


@pytest.mark.parametrize("n", [16, 29])
def test_places_that_are_read_across(n, engine):
    rng = np.random.default_rng(n)
    x = rng.standard_normal(2 * n * n).astype(np.float32)
    index = rng.integers(0, n * n, (n, n)).astype(np.int32)
    out = np.zeros((n, n), np.float32)
    looked_up[(1, )](index, x, out, n, 32)
    row, column = np.mgrid[:n, :n]
    want = x[index.T + column * n + row] + x[:n * n].reshape(n, n) * index.T
    np.testing.assert_allclose(out, want, rtol=1e-6, atol=1e-6)


def test_planes_in_a_loop(engine):
    rng = np.random.default_rng(9)
    x, y = rng.standard_normal((2, 5, 29, 29)).astype(np.float32)
    out = np.zeros_like(x)
    accumulated[(1, )](x, y, out, 29, 5, 32)
    across = x.astype(np.float64).transpose(0, 2, 1)
    np.testing.assert_allclose(out, (across * y).cumsum(0) + across, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("arch", ["x86-64-v4", "avx2"])
def test_no_element_is_read_by_itself(arch):
    x = np.zeros((64, 64), np.float32)
    text = symmetric[(2, 2)](x, np.zeros_like(x), 64, 0, 1, 32, 32, arch=arch).asm["llir"]
    assert "dn.transpose.4.32x32" in text and "masked.gather" not in text
