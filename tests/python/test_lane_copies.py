"""Blocks that dots alone read, in loops that begin nothing ahead: lanes copy them to shared memory, all copies of an
iteration under way together. And loops whose addresses are looked up in memory.
"""

import re

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl

ENGINES = ["cpu", "interpreter", "sm_80", "sm_90", "gfx942"]


@triton.jit(do_not_specialize=["length"])
def attention(q_ptr, k_ptr, v_ptr, out_ptr, length, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
              STAGES: tl.constexpr):
    """Rows of values are loaded behind the softmax, as most kernels write it."""
    m, n, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    q = tl.load(q_ptr + m[:, None] * D + d[None, :])
    top = tl.full((M, ), float("-inf"), tl.float32)
    total, acc = tl.zeros((M, ), tl.float32), tl.zeros((M, D), tl.float32)
    for start in tl.range(0, length, N, num_stages=STAGES):
        here = start + n
        k = tl.load(k_ptr + here[None, :] * D + d[:, None], mask=here[None, :] < length, other=0.0)
        scores = tl.where(here[None, :] < length, tl.dot(q, k) * scale, float("-inf"))
        higher = tl.maximum(top, tl.max(scores, 1))
        p = tl.exp2(scores - higher[:, None])
        fade = tl.exp2(top - higher)
        total = total * fade + tl.sum(p, 1)
        v = tl.load(v_ptr + here[:, None] * D + d[None, :], mask=here[:, None] < length, other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * fade[:, None])
        top = higher
    tl.store(out_ptr + m[:, None] * D + d[None, :], acc / total[:, None])


@pytest.mark.parametrize("tile", [(16, 32, 64), (64, 64, 64), (128, 64, 32)], ids=str)
@pytest.mark.parametrize("length", [1, 64, 200])
@pytest.mark.parametrize("warps", [4, 8])
def test_values_behind_the_softmax(engine, rng, tile, length, warps):
    m, n, d = tile
    q, k, v = (torch.from_numpy(rng.standard_normal((rows, d)).astype(np.float16)) for rows in (m, length, length))
    # What lies behind the rows is not a number.
    k, v = (torch.cat([x, torch.full((n, d), float("nan"), dtype=torch.float16)])[:length] for x in (k, v))
    out = torch.full((m, d), float("nan"))
    compiled = attention[(1, )](q, k, v, out, length, 0.2, m, n, d, 1, num_warps=warps)
    scores = 0.2 * np.log(2) * (q.double() @ k.double().T)
    np.testing.assert_allclose(out, scores.softmax(1) @ v.double(), atol=5e-3)
    if engine == "sm_80":
        body = compiled.asm["ttgir"].split("scf.for")[1]
        words = re.findall(r"async_copy|async_wait|tt\.load|(?:tt\.|warp_group_)dot ", body)
        # Both copies begin in front of the first dot.
        assert [word for word in words if "dot" not in word] == ["async_copy", "async_copy", "async_wait", "async_wait"]
        assert "dot" in words[3] and "dot" in words[5]


@triton.jit(do_not_specialize=["steps"])
def rewritten(x_ptr, y_ptr, steps, S: tl.constexpr):
    """Each iteration loads what it has stored before: the copy does not begin in front of the store."""
    i = tl.arange(0, S)
    at = i[:, None] * S + i[None, :]
    total = tl.zeros((S, S), tl.float32)
    for _ in tl.range(0, steps, num_stages=1):
        x = tl.load(x_ptr + at)
        total = tl.dot(x, x, total)
        tl.store(y_ptr + at, (total / S).to(tl.float16))
        tl.debug_barrier()
        y = tl.load(y_ptr + at)
        total = tl.dot(x, y, total)
    tl.store(y_ptr + at, total.to(tl.float16))


@pytest.mark.parametrize("steps", [1, 3])
def test_not_past_stores(engine, rng, steps):
    side = 64
    x = torch.from_numpy(rng.integers(-1, 2, (side, side)).astype(np.float16))
    y = torch.full((side, side), float("nan"), dtype=torch.float16)
    rewritten[(1, )](x, y, steps, side)
    total = torch.zeros(side, side, dtype=torch.float64)
    for _ in range(steps):
        total += x.double() @ x.double()
        total += x.double() @ (total.float() / side).half().double()
    np.testing.assert_allclose(y.double(), total, rtol=2e-3, atol=2e-3 * 64)


@triton.jit(do_not_specialize=["count"])
def over_pages(pages_ptr, x_ptr, w_ptr, out_ptr, count, first, M: tl.constexpr, S: tl.constexpr, STAGES: tl.constexpr):
    """A product of rows that lie page by page, in the order of a table; `first` is the first page's place in it."""
    m, i = tl.arange(0, M), tl.arange(0, S)
    w = tl.load(w_ptr + m[:, None] * S + i[None, :])
    total = tl.zeros((M, S), tl.float32)
    for number in tl.range(0, count, num_stages=STAGES):
        page = tl.load(pages_ptr + first + number)
        x = tl.load(x_ptr + page * (S * S) + i[:, None] * S + i[None, :])
        total = tl.dot(w, x, total)
    tl.store(out_ptr + m[:, None] * S + i[None, :], total)


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 7])
def test_pages(engine, rng, stages, count):
    m, side, pages = 16, 64, 9
    # The table ends with the last page that is asked for, and is in no order.
    table = torch.from_numpy(rng.permutation(pages)[:count + 2].astype(np.int32))
    x = torch.from_numpy(rng.integers(-2, 3, (pages, side, side)).astype(np.float16))
    w = torch.from_numpy(rng.integers(-2, 3, (m, side)).astype(np.float16))
    out = torch.full((m, side), float("nan"))
    compiled = over_pages[(1, )](table, x, w, out, count, 2, m, side, stages)
    expected = sum((w.double() @ x[page].double() for page in table[2:]), torch.zeros(m, side, dtype=torch.float64))
    np.testing.assert_array_equal(out.double(), expected)
    if engine in ("sm_80", "sm_90"):
        # A single copy begins no earlier than its load, which then stays one.
        assert ("async_copy" in compiled.asm["ttgir"].split("scf.for")[1]) == (stages > 1)
