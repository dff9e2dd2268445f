"""Persistent kernels that go from tile to tile in one loop: where a tile begins is chosen by a condition, and copies for dots
begin iterations ahead all the same."""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl

TARGETS = ["", "cuda:90", "cuda:80", "hip:gfx942"]


@triton.jit
def tiles(a_ptr, b_ptr, c_ptr, M, N, K, stride_a, stride_b, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
          BK: tl.constexpr, STAGES: tl.constexpr, ORDER: tl.constexpr):
    columns = tl.cdiv(N, BN)
    count = tl.cdiv(M, BM) * columns
    steps = tl.cdiv(K, BK)
    own = count // PROGRAMS
    if tl.program_id(0) < count % PROGRAMS:
        own += 1
    tile, step, row, column = tl.program_id(0) - PROGRAMS, -1, 0, 0
    offs_m, offs_n, offs_k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for _ in tl.range(0, steps * own, num_stages=STAGES):
        step = tl.where(step == steps - 1, 0, step + 1)
        if step == 0:
            tile += PROGRAMS
            if ORDER == "grouped":
                # Behind the last tile no row is left, and this divides by zero, of which nothing may be seen.
                first = tile // (2 * columns) * 2
                rows = min(tl.cdiv(M, BM) - first, 2)
                row, column = first + tile % rows, tile % (2 * columns) // rows
            elif ORDER == "snake" and tile // columns % 2 == 1:
                row, column = tile // columns, columns - 1 - tile % columns
            else:
                row, column = tile // columns, tile % columns
            offs_m = row * BM + tl.arange(0, BM)
            offs_n = column * BN + tl.arange(0, BN)
            offs_m = tl.where(offs_m < M, offs_m, 0)
            offs_n = tl.where(offs_n < N, offs_n, 0)
        at = step * BK + offs_k
        a = tl.load(a_ptr + offs_m[:, None] * stride_a + at[None, :], mask=offs_k[None, :] < K - step * BK, other=0.0)
        b = tl.load(b_ptr + at[:, None] + offs_n[None, :] * stride_b, mask=offs_k[:, None] < K - step * BK, other=0.0)
        total = tl.dot(a, b, total)
        if step == steps - 1:
            m, n = row * BM + tl.arange(0, BM), column * BN + tl.arange(0, BN)
            mask = (m < M)[:, None] & (n < N)[None, :]
            tl.store(c_ptr + m[:, None] * N + n[None, :], total.to(c_ptr.dtype.element_ty), mask=mask)
            total = tl.zeros((BM, BN), tl.float32)


@pytest.mark.parametrize("emulate", TARGETS)
@pytest.mark.parametrize("m, n, k, block, stages, order", [
    (130, 70, 96, (64, 32, 32), 3, "rows"),
    (64, 64, 40, (64, 64, 64), 2, "rows"),
    (200, 40, 130, (64, 32, 64), 4, "snake"),
    (33, 97, 32, (32, 32, 32), 4, "snake"),
    (200, 40, 130, (64, 32, 64), 4, "grouped"),
    (150, 97, 64, (32, 32, 32), 3, "grouped"),
    (64, 40, 40, (32, 32, 32), 4, "grouped"),
])
def test_products(rng, emulate, m, n, k, block, stages, order):
    bm, bn, bk = block
    pitch = -(-k // 16) * 16
    a = torch.from_numpy(rng.integers(-4, 5, (m, pitch)).astype(np.float32)).half()
    b = torch.from_numpy(rng.integers(-4, 5, (n, pitch)).astype(np.float32)).half()
    c = torch.full((m, n), float("nan"))
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = emulate
        compiled = triton.jit(tiles.fn)[(3, )](a, b, c, m, n, k, pitch, pitch, 3, bm, bn, bk, stages, order)
    expected = a[:, :k].double() @ b[:, :k].double().T
    assert np.array_equal(c.numpy(), expected.numpy())
    if emulate.startswith("cuda"):
        text = compiled.asm["ttgir"]
        assert "async_copy_global_to_local" in text, "copies begin ahead"
        whole = [line for line in text.splitlines() if "convert_layout" in line and f"<{bm}x{bn}xf32" in line]
        assert all(line.startswith(" " * 8) for line in whole), "sums are converted where a tile ends"
