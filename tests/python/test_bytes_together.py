"""Blocks of 8 bits that become floats: neighbours in a word are converted together, exactly, and dots take them along
the dimension in which they were loaded.
"""

import re

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl


ENGINES = ["cpu", "interpreter", "sm_80", "sm_90", "gfx942"]
KINDS = {
    "int8": torch.int8,
    "uint8": torch.uint8,
    "fp8e5": torch.float8_e5m2,
    "fp8e4nv": torch.float8_e4m3fn,
}
FLOATS = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}


@triton.jit
def widen(x_ptr, out_ptr, start, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + start + offsets)
    tl.store(out_ptr + offsets, x.to(out_ptr.dtype.element_ty))


@pytest.mark.parametrize("start", [0, 2, 1])
@pytest.mark.parametrize("result", FLOATS)
@pytest.mark.parametrize("kind", KINDS)
def test_each_byte_becomes_the_number_that_it_is(engine, kind, result, start):
    """All 256 values, in words, in halves of words and one by one, NaN and infinity among them."""
    values = torch.arange(256, dtype=torch.uint8)
    x = torch.cat([torch.full((start,), 77, dtype=torch.uint8), values]).view(KINDS[kind])
    out = torch.full((256,), 777.0, dtype=FLOATS[result])
    compiled = widen[(1,)](x, out, start, 256, num_warps=1)
    torch.testing.assert_close(out, values.view(KINDS[kind]).to(FLOATS[result]), rtol=0, atol=0, equal_nan=True)
    if engine == "sm_90" and start == 0 and not kind.startswith("fp8"):
        assert "cvt.rn.f32." not in compiled.asm["ptx"]


@triton.jit
def weights(x_ptr, w_ptr, scale_ptr, out_ptr, M, N, K, stride_n, stride_k, B: tl.constexpr, TURN: tl.constexpr):
    """`x @ w`, the weights of 8 bits widened in the loop, scaled where there are scales."""
    rows = tl.arange(0, B)
    columns = tl.program_id(0) * B + tl.arange(0, B)
    total = tl.zeros((B, B), dtype=tl.float32)
    for start in range(0, K, B):
        depth = start + tl.arange(0, B)
        x_mask = (rows[:, None] < M) & (depth[None, :] < K)
        x = tl.load(x_ptr + rows[:, None] * K + depth[None, :], mask=x_mask, other=0.0)
        if TURN:
            places = columns[:, None] * stride_n + depth[None, :] * stride_k
            w = tl.load(w_ptr + places, mask=(columns[:, None] < N) & (depth[None, :] < K), other=0)
            w = tl.trans(w.to(x.dtype))
        else:
            places = depth[:, None] * stride_k + columns[None, :] * stride_n
            w = tl.load(w_ptr + places, mask=(columns[None, :] < N) & (depth[:, None] < K), other=0)
            w = w.to(x.dtype)
        if scale_ptr is not None:
            w = w * tl.load(scale_ptr + columns, mask=columns < N, other=0.0)[None, :]
        total = tl.dot(x, w.to(x.dtype), total)
    out_mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], total, mask=out_mask)


@pytest.mark.parametrize("is_scaled", [False, True])
@pytest.mark.parametrize("turn", [False, True])
@pytest.mark.parametrize("along_k", [False, True])
@pytest.mark.parametrize("kind", ["int8", "uint8", "fp8e5"])
def test_weights_of_8_bits(engine, rng, kind, along_k, turn, is_scaled):
    rows, columns, depth, block = 61, 96, 144, 64
    x = torch.from_numpy(rng.standard_normal((rows, depth))).to(torch.bfloat16)
    bits = torch.from_numpy(rng.integers(0, 120, (columns, depth), dtype=np.uint8))
    w = bits.view(KINDS[kind]) if kind != "int8" else (bits.to(torch.int16) * 2 - 119).to(torch.int8)
    w = w if along_k else w.view(torch.uint8).t().contiguous().view(w.dtype).t()
    scale = torch.from_numpy(rng.choice([0.5, 1.0, 2.0], columns)).to(torch.bfloat16) if is_scaled else None
    out = torch.full((rows, columns), 777.0, dtype=torch.float32)
    grid = (triton.cdiv(columns, block),)
    compiled = weights[grid](x, w, scale, out, rows, columns, depth, w.stride(0), w.stride(1), block, turn)
    expected = x.double() @ w.to(torch.float32).double().t() * (1.0 if scale is None else scale.double())
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-4 * float(expected.abs().max()))
    if engine == "sm_90":
        # The weights lie in shared memory as they were loaded.
        text = compiled.asm["ttgir"]
        memory = re.findall(r"ttg.local_alloc %\S+ : .* -> !ttg.memdesc<64x64xbf16, #(\w+),", text)
        layouts = dict(re.findall(r"#(\w+) = (#ttg.nvmma_shared<.*>)", text))
        turned = {"transposed = true" in layouts[name] for name in memory}
        # A block that is turned at last is stored as it was before, and looked at the other way round.
        assert turned == {along_k != (turn and not is_scaled)}
