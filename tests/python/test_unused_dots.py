"""Dots whose sums nobody uses: what they would multiply is not loaded, by bulk copies no more than by lanes."""

import pytest
import torch

import deuteron as triton
import deuteron.language as tl


@triton.jit
def counted(a_ptr, out_ptr, n, DESCRIPTOR: tl.constexpr):
    rows, columns = tl.arange(0, 16), tl.arange(0, 32)
    left = tl.load(a_ptr + rows[:, None] * 32 + columns[None, :])
    unused, count = tl.zeros((16, 32), tl.float32), tl.zeros((16, 32), tl.float32)
    tensor = tl.make_tensor_descriptor(a_ptr, [128, 32], [32, 1], [32, 32])
    for k in tl.range(0, n * 32, 32, num_stages=2):
        if DESCRIPTOR:
            right = tensor.load([k, 0])
        else:
            right = tl.load(a_ptr + (k + columns)[:, None] * 32 + columns[None, :])
        unused = tl.dot(left, right, unused)
        count += 1
    tl.store(out_ptr + rows[:, None] * 32 + columns[None, :], count)


@pytest.mark.parametrize("emulate", [None, "cuda:80", "cuda:90", "hip:gfx942"])
@pytest.mark.parametrize("descriptor", [False, True])
def test_loops_run_to_their_end(emulate, descriptor):
    a, out = torch.ones(128, 32, dtype=torch.bfloat16), torch.zeros(16, 32)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = emulate
        counted[(1, )](a, out, 3, descriptor)
    assert (out == 3).all()
