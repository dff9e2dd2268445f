"""What neighbours of a block read at one address (the scale of a channel) is read once a lane, and is right."""

import re

import numpy as np
import pytest

import deuteron as triton
import deuteron.language as tl
from deuteron.backends.compiler import GPUTarget
from deuteron.compiler import ASTSource


@triton.jit
def scale_channels(x_ptr, scale_ptr, out_ptr, first, n, AREA: tl.constexpr, CHANNELS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    # Numbers below zero where `first` is: their quotients are rounded toward zero.
    channel = (at + first) // AREA % CHANNELS
    channel = tl.where(channel < 0, channel + CHANNELS, channel)
    scale = tl.load(scale_ptr + channel, mask, other=-1.0)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask) * scale, mask)


@pytest.mark.parametrize("target", ["cpu", "interpreter", "cuda:90", "hip:gfx942"])
@pytest.mark.parametrize("first", [0, 16, -48, -16, 7])
@pytest.mark.parametrize("n, area", [(1000, 49), (1024, 48), (999, 64)])
def test_scales_of_channels(target, first, n, area, rng):
    x, scale = rng.standard_normal(n).astype(np.float32), rng.standard_normal(5).astype(np.float32)
    out = np.full(n + 8, np.nan, np.float32)
    with triton.knobs.runtime.scope():
        if target == "interpreter":
            triton.knobs.runtime.interpret = True
        elif target != "cpu":
            triton.knobs.runtime.emulate = target
        scale_channels[(triton.cdiv(n, 512), )](x, scale, out, first, n, AREA=area, CHANNELS=5, BLOCK=512, num_warps=2)
    # Division and remainder toward zero, as in C.
    quotient = np.trunc((np.arange(n) + first) / area).astype(int)
    channel = np.fmod(quotient, 5)
    np.testing.assert_array_equal(out[:n], x * scale[np.where(channel < 0, channel + 5, channel)])
    assert np.isnan(out[n:]).all()


@triton.jit
def normalize_channels(x_ptr, mean_ptr, variance_ptr, out_ptr, AREA: tl.constexpr, CHANNELS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    channel = at // AREA % CHANNELS
    mean, variance = tl.load(mean_ptr + channel), tl.load(variance_ptr + channel)
    tl.store(out_ptr + at, (tl.load(x_ptr + at) - mean) * tl.rsqrt(variance + 1e-5))


def test_a_lane_reads_the_facts_of_its_channel_once():
    signature = {"x_ptr": "*fp16", "mean_ptr": "*fp32", "variance_ptr": "*fp32", "out_ptr": "*fp16"}
    constants = {"AREA": 3136, "CHANNELS": 128, "BLOCK": 1024}
    aligned = {(number, ): [["tt.divisibility", 16]] for number in range(4)}
    source = ASTSource(normalize_channels, {**signature, **dict.fromkeys(constants, "constexpr")}, constants, aligned)
    ptx = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"]
    assert len(re.findall(r"\bld\.global", ptx)) == 3
    assert len(re.findall(r"\brsqrt\.", ptx)) == 1
