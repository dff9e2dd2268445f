"""binary32 to bf16, to nearest even: every exponent with what is dropped around a half, infinities, NaN, subnormal numbers."""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl


@triton.jit(interpret=False)
def rounded(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x.to(tl.bfloat16), mask=at < n)


@triton.jit(interpret=False)
def one_rounded(x_ptr, y_ptr):
    at = tl.program_id(0)
    tl.store(y_ptr + at, tl.load(x_ptr + at).to(tl.bfloat16))


def nearest(bits):
    """Bits of bf16 by integers."""
    wide = bits.astype(np.uint64)
    kept = (wide + 0x7fff + (wide >> np.uint64(16) & np.uint64(1))) >> np.uint64(16)
    is_nan = (wide & np.uint64(0x7fffffff)) > 0x7f800000
    return np.where(is_nan, wide >> np.uint64(16) | np.uint64(0x40), kept).astype(np.uint16)


def patterns():
    upper = np.arange(1 << 16, dtype=np.uint32) << np.uint32(16)
    lower = np.array([0, 1, 0x7fff, 0x8000, 0x8001, 0xffff], np.uint32)
    return (upper[:, None] | lower).ravel()


@pytest.mark.parametrize("arch", ["", "x86-64"])
@pytest.mark.parametrize("block", [4, 16, 64, 1024])
def test_every_upper_half(arch, block):
    bits = patterns()[:-5]
    x = torch.from_numpy(bits.view(np.int32)).view(torch.float32)
    y = torch.zeros(len(bits), dtype=torch.bfloat16)
    rounded[(triton.cdiv(len(bits), block), )](x, y, len(bits), block, arch=arch)
    np.testing.assert_array_equal(y.view(torch.int16).numpy().view(np.uint16), nearest(bits))


def test_one_number():
    bits = patterns()[::997]
    x = torch.from_numpy(bits.view(np.int32).copy()).view(torch.float32)
    y = torch.zeros(len(bits), dtype=torch.bfloat16)
    one_rounded[(len(bits), )](x, y)
    np.testing.assert_array_equal(y.view(torch.int16).numpy().view(np.uint16), nearest(bits))


@pytest.mark.parametrize("arch, is_one", [("znver5", True), ("emeraldrapids", True), ("icelake-server", False)])
def test_the_instruction_is_used_where_there_is_one(arch, is_one):
    kernel = rounded.warmup(torch.float32, torch.bfloat16, 4096, 1024, grid=(4, ), arch=arch)
    assert ("vcvtne" in kernel.asm["asm"]) == is_one
