"""Dots of narrow numbers in code for processors without instructions for their pairs, against the interpreter."""

import platform

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from test_dot_loops import ACCUMULATORS, chain, matmul, operands


def has(flag):
    """Whether this processor has an extension, as far as the system tells."""
    try:
        with open("/proc/cpuinfo") as file:
            return flag in file.read().split()
    except OSError:
        return False


pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="code for x86-64 runs on x86-64")

ARCHES = [pytest.param("avx2", marks=pytest.mark.skipif(not has("avx2"), reason="no AVX2 here")), "x86-64"]
# Its pairs of bf16 are an instruction, which the processor here may have and not be asked to use.
PAIRS = pytest.param("znver4", marks=pytest.mark.skipif(not has("avx512_bf16"), reason="no AVX-512 BF16 here"))
NARROW = ["bfloat16", "float16", "float8_e5m2", "float8_e4m3fn", "int8"]


def accumulator(dtype):
    """The type that products are added in, for the kernel and for torch."""
    return (tl.int32, torch.int32) if ACCUMULATORS.get(dtype) is tl.int32 else (tl.float32, torch.float32)


def interpreted(kernel):
    """The same kernel for the interpreter."""
    return triton.jit(interpret=True)(kernel.fn)


@pytest.mark.parametrize("arch", [*ARCHES, PAIRS])
@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("turn_a, turn_b", [(False, False), (True, False), (False, True), (True, True)])
def test_a_loop_that_adds_dots(arch, dtype, turn_a, turn_b):
    acc, kind = accumulator(dtype)
    for m, n, k, (bm, bn, bk) in [(40, 37, 101, (32, 32, 32)), (33, 64, 70, (16, 64, 16)), (20, 40, 77, (16, 8, 32))]:
        whole = dtype == "int8"
        made = operands(np.dtype("int8" if whole else "float32"), m, n, k, seed=m)[:2]
        a, b = (torch.from_numpy(x).to(getattr(torch, dtype)) for x in made)
        results = []
        for kernel, options in ((matmul, {"arch": arch}), (interpreted(matmul), {})):
            c = torch.full((m, n), 99, dtype=kind)
            kernel[(triton.cdiv(m, bm) * triton.cdiv(n, bn), )](
                a, b, c, m, n, k, *a.stride(), *b.stride(), BM=bm, BN=bn, BK=bk, TURN_A=turn_a, TURN_B=turn_b,
                ACC=acc, ROWS_FIRST=True, **options)
            results.append(c.double())
        # Products are exact in binary32; what is left is the order of the sums.
        allowed = 0 if whole else 3e-6 * k
        assert (results[0] - results[1]).abs().max() <= allowed, (m, n, k)


@pytest.mark.parametrize("arch", [*ARCHES, PAIRS])
@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("turned", [(0, 0, 0), (1, 0, 1), (0, 1, 0), (0, 1, 1), (1, 1, 0)])
def test_dots_of_dots(arch, dtype, turned):
    (m, n, d), times, whole = (32, 16, 64), 3, dtype == "int8"
    acc, kind = accumulator(dtype)
    generator = torch.Generator().manual_seed(m)
    make = lambda *sizes: ((torch.randint(-2, 3, sizes, generator=generator) if whole else  # noqa: E731
                            torch.randn(sizes, generator=generator)).to(getattr(torch, dtype)))
    stored = [x.T.contiguous() if turn else x
              for x, turn in zip((make(m, d), make(d, times * n), make(times * n, d)), turned)]
    results = []
    for kernel, options in ((chain, {"arch": arch}), (interpreted(chain), {})):
        o = torch.full((m, d), 77, dtype=kind)
        kernel[(1, )](*stored, o, times, M=m, N=n, D=d, ACC=acc, TURN_Q=turned[0], TURN_K=turned[1],
                     TURN_V=turned[2], **options)
        results.append(o.double())
    # A sum that is rounded to the other side on its way to the narrow type moves one product by one unit.
    units = {"int8": 0, "float16": 2e-3, "bfloat16": 0.05, "float8_e4m3fn": 0.5, "float8_e5m2": 0.5}
    assert (results[0] - results[1]).abs().max() <= units[dtype]


@pytest.mark.parametrize("arch", ARCHES)
def test_the_code_is_for_the_processor_that_is_asked_for(arch):
    a = torch.ones(32, 32, dtype=torch.bfloat16)
    c = torch.zeros(32, 32)
    kernel = matmul[(1, )](a, a, c, 32, 32, 32, 32, 1, 32, 1, BM=32, BN=32, BK=32, TURN_A=False, TURN_B=False,
                           ACC=tl.float32, ROWS_FIRST=True, arch=arch)
    text = kernel.asm["asm"]
    assert "zmm" not in text and "dpbf16" not in text and ("ymm" in text) == (arch == "avx2")


@pytest.mark.parametrize("arch, is_paired", [("znver4", True), ("cooperlake", True), ("sapphirerapids", False)])
def test_pairs_of_bf16_are_multiplied_where_that_is_faster(arch, is_paired):
    """On Intel's processors since Sapphire Rapids their instruction runs at half the rate of multiply-adds of binary32. Sixteen
    steps of k are too few for tile registers."""
    a = torch.ones(32, 32, dtype=torch.bfloat16)
    c = torch.zeros(32, 32)
    kernel = matmul.warmup(a, a, c, 32, 32, 32, 32, 1, 32, 1, BM=32, BN=32, BK=16, TURN_A=False, TURN_B=False, ACC=tl.float32,
                           ROWS_FIRST=True, grid=(1, ), arch=arch)
    assert ("vdpbf16ps" in kernel.asm["asm"]) == is_paired
    assert ("vfmadd" in kernel.asm["asm"]) == (not is_paired)


@pytest.mark.parametrize("turn_b", [False, True])
@pytest.mark.parametrize("m, n, k, tile", [(40, 70, 130, (16, 32, 64)), (33, 20, 80, (32, 8, 16)), (128, 256, 512, (64, 128, 64))])
@pytest.mark.parametrize("least", [-128, 127, None])
def test_fours_of_bytes_at_both_ends(turn_b, m, n, k, tile, least):
    """Bytes are multiplied by an instruction that takes one side without a sign: the other end of the range is where that would
    show."""
    generator = torch.Generator().manual_seed(n)
    make = lambda *sizes: torch.randint(-128, 128, sizes, generator=generator, dtype=torch.int8)  # noqa: E731
    a, b = make(m, k), make(n, k).T if turn_b else make(k, n)
    if least is not None:
        a[:, ::3], b[1::2] = least, -128
    c = torch.full((m, n), 99, dtype=torch.int32)
    bm, bn, bk = tile
    matmul[(triton.cdiv(m, bm) * triton.cdiv(n, bn), )](
        a, b, c, m, n, k, *a.stride(), *b.stride(), BM=bm, BN=bn, BK=bk, TURN_A=False, TURN_B=False, ACC=tl.int32,
        ROWS_FIRST=True)
    assert torch.equal(c, a.int() @ b.int())


@pytest.mark.parametrize("arch, has_fours", [("icelake-server", True), ("znver5", True), ("skylake-avx512", False)])
def test_fours_of_bytes_are_multiplied_by_an_instruction(arch, has_fours):
    a = torch.ones(32, 32, dtype=torch.int8)
    c = torch.zeros(32, 32, dtype=torch.int32)
    kernel = matmul.warmup(a, a, c, 32, 32, 32, 32, 1, 32, 1, BM=32, BN=32, BK=32, TURN_A=False, TURN_B=False, ACC=tl.int32,
                           ROWS_FIRST=True, grid=(1, ), arch=arch)
    assert ("vpdpbusd" in kernel.asm["asm"]) == has_fours


@pytest.mark.parametrize("arch", ARCHES[:1])
def test_narrow_operands_are_turned_as_what_they_are_multiplied_in(arch):
    """Where dots multiply in binary32, bf16 that is loaded column by column is not stored number by number."""
    m, n, d, times = 32, 16, 64, 3
    q, k, v = (torch.ones(x, y, dtype=torch.bfloat16) for x, y in ((m, d), (d, times * n), (d, times * n)))
    kernel = chain[(1, )](q, k, v, torch.zeros(m, d), times, M=m, N=n, D=d, ACC=tl.float32, TURN_Q=0, TURN_K=0,
                          TURN_V=1, arch=arch)
    assert "pextrw" not in kernel.asm["asm"]
