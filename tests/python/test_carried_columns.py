"""Blocks that loops carry and combine with what lies along another dimension than their last, as in sums of columns:
against NumPy in float64, in every order of the dimensions."""

import numpy as np
import pytest
import triton
import triton.language as tl


@triton.jit
def sums(x_ptr, out_ptr, columns, rows, stride, first, COLUMNS: tl.constexpr, ROWS: tl.constexpr):
    """The sum of each column, in tiles whose first dimension runs along a row of memory."""
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)[:, None]
    total = tl.full([COLUMNS, ROWS], first, tl.float32)
    for start in range(0, rows, ROWS):
        row = start + tl.arange(0, ROWS)[None, :]
        mask = (column < columns) & (row < rows)
        x = tl.load(x_ptr + row * stride + column, mask=mask, other=0).to(tl.float32)
        total = tl.where(mask, total + x, total)
    tl.store(out_ptr + column, tl.sum(total, 1)[:, None], mask=column < columns)


@triton.jit
def moments(x_ptr, mean_ptr, spread_ptr, last_ptr, columns, rows, COLUMNS: tl.constexpr, ROWS: tl.constexpr):
    """Means and variances of columns in one pass, and what the lanes have at its end."""
    column = tl.arange(0, COLUMNS)[:, None]
    mean = tl.zeros([COLUMNS, ROWS], tl.float32)
    spread = tl.zeros([COLUMNS, ROWS], tl.float32)
    count = tl.zeros([COLUMNS, ROWS], tl.float32)
    for start in range(0, rows, ROWS):
        row = start + tl.arange(0, ROWS)[None, :]
        mask = (column < columns) & (row < rows)
        x = tl.load(x_ptr + row * columns + column, mask=mask, other=0)
        more = count + 1
        step = x - mean
        next_mean = mean + step / more
        spread = tl.where(mask, spread + step * (x - next_mean), spread)
        mean = tl.where(mask, next_mean, mean)
        count = tl.where(mask, more, count)
    all = tl.sum(count, 1)
    whole = tl.sum(mean * count, 1) / all
    apart = tl.sum(spread + count * (mean - whole[:, None]) * (mean - whole[:, None]), 1)
    tl.store(mean_ptr + column, whole[:, None], mask=column < columns)
    tl.store(spread_ptr + column, (apart / all)[:, None], mask=column < columns)
    tl.store(last_ptr + column * ROWS + tl.arange(0, ROWS)[None, :], count)


@triton.jit
def exchanged(x_ptr, out_ptr, rows, COLUMNS: tl.constexpr, ROWS: tl.constexpr):
    """Two blocks of which each becomes the other one, in a loop within a loop."""
    column = tl.arange(0, COLUMNS)[:, None]
    one = tl.zeros([COLUMNS, ROWS], tl.float32)
    other = tl.full([COLUMNS, ROWS], 1.0, tl.float32)
    for start in range(0, rows, 2 * ROWS):
        for half in range(2):
            row = start + half * ROWS + tl.arange(0, ROWS)[None, :]
            x = tl.load(x_ptr + row * COLUMNS + column)
            one, other = other - x, one * 0.5 + x
    at = column * ROWS + tl.arange(0, ROWS)[None, :]
    tl.store(out_ptr + at, one)
    tl.store(out_ptr + COLUMNS * ROWS + at, other)


@triton.jit
def greatest(x_ptr, out_ptr, place_ptr, planes, rows, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    """The greatest number of each plane and where it is, in blocks of three dimensions."""
    a, b, c = tl.arange(0, A)[:, None, None], tl.arange(0, B)[None, :, None], tl.arange(0, C)[None, None, :]
    best = tl.full([A, B, C], -float("inf"), tl.float32)
    place = tl.full([A, B, C], -1, tl.int32)
    for start in range(0, rows, C):
        row = start + c
        x = tl.load(x_ptr + (row * A + a) * B + b, mask=(row < rows) & (a < planes), other=-float("inf"))
        place = tl.where(x > best, row, place)
        best = tl.maximum(best, x, propagate_nan=tl.PropagateNan.ALL)
    tl.store(out_ptr + tl.arange(0, A)[:, None] * B + tl.arange(0, B)[None, :], tl.max(best, 2))
    tl.store(place_ptr + tl.arange(0, A)[:, None] * B + tl.arange(0, B)[None, :], tl.max(place, 2))


ENGINES = ["cpu", "interpreter", "sm_90", "gfx942"]
ARCHES = [None, "avx2", "x86-64"]


def options(arch):
    return {} if arch is None else {"arch": arch}


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("shape", [(64, 64), (64, 8), (8, 512), (256, 1), (4, 16), (2, 64), (1, 128), (32, 32)])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8])
def test_sums_of_columns(shape, dtype, arch):
    rng = np.random.default_rng([*shape, np.dtype(dtype).num])
    columns, rows, stride = 77, 301, 83
    x = np.zeros((rows, stride), dtype)
    x[:, :columns] = rng.integers(-9, 9, (rows, columns)) if dtype is np.int8 else rng.standard_normal((rows, columns))
    out = np.full(columns, np.nan, np.float32)
    grid = (triton.cdiv(columns, shape[0]), )
    sums[grid](x, out, columns, rows, stride, 2.5, *shape, **options(arch))
    want = x[:, :columns].astype(np.float64).sum(0) + 2.5 * shape[1]
    np.testing.assert_allclose(out, want, rtol=1e-5, atol=1e-4)
    sums[grid](x, out, columns, 0, stride, 2.5, *shape, **options(arch))
    np.testing.assert_array_equal(out, np.float32(2.5 * shape[1]))


def test_a_number_that_is_none_stays_in_its_column():
    x = np.ones((100, 64), np.float32)
    x[7, 3], x[50, 9] = np.nan, np.inf
    out = np.zeros(64, np.float32)
    sums[(1, )](x, out, 64, 100, 64, 0.0, 64, 32)
    assert np.isnan(out[3]) and out[9] == np.inf
    np.testing.assert_array_equal(np.delete(out, [3, 9]), 100)


def test_engines_agree(engine):
    x = np.random.default_rng(8).standard_normal((45, 59)).astype(np.float32)
    wide = x.astype(np.float64)
    out, (mean, spread), last = np.zeros(59, np.float32), np.zeros((2, 59), np.float32), np.zeros((64, 8), np.float32)
    sums[(2, )](x, out, 59, 45, 59, 0.5, 32, 16)
    np.testing.assert_allclose(out, wide.sum(0) + 8, rtol=1e-5, atol=1e-5)
    moments[(1, )](x, mean, spread, last, 59, 45, 64, 8)
    np.testing.assert_allclose(mean, wide.mean(0), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(spread, wide.var(0), rtol=1e-4)


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("shape", [(64, 16), (16, 64), (128, 2)])
def test_several_blocks_are_carried(shape, arch):
    rng = np.random.default_rng(shape[0])
    columns, rows = shape[0] - 5, 203
    x = (rng.standard_normal((rows, columns)) + 3).astype(np.float32)
    mean, spread = np.full((2, columns), np.nan, np.float32)
    last = np.full(shape, np.nan, np.float32)
    moments[(1, )](x, mean, spread, last, columns, rows, *shape, **options(arch))
    wide = x.astype(np.float64)
    np.testing.assert_allclose(mean, wide.mean(0), rtol=1e-5)
    np.testing.assert_allclose(spread, wide.var(0), rtol=1e-4)
    counts = [len(range(first, rows, shape[1])) for first in range(shape[1])]
    np.testing.assert_array_equal(last[:columns], np.tile(counts, (columns, 1)))
    np.testing.assert_array_equal(last[columns:], 0)


@pytest.mark.parametrize("arch", ARCHES)
def test_blocks_that_change_places(arch):
    x = np.random.default_rng(5).standard_normal((96, 32)).astype(np.float32)
    out = np.full((2, 32, 8), np.nan, np.float32)
    exchanged[(1, )](x, out, 96, 32, 8, **options(arch))
    one, other = np.zeros((32, 8)), np.ones((32, 8))
    for part in x.astype(np.float64).reshape(-1, 8, 32):
        one, other = other - part.T, one * 0.5 + part.T
    np.testing.assert_allclose(out, [one, other], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("arch", ARCHES)
def test_blocks_of_three_dimensions(arch):
    x = np.random.default_rng(6).standard_normal((43, 4, 32)).astype(np.float32)
    x[11, 2, 7] = np.nan
    out, place = np.full((4, 32), np.nan, np.float32), np.full((4, 32), -9, np.int32)
    greatest[(1, )](x, out, place, 3, 43, 4, 32, 8, **options(arch))
    # A lane with NaN keeps it, and the reduction of all lanes takes no NaN.
    lanes = np.array([x[lane::8, :3].max(0) for lane in range(8)])
    np.testing.assert_array_equal(out[:3], np.nanmax(lanes, 0))
    np.testing.assert_array_equal(out[3], -np.inf)
    assert (place[3] == -1).all()
    firsts = np.array([lane + 8 * x[lane::8, :3].argmax(0) for lane in range(8)]).max(0)
    whole = ~np.isnan(lanes).any(0)
    np.testing.assert_array_equal(place[:3][whole], firsts[whole])


def test_no_element_is_read_by_itself():
    x, out = np.zeros((64, 64), np.float32), np.zeros(64, np.float32)
    kernel = sums[(1, )](x, out, 64, 64, 64, 0.0, 64, 64, arch="x86-64-v4")
    assert "extractelement <16 x float>" not in kernel.asm["llir"]
    assert "<16 x float>" in kernel.asm["llir"]
