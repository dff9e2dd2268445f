"""Stores by addresses in loops over tiles that say `flatten=True`, as bulk copies on the emulated sm_90.

Every product is computed twice, by such a loop and by one that does not say so, to the same bits, and is right.
"""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl

BLOCK, DEPTH = 64, 32


@pytest.fixture(autouse=True)
def emulated(tmp_path):
    """The emulated sm_90, from nothing."""
    with triton.knobs.runtime.scope(), triton.knobs.cache.scope():
        triton.knobs.runtime.emulate = "cuda:90"
        triton.knobs.cache.dir = str(tmp_path)
        yield


@triton.jit
def tiles(a_ptr, b_ptr, c_ptr, bias_ptr, M, N, K, stride_am, stride_bk, stride_cm, BLOCK: tl.constexpr, DEPTH: tl.constexpr,
          FLAT: tl.constexpr, BIAS: tl.constexpr):
    columns_of_tiles = tl.cdiv(N, BLOCK)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BLOCK) * columns_of_tiles, tl.num_programs(0), flatten=FLAT):
        rows = tile // columns_of_tiles * BLOCK + tl.arange(0, BLOCK)
        columns = tile % columns_of_tiles * BLOCK + tl.arange(0, BLOCK)
        total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
        for start in range(0, tl.cdiv(K, DEPTH)):
            at = start * DEPTH + tl.arange(0, DEPTH)
            a = tl.load(a_ptr + rows[:, None] * stride_am + at[None, :], mask=(rows < M)[:, None] & (at < K)[None, :], other=0.0)
            b = tl.load(b_ptr + at[:, None] * stride_bk + columns[None, :], mask=(at < K)[:, None] & (columns < N)[None, :], other=0.0)
            total = tl.dot(a, b, total)
        if BIAS:
            total += tl.load(bias_ptr + columns, mask=columns < N, other=0.0)[None, :]
        tl.store(c_ptr + rows[:, None] * stride_cm + columns[None, :], total.to(c_ptr.dtype.element_ty),
                 mask=(rows < M)[:, None] & (columns < N)[None, :])


def matrix(rng, rows, columns, pitch=None):
    """Random halves, in rows so far apart, with NaN between them."""
    whole = np.full((rows, pitch or columns), np.nan, dtype=np.float16)
    whole[:, :columns] = rng.standard_normal((rows, columns))
    return torch.from_numpy(whole)[:, :columns]


def launch(a, b, c, flat, bias=None, programs=2, stages=3):
    (m, k), n = a.shape, b.shape[1]
    return tiles[(programs, )](a, b, c, bias, m, n, k, a.stride(0), b.stride(0), c.stride(0), BLOCK, DEPTH, flat, bias is not None,
                               num_stages=stages)


def poisoned(rows, columns, pitch=None, dtype=torch.float16):
    return torch.full((rows, pitch or columns), float("nan"), dtype=dtype)[:, :columns]


def stores_by_bulk_copies(kernel):
    return " out" in kernel.metadata.tensor_maps


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("m, n, k", [(192, 128, 96), (200, 144, 80), (65, 16, 48), (256, 64, 0)])
def test_stores_are_bulk_copies(rng, m, n, k, dtype):
    a, b = matrix(rng, m, k, max(k, 16)), matrix(rng, k, n)
    pitch = n + 16
    c, other = poisoned(m, n, pitch, dtype), poisoned(m, n, pitch, dtype)
    assert stores_by_bulk_copies(launch(a, b, c, True))
    assert not stores_by_bulk_copies(launch(a, b, other, False))
    assert torch.equal(c, other)
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-2, atol=2e-2)
    behind = c.as_strided((m, 16), (pitch, 1), n)
    assert bool(behind.isnan().all()), "nothing is written behind a row"


def test_what_lanes_load_beside_keeps_stores_with_lanes(rng):
    a, b, bias = matrix(rng, 130, 64), matrix(rng, 64, 80), torch.from_numpy(rng.standard_normal(80).astype(np.float32))
    c = poisoned(130, 80)
    assert not stores_by_bulk_copies(launch(a, b, c, True, bias))
    torch.testing.assert_close(c.double(), a.double() @ b.double() + bias, rtol=1e-2, atol=2e-2)


def test_launches_that_cannot(rng):
    """Rows that begin off 16 bytes, a result in the memory of an operand, more programs than tiles."""
    a, b = matrix(rng, 128, 128), matrix(rng, 128, 128)
    odd = poisoned(128, 127, 127)
    launch(a, b[:, :127], odd, True)
    torch.testing.assert_close(odd.double(), a.double() @ b[:, :127].double(), rtol=1e-2, atol=2e-2)
    c = poisoned(128, 128)
    launch(a, b, c, True, programs=7)
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-2, atol=2e-2)
    # One program: what it stores first, no later tile reads, as it is a product of one tile of rows.
    one, expected = matrix(rng, 64, 64), None
    expected = one.double() @ b[:64, :64].double()
    launch(one, b[:64, :64], one, True, programs=1)
    torch.testing.assert_close(one.double(), expected, rtol=1e-2, atol=2e-2)
