"""Dots in loops whose sums begin again while the old ones are still needed: what must be copied is copied before the fence."""

import pytest
import torch

import deuteron as triton
import deuteron.language as tl

ENGINES = ["cpu", "interpreter", "sm_80", "sm_90", "gfx942"]


@triton.jit
def tiles(a_ptr, b_ptr, out_ptr, n, ROWS: tl.constexpr, STEPS: tl.constexpr, STAGES: tl.constexpr):
    rows, columns, at = tl.arange(0, ROWS), tl.arange(0, 64), tl.arange(0, 64)
    total = tl.zeros((ROWS, 64), tl.float32)
    for both in tl.range(0, n * STEPS, num_stages=STAGES):
        tile, step = both // STEPS, both % STEPS
        a = tl.load(a_ptr + (tile * ROWS + rows[:, None]) * STEPS * 64 + step * 64 + at[None, :])
        b = tl.load(b_ptr + (step * 64 + at[:, None]) * 64 + columns[None, :])
        total = tl.dot(a, b, total)
        following = tl.where(step == STEPS - 1, 0.0, total)
        if step == STEPS - 1:
            tl.store(out_ptr + (tile * ROWS + rows[:, None]) * 64 + columns[None, :], total + tile)
        total = following


@pytest.mark.parametrize("rows, stages", [(64, 1), (128, 2), (128, 3)])
def test_sums_that_begin_again(rng, engine, rows, stages):
    a, b = (torch.from_numpy(rng.integers(-2, 3, shape)).bfloat16() for shape in ((2 * rows, 192), (192, 64)))
    out = torch.full((2 * rows, 64), float("nan"))
    tiles[(1, )](a, b, out, 2, rows, 3, stages)
    wanted = a.float() @ b.float()
    wanted[rows:] += 1
    assert torch.equal(out, wanted)
