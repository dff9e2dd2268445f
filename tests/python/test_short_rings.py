"""Loops over two dots with two stages: their programs wait for copies, so that others have to share the SM."""

import math

import pytest
import torch

import deuteron as triton
import deuteron.language as tl

ENGINES = ["sm_80", "sm_90", "sm_100", "gfx942"]


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, out_ptr, stride, n, scale, WIDTH: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    rows, at, columns = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, N), tl.arange(0, WIDTH)
    q = tl.load(q_ptr + rows[:, None] * stride + columns[None, :])
    most = tl.full([M], float("-inf"), tl.float32)
    total = tl.zeros([M], tl.float32)
    out = tl.zeros([M, WIDTH], tl.float32)
    for start in range(0, n, N):
        k = tl.load(k_ptr + (start + at)[None, :] * stride + columns[:, None])
        v = tl.load(v_ptr + (start + at)[:, None] * stride + columns[None, :])
        scores = tl.dot(q, k) * scale
        new = tl.maximum(most, tl.max(scores, 1))
        p = tl.exp2(scores - new[:, None])
        old = tl.exp2(most - new)
        total = total * old + tl.sum(p, 1)
        out = tl.dot(p.to(v.dtype), v, out * old[:, None])
        most = new
    tl.store(out_ptr + rows[:, None] * stride + columns[None, :], out / total[:, None])


@pytest.mark.parametrize("rows, columns, width, warps", [(64, 32, 128, 4), (64, 16, 64, 4), (128, 64, 128, 8), (64, 64, 64, 4)])
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_attention(rng, engine, rows, columns, width, warps, stages):
    n = 3 * columns
    q, k, v = (torch.from_numpy(rng.normal(size=shape)).half() for shape in ((rows, width), (n, width), (n, width)))
    out = torch.full((rows, width), float("nan"))
    scale = 1 / math.sqrt(width)
    attention[(1, )](q, k, v, out, width, n, scale / math.log(2), width, rows, columns, num_warps=warps, num_stages=stages)
    right = torch.softmax(q.double() @ k.double().t() * scale, 1) @ v.double()
    assert (out.double() - right).abs().max() < 3e-3


@triton.jit
def attention_and_sums(q_ptr, k_ptr, v_ptr, out_ptr, sums_ptr, stride, n, scale, WIDTH: tl.constexpr, M: tl.constexpr,
                       N: tl.constexpr, COLUMNS: tl.constexpr):
    attention(q_ptr, k_ptr, v_ptr, out_ptr, stride, n, scale, WIDTH, M, N)
    place = tl.arange(0, M)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    total = tl.zeros([M, COLUMNS], tl.float32)
    for _ in range(n):
        total = total * 0.5 + tl.load(sums_ptr + place)
    tl.store(sums_ptr + place, total)


def test_another_loop_that_needs_the_registers():
    q, out = torch.ones((2, 128, 128), dtype=torch.float16)
    k, v = torch.ones((2, 64, 128), dtype=torch.float16)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = "cuda:90"
        for columns, shared in ((64, True), (512, False)):
            sums = torch.zeros((128, columns))
            args = (q, k, v, out, sums, 128, 64, 1.0, 128, 128, 64, columns)
            text = attention_and_sums[(1, )](*args, num_warps=8, num_stages=2).asm["ptx"]
            assert (".minnctapersm 2" in text) == shared


@pytest.fixture
def texts():
    """The texts of a kernel by its blocks, warps and stages, whose copies are bulk copies, for an emulated sm_90."""

    def compiled(rows, columns, width, warps, stages):
        q, out = torch.ones((2, rows, width), dtype=torch.float16)
        k, v = torch.ones((2, columns, width), dtype=torch.float16)
        options = {"num_warps": warps, "num_stages": stages}
        return attention[(1, )](q, k, v, out, width, columns, 1.0, width, rows, columns, **options).asm

    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = "cuda:90"
        yield compiled


def test_roles_need_a_longer_ring(texts):
    for columns in (16, 32, 64):
        assert "ttg.warp_specialize" not in texts(64, columns, 64, 4, 2)["ttgir"]
        assert "ttg.warp_specialize" in texts(64, columns, 64, 4, 3)["ttgir"]


def test_programs_that_take_all_registers(texts):
    # Two programs of four warps share an SM, and one of five has it alone.
    assert "ttg.warp_specialize" not in texts(128, 64, 128, 4, 2)["ttgir"]
    assert "ttg.warp_specialize" in texts(128, 64, 128, 4, 3)["ttgir"]


def test_two_programs_share_an_sm(texts):
    short, long = texts(128, 64, 128, 8, 2), texts(128, 64, 128, 8, 3)
    assert ".minnctapersm 2" in short["ptx"] and "ttg.warp_specialize" not in short["ttgir"]
    assert ".minnctapersm 2" not in long["ptx"] and "ttg.warp_specialize" in long["ttgir"]
    # Sums that take what each of two programs would have.
    assert ".minnctapersm 2" not in texts(128, 128, 128, 8, 2)["ptx"]
