"""Matrices that are loaded along rows and stored along columns, or the other way around: kept in between, not stored one by one."""

import pytest
import torch

import deuteron as triton
import deuteron.language as tl

ENGINES = ["cpu", "avx2", "interpreter"]
TYPES = [torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.int64, torch.bool]


@triton.jit
def turned(x_ptr, y_ptr, rows, columns, R: tl.constexpr, C: tl.constexpr, BY_COLUMNS: tl.constexpr):
    r = (tl.program_id(0) * R + tl.arange(0, R))[:, None]
    c = (tl.program_id(1) * C + tl.arange(0, C))[None, :]
    mask = (r < rows) & (c < columns)
    if BY_COLUMNS:
        x = tl.load(x_ptr + c * rows + r, mask=mask)
        tl.store(y_ptr + r * columns + c, x, mask=mask)
    else:
        x = tl.load(x_ptr + r * columns + c, mask=mask)
        tl.store(y_ptr + c * rows + r, x, mask=mask)


@triton.jit
def sums_turned(x_ptr, z_ptr, w_ptr, y_ptr, rows, columns, R: tl.constexpr, C: tl.constexpr):
    r = (tl.program_id(0) * R + tl.arange(0, R))[:, None]
    c = (tl.program_id(1) * C + tl.arange(0, C))[None, :]
    x = tl.load(x_ptr + r * columns + c, mask=(r < rows) & (c < columns), other=3.0)
    z = tl.load(z_ptr + r * columns + c, mask=(r < rows) & (c < columns), other=0.0)
    w = tl.load(w_ptr + r, mask=r < rows, other=0.0)
    tl.store(y_ptr + c * rows + r, (2 * x + z * w).to(tl.float16), mask=(r < rows) & (c < columns))


@triton.jit
def turned_in_place(x_ptr, N: tl.constexpr):
    r, c = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    tl.store(x_ptr + c * N + r, tl.load(x_ptr + r * N + c))


@triton.jit
def stored_twice(x_ptr, y_ptr, z_ptr, N: tl.constexpr):
    r, c = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + r * N + c)
    tl.store(z_ptr + r * N + c, x + 1)
    tl.store(y_ptr + c * N + r, x)
    tl.store(x_ptr + r * N + c, x - 1)


def on(engine, kernel, grid, *arguments, **options):
    if engine == "interpreter":
        return triton.jit(interpret=True)(kernel.fn)[grid](*arguments, **options)
    return triton.jit(interpret=False)(kernel.fn)[grid](*arguments, arch="" if engine == "cpu" else engine, **options)


def numbers(dtype, *shape):
    generator = torch.Generator().manual_seed(shape[0])
    return torch.randint(0, 2 if dtype == torch.bool else 100, shape, generator=generator).to(dtype)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("rows, columns, tile", [(64, 64, (32, 16)), (45, 70, (16, 32)), (9, 130, (8, 64)), (33, 5, (4, 8))])
def test_the_other_way_around(engine, dtype, by_columns, rows, columns, tile):
    x = numbers(dtype, *((columns, rows) if by_columns else (rows, columns)))
    y = torch.zeros(x.shape[1], x.shape[0], dtype=dtype)
    grid = (triton.cdiv(rows, tile[0]), triton.cdiv(columns, tile[1]))
    on(engine, turned, grid, x, y, rows, columns, *tile, by_columns)
    assert torch.equal(y, x.T)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("rows, columns", [(64, 32), (50, 37)])
def test_what_is_computed_in_between(engine, rows, columns):
    x, z, w = (numbers(torch.float32, *shape) for shape in ((rows, columns), (rows, columns), (rows, )))
    y = torch.zeros(columns, rows, dtype=torch.float16)
    on(engine, sums_turned, (triton.cdiv(rows, 16), triton.cdiv(columns, 16)), x, z, w, y, rows, columns, 16, 16)
    assert torch.equal(y, (2 * x + z * w[:, None]).half().T)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", [8, 32])
def test_in_place(engine, size):
    x = numbers(torch.float32, size, size)
    wanted = x.T.clone()
    on(engine, turned_in_place, (1, ), x, size)
    assert torch.equal(x, wanted)


@pytest.mark.parametrize("engine", ENGINES)
def test_beside_other_stores(engine):
    x = numbers(torch.float32, 32, 32)
    before, y, z = x.clone(), torch.zeros(32, 32), torch.zeros(32, 32)
    on(engine, stored_twice, (1, ), x, y, z, 32)
    assert torch.equal(y, before.T) and torch.equal(z, before + 1) and torch.equal(x, before - 1)


def test_nothing_is_scattered():
    kernel = triton.jit(interpret=False)(turned.fn).warmup(torch.float32, torch.float32, 100, 200, 32, 32, False, grid=(1, ))
    assert "scatter" not in kernel.asm["llir"] and "gather" not in kernel.asm["llir"]
