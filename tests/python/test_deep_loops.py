"""Loops over dots with more stages than they ask for, on the emulated sm_90 and sm_80.

Every kernel is launched twice, with as many stages as shared memory is worth and as it asks (`deep_loops`), to the same
bits, and is right.
"""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl

ROWS, COLUMNS, DEPTH = 32, 64, 32


@pytest.fixture(autouse=True, params=["cuda:90", "cuda:80"])
def emulated(request, tmp_path):
    """An emulated GPU, from nothing."""
    with triton.knobs.runtime.scope(), triton.knobs.cache.scope(), triton.knobs.nvidia.scope():
        triton.knobs.runtime.emulate = request.param
        triton.knobs.cache.dir = str(tmp_path)
        yield request.param


def product(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
            DEPTH: tl.constexpr, MASKED: tl.constexpr):
    row, column = tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS
    rows, columns, depth = row + tl.arange(0, ROWS), column + tl.arange(0, COLUMNS), tl.arange(0, DEPTH)
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for start in range(0, K, DEPTH):
        at = start + depth
        # A mask that is no box: lanes load the left operand.
        seen = (at < K)[None, :] & (rows < M)[:, None]
        if MASKED:
            seen = seen & (rows[:, None] + at[None, :] != 5)
        a = tl.load(a_ptr + rows[:, None] * stride_am + at[None, :], mask=seen, other=0.0)
        b = tl.load(b_ptr + at[:, None] * stride_bk + columns[None, :], mask=(at < K)[:, None] & (columns < N)[None, :], other=0.0)
        total = tl.dot(a, b, total)
    tl.store(c_ptr + rows[:, None] * stride_cm + columns[None, :], total, mask=(rows < M)[:, None] & (columns < N)[None, :])


def multiply(a, b, stages, masked):
    (m, k), n = a.shape, b.shape[1]
    c = torch.full((m, n), float("nan"))
    # A fresh function, as one that was launched before would be launched as it is.
    kernel = triton.jit(product)[(triton.cdiv(m, ROWS), triton.cdiv(n, COLUMNS))](
        a, b, c, m, n, k, a.stride(0), b.stride(0), c.stride(0), ROWS, COLUMNS, DEPTH, masked, num_stages=stages)
    return c, kernel


def attend(q_ptr, k_ptr, v_ptr, out_ptr, N, SIDE: tl.constexpr, WIDTH: tl.constexpr):
    rows, width = tl.arange(0, SIDE), tl.arange(0, WIDTH)
    at = rows[:, None] * WIDTH + width[None, :]
    q = tl.load(q_ptr + at)
    most = tl.full((SIDE, ), float("-inf"), tl.float32)
    weight = tl.zeros((SIDE, ), tl.float32)
    total = tl.zeros((SIDE, WIDTH), tl.float32)
    for start in range(0, N, SIDE):
        inside = (start + rows < N)[:, None]
        k = tl.load(k_ptr + start * WIDTH + at, mask=inside, other=0.0)
        v = tl.load(v_ptr + start * WIDTH + at, mask=inside, other=0.0)
        score = tl.where((start + rows < N)[None, :], tl.dot(q, k.T), float("-inf"))
        new = tl.maximum(most, tl.max(score, 1))
        share = tl.exp(score - new[:, None])
        scale = tl.exp(most - new)
        weight = weight * scale + tl.sum(share, 1)
        total = tl.dot(share.to(tl.float16), v, total * scale[:, None])
        most = new
    tl.store(out_ptr + at, total / weight[:, None])


def matrix(rng, *shape):
    return torch.from_numpy(rng.standard_normal(shape).astype(np.float16))


def buffers(kernel):
    """The most buffers in a ring of the kernel: as many as its loop has stages, or one less."""
    shapes = [part.split(">")[0].split("x") for part in kernel.asm["ttgir"].split("!ttg.memdesc<")[1:]]
    return max(int(shape[0]) for shape in shapes if len(shape) == 4)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("stages, shape", [(2, (64, 64, 256)), (3, (40, 72, 104)), (3, (32, 64, 24)), (4, (33, 136, 7 * 32 + 8))])
def test_products(rng, stages, shape, masked):
    m, n, k = shape
    a, b = matrix(rng, m, k), matrix(rng, k, n)
    triton.knobs.nvidia.deep_loops = False
    c, asked = multiply(a, b, stages, masked)
    triton.knobs.nvidia.deep_loops = True
    other, deep = multiply(a, b, stages, masked)
    # A stage takes 6 KB, so there are as many as a loop may have.
    assert buffers(deep) - buffers(asked) == 12 - stages
    assert deep.metadata.shared > asked.metadata.shared
    assert torch.equal(c, other)
    x = a.double().clone()
    if masked:
        x[(torch.arange(m)[:, None] + torch.arange(k)[None, :]) == 5] = 0
    torch.testing.assert_close(c.double(), x @ b.double(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("length", [64, 200, 17])
def test_two_dots(rng, length):
    q, k, v = matrix(rng, 64, 64), matrix(rng, length, 64), matrix(rng, length, 64)
    found = []
    for deep in (False, True):
        triton.knobs.nvidia.deep_loops = deep
        out = torch.full((64, 64), float("nan"))
        kernel = triton.jit(attend)[(1, )](q, k, v, out, length, 64, 64, num_stages=2)
        found.append((out, kernel.metadata.shared))
    assert torch.equal(found[0][0], found[1][0]) and found[0][1] < found[1][1]
    right = torch.softmax(q.double() @ k.double().T, 1) @ v.double()
    torch.testing.assert_close(found[0][0].double(), right, rtol=1e-2, atol=1e-2)


def test_loops_of_one_stage_and_long_rings_stay(rng):
    a, b = matrix(rng, 32, 128), matrix(rng, 128, 64)
    triton.knobs.nvidia.deep_loops = True
    for stages in (1, 12, 13):
        deep = multiply(a, b, stages, False)[1].metadata.shared
        triton.knobs.nvidia.deep_loops = False
        assert multiply(a, b, stages, False)[1].metadata.shared == deep
        triton.knobs.nvidia.deep_loops = True


def test_what_is_said_of_a_kernel(rng):
    a, b = matrix(rng, 32, 128), matrix(rng, 128, 64)
    # An emulated device has no memory to wait for.
    assert not multiply(a, b, 3, False)[1].metadata.spare_stages
