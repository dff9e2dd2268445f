"""Operands of dots that several neighbours share: weights of a few bits, of which a word holds several, are loaded once;
and slices of stacks of matrices, which bulk copies bring to where dots read them."""

import re

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl

TARGETS = ["", "cuda:90", "cuda:80", "hip:gfx942"]


@triton.jit
def along_k(x_ptr, w_ptr, scales_ptr, y_ptr, K, rest, first, stride, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr,
            BITS: tl.constexpr, BY_SHIFT: tl.constexpr, STAGES: tl.constexpr):
    PACKED: tl.constexpr = 32 // BITS
    SHIFT: tl.constexpr = 5 if BITS == 1 else 4 if BITS == 2 else 3 if BITS == 4 else 2
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.program_id(0) * BK + tl.arange(0, BK)
    word = k >> SHIFT if BY_SHIFT else k // PACKED
    columns = (first + n) % stride
    w_ptrs = w_ptr + word[:, None] * stride + columns[None, :]
    x_ptrs = x_ptr + m[:, None] * (K + rest) + k[None, :]
    total = tl.zeros((M, N), tl.float32)
    for at in tl.range(0, K, BK, num_stages=STAGES):
        inside = at + tl.arange(0, BK) < K
        x = tl.load(x_ptrs, mask=inside[None, :], other=0.0)
        w = tl.load(w_ptrs, mask=n[None, :] < N - 3, other=0)
        w = (w >> (k % PACKED * BITS)[:, None]) & ((1 << BITS) - 1)
        total = tl.dot(x, w.to(x.dtype), total)
        x_ptrs += BK
        w_ptrs += BK // PACKED * stride
    tl.store(y_ptr + m[:, None] * N + n[None, :], total * tl.load(scales_ptr + n)[None, :])


@triton.jit
def along_n(x_ptr, w_ptr, y_ptr, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr):
    m, n = tl.arange(0, M), tl.program_id(0) * N + tl.arange(0, N)
    total = tl.zeros((M, N), tl.float32)
    for at in tl.range(0, K, BK, num_stages=STAGES):
        k = at + tl.arange(0, BK)
        x = tl.load(x_ptr + m[:, None] * K + k[None, :])
        w = tl.load(w_ptr + k[:, None] * (N // 8) + n[None, :] // 8)
        total = tl.dot(x, (w >> (n % 8 * 4)[None, :] & 15).to(x.dtype), total)
    tl.store(y_ptr + m[:, None] * N + n[None, :], total)


def emulated(emulate, kernel, *args, **options):
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = emulate
        return triton.jit(kernel.fn)[(1, )](*args, **options)


def unpacked(words, bits, axis):
    """The codes of words of 32 bits, the lowest first, along an axis."""
    codes = [(words >> (bits * at)) & ((1 << bits) - 1) for at in range(32 // bits)]
    return np.stack(codes, axis + 1).reshape([size * (32 // bits if dim == axis else 1) for dim, size in enumerate(words.shape)])


@pytest.mark.parametrize("emulate", TARGETS)
@pytest.mark.parametrize("bits, by_shift", [(4, False), (4, True), (2, False), (8, False)])
@pytest.mark.parametrize("m, n, block, k", [(16, 32, 64, 256), (64, 64, 32, 96), (16, 128, 32, 40)])
def test_words_along_k(rng, emulate, bits, by_shift, m, n, block, k):
    x = rng.integers(-3, 4, (m, k + 2)).astype(np.float32)
    words = rng.integers(0, 2**32, (-(-k // block) * block * bits // 32, n + 5), dtype=np.uint64)
    scales = rng.integers(1, 4, n).astype(np.float32)
    y = torch.full((m, n), float("nan"))
    packed = torch.from_numpy(words.astype(np.uint32).view(np.int32))
    compiled = emulated(emulate, along_k, torch.from_numpy(x).half(), packed, torch.from_numpy(scales), y, k, 2, 0, n + 5,
                        m, n, block, bits, by_shift, 3)
    codes = unpacked(words[:, :n], bits, 0)[:k].astype(np.float64)
    codes[:, n - 3:] = 0
    assert np.array_equal(y.numpy(), x[:, :k].astype(np.float64) @ codes * scales)
    if emulate:
        words_of_block = f"{block * bits // 32}x{n}xi32"
        assert re.search(rf"tensor<{words_of_block}", compiled.asm["ttgir"]), "a word is loaded once"


@pytest.mark.parametrize("emulate", TARGETS)
@pytest.mark.parametrize("m, n, block", [(16, 64, 64), (64, 128, 32)])
def test_words_along_n(rng, emulate, m, n, block):
    k = 4 * block
    x = rng.integers(-3, 4, (m, k)).astype(np.float32)
    words = rng.integers(0, 2**32, (k, n // 8), dtype=np.uint64)
    y = torch.full((m, n), float("nan"))
    compiled = emulated(emulate, along_n, torch.from_numpy(x).half(), torch.from_numpy(words.astype(np.uint32).view(np.int32)),
                        y, k, m, n, block, 3)
    assert np.array_equal(y.numpy(), x.astype(np.float64) @ unpacked(words, 4, 1).astype(np.float64))
    if emulate:
        assert f"tensor<{block}x{n // 8}xi32" in compiled.asm["ttgir"], "a word is loaded once"


@triton.jit
def masked_within(x_ptr, w_ptr, y_ptr, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    total = tl.zeros((M, N), tl.float32)
    for at in range(0, K, BK):
        k = at + tl.arange(0, BK)
        x = tl.load(x_ptr + m[:, None] * K + k[None, :], mask=k[None, :] < K, other=1.0)
        w = tl.load(w_ptr + (k // 8)[:, None] * N + n[None, :], mask=k[:, None] < K, other=-1)
        total = tl.dot(x, w.to(x.dtype), total)
    tl.store(y_ptr + m[:, None] * N + n[None, :], total)


@pytest.mark.parametrize("emulate", TARGETS)
def test_masks_may_end_within_a_word(rng, emulate):
    m, n, block, k = 16, 32, 32, 77
    x = rng.integers(-3, 4, (m, k)).astype(np.float32)
    words = rng.integers(-9, 9, (-(-k // 8), n)).astype(np.int32)
    y = torch.full((m, n), float("nan"))
    emulated(emulate, masked_within, torch.from_numpy(x).half(), torch.from_numpy(words), y, k, m, n, block)
    rest = -(-k // block) * block - k
    expected = x.astype(np.float64) @ np.repeat(words, 8, 0)[:k].astype(np.float64) - rest
    assert np.array_equal(y.numpy(), expected)


@triton.jit
def of_stack(x_ptr, w_ptr, y_ptr, E, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr, MIDDLE: tl.constexpr,
             STAGES: tl.constexpr):
    x_desc = tl.make_tensor_descriptor(x_ptr, [M, K], [K, 1], [M, BK])
    if MIDDLE:
        w_desc = tl.make_tensor_descriptor(w_ptr, [N, E, K], [E * K, K, 1], [N, 1, BK])
    else:
        w_desc = tl.make_tensor_descriptor(w_ptr, [E, N, K], [N * K, K, 1], [1, N, BK])
    for e in range(E):
        total = tl.zeros((M, N), tl.float32)
        for k in tl.range(0, K, BK, num_stages=STAGES):
            w = w_desc.load([0, e, k] if MIDDLE else [e, 0, k]).reshape(N, BK)
            total = tl.dot(x_desc.load([0, k]), w.T, total)
        tl.store(y_ptr + (e * M + tl.arange(0, M))[:, None] * N + tl.arange(0, N)[None, :], total)


@pytest.mark.parametrize("emulate", TARGETS)
@pytest.mark.parametrize("middle", [False, True])
@pytest.mark.parametrize("m, n, block", [(64, 128, 64), (64, 32, 128), (16, 64, 32)])
def test_slices_of_stacks(rng, emulate, middle, m, n, block):
    stack, k = 3, 3 * block
    x = rng.integers(-3, 4, (m, k)).astype(np.float32)
    w = rng.integers(-3, 4, (stack, n, k)).astype(np.float32)
    y = torch.full((stack, m, n), float("nan"))
    given = torch.from_numpy(np.ascontiguousarray(w.transpose(1, 0, 2)) if middle else w).half()
    compiled = emulated(emulate, of_stack, torch.from_numpy(x).half(), given, y, stack, k, m, n, block, middle, 3)
    assert np.array_equal(y.numpy(), np.stack([x @ one.T for one in w]))
    if emulate == "cuda:90" and m == 64:
        text = compiled.asm["ttgir"]
        assert "async_tma_copy_global_to_local" in text and "ttg.local_load" not in text, "dots read what the copies bring"


@triton.jit
def wide_values(q_ptr, kv_ptr, out_ptr, length, M: tl.constexpr, D: tl.constexpr, BN: tl.constexpr, STAGES: tl.constexpr):
    m, d = tl.arange(0, M), tl.arange(0, D)
    q = tl.load(q_ptr + m[:, None] * D + d[None, :])
    out = tl.zeros((M, D), tl.float32)
    for at in tl.range(0, length, BN, num_stages=STAGES):
        kv = tl.load(kv_ptr + (at + tl.arange(0, BN))[None, :] * D + d[:, None])
        score = tl.dot(q, kv)
        out = tl.dot(tl.minimum(score, 3.0).to(kv.dtype), tl.trans(kv), out)
    tl.store(out_ptr + m[:, None] * D + d[None, :], out)


@pytest.mark.parametrize("emulate", TARGETS)
@pytest.mark.parametrize("d, stages", [(512, 3), (512, 2), (64, 3)])
def test_blocks_that_two_dots_read(rng, emulate, d, stages):
    m, block, length = 16, 32, 96
    q, kv = (rng.integers(-1, 2, shape).astype(np.float32) for shape in ((m, d), (length, d)))
    out = torch.full((m, d), float("nan"))
    compiled = emulated(emulate, wide_values, torch.from_numpy(q).half(), torch.from_numpy(kv).half(), out, length, m, d,
                        block, stages)
    assert np.array_equal(out.numpy(), np.minimum(q @ kv.T, 3.0).astype(np.float16).astype(np.float32) @ kv)
    if emulate.startswith("cuda") and (d, stages) == (512, 3):
        body = compiled.asm["ttgir"].split("scf.for")[1]
        assert body.index("tt.dot ") < body.rindex("ttg.local_load"), "the second dot's operand is read behind the first"
