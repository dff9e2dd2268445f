"""Masks that hold for whole rows of a block or for none of them: what is left of a block is filled, summed or not stored."""

import numpy as np
import pytest
import triton
import triton.language as tl


@triton.jit
def fill_and_sum(x_ptr, out_ptr, sum_ptr, largest_ptr, rows, stride, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, COLUMNS)
    block = tl.load(x_ptr + row[:, None] * stride + column[None, :], mask=row[:, None] < rows, other=-1.5)
    tl.store(sum_ptr + row, tl.sum(block, axis=1))
    tl.store(largest_ptr + row, tl.max(block, axis=1))
    tl.store(out_ptr + row[:, None] * stride + column[None, :], block * 2, mask=row[:, None] < rows)


@triton.jit
def two_masks(x_ptr, y_ptr, out_ptr, first, second, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.arange(0, ROWS)
    places = row[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    x = tl.load(x_ptr + places, mask=row[:, None] < first, other=float("nan"))
    y = tl.load(y_ptr + places, mask=row[:, None] >= second, other=7.0)
    tl.store(out_ptr + places, tl.where(x == x, x, y), mask=row[:, None] != 3)


@pytest.mark.parametrize("rows", [0, 1, 15, 16, 29])
@pytest.mark.parametrize("columns", [4, 16, 64, 256])
def test_rows_that_are_masked_off(rows, columns):
    rng = np.random.default_rng(rows * 1000 + columns)
    x = rng.standard_normal((32, columns)).astype(np.float32)
    x[rng.random(x.shape) < 0.02] = np.inf
    x[::5, columns // 2] = np.nan
    out = np.full_like(x, np.nan)
    sums, largest = np.full(32, np.nan, np.float32), np.full(32, np.nan, np.float32)
    fill_and_sum[(2, )](x, out, sums, largest, rows, columns, ROWS=16, COLUMNS=columns)
    seen = np.where(np.arange(32)[:, None] < rows, x, np.float32(-1.5))
    np.testing.assert_allclose(sums, seen.sum(axis=1, dtype=np.float64), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(largest, np.fmax.reduce(seen, axis=1))
    np.testing.assert_array_equal(out[:rows], x[:rows] * 2)
    assert np.isnan(out[rows:]).all()


@pytest.mark.parametrize("first,second", [(0, 0), (5, 2), (2, 5), (8, 8), (8, 0)])
def test_rows_under_two_masks(first, second):
    rng = np.random.default_rng(first * 10 + second)
    x, y = rng.standard_normal((2, 8, 128)).astype(np.float32)
    out = np.full_like(x, 42)
    two_masks[(1, )](x, y, out, first, second, ROWS=8, COLUMNS=128)
    row = np.arange(8)[:, None]
    expected = np.where(row < first, x, np.where(row >= second, y, np.float32(7)))
    np.testing.assert_array_equal(out, np.where(row != 3, expected, np.float32(42)))
