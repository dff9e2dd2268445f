"""Rows that end within what a lane accesses at once: whole runs first, and behind a branch the parts of those that end."""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl
from deuteron.backends.compiler import GPUTarget
from deuteron.compiler import ASTSource

ENGINES = ["cpu", "interpreter", "sm_80", "sm_90", "gfx942"]


@triton.jit
def copied(x_ptr, y_ptr, other, first, n, stride, BLOCK: tl.constexpr):
    """Elements from `first` to `n` of a row; the rest become `other` where they are stored."""
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + at, mask=(at < n) & (at >= first), other=other)
    tl.store(y_ptr + row * stride + at, x, mask=at < n)


@triton.jit
def raised(x_ptr, y_ptr, n, stride, BLOCK: tl.constexpr):
    """The same without `other`, in place, in a loop."""
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    for start in range(0, n, BLOCK):
        place = row * stride + start + at
        x = tl.load(x_ptr + place, mask=start + at < n)
        tl.store(y_ptr + place, x + x, mask=start + at < n)


TYPES = [torch.int8, torch.float16, torch.bfloat16, torch.int32, torch.float32, torch.float64, torch.int64]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("n", [1, 127, 1001, 1016, 2047, 2048])
def test_what_is_behind_the_end_stays(rng, engine, dtype, n):
    stride, rows = 2048, 3
    x = torch.from_numpy(rng.integers(-100, 100, (rows, stride))).to(dtype)
    for first in (0, 5):
        y = torch.full((rows, stride), -77, dtype=dtype)
        copied[(rows, )](x, y, 9, first, n, stride, 2048, num_warps=1)
        assert torch.equal(y[:, :n][:, first:], x[:, :n][:, first:])
        assert (y[:, :n][:, :first] == 9).all() and (y[:, n:] == -77).all()


@pytest.mark.parametrize("dtype", [torch.int8, torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("n", [3, 1021, 1500, 4095])
def test_rows_in_loops(rng, engine, dtype, n):
    stride, rows = 4096, 2
    x = torch.from_numpy(rng.integers(-50, 50, (rows, stride))).to(dtype)
    y = torch.full((rows, stride), -77, dtype=dtype)
    raised[(rows, )](x, y, n, stride, 1024, num_warps=1)
    assert torch.equal(y[:, :n], x[:, :n] * 2) and (y[:, n:] == -77).all()


@triton.jit
def sums_of_columns(x_ptr, y_ptr, rows, columns, stride, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    for start in range(0, rows, ROWS):
        row = start + tl.arange(0, ROWS)
        mask = (row[:, None] < rows) & (at[None, :] < columns)
        total += tl.load(x_ptr + row[:, None] * stride + at[None, :], mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + at, tl.sum(total, 0), mask=at < columns)


@pytest.mark.parametrize("columns, stride", [(64, 64), (61, 64), (61, 61)])
def test_sums_of_columns(rng, engine, columns, stride):
    x = torch.from_numpy(rng.integers(-9, 9, (70, stride))).bfloat16()
    y = torch.full((columns, ), float("nan"))
    sums_of_columns[(triton.cdiv(columns, 16), )](x, y, 70, columns, stride, 32, 16, num_warps=2)
    assert np.array_equal(y.numpy(), x[:, :columns].double().sum(0).numpy())


def ptx(kernel, signature, constants, aligned, **options):
    attrs = {(number, ): [["tt.divisibility", 16]] for number in aligned}
    source = ASTSource(kernel, signature, constants, attrs)
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options).asm["ptx"]


def test_parts_are_behind_a_branch():
    signature = dict.fromkeys(["x_ptr", "y_ptr"], "*bf16") | {"other": "fp32", "first": "i32", "n": "i32", "stride": "i32"}
    text = ptx(copied, signature | {"BLOCK": "constexpr"}, {"BLOCK": 2048}, [0, 1, 5], num_warps=4)
    stores = [line for line in text.splitlines() if "st.global" in line]
    whole = [line for line in stores if ".v4.b32" in line]
    assert len(whole) == 2 and len(stores) == 2 + 2 * 7
    behind = text[text.index(whole[-1]):]
    assert behind.index("bra") < behind.index("st.global.b16"), "parts are stored where a branch leads"


def test_loops_that_only_reduce_may_be_unrolled():
    names = {"rows": "i32", "columns": "i32", "stride": "i32", "ROWS": "constexpr", "COLUMNS": "constexpr"}
    signature = {"x_ptr": "*bf16", "y_ptr": "*fp32"} | names
    text = ptx(sums_of_columns, signature, {"ROWS": 128, "COLUMNS": 16}, [0, 1, 3, 4], num_warps=8)
    assert "nounroll" not in text and ".minnctapersm" in text
    # Loads of single elements, all of which are to be under way at a time.
    text = ptx(sums_of_columns, signature, {"ROWS": 32, "COLUMNS": 64}, [0, 1], num_warps=4)
    assert "nounroll" in text and ".minnctapersm" in text
