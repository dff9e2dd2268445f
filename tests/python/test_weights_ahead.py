"""Weights of four bits that a loop loads an iteration before it multiplies by them, with scales and zeros of its columns:
all that feeds a dot is copied to shared memory ahead, whatever lanes hold of it."""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl

TARGETS = ["", "cuda:90", "cuda:80", "hip:gfx942"]


@triton.jit
def codes(words, ASM: tl.constexpr):
    shifted = words[:, :, None] >> (tl.arange(0, 8) * 4)[None, None, :]
    if ASM:
        small = tl.inline_asm_elementwise("and.b32 $0, $1, 15;", "=r,r", [shifted], tl.int32, is_pure=True, pack=1)
    else:
        small = shifted & 15
    return small.reshape(words.shape[0], words.shape[1] * 8)


@triton.jit
def carried(x_ptr, w_ptr, s_ptr, z_ptr, y_ptr, M, K, BM: tl.constexpr, N: tl.constexpr, BK: tl.constexpr, ASM: tl.constexpr,
            STAGES: tl.constexpr):
    m, n, k, word = tl.arange(0, BM), tl.arange(0, N), tl.arange(0, BK), tl.arange(0, N // 8)
    x_ptrs = x_ptr + (m % M)[:, None] * K + k[None, :]
    w_ptrs = w_ptr + k[:, None] * (N // 8) + word[None, :]
    s_ptrs, z_ptrs = s_ptr + n, z_ptr + word
    w, s, z = tl.load(w_ptrs), tl.load(s_ptrs), tl.load(z_ptrs)
    total = tl.zeros((BM, N), tl.float32)
    for at in tl.range(0, K, BK, num_stages=STAGES):
        b = (codes(w, ASM) - codes(z[None, :], ASM)).to(tl.float16) * s[None, :]
        x = tl.load(x_ptrs)
        x_ptrs += BK
        w_ptrs += BK * (N // 8)
        s_ptrs += N
        z_ptrs += N // 8
        inside = at + BK < K
        w, s, z = tl.load(w_ptrs, mask=inside), tl.load(s_ptrs, mask=inside), tl.load(z_ptrs, mask=inside)
        total = tl.dot(x, b, total)
    tl.store(y_ptr + m[:, None] * N + n[None, :], total)


def unpacked(words):
    """The codes of words of 32 bits, the lowest first, along the last axis."""
    codes = (words[..., None] >> (4 * np.arange(8, dtype=np.uint32))) & 15
    return codes.reshape(*words.shape[:-1], -1).astype(np.float64)


def loops(text):
    """The lines of the loops of a module of `ttgir`."""
    inside, depth = [], 0
    for line in text.splitlines():
        depth += "scf.for" in line
        inside += [line] * (depth > 0)
        depth -= depth > 0 and line.strip().startswith("}")
    return inside


@pytest.mark.parametrize("emulate, asm", [(target, False) for target in TARGETS] + [("cuda:90", True), ("cuda:80", True)])
@pytest.mark.parametrize("rows, m, n, block", [(1, 16, 64, 128), (1, 64, 64, 64), (5, 16, 32, 32), (64, 64, 128, 64)])
@pytest.mark.parametrize("stages", [2, 3])
def test_weights_that_a_loop_carries(rng, emulate, asm, rows, m, n, block, stages):
    groups = 4
    k = groups * block
    x = rng.integers(-3, 4, (rows, k)).astype(np.float32)
    words = rng.integers(0, 2**32, (k, n // 8), dtype=np.uint64).astype(np.uint32)
    zeros = rng.integers(0, 2**32, (groups, n // 8), dtype=np.uint64).astype(np.uint32)
    scales = rng.integers(1, 4, (groups, n)).astype(np.float32)
    y = torch.full((m, n), float("nan"))
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = emulate
        compiled = triton.jit(carried.fn)[(1, )](
            torch.from_numpy(x).half(), torch.from_numpy(words.view(np.int32)), torch.from_numpy(scales).half(),
            torch.from_numpy(zeros.view(np.int32)), y, rows, k, m, n, block, asm, stages)
    weights = (unpacked(words) - np.repeat(unpacked(zeros), block, 0)) * np.repeat(scales, block, 0)
    assert np.array_equal(y.numpy(), x.astype(np.float64)[np.arange(m) % rows] @ weights)
    if "cuda" in emulate:
        inside = loops(compiled.asm["ttgir"])
        assert sum("async_copy_global_to_local" in line for line in inside) == 4
        assert not any("tt.load" in line for line in inside), "nothing is waited for in an iteration"
        row = f"tensor<{1 if rows == 1 else m}x{block}x!tt.ptr<f16>"
        assert any(row in line and "async_copy" in line for line in inside), "a row that all share is copied once"
