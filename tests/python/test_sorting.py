"""Sorting with positions: `tl.argsort`, `return_indices` of `tl.sort` and `tl.topk`, on every engine."""

import numpy as np
import pytest

import deuteron as triton
import deuteron.language as tl

ENGINES = ["cpu", "interpreter", "sm_90"]


@triton.jit
def sorting(x, values, indices, argsorted, top, where, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, DESCENDING: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)
    block = tl.load(x + at)
    in_order, positions = tl.sort(block, descending=DESCENDING, return_indices=True)
    tl.store(values + at, in_order)
    tl.store(indices + at, positions)
    tl.store(argsorted + at, block.argsort(descending=DESCENDING))
    first, places = tl.topk(block, K, descending=DESCENDING, return_indices=True)
    at = tl.arange(0, M)[:, None] * K + tl.arange(0, K)
    tl.store(top + at, first)
    tl.store(where + at, places)


def expected_order(x, descending):
    """Positions in order, equal elements as they were, NaN as the largest."""
    rank = np.where(np.isnan(x), np.inf, x) if x.dtype.kind == "f" else x
    nan = np.isnan(x) if x.dtype.kind == "f" else np.zeros(x.shape, bool)
    sign = -1 if descending else 1
    keys = [(row[1], row[0]) for row in zip(sign * rank.astype(np.float64), sign * nan.astype(np.int8))]
    return np.stack([np.lexsort((row, nans)) for nans, row in keys])


@pytest.mark.parametrize("dtype", ["float32", "int32", "int8", "float16", "int64"])
@pytest.mark.parametrize("m, n, k", [(1, 1, 1), (2, 16, 4), (4, 64, 64)])
@pytest.mark.parametrize("descending", [False, True])
def test_positions_of_sorted_elements(engine, dtype, m, n, k, descending):
    random = np.random.default_rng()
    # Few values, so that many are equal.
    x = random.integers(-5, 6, (m, n)).astype(dtype)
    if dtype.startswith("float") and n > 4:
        x[random.integers(0, m, 3), random.integers(0, n, 3)] = [np.nan, np.inf, -np.inf]
        x[0, 1], x[0, 3] = np.nan, np.nan
    values, top = np.full((m, n), 77, dtype), np.full((m, k), 77, dtype)
    indices, argsorted, where = np.full((m, n), -1, np.int32), np.full((m, n), -1, np.int32), np.full((m, k), -1, np.int32)
    sorting[(1, )](x, values, indices, argsorted, top, where, m, n, k, descending)
    order = expected_order(x, descending)
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(argsorted, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))
    np.testing.assert_array_equal(where, order[:, :k])
    np.testing.assert_array_equal(top, np.take_along_axis(x, order, 1)[:, :k])
