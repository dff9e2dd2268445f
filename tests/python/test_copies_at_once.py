"""Loads by descriptors that no loop begins ahead: copies of an iteration that are under way together, and barriers that
stay over the loops around.
"""

import itertools
import re

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl
from deuteron.tools.tensor_descriptor import TensorDescriptor


ENGINES = ["cpu", "interpreter", "sm_80", "sm_90", "gfx942"]


@triton.jit
def places(tile, S: tl.constexpr):
    return (tile * S + tl.arange(0, S))[:, None] * S + tl.arange(0, S)[None, :]


@triton.jit(do_not_specialize=["tiles", "steps"])
def nested(a_desc, b_desc, c_ptr, tiles, steps, S: tl.constexpr):
    """Products of blocks in two loops, `steps` grows by one from tile to tile; what was stored is loaded again."""
    for tile in tl.range(0, tiles, num_stages=1):
        total = tl.zeros((S, S), dtype=tl.float32)
        for step in tl.range(0, steps + tile, num_stages=1):
            x = a_desc.load([tile * S, step * S])
            y = b_desc.load([step * S, 0])
            total = tl.dot(x, y, total)
        # The block of the right matrix is wanted behind a store, and is the same in each tile.
        left = tl.load(c_ptr + places(tile, S)).to(tl.float16)
        tl.store(c_ptr + places(tile, S), total)
        right = b_desc.load([0, 0])
        total = tl.dot(left, right, total)
        tl.store(c_ptr + places(tile, S), total)


@pytest.mark.parametrize("tiles, steps", [(0, 1), (1, 0), (2, 0), (3, 1), (3, 2)])
def test_loops_in_loops(engine, rng, tiles, steps):
    side = 64
    depth = steps + tiles
    a = torch.from_numpy(rng.standard_normal((max(tiles, 1) * side, max(depth, 1) * side)).astype(np.float16))
    b = torch.from_numpy(rng.standard_normal((max(depth, 1) * side, side)).astype(np.float16))
    c = torch.from_numpy(rng.standard_normal((max(tiles, 1) * side, side)).astype(np.float32))
    before = c.clone()
    a_desc, b_desc = (TensorDescriptor.from_tensor(of, [side, side]) for of in (a, b))
    compiled = nested[(1,)](a_desc, b_desc, c, tiles, steps, side)
    for tile in range(tiles):
        rows = slice(tile * side, (tile + 1) * side)
        inner = (steps + tile) * side
        expected = a[rows, :inner].double() @ b[:inner].double() + before[rows].half().double() @ b[:side].double()
        np.testing.assert_allclose(c[rows], expected, atol=2e-2 * max(steps + tile, 1))
    if engine == "sm_90":
        body = compiled.asm["ttgir"]
        assert body.count("ttng.init_barrier") == 2
        assert body.rindex("ttng.init_barrier") < body.index("scf.for")


@triton.jit
def pairs(a_desc, b_desc, c_ptr, N, S: tl.constexpr):
    total = tl.zeros((S, S), dtype=tl.float32)
    for step in tl.range(0, N, num_stages=1):
        x = a_desc.load([0, step * S])
        y = b_desc.load([step * S, 0])
        scores = tl.dot(x, y)
        z = b_desc.load([step * S, S])
        total = tl.dot(scores.to(tl.float16), z, total)
    tl.store(c_ptr + places(0, S), total)


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_a_dot_of_a_dot(engine, rng, count):
    side = 64
    a = torch.from_numpy((rng.standard_normal((side, max(count, 1) * side)) / 8).astype(np.float16))
    b = torch.from_numpy((rng.standard_normal((max(count, 1) * side, 2 * side)) / 8).astype(np.float16))
    c = torch.full((side, side), float("nan"))
    a_desc, b_desc = (TensorDescriptor.from_tensor(of, [side, side]) for of in (a, b))
    compiled = pairs[(1,)](a_desc, b_desc, c, count, side)
    expected = torch.zeros(side, side, dtype=torch.float64)
    for step in range(count):
        at = slice(step * side, (step + 1) * side)
        scores = (a[:, at].double() @ b[at, :side].double()).half().double()
        expected += scores @ b[at, side:].double()
    np.testing.assert_allclose(c, expected, atol=5e-3)
    if engine == "sm_90":
        # Two copies are waited for together; the third begins behind the first dot and has a barrier of its own.
        copies = re.findall(r"async_tma_copy_global_to_local|wait_barrier|warp_group_dot ", compiled.asm["ttgir"])
        copies = [name for name, _ in itertools.groupby(copies)]
        assert copies == 2 * ["async_tma_copy_global_to_local", "wait_barrier", "warp_group_dot "]


@triton.jit
def loaded(a_desc, b_desc, c_ptr, S: tl.constexpr):
    """Two products of blocks of floats, which lanes load to make halves of them."""
    x = a_desc.load([0, 0])
    y = b_desc.load([0, 0])
    z = a_desc.load([0, S])
    w = b_desc.load([S, 0])
    total = tl.dot(x.to(tl.float16), y.to(tl.float16))
    total = tl.dot(z.to(tl.float16), w.to(tl.float16), total)
    tl.store(c_ptr + places(0, S), total)


def test_blocks_that_lanes_load_wait_in_little_memory(engine, rng):
    side = 64
    a = torch.from_numpy(rng.integers(-4, 5, (side, 2 * side)).astype(np.float32))
    b = torch.from_numpy(rng.integers(-4, 5, (2 * side, side)).astype(np.float32))
    c = torch.full((side, side), float("nan"))
    a_desc, b_desc = (TensorDescriptor.from_tensor(of, [side, side]) for of in (a, b))
    compiled = loaded[(1,)](a_desc, b_desc, c, side)
    np.testing.assert_array_equal(c.double(), a.double() @ b.double())
    if engine == "sm_90":
        # Each block takes 16 KB; two are waited for before the third begins, though nobody wants them yet. The others
        # are waited for one by one, as different operations want them.
        copy, wait = "async_tma_copy_global_to_local", "wait_barrier"
        assert re.findall(f"{copy}|{wait}", compiled.asm["ttgir"]) == [copy, copy, wait, copy, copy, wait, wait]
