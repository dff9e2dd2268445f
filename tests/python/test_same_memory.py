"""Kernels whose output is their input: what they read in other places than they write is what was there before."""

import numpy as np
import pytest

import deuteron as triton
import deuteron.language as tl


@triton.jit
def rotate(x_ptr, out_ptr, ROWS: tl.constexpr, COLS: tl.constexpr):
    rows, cols = tl.arange(0, ROWS)[:, None], tl.arange(0, COLS)[None, :]
    x = tl.load(x_ptr + rows * COLS + cols)
    turned = tl.load(x_ptr + rows * COLS + (cols + COLS // 2) % COLS)
    tl.store(out_ptr + rows * COLS + cols, x + 2 * turned)


@triton.jit
def double(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out_ptr + at, tl.load(x_ptr + at) * 2)


@pytest.mark.parametrize("interpret", [False, True])
def test_rotation_in_place(arrays, rng, interpret):
    values = rng.standard_normal((64, 64)).astype(np.float32)
    expected = values + 2 * np.roll(values, -32, axis=1)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.interpret = interpret
        for _ in range(2):
            x, out = arrays.make(values), arrays.make(np.zeros_like(values))
            rotate[(1, )](x, out, ROWS=64, COLS=64)
            assert np.array_equal(arrays.numpy(out), expected)
            rotate[(1, )](x, x, ROWS=64, COLS=64)
            assert np.array_equal(arrays.numpy(x), expected)


def test_a_launch_looks_only_where_it_matters():
    x = np.ones(64, np.float32)
    assert double[(1, )](x, x, N=64).metadata.launch_guards == "" and (x == 2).all()
    kernel = rotate[(1, )](np.zeros((4, 16), np.float32), np.zeros((4, 16), np.float32), ROWS=4, COLS=16)
    assert kernel.metadata.launch_guards == "1 | %0 0 apart %1 0"
