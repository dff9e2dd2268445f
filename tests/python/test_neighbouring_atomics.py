"""Atomic sums at neighbouring addresses: whole groups and parts of them, aligned or not, by many programs at once."""

import pytest
import torch

import deuteron as triton
import deuteron.language as tl

ENGINES = ["cpu", "avx2", "x86-64", "interpreter"]
TYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64]


@triton.jit
def added(x_ptr, y_ptr, offset, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * n + at, mask=at < n, other=0)
    tl.atomic_add(y_ptr + offset + at, x, mask=at < n, sem="relaxed")


@triton.jit
def added_where(x_ptr, y_ptr, where_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + at)
    tl.atomic_add(y_ptr + at, x, mask=tl.load(where_ptr + at) != 0)


@triton.jit
def added_tile(x_ptr, y_ptr, stride, R: tl.constexpr, C: tl.constexpr):
    at = tl.arange(0, R)[:, None] * stride + tl.arange(0, C)[None, :]
    tl.atomic_add(y_ptr + at, tl.load(x_ptr + tl.program_id(0) * R * stride + at))


def on(engine, kernel, grid, *arguments):
    if engine == "interpreter":
        return triton.jit(interpret=True)(kernel.fn)[grid](*arguments)
    return triton.jit(interpret=False)(kernel.fn)[grid](*arguments, arch="" if engine == "cpu" else engine)


def numbers(dtype, programs, n):
    """Small whole numbers: sums are exact in any order."""
    return torch.randint(-1, 2, (programs, n), generator=torch.Generator().manual_seed(n)).to(dtype)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("n, block, offset", [(64, 64, 0), (64, 64, 1), (61, 64, 0), (37, 128, 3), (2, 2, 0), (5, 8, 4)])
def test_sums(engine, dtype, n, block, offset):
    programs = 50
    x = numbers(dtype, programs, n)
    y = torch.zeros(offset + n + 16, dtype=dtype)
    on(engine, added, (programs, ), x, y, offset, n, block)
    wanted = torch.zeros_like(y)
    wanted[offset:offset + n] = x.double().sum(0).to(dtype)
    assert torch.equal(y, wanted)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_lanes_that_are_left_out(engine, dtype):
    x, where = numbers(dtype, 20, 64), numbers(torch.int32, 1, 64)[0]
    where[16:24] = 1
    y = torch.zeros(64, dtype=dtype)
    on(engine, added_where, (20, ), x, y, where, 64)
    assert torch.equal(y, (x.double().sum(0) * (where != 0)).to(dtype))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("stride", [64, 65])
def test_tiles(engine, stride):
    x = numbers(torch.float32, 30, 8 * stride)
    y = torch.zeros(8 * stride)
    on(engine, added_tile, (30, ), x, y, stride, 8, 32)
    wanted = x.sum(0).reshape(8, stride)
    wanted[:, 32:] = 0
    assert torch.equal(y.reshape(8, stride), wanted)


def test_many_programs_at_once():
    x = numbers(torch.float32, 20000, 64)
    y = torch.zeros(64)
    on("cpu", added, (20000, ), x, y, 0, 64, 64)
    assert torch.equal(y, x.sum(0))


def test_sixteen_bytes_are_exchanged():
    kernel = triton.jit(interpret=False)(added.fn).warmup(torch.float32, torch.float32, 0, 64, 64, grid=(1, ), arch="avx512")
    assert "cmpxchg16b" in kernel.asm["asm"]
