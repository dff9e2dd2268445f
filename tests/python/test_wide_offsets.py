"""Offsets that are extended to 64 bits in loops: right on every engine, and one address for what a lane loads."""

import re

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl
from deuteron.backends.compiler import GPUTarget
from deuteron.compiler import ASTSource

ENGINES = ["cpu", "interpreter", "sm_80", "sm_90", "gfx942"]


@triton.jit
def widened(x_ptr, y_ptr, z_ptr, first, N, START: tl.constexpr, STEP: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    for start in range(START, N, STEP):
        at = (start + tl.arange(0, BLOCK)).to(tl.int64)
        inside = (at >= 0) & (at < N)
        x = tl.load(x_ptr + row * N + at + first, inside, 0)
        tl.store(y_ptr + row * N + at + first, x + 1, inside)
        # Past 32 bits: what is extended must not have wrapped around.
        tl.store(z_ptr + row * N + at + first, at * 3000000007 + start, inside)


@pytest.mark.parametrize("start, step", [(0, 256), (-512, 256), (-7, 100), (3, 256)])
@pytest.mark.parametrize("n", [1, 255, 1000])
def test_offsets_and_their_values(rng, engine, start, step, n):
    rows = 2
    x = torch.from_numpy(rng.integers(-2**31, 2**31 - 1, rows * n).astype(np.int32))
    y, z = torch.full((rows * n, ), 7, dtype=torch.int32), torch.full((rows * n, ), 7, dtype=torch.int64)
    widened[(rows, )](x, y, z, 0, n, start, step, 256, num_warps=1)
    y_wanted, z_wanted = np.full((rows, n), 7), np.full((rows, n), 7)
    for first in range(start, n, step):
        at = np.arange(max(first, 0), min(first + 256, n))
        y_wanted[:, at] = x.numpy().reshape(rows, n)[:, at].astype(np.int64) + 1
        z_wanted[:, at] = at * 3000000007 + first
    assert np.array_equal(y.numpy(), y_wanted.reshape(-1)) and np.array_equal(z.numpy(), z_wanted.reshape(-1))


@pytest.mark.parametrize("step, addresses", [(1024, 1), (1000, 8)])
def test_addresses_of_a_lane(step, addresses):
    # Any end: in steps of the block no place wraps around, in others the last ones might.
    types = dict(x_ptr="*i32", y_ptr="*i32", z_ptr="*i64", first="i32", N="i32", START="constexpr", STEP="constexpr", BLOCK="constexpr")
    source = ASTSource(widened, types, {"START": 0, "STEP": step, "BLOCK": 1024})
    ptx = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4}).asm["ptx"]
    loads = re.findall(r"ld\.global\.b32 %r\d+, \[ (%rd\d+)", ptx)
    assert (len(loads), len(set(loads))) == (8, addresses)
