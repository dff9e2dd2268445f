"""Masked stores of elements that were made narrower, in every engine: nothing is written where the mask is off."""

import numpy as np
import pytest

import deuteron as triton
import deuteron.language as tl

BLOCK = 16
ENGINES = ["cpu", "interpreter", "sm_80", "sm_90", "gfx942"]


@triton.jit
def store_first(to, values, N: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(to + at, tl.load(values + at).to(to.dtype.element_ty), mask=at < N)


@triton.jit
def store_one(to, values, N: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(to + at, tl.load(values + at).to(to.dtype.element_ty), mask=at == N)


@triton.jit
def store_as_bf16(to, values, N, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(values + at).to(tl.bfloat16).to(tl.int16, bitcast=True)
    tl.store(to + at, value, mask=at < N)


@pytest.mark.parametrize("wide, narrow", [("int16", "int8"), ("int32", "uint8"), ("int32", "int16"), ("int64", "int8"), ("int64", "uint16"),
                                          ("int64", "int32"), ("float32", "int8"), ("float64", "float32"), ("float32", "float16")])
@pytest.mark.parametrize("block", [2, 4, 8, BLOCK, 4 * BLOCK])
def test_lanes_that_are_off_keep_their_memory(engine, wide, narrow, block):
    values = np.arange(3, 3 + block).astype(wide)
    for kernel, lanes in ((store_first, lambda n: slice(0, n)), (store_one, lambda n: slice(n, n + 1))):
        for n in (0, 1, 2, block - 1):
            to = np.full(block, 77, narrow)
            wanted = to.copy()
            wanted[lanes(n)] = values[lanes(n)].astype(narrow)
            kernel[(1, )](to, values, n, block)
            np.testing.assert_array_equal(to, wanted, f"{kernel.__name__}, {n}")


@pytest.mark.parametrize("n", [1, 2])
def test_one_column_of_bf16_leaves_the_next_alone(engine, n):
    to = np.full(BLOCK, 77, np.int16)
    store_as_bf16[(1, )](to, np.full(BLOCK, 1.5, np.float32), n, BLOCK)
    assert to.tolist() == [0x3FC0] * n + [77] * (BLOCK - n)
