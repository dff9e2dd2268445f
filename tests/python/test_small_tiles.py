"""Loops whose lanes read what bulk copies bring: what they have begun to read is there before it is overwritten."""

import re

import pytest

import deuteron as triton
import deuteron.language as tl
from deuteron.backends.compiler import GPUTarget
from deuteron.compiler import ASTSource


@triton.jit
def product(a_ptr, b_ptr, c_ptr, n, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, cols = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    a_desc = tl.make_tensor_descriptor(a_ptr, [n, depth], [depth, 1], [M, K])
    b_desc = tl.make_tensor_descriptor(b_ptr, [depth, n], [n, 1], [K, N])
    acc = tl.zeros((M, N), dtype=tl.float32)
    for k in range(0, tl.cdiv(depth, K)):
        a, b = a_desc.load([tl.program_id(0) * M, k * K]), b_desc.load([k * K, tl.program_id(1) * N])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows[:, None] * n + cols[None, :], acc)


def ptx(m, n, k, warps, stages):
    signature = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp32", "n": "i32", "depth": "i32"}
    attrs = {(index, ): [["tt.divisibility", 16]] for index in range(5)}
    source = ASTSource(product, {**signature, "M": "constexpr", "N": "constexpr", "K": "constexpr"},
                       {(5, ): m, (6, ): n, (7, ): k}, attrs)
    options = {"num_warps": warps, "num_stages": stages}
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options).asm["ptx"]


def steps(text):
    """What the loop does with shared memory, in order, as one letter a step."""
    body = text[text.index('.pragma "nounroll"'):]
    letters = {"ldmatrix": "r", "fence.proxy.async.shared::cta": "f", "bar.sync": "b", "cp.async.bulk.tensor": "c",
               "wgmma.mma_async": "w"}
    found = re.findall("|".join(map(re.escape, letters)), body[:body.index("bra", body.index("cp.async.bulk"))])
    return "".join(letters[word] for word in found)


@pytest.mark.parametrize("tile, warps, stages", [((32, 64, 64), 8, 3), ((32, 32, 32), 4, 4), ((16, 64, 32), 4, 2)])
def test_a_fence_stands_between_reads_and_the_copy_over_them(tile, warps, stages):
    assert re.fullmatch("r+fbc+", steps(ptx(*tile, warps, stages))), steps(ptx(*tile, warps, stages))


def test_dots_of_warp_groups_need_none():
    assert re.fullmatch("w+bc+", steps(ptx(128, 128, 64, 8, 3)))
