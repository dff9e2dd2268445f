"""Loads by addresses from one matrix of several that lie apart: bulk copies of tensors with an axis more, on the emulated sm_90.

What lies beyond the ends of each matrix is NaN. Every product is computed twice, with bulk copies and by lanes (`disable_bulk_loads`), to the same
bits, and is right.
"""

import numpy as np
import pytest
import torch
from stacked_kernels import heads, products, products_of_known_sizes

import deuteron as triton
import deuteron.language as tl


@pytest.fixture(autouse=True)
def emulated():
    """The emulated sm_90, from nothing."""
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = "cuda:90"
        yield


def stack(rng, outer, rows, columns, behind=8, padding=8, dtype=torch.float16):
    """Matrices of random numbers with so many elements behind each row, and behind each matrix."""
    steps = [rows * (columns + padding) + behind]
    for count in reversed(outer[1:]):
        steps.insert(0, steps[0] * count + behind)
    memory = torch.full((steps[0] * outer[0], ), float("nan")).to(dtype)
    view = memory.as_strided((*outer, rows, columns), (*steps, columns + padding, 1))
    view.copy_(torch.from_numpy(rng.standard_normal(view.shape).astype(np.float32)))
    return view


def maps(kernel):
    """How many operands are bulk copies."""
    return len([part for part in kernel.metadata.tensor_maps.split("; ") if part])


def both_ways(launch, kernel, out):
    """The result with bulk copies, which lanes compute to the same bits, and the kernel."""
    other = out.clone()
    compiled = launch(kernel, out)
    with triton.knobs.nvidia.scope():
        triton.knobs.nvidia.disable_bulk_loads = True
        assert maps(launch(triton.jit(kernel.fn), other)) == 0
    assert torch.equal(out, other)
    return compiled


def check_products(a, b, kernel=products, blocks=(64, 64, 32), rows="mask", wide=False, expect=2, **options):
    (count, m, k), n = a.shape, b.shape[2]
    count = max(count, b.shape[0])
    out = torch.full((count, m, n), float("nan"))

    def launch(kernel, c):
        grid = (triton.cdiv(m, blocks[0]), triton.cdiv(n, blocks[1]), count)
        strides = (a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1))
        return kernel[grid](a, b, c, m, n, k, *strides, *blocks, rows, wide, **options)

    assert maps(both_ways(launch, kernel, out)) == expect
    torch.testing.assert_close(out.double(), a.double() @ b.double(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("num_warps", [4, 8])
@pytest.mark.parametrize("shape", [(2, 64, 64, 64), (3, 104, 72, 40), (2, 70, 200, 136), (5, 16, 8, 24)])
def test_sizes(rng, shape, num_warps):
    count, m, n, k = shape
    check_products(stack(rng, (count, ), m, k), stack(rng, (count, ), k, n), num_warps=num_warps, num_stages=3)


@pytest.mark.parametrize("kernel", [products, products_of_known_sizes])
@pytest.mark.parametrize("rows", ["mask", "remainder"])
@pytest.mark.parametrize("wide", [False, True])
def test_forms(rng, kernel, rows, wide):
    check_products(stack(rng, (3, ), 72, 56), stack(rng, (3, ), 56, 80), kernel=kernel, rows=rows, wide=wide)


def test_matrices_that_begin_at_no_multiple_of_16_bytes_are_loaded_by_lanes(rng):
    check_products(stack(rng, (3, ), 72, 56, behind=4), stack(rng, (3, ), 56, 80), expect=1)
    check_products(stack(rng, (3, ), 72, 56, behind=1), stack(rng, (3, ), 56, 80, behind=2), expect=0)


def test_one_matrix_for_all(rng):
    # A tensor whose matrices are the same one has a stride of zero, which the launch sees: it takes the kernel whose lanes load.
    a, b = stack(rng, (3, ), 72, 56), stack(rng, (1, ), 56, 80)
    check_products(a, b.expand(3, 56, 80))
    check_products(a, stack(rng, (3, ), 56, 80))


@pytest.mark.parametrize("options", [{}, {"num_warps": 8}])
@pytest.mark.parametrize(("n", "d", "group"), [(72, 40, 1), (200, 64, 2), (64, 24, 4)])
def test_heads_of_batches(rng, n, d, group, options):
    q = stack(rng, (2, 4), n, d)
    k, v = (stack(rng, (2, 4 // group), n, d) for _ in range(2))
    out = torch.full((2, 4, n, d), float("nan"))

    def launch(kernel, o):
        strides = (*q.stride()[:3], *k.stride()[:3], *o.stride()[:3])
        return kernel[(triton.cdiv(n, 64), 8)](q, k, v, o, n, d, 4, *strides, 64, 32, 64, group, **options)

    assert maps(both_ways(launch, heads, out)) == 2
    k, v = (x.double().repeat_interleave(group, 1) for x in (k, v))
    scores = (q.double() @ k.mT) * 0.1
    torch.testing.assert_close(out.double(), scores @ v, rtol=1e-2, atol=5e-2)


@triton.jit
def weighted(a_ptr, w_ptr, b_ptr, c_ptr, M, N, K, az, am, wz, bk, cz, cm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    z = tl.program_id(1)
    rows, cols = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        ks = k + tl.arange(0, BK)
        a = tl.load(a_ptr + z * az + rows[:, None] * am + ks[None, :], mask=(rows[:, None] < M) & (ks[None, :] < K), other=0.0)
        w = tl.load(w_ptr + z * wz + ks, mask=ks < K, other=0.0)
        b = tl.load(b_ptr + ks[:, None] * bk + cols[None, :], mask=(ks[:, None] < K) & (cols[None, :] < N), other=0.0)
        total = tl.dot(a * w[None, :], b, total)
    tl.store(c_ptr + z * cz + rows[:, None] * cm + cols[None, :], total, mask=(rows[:, None] < M) & (cols[None, :] < N))


@pytest.mark.parametrize("options", [{}, {"num_stages": 1}])
def test_rows_of_several(rng, options):
    a, b = stack(rng, (3, ), 72, 104), stack(rng, (1, ), 104, 56)[0]
    w = stack(rng, (3, ), 1, 104)[:, 0]
    out = torch.full((3, 72, 56), float("nan"))

    def launch(kernel, c):
        strides = (a.stride(0), a.stride(1), w.stride(0), b.stride(0), c.stride(0), c.stride(1))
        return kernel[(2, 3)](a, w, b, c, 72, 56, 104, *strides, 64, 64, 64, **options)

    assert maps(both_ways(launch, weighted, out)) == 3
    expected = (a * w[:, None, :]).double() @ b.double()
    torch.testing.assert_close(out.double(), expected, rtol=1e-3, atol=1e-3)


@triton.jit
def tile_by_tile(a_ptr, b_ptr, c_ptr, COUNT, M, N, K, az, am, bz, bk, cz, cm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                 FLATTEN: tl.constexpr):
    across = tl.cdiv(N, BN)
    of_matrix = tl.cdiv(M, BM) * across
    for tile in tl.range(tl.program_id(0), COUNT * of_matrix, tl.num_programs(0), flatten=FLATTEN):
        z, at = tile // of_matrix, tile % of_matrix
        rows, cols = at // across * BM + tl.arange(0, BM), at % across * BN + tl.arange(0, BN)
        total = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            ks = k + tl.arange(0, BK)
            a = tl.load(a_ptr + z * az + rows[:, None] * am + ks[None, :], mask=(rows[:, None] < M) & (ks[None, :] < K), other=0.0)
            b = tl.load(b_ptr + z * bz + ks[:, None] * bk + cols[None, :], mask=(ks[:, None] < K) & (cols[None, :] < N), other=0.0)
            total = tl.dot(a, b, total)
        tl.store(c_ptr + z * cz + rows[:, None] * cm + cols[None, :], total.to(tl.float16), mask=(rows[:, None] < M) & (cols[None, :] < N))


def launch_tiles(kernel, a, b, c, flatten, programs=2):
    (count, m, k), n = a.shape, b.shape[2]
    strides = (a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1))
    return kernel[(programs, )](a, b, c, count, m, n, k, *strides, 64, 64, 32, flatten, num_stages=3)


@pytest.mark.parametrize("flatten", [False, True])
def test_tiles_one_after_the_other(rng, flatten):
    # In a loop that says so, stores are bulk copies too.
    a, b = stack(rng, (3, ), 136, 56), stack(rng, (3, ), 56, 80)
    out = stack(rng, (3, ), 136, 80)
    between = torch.isnan(out.as_strided((3, 136, 88), out.stride())[:, :, 80:])
    kernel = both_ways(lambda kernel, c: launch_tiles(kernel, a, b, c, flatten), tile_by_tile, out)
    assert maps(kernel) == 2 + flatten
    torch.testing.assert_close(out.double(), a.double() @ b.double(), rtol=1e-2, atol=1e-2)
    assert between.all() and torch.isnan(out.as_strided((3, 136, 88), out.stride())[:, :, 80:]).all()


@pytest.mark.parametrize("flatten", [False, True])
def test_matrices_that_are_read_as_they_were_written(rng, flatten):
    # One program: each matrix is the product of the one before, which the launch sees as memory in common.
    memory = stack(rng, (4, ), 64, 64)
    b = (stack(rng, (3, ), 64, 64) * 0.25)
    expected = [memory[0].double()]
    for each in b.double():
        expected.append((expected[-1] @ each).half().double())
    launch_tiles(tile_by_tile, memory[:3], b, memory[1:], flatten, programs=1)
    torch.testing.assert_close(memory.double(), torch.stack(expected), rtol=2e-2, atol=2e-2)
