"""The next row is asked for where a row is read again, on the CPU: of the next program, or of the next iteration."""

import numpy as np
import pytest
import triton
import triton.language as tl


@triton.jit
def row_a_program(x_ptr, y_ptr, rows, columns, stride, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + column, mask=column < columns, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * stride + column, e / tl.sum(e, axis=0), mask=column < columns)


@triton.jit
def rows_a_program(x_ptr, y_ptr, rows, columns, stride, BLOCK: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        column = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + column, mask=column < columns, other=-float("inf"))
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(y_ptr + row * stride + column, e / tl.sum(e, axis=0), mask=column < columns)


@triton.jit
def rows_in_parts(x_ptr, y_ptr, rows, columns, stride, BLOCK: tl.constexpr):
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        most = tl.full([BLOCK], -float("inf"), tl.float32)
        for start in range(0, columns, BLOCK):
            column = start + tl.arange(0, BLOCK)
            most = tl.maximum(most, tl.load(x_ptr + row * stride + column, mask=column < columns, other=-float("inf")))
        top, total = tl.max(most, axis=0), tl.zeros([BLOCK], tl.float32)
        for start in range(0, columns, BLOCK):
            column = start + tl.arange(0, BLOCK)
            total += tl.exp(tl.load(x_ptr + row * stride + column, mask=column < columns, other=-float("inf")) - top)
        total = tl.sum(total, axis=0)
        for start in range(0, columns, BLOCK):
            column = start + tl.arange(0, BLOCK)
            e = tl.exp(tl.load(x_ptr + row * stride + column, mask=column < columns) - top)
            tl.store(y_ptr + row * stride + column, e / total, mask=column < columns)


@triton.jit
def one_pass(x_ptr, y_ptr, rows, columns, stride, BLOCK: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        column = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + column, mask=column < columns)
        tl.store(y_ptr + row * stride + column, x * 2, mask=column < columns)


@pytest.mark.parametrize("kernel, programs, block, asks", [
    (row_a_program, 61, 1024, True),
    (rows_a_program, 7, 1024, True),
    (rows_a_program, 1, 1024, True),
    (rows_in_parts, 7, 256, True),
    (one_pass, 7, 1024, False),
])
def test_rows(kernel, programs, block, asks):
    rows, columns, stride = 61, 781, 800
    # Nothing lies behind the last row: what is asked for need not exist.
    x = np.random.default_rng().standard_normal((rows, stride)).astype(np.float32)
    y = np.full((rows, stride), np.nan, np.float32)
    compiled = kernel[(programs, )](x, y, rows, columns, stride, block)
    assert ("call void @llvm.prefetch" in compiled.asm["llir"]) == asks
    wide = x[:, :columns].astype(np.float64)
    powers = np.exp(wide - wide.max(1, keepdims=True))
    wanted = 2 * wide if kernel is one_pass else powers / powers.sum(1, keepdims=True)
    np.testing.assert_allclose(y[:, :columns], wanted, rtol=4e-6)
    assert np.isnan(y[:, columns:]).all()
