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


@triton.jit
def combine_in_window(x_ptr, rows_ptr, all_ptr, first, last, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row, column = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    x = tl.load(x_ptr + row[:, None] * COLUMNS + column[None, :])
    inside = (column[None, :] >= first) & (column[None, :] < last)
    tl.store(rows_ptr + row, tl.max(tl.where(inside, x, float("-inf")), axis=1))
    tl.store(rows_ptr + ROWS + row, tl.max(tl.where(column[None, :] > first - 1, x, -9.0), axis=1))
    tl.store(rows_ptr + 2 * ROWS + row, tl.sum(tl.where(column[None, :] >= first, x, 0.0), axis=1))
    one = tl.load(x_ptr + column)
    tl.store(all_ptr, tl.min(tl.where(column >= first, one, float("inf"))))
    tl.store(all_ptr + 1, tl.sum(tl.load(x_ptr + column, mask=(column >= first) & (column < last), other=0.0)))
    tl.store(all_ptr + 2, tl.sum(tl.where(column < last, one, 0.5) + tl.where(column >= first, one, 0.25)))


@pytest.mark.parametrize("first,last", [(0, 16), (3, 7), (15, 16), (8, 3), (-2, 5), (3, 100), (40, 50), (100, 100), (-9, -3)])
@pytest.mark.parametrize("columns", [16, 64, 256])
def test_masks_that_begin_late(first, last, columns):
    x = np.random.default_rng(abs(first * 1000) + abs(last)).standard_normal((8, columns)).astype(np.float32)
    rows, whole = np.full((3, 8), np.nan, np.float32), np.full(3, np.nan, np.float32)
    combine_in_window[(1, )](x, rows, whole, first, last, ROWS=8, COLUMNS=columns)
    column = np.arange(columns)
    late = column >= first
    inside = late & (column < last)
    np.testing.assert_array_equal(rows[0], np.where(inside, x, -np.inf).max(axis=1))
    np.testing.assert_array_equal(rows[1], np.where(late, x, np.float32(-9)).max(axis=1))
    np.testing.assert_allclose(rows[2], np.where(late, x, 0).sum(axis=1, dtype=np.float64), rtol=1e-5, atol=1e-5)
    sums = np.where(column < last, x[0], 0.5) + np.where(late, x[0], 0.25)
    expected = [np.where(late, x[0], np.inf).min(), np.where(inside, x[0], 0).sum(dtype=np.float64),
                sums.sum(dtype=np.float64)]
    np.testing.assert_allclose(whole, expected, rtol=1e-5, atol=1e-5)
