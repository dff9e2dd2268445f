"""Kernels without blocks: one lane runs a program, whatever the warps that a launch asks for."""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl

ENGINES = ["cpu", "interpreter", "sm_80", "sm_90", "gfx942"]


@triton.jit
def counted(ids_ptr, counts_ptr, n, each, EXPERTS: tl.constexpr):
    # What is loaded in an iteration was often stored in the one before.
    start = tl.program_id(0) * each
    for i in range(each):
        if start + i < n:
            own = counts_ptr + tl.program_id(0) * EXPERTS + tl.load(ids_ptr + start + i)
            tl.store(own, tl.load(own) + 1)


@triton.jit
def summed(counts_ptr, PARTS: tl.constexpr, EXPERTS: tl.constexpr):
    total = 0
    for i in range(1, PARTS):
        own = counts_ptr + i * EXPERTS + tl.program_id(0)
        total += tl.load(own)
        tl.store(own, total)


@triton.jit(noinline=True)
def twice(x):
    return x * 2


@triton.jit
def chained(x_ptr, lock_ptr, n, STEPS: tl.constexpr):
    # Everyone adds to one number under a lock, and then walks through what others may have written.
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    before = tl.load(x_ptr)
    tl.store(x_ptr, before + n)
    tl.debug_barrier()
    ticket = tl.atomic_add(x_ptr + 1, 1)
    tl.store(x_ptr + 2 + ticket, twice(tl.load(x_ptr)))
    tl.atomic_xchg(lock_ptr, 0)
    at = tl.program_id(0)
    for _ in tl.static_range(STEPS):
        at = (at * 5 + 3) % 8
    tl.atomic_max(x_ptr + 10, at)


@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("n, parts, experts", [(501, 7, 13), (64, 4, 8)])
def test_counts(rng, engine, warps, n, parts, experts):
    ids = rng.integers(0, experts, n)
    counts = torch.zeros((parts + 1, experts), dtype=torch.int32)
    each = triton.cdiv(n, parts)
    counted[(parts, )](torch.from_numpy(ids).int(), counts[1:], n, each, experts, num_warps=warps)
    expected = np.zeros((parts + 1, experts), dtype=np.int32)
    for place, expert in enumerate(ids):
        expected[1 + place // each, expert] += 1
    assert np.array_equal(counts.numpy(), expected)
    summed[(experts, )](counts, parts + 1, experts, num_warps=warps)
    assert np.array_equal(counts.numpy(), expected.cumsum(0))


@pytest.mark.parametrize("warps", [1, 4])
def test_locks_and_tickets(engine, warps):
    x, lock = torch.zeros(11, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    chained[(8, )](x, lock, 3, 4, num_warps=warps)
    ends = range(8)
    for _ in range(4):
        ends = [(at * 5 + 3) % 8 for at in ends]
    assert x.tolist() == [24, 8, *range(6, 54, 6), max(ends)] and lock.item() == 0


def test_code_of_one_lane():
    target = triton.backends.compiler.GPUTarget("cuda", 90, 32)
    signature = {"counts_ptr": "*i32", "PARTS": "constexpr", "EXPERTS": "constexpr"}
    source = triton.compiler.ASTSource(summed, signature, {"PARTS": 9, "EXPERTS": 4})
    compiled = triton.compile(source, target=target, options={"num_warps": 4})
    ptx = compiled.asm["ptx"]
    assert ".reqntid 32" in ptx and "bar." not in ptx and compiled.metadata.num_warps == 1
