"""Functions with `noinline=True` are called on NVIDIA GPUs, inlined elsewhere, and mean the same everywhere."""

import re

import pytest
import torch
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit(noinline=True)
def step(x, scale, k: tl.constexpr):
    for _ in range(2):
        x = tl.exp(-tl.abs(x)) * k + scale
    return x, tl.sum(x) / 64


@triton.jit(noinline=True)
def steps(x, scale):
    x, mean = step(x, scale, 2)
    if mean > 1:
        x, mean = step(x - mean, scale, 2)
    return x + mean


@triton.jit(noinline=True)
def save(ptr, x):
    tl.store(ptr, x)


@triton.jit
def kernel(source, target, scale, rounds, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(source + at)
    for _ in range(rounds):
        x = steps(x, scale)
    save(target + at, x)


def expected(x, scale, rounds):
    def step(x):
        for _ in range(2):
            x = torch.exp(-x.abs()) * 2 + scale
        return x, x.sum() / 64

    for _ in range(rounds):
        x, mean = step(x)
        if mean > 1:
            x, mean = step(x - mean)
        x = x + mean
    return x


@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_calls_mean_what_bodies_do(rounds):
    x = torch.randn(256, dtype=torch.float64)
    source, target = x.float(), torch.empty(256)
    kernel[(4,)](source, target, 0.25, rounds, N=64)
    wanted = torch.cat([expected(part, 0.25, rounds) for part in x.split(64)])
    torch.testing.assert_close(target.double(), wanted, rtol=1e-5, atol=1e-5)


def compiled(target, function=kernel):
    types = {"source": "*fp32", "target": "*fp32", "scale": "fp32", "rounds": "i32", "N": "constexpr"}
    return triton.compile(ASTSource(function, types, constexprs={"N": 64}), target=target)


def test_functions_are_called_on_nvidia():
    asm = compiled(GPUTarget("cuda", 90, 32)).asm
    assert len(re.findall(r"tt\.func private", asm["ttir"])) == 2
    assert len(re.findall(r"^\.func .*\{?$", asm["ptx"], re.M)) >= 2
    # Once in the kernel, twice in the function.
    assert len(re.findall(r"call\.uni", asm["ptx"])) == 3
    assert "tt.call" in asm["ttgir"] and "save" not in asm["ttgir"].split("loc(", 1)[0]


@pytest.mark.parametrize("target", [GPUTarget("hip", "gfx942", 64), GPUTarget("cpu", "native", 1)], ids=str)
def test_functions_are_inlined_elsewhere(target):
    compiled_kernel = compiled(target)
    assert "steps__" not in compiled_kernel.asm["llir"]
