"""Block pointers, which the language had before tensor descriptors: on every engine, against NumPy."""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl

ENGINES = ["cpu", "interpreter", "sm_80", "sm_90"]


@triton.jit
def copy_tile(src, dst, M, N, src_rows, src_columns, row, column, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
              PADDING: tl.constexpr, ORDER: tl.constexpr):
    a = tl.make_block_ptr(base=src, shape=(M, N), strides=(src_rows, src_columns), offsets=(row, column),
                          block_shape=(ROWS, COLUMNS), order=ORDER)
    x = tl.load(a, boundary_check=(0, 1), padding_option=PADDING)
    b = tl.make_block_ptr(dst, (ROWS, COLUMNS), (COLUMNS, 1), (0, 0), (ROWS, COLUMNS), (1, 0))
    tl.store(b, x)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("padding", ["zero", "nan"])
@pytest.mark.parametrize("row, column", [(0, 0), (16, 24), (-3, -5), (30, 40), (100, 0)])
def test_tiles_end_where_the_tensor_ends(engine, row, column, padding, transposed, rng):
    m, n, rows, columns = 37, 41, 16, 32
    x = rng.standard_normal((m, n)).astype(np.float32)
    held = np.asfortranarray(x) if transposed else x
    out = np.full((rows, columns), 7, np.float32)
    strides = [stride // 4 for stride in held.strides]
    flat = held.ravel(order="K").copy()
    copy_tile[(1, )](flat, out, m, n, *strides, row, column, rows, columns, padding, (0, 1) if transposed else (1, 0))
    expected = np.full((rows, columns), np.nan if padding == "nan" else 0, np.float32)
    for i in range(rows):
        for j in range(columns):
            if 0 <= row + i < m and 0 <= column + j < n:
                expected[i, j] = x[row + i, column + j]
    np.testing.assert_array_equal(out, expected)


@triton.jit
def block_matmul(a, b, c, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows, columns = tl.program_id(0) * BM, tl.program_id(1) * BN
    a_ptr = tl.make_block_ptr(a, (M, K), (am, ak), (rows, 0), (BM, BK), (1, 0))
    b_ptr = tl.make_block_ptr(b, (K, N), (bk, bn), (0, columns), (BK, BN), (1, 0))
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, tl.cdiv(K, BK)):
        x = tl.load(a_ptr, boundary_check=(0, 1), padding_option="zero")
        y = tl.load(b_ptr, boundary_check=(0, 1), padding_option="zero")
        acc = tl.dot(x, y, acc, input_precision="ieee")
        a_ptr = tl.advance(a_ptr, (0, BK))
        b_ptr = b_ptr.advance((BK, 0))
    c_ptr = tl.make_block_ptr(c, (M, N), (N, 1), (rows, columns), (BM, BN), (1, 0))
    tl.store(c_ptr, acc.to(c_ptr.dtype.element_ty), boundary_check=(0, 1))


@pytest.mark.parametrize("m, n, k", [(32, 32, 64), (33, 47, 71)])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_matmul(engine, m, n, k, dtype, rng):
    a = rng.standard_normal((m, k)).astype(dtype)
    b = rng.standard_normal((k, n)).astype(dtype)
    c = np.zeros((m, n), dtype)
    block_matmul[(triton.cdiv(m, 32), triton.cdiv(n, 32))](a, b, c, m, n, k, k, 1, n, 1, BM=32, BN=32, BK=32)
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(c, wanted, rtol=2e-3 if dtype == "float16" else 1e-5, atol=2e-2 if dtype == "float16" else 1e-4)


@triton.jit
def chosen(x, y, out, n, which, BLOCK: tl.constexpr):
    p = tl.make_block_ptr(x, (n, ), (1, ), (0, ), (BLOCK, ), (0, ))
    if which > 0:
        p = tl.make_block_ptr(y, (n, ), (2, ), (1, ), (BLOCK, ), (0, ))
    total = tl.zeros([BLOCK], tl.int32)
    i = 0
    while i < n:
        total += tl.load(p, boundary_check=(0, ), padding_option="zero")
        p = tl.advance(p, (BLOCK, ))
        i += BLOCK
    tl.store(out + tl.arange(0, BLOCK), total)


@pytest.mark.parametrize("which", [0, 1])
def test_branches_and_while_loops_carry_them(engine, which, rng):
    n, block = 75, 16
    x = rng.integers(-100, 100, n).astype(np.int32)
    y = rng.integers(-100, 100, 2 * n).astype(np.int32)
    out = np.zeros(block, np.int32)
    chosen[(1, )](x, y, out, n, which, BLOCK=block)
    seen = y[2:2 * n:2] if which else x
    padded = np.zeros(-(-n // block) * block, np.int32)
    padded[:len(seen)] = seen
    np.testing.assert_array_equal(out, padded.reshape(-1, block).sum(axis=0))


@triton.jit
def wrong_arguments(x, KIND: tl.constexpr):
    p = tl.make_block_ptr(x, (8, ), (1, ), (0, ), (8, ), (0, ))
    if KIND == 0:
        tl.load(p, mask=tl.arange(0, 8) < 3)
    if KIND == 1:
        tl.load(x + tl.arange(0, 8), boundary_check=(0, ))
    if KIND == 2:
        tl.advance(p, (8, ))
    if KIND == 3:
        tl.load(p, boundary_check=(0, ), padding_option="nan")
    if KIND == 4:
        tl.store(p, tl.arange(0, 4))


@pytest.mark.parametrize("kind, words", [(0, "`mask` cannot"), (1, "`boundary_check` is not supported"),
                                         (2, "The result of tl.advance is not being used"),
                                         (3, "not supported for integer"), (4, "mismatch")])
def test_wrong_arguments_are_refused(kind, words):
    with pytest.raises(triton.CompilationError, match=words):
        wrong_arguments[(1, )](np.zeros(8, np.int32), kind)


@triton.jit
def strided_block(out_ptr, STRIDE: tl.constexpr):
    pointer = tl.make_block_ptr(out_ptr, (1, ), (STRIDE, ), (0, ), (16, ), (0, ))
    tl.store(pointer, tl.full((16, ), 5.0, tl.float32), boundary_check=(0, ))


@pytest.mark.parametrize("emulate", ["", "cuda:90", "hip:gfx942"])
@pytest.mark.parametrize("stride", [2**62, 2**63 - 1, -2**63])
def test_strides_at_the_edge_of_their_type(emulate, stride):
    out = torch.zeros(32)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = emulate
        triton.jit(strided_block.fn)[(1, )](out, stride)
    assert out.tolist() == [5.0] + [0.0] * 31


@triton.jit
def strided_descriptor(out_ptr, STRIDE: tl.constexpr):
    descriptor = tl.make_tensor_descriptor(out_ptr, [4, 16], [STRIDE, 1], [1, 16])
    descriptor.store([0, 0], descriptor.load([0, 0]))


@pytest.mark.parametrize("stride", [2**125, -2**127])
def test_strides_of_descriptors_that_fit_no_type_are_refused(stride):
    with pytest.raises(triton.CompilationError, match="out of range for type int64"):
        triton.jit(strided_descriptor.fn)[(1, )](torch.zeros(64), stride)
