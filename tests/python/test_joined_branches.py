"""What branches and loops hand on: steps that both branches end in, and narrow elements that travel in words."""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl

ENGINES = ["cpu", "interpreter", "sm_80", "sm_90", "gfx942"]


@triton.jit
def chosen(x_ptr, y_ptr, flags_ptr, out_ptr, raw_ptr, n, N: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, N)
    at = row * n + i
    if tl.load(flags_ptr + row) > 0:
        raw = tl.load(x_ptr + at, i < n, 1)
        value = raw.to(tl.float32) * 3
        shift = tl.load(x_ptr + row * n).to(tl.float32) + 1
        unused = value + 5
    else:
        raw = tl.load(y_ptr + at, i < n, 2)
        value = raw.to(tl.float32) * 3
        shift = tl.load(y_ptr + row * n).to(tl.float32) + 1
        unused = value + 7
    tl.store(out_ptr + at, value + shift, i < n)
    tl.store(raw_ptr + at, raw, i < n)


@triton.jit
def delayed(x_ptr, out_ptr, last_ptr, rows, n, N: tl.constexpr):
    """Sums what the iteration before loaded: the block that is carried is as narrow as what is loaded."""
    i = tl.arange(0, N)
    sums = tl.zeros((N, ), tl.float32)
    ahead = tl.load(x_ptr + i, i < n, 0)
    for row in range(1, rows):
        sums += ahead.to(tl.float32)
        ahead = tl.load(x_ptr + row * n + i, i < n, 0)
    tl.store(out_ptr + i, sums, i < n)
    tl.store(last_ptr + i, ahead, i < n)


def numbers(rng, dtype, *shape):
    if dtype.is_floating_point:
        values = torch.from_numpy(rng.standard_normal(shape).astype(np.float32)).to(dtype)
        values.view(-1)[:2] = torch.tensor([float("inf"), float("nan")]).to(dtype)
        return values
    info = torch.iinfo(dtype)
    return torch.from_numpy(rng.integers(info.min, info.max, shape, endpoint=True)).to(dtype)


TYPES = [torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int16, torch.float32]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n, block", [(64, 64), (193, 256), (1021, 1024)])
def test_branches(engine, rng, dtype, n, block):
    rows = 4
    x, y = numbers(rng, dtype, rows, n), numbers(rng, dtype, rows, n)
    flags = torch.tensor([1, 0, 0, 1], dtype=torch.int32)
    out, raw = torch.full((rows, n), 777.0), torch.full((rows, n), 77).to(dtype)
    chosen[(rows, )](x, y, flags, out, raw, n, block)
    expected = torch.where(flags[:, None] > 0, x, y)
    assert torch.equal(raw.view(torch.uint8), expected.view(torch.uint8))
    wide = expected.double()
    expected = wide * 3 + (wide[:, :1] + 1)
    size = wide.abs() * 3 + wide[:, :1].abs() + 1
    finite = torch.isfinite(expected)
    assert torch.equal(torch.isfinite(out), finite)
    assert ((out.double() - expected)[finite].abs() <= 4e-7 * size[finite]).all()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n, block", [(64, 64), (193, 256), (1021, 1024)])
def test_loops(engine, rng, dtype, n, block):
    x = numbers(rng, dtype, 6, n)
    out, last = torch.full((n, ), 777.0), torch.full((n, ), 77).to(dtype)
    delayed[(1, )](x, out, last, 6, n, block)
    assert torch.equal(last.view(torch.uint8), x[-1].view(torch.uint8))
    expected, size = x[:-1].double().sum(0), x[:-1].double().abs().sum(0)
    finite = torch.isfinite(expected)
    assert torch.equal(torch.isfinite(out), finite)
    assert ((out.double() - expected)[finite].abs() <= 4e-7 * size[finite]).all()
