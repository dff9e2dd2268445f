"""Loops that say `warp_specialize`: warps of their own begin the copies, on the emulated sm_90."""

import re

import descriptor_kernels as kernels
import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl
from deuteron.tools.tensor_descriptor import TensorDescriptor

DTYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float8": torch.float8_e4m3fn}


@pytest.fixture
def emulated():
    """The emulated sm_90, from nothing."""
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = "cuda:90"
        yield


def operand(rng, shape, dtype):
    """Numbers of a type in rows that begin at multiples of 16 bytes."""
    whole = torch.from_numpy(rng.standard_normal((shape[0], -(-shape[1] // 16) * 16)).astype(np.float32))
    return whole.to(dtype)[:, :shape[1]]


def check_product(c, a, b):
    """Against products in float64; the result is rounded to 16 bits once."""
    expected = a.double() @ b.double().T
    torch.testing.assert_close(c.double(), expected, rtol=2e-3 if c.dtype == torch.float16 else 1e-2, atol=2e-2)


def has_roles(kernel, others):
    """Whether so many warps have roles beside those of the program."""
    meta = kernel.metadata
    text = kernel.asm["ttgir"]
    assert ("ttg.warp_specialize(" in text) == (others > 0)
    asked = int(re.search(r'"ttg.num-warps" = (\d+)', text).group(1))
    assert f".reqntid {32 * meta.num_warps}" in kernel.asm["ptx"]
    return meta.num_warps == meta.total_num_warps == asked + others


@triton.jit
def one_tile(a_desc, b_desc, c_desc, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
             ROLES: tl.constexpr = True):
    row, column = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in tl.range(0, tl.cdiv(K, BLOCK_K), warp_specialize=ROLES):
        a = a_desc.load([row, step * BLOCK_K])
        b = b_desc.load([column, step * BLOCK_K])
        accumulator = tl.dot(a, b.T, accumulator)
    c_desc.store([row, column], accumulator.to(c_desc.dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(64, 64, 256), (100, 72, 200), (70, 40, 8)])
@pytest.mark.parametrize("num_warps", [4, 8])
def test_a_loop_over_k(emulated, rng, dtype, shape, num_warps):
    m, n, k = shape
    k = -(-k // 16) * 16 if dtype == "float8" else k
    a, b = operand(rng, (m, k), DTYPES[dtype]), operand(rng, (n, k), DTYPES[dtype])
    c = torch.zeros(m, n, dtype=torch.bfloat16 if dtype == "bfloat16" else torch.float16)
    descriptors = [TensorDescriptor.from_tensor(x, [64, block]) for x, block in ((a, 64), (b, 64), (c, 64))]
    grid = (triton.cdiv(m, 64), triton.cdiv(n, 64))
    kernel = one_tile[grid](*descriptors, k, 64, 64, 64, num_stages=3, num_warps=num_warps)
    check_product(c, a, b)
    assert has_roles(kernel, 4 if num_warps == 8 else 1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("subtile", [False, True])
def test_a_loop_over_tiles(emulated, rng, dtype, subtile):
    m, n, k = 200, 136, 112
    a, b = operand(rng, (m, k), DTYPES[dtype]), operand(rng, (n, k), DTYPES[dtype])
    c = torch.zeros(m, n, dtype=torch.bfloat16 if dtype == "bfloat16" else torch.float16)
    kernel = kernels.matmul(a, b, c, (64, 64, 64), subtile, num_stages=3, ROLES=True)
    check_product(c, a, b)
    assert has_roles(kernel, 1)


@pytest.mark.parametrize("causal", [False, True])
def test_attention(emulated, rng, causal):
    q, k, v = (torch.from_numpy(rng.standard_normal((2, 128, 64)).astype(np.float16)) for _ in range(3))
    out = torch.zeros_like(q)
    kernel = kernels.attention_of(q, k, v, out, causal, ROLES=True, num_stages=2)
    expected = torch.nn.functional.scaled_dot_product_attention(q.double(), k.double(), v.double(), is_causal=causal)
    torch.testing.assert_close(out.double(), expected, rtol=1e-2, atol=1e-2)
    assert has_roles(kernel, 1)


@triton.jit
def loaded_places(a_desc, b_desc, places, c_ptr, K, BLOCK: tl.constexpr):
    accumulator = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for step in tl.range(0, K, warp_specialize=True):
        place = tl.load(places + step) * BLOCK
        accumulator = tl.dot(a_desc.load([0, place]), b_desc.load([0, place]).T, accumulator)
    offsets = tl.arange(0, BLOCK)
    tl.store(c_ptr + offsets[:, None] * BLOCK + offsets[None, :], accumulator)


def test_a_loop_that_cannot_have_them_says_why(emulated, rng):
    a, b = operand(rng, (64, 192), torch.float16), operand(rng, (64, 192), torch.float16)
    c = torch.zeros(64, 64)
    descriptors = [TensorDescriptor.from_tensor(x, [64, 64]) for x in (a, b)]
    places = torch.tensor([2, 0, 1], dtype=torch.int32)
    with pytest.warns(UserWarning, match="warp_specialize.*where a copy begins is loaded"):
        kernel = loaded_places[(1, )](*descriptors, places, c, 3, 64, num_stages=3)
    torch.testing.assert_close(c.double(), a.double() @ b.double().T, rtol=1e-3, atol=1e-3)
    assert has_roles(kernel, 0)


def test_other_machines_have_none(emulated, rng):
    triton.knobs.runtime.emulate = "cuda:120"
    a, b = operand(rng, (64, 128), torch.float16), operand(rng, (64, 128), torch.float16)
    c = torch.zeros(64, 64, dtype=torch.float16)
    assert has_roles(kernels.matmul(a, b, c, (64, 64, 64), num_stages=3, ROLES=True), 0)
    check_product(c, a, b)


def test_a_loop_of_a_single_stage_says_why(emulated, rng):
    a, b = operand(rng, (64, 128), torch.float16), operand(rng, (64, 128), torch.float16)
    c = torch.zeros(64, 64, dtype=torch.float16)
    with pytest.warns(UserWarning, match="warp_specialize.*single stage"):
        assert has_roles(kernels.matmul(a, b, c, (64, 64, 64), num_stages=1, ROLES=True), 0)
    check_product(c, a, b)


def test_which_loops_by_a_knob(emulated, rng):
    a, b = operand(rng, (64, 128), torch.float16), operand(rng, (64, 128), torch.float16)
    c = torch.zeros(64, 64, dtype=torch.float16)
    descriptors = [TensorDescriptor.from_tensor(x, [64, 64]) for x in (a, b, c)]
    # Kernels that are there already stay as they are: each has another number of stages.
    stages = iter(range(2, 8))
    one = lambda: one_tile[(1, 1)](*descriptors, 128, 64, 64, 64, False, num_stages=next(stages), num_warps=4)
    flat = lambda: kernels.matmul(a, b, c, (64, 64, 64), num_stages=next(stages))
    assert has_roles(one(), 0) and has_roles(flat(), 1)
    with triton.knobs.nvidia.scope():
        triton.knobs.nvidia.warp_specialize = True
        assert has_roles(one(), 1) and has_roles(flat(), 1)
        triton.knobs.nvidia.warp_specialize = False
        assert has_roles(one(), 0) and has_roles(flat(), 0)
    check_product(c, a, b)
