"""A masked histogram counts right wherever its numbers and its mask lie."""

import numpy as np
import pytest

import deuteron as triton
import deuteron.language as tl


@triton.jit
def counted(x_ptr, mask_ptr, wide_ptr, out_ptr, BINS: tl.constexpr):
    i = tl.arange(0, 64)
    x = tl.load(x_ptr + i).to(tl.int32)
    mask = tl.load(mask_ptr + i) != 0
    # The numbers are held as a slice of this block.
    tl.store(wide_ptr + tl.arange(0, 8)[:, None] * 64 + i[None, :], tl.broadcast_to(x[None, :], (8, 64)))
    tl.store(out_ptr + tl.arange(0, BINS), tl.histogram(x, BINS, mask=mask))


@pytest.mark.parametrize("target, warps, blocks", [("cuda:90", 1, 1), ("cuda:90", 2, 2), ("cuda:90", 4, 1), ("hip:gfx942", 2, 1)])
@pytest.mark.parametrize("bins", [1, 2])
def test_the_mask_lies_elsewhere(target, warps, blocks, bins, rng):
    x, mask = rng.integers(-2, 3, 64).astype(np.int8), rng.integers(0, 2, 64).astype(np.int8)
    wide, out = np.zeros((8, 64), np.int32), np.zeros(bins, np.int32)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = target
        counted[(1, )](x, mask, wide, out, BINS=bins, num_warps=warps, num_ctas=blocks)
    assert out.tolist() == [np.count_nonzero((x == number) & (mask != 0)) for number in range(bins)]


@triton.jit
def counted_places(mask_ptr, out_ptr, n, SIZE: tl.constexpr, BINS: tl.constexpr, LOADED: tl.constexpr):
    i = tl.arange(0, SIZE)
    mask = tl.load(mask_ptr + i) != 0 if LOADED else i < n
    tl.store(out_ptr + tl.arange(0, BINS), tl.histogram(i % BINS, BINS, mask=mask))


@pytest.mark.parametrize("target", ["cpu", "cuda:90", "hip:gfx942"])
@pytest.mark.parametrize("loaded", [True, False])
def test_numbers_that_are_computed_in_any_layout(target, loaded, rng):
    mask, out = rng.integers(0, 2, 512).astype(np.int8), np.zeros(16, np.int32)
    chosen = mask != 0 if loaded else np.arange(512) < 300
    with triton.knobs.runtime.scope():
        if target != "cpu":
            triton.knobs.runtime.emulate = target
        counted_places[(1, )](mask, out, 300, SIZE=512, BINS=16, LOADED=loaded)
    assert out.tolist() == np.bincount(np.arange(512)[chosen] % 16, minlength=16).tolist()
