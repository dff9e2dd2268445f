"""Products of blocks that a list names, as block-sparse kernels have them: each entry says how far it is to the next block, and a hint
that all are multiples of eight. What the last one says is nobody's distance, so that what is copied ahead lies anywhere.
"""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl


ENGINES = ["cpu", "interpreter", "sm_80", "sm_90", "gfx942"]


@triton.jit
def listed(x_ptr, w_ptr, steps_ptr, out_ptr, count, WIDTH: tl.constexpr, B: tl.constexpr):
    r = tl.arange(0, B)
    steps_ptr += tl.program_id(0) * (count + 1)
    x = x_ptr + r[:, None] * WIDTH + r[None, :] + tl.multiple_of(tl.load(steps_ptr), 8)
    w = w_ptr + r[:, None] * B + r[None, :]
    total = tl.zeros((B, B), dtype=tl.float32)
    step = tl.multiple_of(tl.load(steps_ptr + 1), 8)
    for k in range(count):
        total = tl.dot(tl.load(x), tl.load(w), total)
        x += step
        w += B * B
        steps_ptr += 1
        step = tl.multiple_of(tl.load(steps_ptr + 1), 8)
    tl.store(out_ptr + tl.program_id(0) * B * B + r[:, None] * B + r[None, :], total)


@pytest.mark.parametrize("num_stages", [2, 4])
@pytest.mark.parametrize("count", [1, 2, 7])
def test_steps_behind_the_last_block_are_not_walked(engine, count, num_stages, rng):
    block, width, programs = 16, 16 * 11, 3
    x, w = rng.standard_normal((block, width)), rng.standard_normal((count, block, block))
    chosen = [sorted(rng.choice(width // 8 - 1, count, replace=False) * 8) for _ in range(programs)]
    steps, want = [], []
    for starts in chosen:
        steps += [starts[0], *np.diff(starts).tolist(), 3]
        want.append(sum(x[:, at:at + block] @ part for at, part in zip(starts, w)))
    steps += [5] * 8
    of_halves = lambda array: torch.from_numpy(array).to(torch.float16)
    out = torch.full((programs, block, block), float("nan"))
    listed[(programs,)](of_halves(x), of_halves(w), torch.tensor(steps, dtype=torch.int32), out, count, width, block,
                        num_stages=num_stages)
    torch.testing.assert_close(out.double(), torch.from_numpy(np.stack(want)), rtol=1e-2, atol=2e-2)
