"""Loops with dots on the emulated sm_90 and sm_80: what no copy brings is loaded an iteration ahead, unless the loop may write it or needs all
registers anyway."""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl


@triton.jit(do_not_specialize=["steps"])
def weighted(x_ptr, y_ptr, scales_ptr, narrow_ptr, out_ptr, steps, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
             WRITES: tl.constexpr, APART: tl.constexpr):
    """The sum over steps of `scale * narrow[:, None] * (x @ y)`, where each step may double the next one's scale."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    for step in range(0, steps):
        x = tl.load(x_ptr + (step * M + m)[:, None] * K + k[None, :])
        y = tl.load(y_ptr + (step * K + k)[:, None] * N + n[None, :])
        scale = tl.load(scales_ptr + step)
        narrow = tl.load(narrow_ptr + (step * M + m) * APART).to(tl.float32)
        if WRITES:
            tl.store(scales_ptr + step + 1, scale * 2)
        total += tl.dot(x, y) * (scale * narrow)[:, None]
    tl.store(out_ptr + m[:, None] * N + n[None, :], total)


def run(rng, arch, steps, sizes, writes=False, apart=3, **options):
    m, n, k = sizes
    whole = lambda *shape: torch.from_numpy(rng.integers(-2, 3, shape).astype(np.float16))  # noqa: E731
    x, y, narrow = whole(steps * m, k), whole(steps * k, n), whole(max(steps, 1) * m * apart)
    scales = torch.from_numpy(rng.integers(1, 4, steps + 1).astype(np.float32))
    expected, scale = np.zeros((m, n)), scales.numpy().copy()
    for step in range(steps):
        factors = scale[step] * narrow.numpy()[step * m * apart:(step + 1) * m * apart:apart].astype(np.float64)
        expected += (x[step * m:(step + 1) * m].double().numpy() @ y[step * k:(step + 1) * k].double().numpy()) * factors[:, None]
        if writes:
            scale[step + 1] = scale[step] * 2
    out = torch.full((m, n), torch.nan)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = f"cuda:{arch}"
        kernel = weighted[(1, )](x, y, scales, narrow, out, steps, m, n, k, writes, apart, **options)
    np.testing.assert_array_equal(out.double().numpy(), expected)
    return kernel.asm["ttgir"]


def loads(text):
    """How many numbers and vectors are loaded before the loop and in it."""
    before, body = text.split("scf.for", 1)
    count = lambda part, ty: sum("tt.load" in line and line.split(" loc(")[0].endswith(ty) for line in part.splitlines())  # noqa: E731
    return count(before, "!tt.ptr<f32>"), count(body, "!tt.ptr<f32>")


@pytest.mark.parametrize("arch", [80, 90])
@pytest.mark.parametrize("steps", [0, 1, 2, 7])
@pytest.mark.parametrize("sizes, warps", [((64, 64, 32), 4), ((16, 32, 64), 2), ((128, 64, 32), 8)])
def test_numbers_are_loaded_ahead(rng, arch, steps, sizes, warps):
    assert loads(run(rng, arch, steps, sizes, num_warps=warps, num_stages=3)) == (1, 1)


@pytest.mark.parametrize("arch", [80, 90])
@pytest.mark.parametrize("steps", [1, 2, 7])
def test_what_the_loop_writes_is_loaded_where_it_stands(rng, arch, steps):
    assert loads(run(rng, arch, steps, (64, 64, 32), writes=True, num_stages=3)) == (0, 1)


def test_loops_without_registers_left_load_nothing_ahead(rng):
    assert loads(run(rng, 90, 3, (128, 256, 32), num_warps=4, num_stages=2)) == (0, 1)
