"""Dots of 32-bit floats by matrix instructions that want k fastest, with operands that lie in every way, on the emulated sm_90.

Numbers are small integers, which lose nothing as tf32: results are those of float64.
"""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl


@pytest.fixture(autouse=True)
def emulated():
    """The emulated sm_90, from nothing."""
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = "cuda:90"
        yield


@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, BLOCK_M: tl.constexpr,
            BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, FORM: tl.constexpr = "sum"):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn
    total = tl.full((BLOCK_M, BLOCK_N), 3.0 if FORM == "start" else 0.0, tl.float32)
    other = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for step in range(0, tl.cdiv(K, BLOCK_K)):
        a_mask = (offs_m[:, None] < M) & (offs_k[None, :] < K - step * BLOCK_K)
        b_mask = (offs_n[None, :] < N) & (offs_k[:, None] < K - step * BLOCK_K)
        a = tl.load(a_ptrs, mask=a_mask, other=0.0)
        b = tl.load(b_ptrs, mask=b_mask, other=0.0)
        if FORM == "twice":
            other = tl.dot(a + 1.0, b, other)
        if FORM == "computed":
            b = b * 2.0
        total = tl.dot(a, b, total)
        if FORM == "read":
            total = total * 1.5
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    tl.store(c_ptr + offs_m[:, None] * N + offs_n[None, :], total + other, mask=mask)


def matrix(rng, rows, columns, transposed=False):
    """Integers of at most three bits, in rows or in columns."""
    shape = (columns, rows) if transposed else (rows, columns)
    whole = torch.from_numpy(rng.integers(-4, 5, shape).astype(np.float32))
    return whole.T if transposed else whole


def check(a, b, blocks=(64, 64, 32), expect=None, form="sum", **options):
    """A product by bulk copies and by lanes; `expect` is the result in float64."""
    (m, k), n = a.shape, b.shape[1]
    expect = a.double() @ b.double() if expect is None else expect
    kernels = []
    for by_lanes in (False, True):
        c = torch.full((m, n), float("nan"))
        with triton.knobs.nvidia.scope():
            triton.knobs.nvidia.disable_bulk_loads = by_lanes
            function = triton.jit(product.fn)
            grid = (triton.cdiv(m, blocks[0]), triton.cdiv(n, blocks[1]))
            kernels.append(function[grid](a, b, c, m, n, k, *a.stride(), *b.stride(), *blocks, FORM=form, **options))
        assert torch.equal(c.double(), expect)
    return kernels


def left_in_registers(kernel):
    """Whether the left operand of the dot of groups of warps comes from registers."""
    dot = next(line for line in kernel.asm["ttgir"].splitlines() if "ttng.warp_group_dot " in line)
    return "ttg.dot_op" in dot


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("num_warps, num_stages", [(4, 3), (8, 2), (4, 1)])
def test_operands_that_lie_in_every_way(rng, left, right, num_warps, num_stages):
    a, b = matrix(rng, 72, 104, left), matrix(rng, 104, 136, right)
    kernels = check(a, b, num_warps=num_warps, num_stages=num_stages)
    # Only where both lie along k are both read from shared memory.
    assert [left_in_registers(kernel) for kernel in kernels] == [left or not right] * 2


@pytest.mark.parametrize("blocks", [(64, 128, 32), (128, 64, 32), (64, 64, 64), (128, 128, 16), (64, 32, 32), (16, 64, 32)])
@pytest.mark.parametrize("num_warps", [4, 8])
def test_blocks(rng, blocks, num_warps):
    check(matrix(rng, 136, 72), matrix(rng, 72, 200), blocks, num_warps=num_warps, num_stages=3)


@pytest.mark.parametrize("shape", [(1, 8, 8), (129, 136, 24), (70, 200, 130), (64, 64, 0), (33, 17, 5)])
def test_sizes(rng, shape):
    m, n, k = shape
    check(matrix(rng, m, k), matrix(rng, k, n), num_stages=3)


def test_sums_that_begin_with_something(rng):
    a, b = matrix(rng, 72, 64), matrix(rng, 64, 80)
    check(a, b, expect=a.double() @ b.double() + 3.0, form="start", num_stages=3)


def test_right_operands_that_are_computed(rng):
    a, b = matrix(rng, 72, 64), matrix(rng, 64, 80)
    check(a, b, expect=a.double() @ (2.0 * b.double()), form="computed", num_stages=3)


def test_sums_that_the_loop_reads(rng):
    a, b = matrix(rng, 72, 64), matrix(rng, 64, 80)
    first, second = (a[:, part].double() @ b[part].double() for part in (slice(0, 32), slice(32, 64)))
    check(a, b, expect=(first * 1.5 + second) * 1.5, form="read", num_stages=3)


def test_two_dots_of_one_operand(rng):
    a, b = matrix(rng, 72, 64), matrix(rng, 64, 80)
    check(a, b, expect=(2.0 * a.double() + 1.0) @ b.double(), form="twice", num_stages=3)
