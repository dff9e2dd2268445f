"""Masks that end anywhere: lanes of NVIDIA GPUs access a run whole where its last element is there, and its parts elsewhere."""

import re

import pytest
import torch

import deuteron as triton
import deuteron.language as tl
from deuteron.backends.compiler import GPUTarget
from deuteron.compiler import ASTSource

ENGINES = ["cpu", "interpreter", "sm_80", "sm_90", "gfx942"]
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int8, torch.int16, torch.int64]


@triton.jit(do_not_specialize=["n"])
def flat(x, out, n, WAY: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if WAY == "less":
        mask = i < n
    elif WAY == "greater":
        mask = n > i
    elif WAY == "at most":
        mask = i <= n - 1
    elif WAY == "wide":
        i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        mask = i < n
    elif WAY == "both":
        mask = (i < n) & (i < 4 * n) & (i >= 0)
    elif WAY == "either":
        mask = (i < n) | (i < n // 2)
    else:
        # From a number on: true behind false.
        mask = (i >= 3) & (i < n)
    tl.store(out + i, tl.load(x + i, mask=mask, other=7) + 1, mask=mask)


def numbers(rng, dtype, *shape):
    return torch.from_numpy(rng.integers(-50, 50, shape)).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("way", ["less", "greater", "at most", "wide", "both", "either", "from"])
def test_vectors_end_anywhere(rng, engine, dtype, way):
    for n in [0, 1, int(rng.integers(2, 16)), int(rng.integers(16, 700)), 512, 509]:
        x, out = numbers(rng, dtype, 1024), numbers(rng, dtype, 1024)
        expected = out.clone()
        first = 3 if way == "from" else 0
        expected[first:n] = x[first:n] + 1
        flat[(3, )](x, out, n, way, 256, num_warps=int(rng.choice([1, 2, 4])))
        assert torch.equal(out, expected), (n, (out != expected).nonzero().flatten()[:8])


@triton.jit(do_not_specialize=["rows", "columns"])
def matrix(x, out, rows, columns, stride, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, N)
    at = i[:, None] * stride + j[None, :]
    mask = (i < rows)[:, None] & (j < columns)[None, :]
    block = tl.load(x + at, mask=mask, other=float("-inf"))
    best = tl.max(block, 1)
    tl.store(out + at, block - best[:, None], mask=mask)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_rows_end_anywhere(rng, engine, dtype):
    for _ in range(4):
        rows, columns = int(rng.integers(1, 17)), int(rng.integers(1, 65))
        x, out = numbers(rng, dtype, 16, 64), torch.full((16, 64), float("nan"), dtype=dtype)
        matrix[(1, )](x, out, rows, columns, 64, 16, 64)
        part = x[:rows, :columns]
        assert torch.equal(out[:rows, :columns], part - part.max(1, keepdim=True).values)
        out[:rows, :columns] = float("nan")
        assert out.isnan().all()


@triton.jit(do_not_specialize=["first", "n"])
def unsigned(x, out, first, n, BLOCK: tl.constexpr):
    j = tl.arange(0, BLOCK)
    i = first.to(tl.uint32) + j.to(tl.uint32)
    mask = i < n.to(tl.uint32)
    tl.store(out + j, tl.load(x + j, mask=mask, other=-1), mask=mask)


def test_unsigned_numbers_run_through_zero(rng, engine):
    """Behind the largest number comes zero: true behind false."""
    x, out = numbers(rng, torch.int32, 128), torch.full((128, ), 99, dtype=torch.int32)
    first, n = 2**32 - 13, 40
    unsigned[(1, )](x, out, first, n, 128, num_warps=1)
    there = (torch.arange(128) + first) % 2**32 < n
    assert torch.equal(out, torch.where(there, x, 99))


def test_runs_are_accessed_whole():
    attributes = {(index, ): [["tt.divisibility", 16]] for index in range(2)}
    signature = {"x": "*bf16", "out": "*bf16", "n": "i32", "WAY": "constexpr", "BLOCK": "constexpr"}

    def widths(way):
        source = ASTSource(fn=flat, signature=signature, constexprs={(3, ): way, (4, ): 1024}, attrs=attributes)
        text = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"]
        return {what: set(re.findall(rf"{what}\.global\.(\S+)", text)) for what in ["ld", "st"]}

    for way in ["less", "greater", "wide", "both"]:
        assert widths(way) == {"ld": {"v4.b32", "b16"}, "st": {"v4.b32", "b16"}}, way
    assert widths("from") == {"ld": {"b16"}, "st": {"b16"}}
